"""What can be asked of a system: each kind of request as pgbench's scripts and as an HTTP request.

The statements are those of sql/, for any key and model. A script for random keys needs a key
of the set from a random number without asking the database, which would be work
that the service is spared: it is a search tree in pgbench's own expressions, fourteen
comparisons deep for 10,000 keys.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.key_set import PER_BATCH, timed_batches
from data.columns import FEATURES
from python_baseline.keys import NAMES, Key

COLUMNS = ", ".join(FEATURES)
# A key in one number: origin, year, month and day, two or four digits each.
PLACES = (100_000_000, 10_000, 100, 1)
SIZES = (100_000, 10_000, 100, 100)


@dataclass(frozen=True)
class Asked:
    """What requests are made of: the model, the key set, and the SQL expression of a prediction."""

    trees: int
    keys: Sequence[Key]
    # With {model} and {columns}: "predict('{model}', {columns})".
    call: str = ""

    @property
    def prediction(self) -> str:
        """The expression for a row of the table."""
        return self.call.format(model=model_name(self.trees), columns=COLUMNS)


@dataclass(frozen=True)
class Request:
    """A kind of request."""

    # How many predictions it asks for.
    predictions: int
    # The scripts of which pgbench draws one for each transaction.
    scripts: Callable[[Asked], list[str]]
    # None: it can be asked for in SQL alone.
    path: str | None = None
    # The bodies of which one is drawn for each POST; None: a GET.
    bodies: Callable[[Asked], list[Any]] | None = None


def model_name(trees: int) -> str:
    """What the model of that many trees is called in the database."""
    return f"flights_{trees}"


def _one_row(expression: str, values: Sequence[object]) -> str:
    where = " AND ".join(f"{name} = {value}" for name, value in zip(NAMES, values, strict=True))
    return f"SELECT {expression} FROM flights WHERE {where} LIMIT 1"


def one(asked: Asked, values: Sequence[object]) -> str:
    """One prediction; the key's parts may be numbers or placeholders."""
    return _one_row(asked.prediction, values)


def batch(asked: Asked, keys: Sequence[Key]) -> str:
    """Predictions for several keys, each with its key's place, counted from 0."""
    rows = ", ".join(str((place, *key)) for place, key in enumerate(keys))
    names = [f"k{index}" for index in range(len(NAMES))]
    return (
        f"SELECT place, {asked.prediction} FROM (VALUES {rows}) AS k(place, {', '.join(names)})"
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


def _random(asked: Asked) -> list[str]:
    return [f"{draw(asked.keys)}\n{one(asked, [f':{name}' for name in NAMES])}"]


# Each of the first four has a part more than the one before.
REQUESTS = {
    # There and back, and nothing else.
    "ping": Request(0, lambda _: ["SELECT 1"], "/ping"),
    # A flight found, nothing predicted: the same row, another column.
    "fetch": Request(
        0,
        lambda asked: [_one_row("depdelayminutes", asked.keys[0])],
        "/features",
        lambda asked: [asked.keys[0]],
    ),
    # The ten features handed to a function that costs nothing in place of the prediction.
    "columns": Request(
        0, lambda asked: [_one_row(f"array_length(ARRAY[{COLUMNS}], 1)", asked.keys[0])]
    ),
    # One prediction, for the same flight each time, as in 2022.
    "hot": Request(
        1, lambda asked: [one(asked, asked.keys[0])], "/", lambda asked: [asked.keys[0]]
    ),
    # One prediction, for a flight drawn evenly from the key set.
    "random": Request(1, _random, "/", lambda asked: [*asked.keys]),
    # Predictions for a hundred flights at once, one of ten such sets.
    "batch": Request(
        PER_BATCH,
        lambda asked: [batch(asked, keys) for keys in timed_batches(asked.keys)],
        "/batch",
        lambda asked: timed_batches(asked.keys),
    ),
}
