"""The SQL that is timed, and pgbench's scripts of it.

The statements are those of sql/, for any key and model. A script for random keys needs a key
of the set from a random number without asking the database, which would be work
that the service is spared: it is a search tree in pgbench's own expressions, fourteen
comparisons deep for 10,000 keys.
"""

from collections.abc import Sequence
from pathlib import Path

from bench.key_set import timed_batches
from data.columns import FEATURES
from python_baseline.keys import NAMES, Key

COLUMNS = ", ".join(FEATURES)
# A key in one number: origin, year, month and day, two or four digits each.
PLACES = (100_000_000, 10_000, 100, 1)
SIZES = (100_000, 10_000, 100, 100)


# What makes the prediction: this extension's function, or XGBoost in the server, by its library or by Python.
PREDICT = "predict('{model}', {columns})"
PLPYTHON_PREDICT = "plpython_predict('{model}', ARRAY[{columns}])"
XGBOOST_PREDICT = "xgboost_predict('{model}', ARRAY[{columns}])"


def model_name(trees: int) -> str:
    """What the model of that many trees is called in the database."""
    return f"flights_{trees}"


def _where(values: Sequence[object]) -> str:
    return " AND ".join(f"{name} = {value}" for name, value in zip(NAMES, values, strict=True))


def _call(call: str, trees: int) -> str:
    return call.format(model=model_name(trees), columns=COLUMNS)


def one(trees: int, values: Sequence[object], call: str = PREDICT) -> str:
    """One prediction; the key's parts may be numbers or placeholders."""
    return f"SELECT {_call(call, trees)} FROM flights WHERE {_where(values)} LIMIT 1"


# A way to the server and back, and nothing else.
PING = "SELECT 1"


def fetch(values: Sequence[object]) -> str:
    """The same row, without a prediction."""
    return f"SELECT depdelayminutes FROM flights WHERE {_where(values)} LIMIT 1"


def columns(values: Sequence[object]) -> str:
    """The same row, its features handed to a function that costs nothing."""
    return f"SELECT array_length(ARRAY[{COLUMNS}], 1) FROM flights WHERE {_where(values)} LIMIT 1"


def batch(trees: int, keys: Sequence[Key], call: str = PREDICT) -> str:
    """Predictions for several keys, each with its key's place, counted from 0."""
    rows = ", ".join(str((place, *key)) for place, key in enumerate(keys))
    wanted = [f"k.k{index}" for index in range(len(NAMES))]
    return (
        f"SELECT place, {_call(call, trees)}"
        f" FROM (VALUES {rows}) AS k(place, {', '.join(f'k{i}' for i in range(len(NAMES)))})"
        f" CROSS JOIN LATERAL (SELECT {COLUMNS} FROM flights WHERE {_where(wanted)} LIMIT 1) f"
    )


def _search_tree(packed: Sequence[int], first: int = 0) -> str:
    if len(packed) == 1:
        return str(packed[0])
    middle = len(packed) // 2
    left, right = (
        _search_tree(packed[:middle], first),
        _search_tree(packed[middle:], first + middle),
    )
    return f"CASE WHEN :i < {first + middle} THEN {left} ELSE {right} END"


def _draw(keys: Sequence[Key]) -> str:
    """The commands that set a variable for each part of a key drawn evenly."""
    packed = [sum(p * n for p, n in zip(PLACES, key, strict=True)) for key in keys]
    lines = [f"\\set i random(0, {len(keys) - 1})", f"\\set key {_search_tree(packed)}"]
    for name, place, size in zip(NAMES, PLACES, SIZES, strict=True):
        lines.append(f"\\set {name} :key / {place} % {size}")
    return "\n".join(lines)


def write_scripts(
    directory: Path, trees: int, keys: Sequence[Key], call: str = PREDICT
) -> dict[str, list[Path]]:
    """pgbench's scripts of each request; of a batch several, that it draws from."""
    directory.mkdir(parents=True, exist_ok=True)
    variables = [f":{name}" for name in NAMES]
    texts = {
        "hot": [one(trees, keys[0], call)],
        "ping": [PING],
        "fetch": [fetch(keys[0])],
        "columns": [columns(keys[0])],
        "random": [f"{_draw(keys)}\n{one(trees, variables, call)}"],
        "batch": [batch(trees, together, call) for together in timed_batches(keys)],
    }
    scripts: dict[str, list[Path]] = {}
    for request, statements in texts.items():
        scripts[request] = []
        for number, statement in enumerate(statements):
            path = directory / f"{request}-{trees}-{number}.sql"
            path.write_text(statement + ";\n")
            scripts[request].append(path)
    return scripts
