"""The queries of a stranger's week by which connections read a model, and what each must return."""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.extension.long.answers import NAMES, Answers

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
