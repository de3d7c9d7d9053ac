"""Models of XGBoost with its predictions, the queries that read them, and the possible states of a model.

Each model has one writer. Whoever reads notes the last state that was acknowledged before a statement: the
answer must be that of this state, or of a later one that had begun by the end of the statement.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psycopg
import xgboost as xgb

from tests.extension.long.identities import EXTENSION_OWNER, Refused, Registry

ROWS, FEATURES = 1000, 6
FILES = 12
NAMES = [f"f{number + 1}" for number in range(FEATURES)]
GUEST = "guest"


@dataclass
class Answers:
    """The rows, and by file what XGBoost predicts for each."""

    rows: np.ndarray
    target: np.ndarray
    files: list[bytes] = field(default_factory=list)
    margins: list[np.ndarray] = field(default_factory=list)
    leaves: list[np.ndarray] = field(default_factory=list)
    contributions: list[np.ndarray] = field(default_factory=list)
    interactions: list[np.ndarray] = field(default_factory=list)

    @classmethod
    def trained(cls) -> "Answers":
        """Trains the models."""
        random = np.random.default_rng(1)
        rows = random.normal(size=(ROWS, FEATURES)).astype(np.float32)
        rows[random.random(rows.shape) < 0.05] = np.nan
        found = cls(rows, np.nan_to_num(rows).sum(axis=1))
        for number in range(FILES):
            noise = random.normal(size=ROWS) * (1 + number)
            data = xgb.DMatrix(rows, label=found.target + noise, feature_names=NAMES)
            booster = xgb.train({"max_depth": 5, "nthread": 1}, data, 40)
            found.files.append(bytes(booster.save_raw("ubj")))
            found.margins.append(booster.predict(data, output_margin=True))
            found.leaves.append(booster.predict(data, pred_leaf=True).astype(int))
            found.contributions.append(booster.predict(data, pred_contribs=True))
            found.interactions.append(booster.predict(data, pred_interactions=True))
        return found

    def store(self, connection: psycopg.Connection) -> None:
        """Makes the table `rows`, whose ids count from 1."""
        columns = ", ".join(f"{name} real" for name in NAMES)
        connection.execute(f"CREATE TABLE rows (id integer PRIMARY KEY, {columns}, y real)")
        with connection.cursor().copy("COPY rows FROM STDIN") as copy:
            for number, (row, target) in enumerate(zip(self.rows, self.target, strict=True), 1):
                numbers = [None if np.isnan(one) else float(one) for one in (*row, target)]
                copy.write_row([number, *numbers])

    def of(self, file: int, ids: list[int]) -> np.ndarray:
        """The predictions of a file for rows."""
        return self.margins[file][np.array(ids, int) - 1]

    def are_of(self, file: int, ids: list[int], found: list[float]) -> bool:
        """Whether these are the predictions of a file for rows, to the bit."""
        return np.array_equal(np.array(found, np.float32), self.of(file, ids))

    def are_about(self, explained: list[np.ndarray], file: int, row: int, found: list) -> bool:
        """Whether these are XGBoost's numbers that explain a row, which it sums in another order."""
        return np.allclose(found[0], explained[file][row - 1], rtol=1e-4, atol=1e-4)


