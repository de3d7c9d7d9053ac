"""The kinds of requests, each as pgbench scripts, a program's statements, and HTTP calls.

The statements are those of sql/, for any key and model. A script for random keys must map a random number to
a key without a query, which would be work that the service does not have: it is a search tree of pgbench
expressions, fourteen comparisons deep for 10,000 keys.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.key_set import PER_BATCH, timed_batches
from data.columns import FEATURES
from python_baseline.keys import NAMES, Key

COLUMNS = ", ".join(FEATURES)
# A key packed into one number: origin, year, month and day, two or four digits each.
PLACES = (100_000_000, 10_000, 100, 1)
SIZES = (100_000, 10_000, 100, 100)
# The number of models of a request for several.
MODELS = 3


@dataclass(frozen=True)
class RequestInputs:
    """The inputs of requests: the model, the key set, and the SQL expression of a prediction."""

    trees: int
    keys: Sequence[Key]
    # With {model} and {columns}: "predict('{model}', {columns})".
    call: str = ""
    # Those of the first key's flight, in the model's order.
    features: Sequence[float] = ()

    def prediction(self, columns: str = COLUMNS, model: int = 0) -> str:
        """Returns the expression, by default over the table's columns."""
        name = model_name(self.trees, model)
        return self.call.format(model=name, columns=columns)

    @property
    def predictions(self) -> list[str]:
        """The expressions of several models."""
        return [self.prediction(model=model) for model in range(MODELS)]


@dataclass(frozen=True)
class Request:
    """A kind of request."""

    # The number of predictions per request.
    predictions: int
    # pgbench draws one of these scripts for each transaction.
    scripts: Callable[[RequestInputs], list[str]]
    # Called one after the other; empty for a request that is available in SQL only.
    paths: tuple[str, ...] = ()
    # One of these bodies is drawn for each POST; None for GET.
    bodies: Callable[[RequestInputs], list[Any]] | None = None
    # A program's statements in place of the scripts, with a body's values as parameters.
    statements: Callable[[RequestInputs], list[str]] | None = None
    # The number of models it uses.
    models: int = 1
    # Two load generators at once: the measured request, and the other's.
    beside: tuple[str, str] | None = None


def model_name(trees: int, model: int = 0) -> str:
    """Returns the name in the database of the model with that many trees, or of a further one."""
    return f"flights_{trees}" + (f"_{model}" if model else "")


def _one_row(expression: str, values: Sequence[object]) -> str:
    where = " AND ".join(f"{name} = {value}" for name, value in zip(NAMES, values, strict=True))
    return f"SELECT {expression} FROM flights WHERE {where} LIMIT 1"


def one(inputs: RequestInputs, values: Sequence[object]) -> str:
    """Returns the statement of one prediction; the key's parts may be numbers or placeholders."""
    return _one_row(inputs.prediction(), values)


def batch(inputs: RequestInputs, keys: Sequence[Key]) -> str:
    """Returns the statement of predictions for several keys, each with its key's index."""
    rows = ", ".join(str((place, *key)) for place, key in enumerate(keys))
    names = [f"k{index}" for index in range(len(NAMES))]
    return (
        f"SELECT place, {inputs.prediction()} FROM (VALUES {rows}) AS k(place, {', '.join(names)})"
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
    """Returns the pgbench commands that draw a key evenly and set a variable for each of its parts."""
    packed = [sum(p * n for p, n in zip(PLACES, key, strict=True)) for key in keys]
    lines = [f"\\set i random(0, {len(keys) - 1})", f"\\set key {_search_tree(packed)}"]
    for name, place, size in zip(NAMES, PLACES, SIZES, strict=True):
        lines.append(f"\\set {name} :key / {place} % {size}")
    return "\n".join(lines)


# A parameter of a program's statement: an index on real columns is not used for other types.
PARAMETER = "%s::real"


def given(inputs: RequestInputs, values: Sequence[str]) -> str:
    """Returns the statement of one prediction from features that are part of it."""
    return f"SELECT {inputs.prediction(', '.join(values))}"


def _given(inputs: RequestInputs) -> list[str]:
    """Sets the features as pgbench variables, which become parameters of prepared statements."""
    pairs = zip(FEATURES, inputs.features, strict=True)
    variables = [f"\\set {name} {value:g}" for name, value in pairs]
    return ["\n".join([*variables, given(inputs, [f":{name}::real" for name in FEATURES])])]


def _row(
    predictions: int,
    path: str | tuple[str, ...],
    expressions: Callable[[RequestInputs], list[str]],
    models: int = 1,
) -> Request:
    """Returns a request of one statement per expression over the hot row, or of HTTP calls."""

    def statements(inputs: RequestInputs, values: Sequence[object]) -> list[str]:
        return [_one_row(expression, values) for expression in expressions(inputs)]

    return Request(
        predictions,
        lambda inputs: [";\n".join(statements(inputs, inputs.keys[0]))],
        (path,) if isinstance(path, str) else path,
        lambda inputs: [inputs.keys[0]],
        lambda inputs: statements(inputs, [PARAMETER] * len(NAMES)),
        models,
    )


# One prediction, for the same flight each time, as in 2022.
HOT = _row(1, "/", lambda inputs: [inputs.prediction()])
# pgbench's built-in transactions: alone, during predictions at a fixed rate, and during measured predictions.
OLTP = Request(0, lambda _: [])

REQUESTS = {
    # A round trip only.
    "ping": Request(0, lambda _: ["SELECT 1"], ("/ping",)),
    # Looks up the flight without predicting: the same row, another column.
    "fetch": _row(0, "/features", lambda _: ["depdelayminutes"]),
    # Reads the ten features into a cheap function in place of the prediction.
    "columns": _row(0, (), lambda _: [f"array_length(ARRAY[{COLUMNS}], 1)"]),
    "hot": HOT,
    # One prediction, for a flight drawn evenly from the key set.
    "random": replace(
        HOT,
        scripts=lambda inputs: [f"{draw(inputs.keys)}\n{one(inputs, [f':{name}' for name in NAMES])}"],
        bodies=lambda inputs: [*inputs.keys],
    ),
    # Predictions for a hundred flights at once, one of ten sets.
    "batch": Request(
        PER_BATCH,
        lambda inputs: [batch(inputs, keys) for keys in timed_batches(inputs.keys)],
        ("/batch",),
        lambda inputs: timed_batches(inputs.keys),
    ),
    # One prediction from features in the request, without a lookup.
    "given": Request(
        1,
        _given,
        ("/given",),
        lambda inputs: [[*inputs.features]],
        lambda inputs: [given(inputs, [PARAMETER] * len(FEATURES))],
    ),
    # The predictions of three models for one flight, in one statement or call.
    "three": _row(MODELS, "/all", lambda inputs: [", ".join(inputs.predictions)], MODELS),
    # The same by a statement or a call for each model.
    "three_calls": _row(
        MODELS, tuple(f"/{model}" for model in range(MODELS)), lambda inputs: inputs.predictions, MODELS
    ),
    "oltp": OLTP,
    "oltp_beside_hot": replace(OLTP, paths=("/",), beside=("oltp", "hot")),
    "hot_beside_oltp": replace(HOT, beside=("hot", "oltp")),
}  # fmt: skip
