"""The kinds of requests, each as pgbench scripts, a program's statement, and an HTTP call.

Every value is a parameter: of pgbench's prepared and extended protocol, and of a program; the simple protocol
has it in the statement's text. A key is drawn by a search tree of pgbench expressions, fourteen comparisons
deep for 10,000 keys, because a query for it would be work that the service does not have. Arrays are
variables of pgbench's command line, ten of each kind.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

import numpy as np

from bench.key_set import PER_BATCH, timed_batches
from data import world
from data.columns import FEATURES
from data.ranking import SIZES, TRIP, Ranking
from python_baseline.keys import NAMES, Key

COLUMNS = ", ".join(FEATURES)
# A key packed into one number: origin, year, month and day, two or four digits each.
PLACES = (100_000_000, 10_000, 100, 1)
PARTS = (100_000, 10_000, 100, 100)
# The models of a request by tenant, the numbers of tenants, and the best offers that come back.
MODELS = 50
BEST = 10
IDS = 100
# The bodies that HTTP draws from, and the arrays that both sides draw from.
BODIES, LISTS = 2_000, 10


@dataclass(frozen=True)
class RequestInputs:
    """The inputs of requests: the model, the key set, and the SQL expression of a prediction."""

    trees: int
    keys: Sequence[Key]
    # With {model} and {columns}: "predict({model}, {columns})"; the model is an expression.
    call: str = ""
    # Those of the first key's flight, in the model's order.
    features: Sequence[float] = ()
    ranking: Ranking | None = None

    def prediction(self, columns: str = COLUMNS, model: str = "") -> str:
        """Returns the expression, by default over the table's columns with the first model."""
        return self.call.format(model=model or f"'{model_name(self.trees)}'", columns=columns)

    def draws(self, most: int, *key: int) -> list[int]:
        """Returns numbers below `most` for the bodies, the same for every system."""
        return (world.words(BODIES, 5, *key) % np.uint64(most)).tolist()


# A statement for placeholders, one for each value.
Statement = Callable[[RequestInputs, Sequence[str]], str]


@dataclass(frozen=True)
class Request:
    """A kind of request, whose body is the list of its values."""

    # The number of predictions per request.
    predictions: int
    statement: Statement
    # pgbench's variables for the values, and the types that a program's parameters are cast to.
    names: Sequence[str] = ()
    types: Sequence[str] = ()
    # The pgbench commands that set the variables.
    draw: Callable[[RequestInputs], str] = lambda _: ""
    # Values of each script's arrays, by the variables' names; pgbench draws one of the scripts.
    arrays: Callable[[RequestInputs], list[dict[str, Sequence[float]]]] = lambda _: [{}]
    # Of the HTTP call; {0} stands for the first value, which the body then lacks.
    path: str | None = None
    # One of these bodies is drawn for each POST; None for GET.
    bodies: Callable[[RequestInputs], list[Any]] | None = None
    # Whether SQL has no flat list of values for a body.
    values: Callable[[Any], list[Any]] = list
    # The number of models it uses.
    models: int = 1

    def scripts(self, inputs: RequestInputs) -> list[str]:
        """Returns pgbench's scripts, one for each of the arrays."""
        found = []
        for place, arrays in enumerate(self.arrays(inputs)):
            names = [f"{name}_{place}" if name in arrays else name for name in self.names]
            types = self.types or [""] * len(names)
            casts = [
                f":{name}::{of}" if of.endswith("[]") or of == "real" else f":{name}"
                for name, of in zip(names, types, strict=True)
            ]
            found.append(f"{self.draw(inputs)}\n{self.statement(inputs, casts)}".strip())
        return found

    def variables(self, inputs: RequestInputs) -> dict[str, str]:
        """Returns the arrays of all scripts as PostgreSQL writes them, by pgbench's variables."""
        return {
            f"{name}_{place}": "{" + ",".join(f"{value:g}" for value in values) + "}"
            for place, arrays in enumerate(self.arrays(inputs))
            for name, values in arrays.items()
        }

    def program(self, inputs: RequestInputs) -> str:
        """Returns the statement for a program, whose parameters have types, and are named by their place."""
        return self.statement(inputs, [f"%({n})s::{of}" for n, of in enumerate(self.types)])

    def parameters(self, body: Any) -> dict[str, Any]:
        """Returns the parameters of a program's statement."""
        return {str(place): value for place, value in enumerate(self.values(body))}

    def call(self, body: Any) -> tuple[str, Any]:
        """Returns the path and the JSON of a body."""
        if "{0}" in self.path:
            return self.path.format(body[0]), body[1:]
        return self.path, body