class Ledger:
    """The states of a model, as registries of it alone, in their order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.states = [Registry(roles={GUEST, EXTENSION_OWNER})]
        self.acknowledged = 0
        # The file of each version there ever was, since numbers are not used again.
        self.files: dict[int, int] = {}

    def begin(self, state: Registry) -> None:
        """A state that may be committed from now on."""
        self.states.append(state)
        for model in state.rows.values():
            self.files |= {number: version.value for number, version in model.versions.items()}

    def settle(self, state: Registry) -> None:
        """The state that is committed, whatever was attempted."""
        if self.states[-1] is not state:
            self.states.append(state)
        self.acknowledged = len(self.states) - 1

    def possible(
        self,
        since: int,
        wanted: int | str | None = None,
        user: str = EXTENSION_OWNER,
        until: int | None = None,
    ) -> set[int | str]:
        """The files that may answer, or SQLSTATEs.

        Rows are of a state up to `until`, the number of states then, and privileges of it or a later one.
        """
        states = self.states[since:]
        return {
            _read(later, state, self.name, wanted, user)
            for place, state in enumerate(self.states[since:until])
            for later in states[place:]
        }


def _read(
    now: Registry, snapshot: Registry, name: str, wanted: int | str | None, user: str
) -> int | str:
    try:
        model, number = now.read(snapshot.rows, user, name, wanted)
    except Refused as refused:
        return refused.args[0]
    return model.versions[number].value


COLUMNS = ", ".join(NAMES)
# Each is a query with a row for each id in their order, unless it has a check below.
FIRST = "FROM rows AS r WHERE id <= %(count)s"
SHAPES = {
    "one": f"SELECT predict({{m}}, {COLUMNS}) FROM rows WHERE id = %(id)s",
    "array": f"SELECT predict({{m}}, ARRAY[{COLUMNS}]) FROM rows WHERE id = %(id)s",
    "jsonb": "SELECT predict({m}, to_jsonb(r)) FROM rows AS r WHERE id = %(id)s",
    "scan": f"SELECT predict({{m}}, {COLUMNS}) {FIRST} ORDER BY id",
    "limit": f"SELECT predict({{m}}, {COLUMNS}) FROM rows ORDER BY id LIMIT %(count)s",
    "row": f"SELECT predict({{m}}, r) {FIRST} ORDER BY id",
    "any": f"SELECT predict({{m}}, {COLUMNS}) FROM rows WHERE id = ANY(%(ids)s) ORDER BY id",
    "join": "SELECT predict({m}, r) FROM rows AS r JOIN generate_series(1, %(count)s) AS i ON i = id"
    " ORDER BY id",
    "margin": f"SELECT (predict_margin({{m}}, {COLUMNS}))[1] {FIRST} ORDER BY id",
    "matrix": f"SELECT unnest(predict_batch({{m}}, array_agg(ARRAY[{COLUMNS}] ORDER BY id)))"
    " FROM rows WHERE id <= %(count)s",
    "many": f"SELECT min(p) FROM (SELECT id, predict({{m}}, {COLUMNS}) AS p FROM rows,"
    " generate_series(1, 20) WHERE id <= %(count)s) AS s GROUP BY id HAVING min(p) = max(p) ORDER BY id",
    "where": f"SELECT predict({{m}}, {COLUMNS}) {FIRST} AND predict({{m}}, {COLUMNS}) > 0 ORDER BY id",
    "top": f"SELECT predict({{m}}, {COLUMNS}) AS p {FIRST} ORDER BY p DESC LIMIT 10",
    "groups": f"SELECT max(predict({{m}}, r)) {FIRST} GROUP BY id %% 10 ORDER BY id %% 10",
    "leaves": f"SELECT predict_leaf({{m}}, {COLUMNS}) FROM rows WHERE id = %(id)s",
    "contributions": f"SELECT predict_contribs({{m}}, {COLUMNS}) FROM rows WHERE id = %(id)s",
    "interactions": f"SELECT predict_interactions({{m}}, {COLUMNS}) FROM rows WHERE id = %(id)s",
    "metric": "SELECT value FROM evaluate_model("
    "{m}, format('SELECT * FROM rows WHERE id <= %%s', %(count)s::int), 'y') WHERE metric = 'mse'",
    "info": "SELECT model_info({m}) ->> 'sha256' WHERE %(id)s > 0",
    "file": "SELECT export_model({m}) WHERE %(id)s > 0",
}  # fmt: skip
OF_ONE = ("one", "array", "jsonb", "leaves", "contributions", "interactions", "info", "file")
# For the model's owner alone.
OF_OWNER = ("file",)


def _where(answers: Answers, file: int, ids: list[int], found: list) -> bool:
    values = answers.of(file, ids)
    return np.array_equal(np.array(found, np.float32), values[values > 0])


def _top(answers: Answers, file: int, ids: list[int], found: list) -> bool:
    return np.array_equal(np.array(found, np.float32), np.sort(answers.of(file, ids))[::-1][:10])


def _groups(answers: Answers, file: int, ids: list[int], found: list) -> bool:
    values, groups = answers.of(file, ids), np.array(ids) % 10
    largest = [values[groups == group].max() for group in np.unique(groups)]
    return np.array_equal(np.array(found, np.float32), largest)


def _metric(answers: Answers, file: int, ids: list[int], found: list) -> bool:
    targets = np.float64(np.float32(answers.target[np.array(ids) - 1]))
    return np.allclose(found, [np.mean((answers.of(file, ids) - targets) ** 2)], rtol=1e-9)


CHECKS: dict[str, Callable[[Answers, int, list[int], list], bool]] = {
    "where": _where, "top": _top, "groups": _groups, "metric": _metric,
    "leaves": lambda a, file, ids, found: found[0] == a.leaves[file][ids[0] - 1].tolist(),
    "contributions": lambda a, file, ids, found: a.are_about(a.contributions, file, ids[0], found),
    "interactions": lambda a, file, ids, found: a.are_about(a.interactions, file, ids[0], found),
    "info": lambda a, file, _, found: found == [hashlib.sha256(a.files[file]).hexdigest()],
    "file": lambda a, file, _, found: found == [a.files[file]],
}  # fmt: skip


def is_right(shape: str, answers: Answers, file: int, ids: list[int], found: Any) -> bool:
    """Whether a file gives what a query of a shape returned for rows."""
    return CHECKS.get(shape, Answers.are_of)(answers, file, ids, found)
