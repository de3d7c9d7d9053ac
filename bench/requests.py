"""What a system can be asked: each kind of request as pgbench's scripts, a program's statements, and HTTP.

The statements are those of sql/, for any key and model. A script for random keys needs a key
of the set from a random number without asking the database, which would be work
that the service is spared: it is a search tree in pgbench's own expressions, fourteen
comparisons deep for 10,000 keys.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.key_set import PER_BATCH, timed_batches
from data.columns import FEATURES
from python_baseline.keys import NAMES, Key

COLUMNS = ", ".join(FEATURES)
# A key in one number: origin, year, month and day, two or four digits each.
PLACES = (100_000_000, 10_000, 100, 1)
SIZES = (100_000, 10_000, 100, 100)
# How many models a request for several asks.
MODELS = 3


@dataclass(frozen=True)
class Asked:
    """What requests are made of: the model, the key set, and the SQL expression of a prediction."""

    trees: int
    keys: Sequence[Key]
    # With {model} and {columns}: "predict('{model}', {columns})".
    call: str = ""
    # Of the first key's flight, in the order of the model's.
    features: Sequence[float] = ()

    def prediction(self, columns: str = COLUMNS, model: int = 0) -> str:
        """The expression, for a row of the table if not for other values."""
        name = model_name(self.trees, model)
        return self.call.format(model=name, columns=columns)

    @property
    def predictions(self) -> list[str]:
        """The expressions of several models."""
        return [self.prediction(model=model) for model in range(MODELS)]


@dataclass(frozen=True)
class Request:
    """A kind of request."""

    # How many predictions it asks for.
    predictions: int
    # The scripts of which pgbench draws one for each transaction.
    scripts: Callable[[Asked], list[str]]
    # Each is called once, one after the other; none: it can be asked for in SQL alone.
    paths: tuple[str, ...] = ()
    # The bodies of which one is drawn for each POST; None: a GET.
    bodies: Callable[[Asked], list[Any]] | None = None
    # What a program sends in place of the scripts, with a body's values as parameters.
    statements: Callable[[Asked], list[str]] | None = None
    # How many models it asks.
    models: int = 1
    # Two load generators at once: what is measured, and what the other one asks meanwhile.
    beside: tuple[str, str] | None = None


def model_name(trees: int, model: int = 0) -> str:
    """What the model of that many trees is called in the database, and further ones of as many."""
    return f"flights_{trees}" + (f"_{model}" if model else "")


def _one_row(expression: str, values: Sequence[object]) -> str:
    where = " AND ".join(f"{name} = {value}" for name, value in zip(NAMES, values, strict=True))
    return f"SELECT {expression} FROM flights WHERE {where} LIMIT 1"


def one(asked: Asked, values: Sequence[object]) -> str:
    """One prediction; the key's parts may be numbers or placeholders."""
    return _one_row(asked.prediction(), values)


def batch(asked: Asked, keys: Sequence[Key]) -> str:
    """Predictions for several keys, each with its key's place, counted from 0."""
    rows = ", ".join(str((place, *key)) for place, key in enumerate(keys))
    names = [f"k{index}" for index in range(len(NAMES))]
    return (
        f"SELECT place, {asked.prediction()} FROM (VALUES {rows}) AS k(place, {', '.join(names)})"
        f" CROSS JOIN LATERAL ({_one_row(COLUMNS, [f'k.{name}' for name in names])}) f"
    )


def _search_tree(packed: Sequence[int], first: int = 0) -> str:
    if len(packed) == 1:
        return str(packed[0])
    middle = len(packed) // 2
    left = _search_tree(packed[:middle], first)
    right = _search_tree(packed[middle:], first + middle)
    return f"CASE WHEN :i < {first + middle} THEN {left} ELSE {right} END"