def model_name(trees: int, model: int = 0) -> str:
    """Returns the name in the database of the model with that many trees, or of a tenant's."""
    return f"flights_{trees}" + (f"_{model}" if model else "")


def one_row(expression: str, values: Sequence[object]) -> str:
    """Returns the statement of an expression over a key's flight."""
    where = " AND ".join(f"{name} = {value}" for name, value in zip(NAMES, values, strict=True))
    return f"SELECT {expression} FROM flights WHERE {where} LIMIT 1"


def _search_tree(packed: Sequence[int], first: int = 0) -> str:
    if len(packed) == 1:
        return str(packed[0])
    middle = len(packed) // 2
    left = _search_tree(packed[:middle], first)
    right = _search_tree(packed[middle:], first + middle)
    return f"CASE WHEN :i < {first + middle} THEN {left} ELSE {right} END"


def draw_key(inputs: RequestInputs) -> str:
    """Returns the pgbench commands that draw a key evenly and set a variable for each of its parts."""
    packed = [sum(p * n for p, n in zip(PLACES, key, strict=True)) for key in inputs.keys]
    lines = [f"\\set i random(0, {len(packed) - 1})", f"\\set key {_search_tree(packed)}"]
    for name, place, size in zip(NAMES, PLACES, PARTS, strict=True):
        lines.append(f"\\set {name} :key / {place} % {size}")
    return "\n".join(lines)


def _of_key(predictions: int, path: str, expression: Callable[[RequestInputs], str]) -> Request:
    """Returns a request over the flight of a drawn key."""
    return Request(
        predictions, lambda inputs, values: one_row(expression(inputs), values), NAMES,
        ["real"] * len(NAMES), draw_key, path=path, bodies=lambda inputs: [*map(list, inputs.keys)],
    )  # fmt: skip


def _batch(inputs: RequestInputs, values: Sequence[str]) -> str:
    """Returns the statement of predictions for several keys, in their order."""
    names = [f"k{index}" for index in range(len(NAMES))]
    flight = one_row(COLUMNS, [f"k.{name}" for name in names])
    return (
        f"SELECT {inputs.prediction()} FROM unnest({', '.join(values)}) WITH ORDINALITY"
        f" AS k({', '.join(names)}, place) CROSS JOIN LATERAL ({flight}) f ORDER BY place"
    )


def _lists(names: Sequence[str], lists: Sequence[Any]) -> list[dict[str, Sequence[float]]]:
    return [dict(zip(names, one, strict=True)) for one in lists]


def _pairs(first: Iterable[Any], second: Iterable[Any]) -> list[list[Any]]:
    return [[*pair] for pair in zip(first, second, strict=True)]


def ranked(inputs: RequestInputs, trips: str, where: str) -> str:
    """Returns the statement of the best offers for the trip of the source `trips`."""
    columns = [f"t.{name}" if name in TRIP else f"o.{name}" for name in FEATURES]
    return (
        f"SELECT o.id, {inputs.prediction(', '.join(columns))} AS score FROM {trips}, offers o"
        f" WHERE {where} ORDER BY score DESC, o.id LIMIT {BEST}"
    )


def _categories(inputs: RequestInputs, size: int) -> int:
    return len(inputs.ranking.members[size])


def _draw_trip(inputs: RequestInputs, size: int, first: int = 0) -> str:
    count = inputs.ranking.count
    return (
        f"\\set trip random({first * count}, {(first + 1) * count - 1})\n"
        f"\\set category random(0, {_categories(inputs, size) - 1})"
    )


def _rank(size: int) -> Request:
    """Returns a request for the best offers of a category of this size."""
    return Request(
        size,
        lambda inputs, values: ranked(
            inputs, "trips t", f"t.id = {values[0]} AND o.c{size} = {values[1]}"
        ),
        ("trip", "category"), ("int", "int"), lambda inputs: _draw_trip(inputs, size),
        path=f"/rank/{size}",
        bodies=lambda inputs: _pairs(
            inputs.draws(inputs.ranking.count, 1), inputs.draws(_categories(inputs, size), 2)
        ),
    )  # fmt: skip


def _ids(inputs: RequestInputs) -> list[list[int]]:
    """Returns the lists of distinct ids that requests bring along."""
    every = len(inputs.ranking.offers)
    orders = (np.argsort(world.words(every, 6, place), kind="stable") for place in range(LISTS))
    return [order[:IDS].tolist() for order in orders]


def _written(inputs: RequestInputs) -> list[list[int]]:
    """Returns bodies of new features: a copy of a trip, its features, and a category."""
    count, size = inputs.ranking.count, SIZES[0]
    trips, categories = inputs.draws(count, 3), inputs.draws(_categories(inputs, size), 4)
    months, days = inputs.draws(12, 5), inputs.draws(28, 6)
    return [
        [count + trip, 2019, 1 + month // 3, 1 + month, 1 + day % 7, 1 + day, category]
        for trip, month, day, category in zip(trips, months, days, categories, strict=True)
    ]


def _fresh(inputs: RequestInputs, values: Sequence[str]) -> str:
    new = ", ".join(f"{name} = {value}" for name, value in zip(TRIP, values[1:-1], strict=True))
    update = f"UPDATE trips SET {new} WHERE id = {values[0]} RETURNING *"
    return f"WITH t AS ({update}) " + ranked(inputs, "t", f"o.c{SIZES[0]} = {values[-1]}")


def _draw_written(inputs: RequestInputs) -> str:
    return "\n".join([
        _draw_trip(inputs, SIZES[0], 1), "\\set month random(1, 12)", "\\set dayofmonth random(1, 28)",
        "\\set year 2019", "\\set quarter (:month + 2) / 3", "\\set dayofweek 1 + :dayofmonth % 7",
    ])  # fmt: skip


def _tenant(inputs: RequestInputs, values: Sequence[str]) -> str:
    model = f"'{model_name(inputs.trees)}_' || {values[0]}"
    return one_row(inputs.prediction(model=model), values[1:])


RANKINGS = {f"rank_{size}": _rank(size) for size in SIZES}
REQUESTS = {
    # A round trip only.
    "ping": Request(0, lambda *_: "SELECT 1", path="/ping"),
    # Looks up the flight without predicting: the same row, another column.
    "fetch": _of_key(0, "/features", lambda _: "depdelayminutes"),
    # One prediction, for a flight drawn evenly from the key set.
    "random": _of_key(1, "/", lambda inputs: inputs.prediction()),
    # Predictions for a hundred flights at once, one of ten sets.
    "batch": Request(
        PER_BATCH, _batch, NAMES, ["real[]"] * len(NAMES),
        arrays=lambda inputs: _lists(NAMES, [[*zip(*k, strict=True)] for k in timed_batches(inputs.keys)]),
        path="/batch", bodies=lambda inputs: [[[*key] for key in k] for k in timed_batches(inputs.keys)],
        values=lambda body: [[*column] for column in zip(*body, strict=True)],
    ),
    # One prediction from features in the request, without a lookup.
    "given": Request(
        1, lambda inputs, values: f"SELECT {inputs.prediction(', '.join(values))}", FEATURES,
        ["real"] * len(FEATURES),
        lambda inputs: "\n".join(
            f"\\set {name} {value:g}" for name, value in zip(FEATURES, inputs.features, strict=True)
        ),
        path="/given", bodies=lambda inputs: [[*inputs.features]],
    ),
    # The best ten of the offers of a category for a trip.
    **RANKINGS,
    # The best ten of a hundred offers whose ids are in the request.
    "rank_ids": Request(
        IDS, lambda inputs, values: ranked(
            inputs, "trips t", f"t.id = {values[0]} AND o.id = ANY({values[1]})"
        ),
        ("trip", "ids"), ("int", "int[]"),
        lambda inputs: f"\\set trip random(0, {inputs.ranking.count - 1})",
        arrays=lambda inputs: _lists(("ids",), [[ids] for ids in _ids(inputs)]), path="/rank_ids",
        bodies=lambda inputs: _pairs(
            inputs.draws(inputs.ranking.count, 1), islice(cycle(_ids(inputs)), BODIES)
        ),
    ),
    # A trip's features are written, and ten offers ranked with them, in one request.
    "fresh": Request(
        SIZES[0], _fresh, ("trip", *TRIP, "category"), ("int", *["real"] * len(TRIP), "int"), _draw_written,
        path="/fresh", bodies=_written,
    ),
    # One prediction by the model of a tenant, for a drawn key.
    "tenants": Request(
        1, _tenant, ("tenant", *NAMES), ("text", *["real"] * len(NAMES)),
        lambda inputs: f"\\set tenant random(1, {MODELS - 1})\n{draw_key(inputs)}",
        path="/{0}", models=MODELS,
        bodies=lambda inputs: [
            [1 + tenant, *inputs.keys[place % len(inputs.keys)]]
            for place, tenant in enumerate(inputs.draws(MODELS - 1, 7))
        ],
    ),
}  # fmt: skip