def draw(keys: Sequence[Key]) -> str:
    """The commands that set a variable for each part of a key drawn evenly."""
    packed = [sum(p * n for p, n in zip(PLACES, key, strict=True)) for key in keys]
    lines = [f"\\set i random(0, {len(keys) - 1})", f"\\set key {_search_tree(packed)}"]
    for name, place, size in zip(NAMES, PLACES, SIZES, strict=True):
        lines.append(f"\\set {name} :key / {place} % {size}")
    return "\n".join(lines)


# A parameter of a program's statement: the columns are reals, and an index of theirs serves no other type.
PARAMETER = "%s::real"


def given(asked: Asked, values: Sequence[str]) -> str:
    """One prediction from features that come with the statement."""
    return f"SELECT {asked.prediction(', '.join(values))}"


def _given(asked: Asked) -> list[str]:
    """As variables, which are parameters where statements are prepared."""
    pairs = zip(FEATURES, asked.features, strict=True)
    variables = [f"\\set {name} {value:g}" for name, value in pairs]
    return ["\n".join([*variables, given(asked, [f":{name}::real" for name in FEATURES])])]


def _row(
    predictions: int, path: str | tuple[str, ...], expressions: Callable[[Asked], list[str]], models: int = 1
) -> Request:  # fmt: skip
    """A statement for each of the expressions over one row, the same each time, or an HTTP request."""

    def statements(asked: Asked, values: Sequence[object]) -> list[str]:
        return [_one_row(expression, values) for expression in expressions(asked)]

    return Request(
        predictions,
        lambda asked: [";\n".join(statements(asked, asked.keys[0]))],
        (path,) if isinstance(path, str) else path,
        lambda asked: [asked.keys[0]],
        lambda asked: statements(asked, [PARAMETER] * len(NAMES)),
        models,
    )


# One prediction, for the same flight each time, as in 2022.
HOT = _row(1, "/", lambda asked: [asked.prediction()])
# pgbench's transactions: alone, while predictions run at a fixed rate, and during predictions.
OLTP = Request(0, lambda _: [])

REQUESTS = {
    # There and back, and nothing else.
    "ping": Request(0, lambda _: ["SELECT 1"], ("/ping",)),
    # A flight found, nothing predicted: the same row, another column.
    "fetch": _row(0, "/features", lambda _: ["depdelayminutes"]),
    # The ten features handed to a function that costs nothing in place of the prediction.
    "columns": _row(0, (), lambda _: [f"array_length(ARRAY[{COLUMNS}], 1)"]),
    "hot": HOT,
    # One prediction, for a flight drawn evenly from the key set.
    "random": replace(
        HOT,
        scripts=lambda asked: [f"{draw(asked.keys)}\n{one(asked, [f':{name}' for name in NAMES])}"],
        bodies=lambda asked: [*asked.keys],
    ),
    # Predictions for a hundred flights at once, one of ten such sets.
    "batch": Request(
        PER_BATCH,
        lambda asked: [batch(asked, keys) for keys in timed_batches(asked.keys)],
        ("/batch",),
        lambda asked: timed_batches(asked.keys),
    ),
    # One prediction from features that come with the request: nothing is looked up.
    "given": Request(
        1,
        _given,
        ("/given",),
        lambda asked: [[*asked.features]],
        lambda asked: [given(asked, [PARAMETER] * len(FEATURES))],
    ),
    # The predictions of three models for one flight: in one statement, or one call where a service has that;
    "three": _row(MODELS, "/all", lambda asked: [", ".join(asked.predictions)], MODELS),
    # and by a statement, or a call, for each.
    "three_calls": _row(
        MODELS, tuple(f"/{model}" for model in range(MODELS)), lambda asked: asked.predictions, MODELS
    ),
    "oltp": OLTP,
    "oltp_beside_hot": replace(OLTP, paths=("/",), beside=("oltp", "hot")),
    "hot_beside_oltp": replace(HOT, beside=("hot", "oltp")),
}  # fmt: skip
