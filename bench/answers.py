"""Compares the systems' answers before anything is timed.

All score the same rows with the same model, so their answers must be equal bit for bit. The
reference is XGBoost's `Booster.predict` on the features of the keys' flights.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

from bench.requests import BEST, RANKINGS, REQUESTS, RequestInputs
from bench.results import Checked
from data.columns import FEATURES
from data.ranking import SIZES
from python_baseline.keys import Key

Answers = NDArray[np.float32]


class Unequal(Exception):
    """Systems disagree: nothing may be timed."""


def single_precision(numbers: Sequence[float]) -> Answers:
    """Converts to 32-bit floats; raises if that loses a bit."""
    exact = np.array(numbers, dtype=np.float64)
    rounded = exact.astype(np.float32)
    if not np.array_equal(exact, rounded.astype(np.float64)):
        raise Unequal("an answer is not a number of 32 bits")
    return rounded


def expected(model: Path, rows: NDArray[np.float32]) -> Answers:
    """Returns XGBoost's predictions for rows of features."""
    booster = xgboost.Booster(model_file=model)
    return booster.predict(xgboost.DMatrix(rows, feature_names=FEATURES))


def _bits(answers: Answers) -> NDArray[np.uint32]:
    """Views answers as integers, one row per key."""
    return np.ascontiguousarray(answers, dtype=np.float32).view(np.uint32).reshape(len(answers), -1)


def compare(
    trees: int, keys: Sequence[Key], wanted: Answers, given: Mapping[str, Answers]
) -> Checked:
    """Raises unless all answers equal the reference; a system may answer the first keys only.

    `wanted` has the shape (keys,) or (keys, models); answers have a column for each of the first models.
    """
    for name, answers in given.items():
        if not 0 < len(answers) <= len(keys):
            raise Unequal(f"{name}: {len(answers)} answers to {len(keys)} keys")
        bits = _bits(answers)
        right = _bits(wanted)[: len(bits), : bits.shape[1]]
        different = np.flatnonzero((bits != right).any(axis=1))
        if len(different):
            first = different[0]
            raise Unequal(
                f"{name}: {len(different)} of {len(bits)} answers differ from XGBoost's;"
                f" to {[*keys[first]]} it is {answers[first]}, not {wanted[first]}"
            )
    return Checked(trees, len(keys), {name: len(answers) for name, answers in given.items()})


# The bodies of each further request that are compared.
BODIES = 200


class Reference:
    """XGBoost's answers to requests, by the models of a phase; the first is the one of every request."""

    def __init__(
        self, models: Sequence[Path], inputs: RequestInputs, rows: NDArray[np.float32]
    ) -> None:
        self._inputs, self._rows = inputs, rows
        self._first = xgboost.Booster(model_file=models[0])
        # The predictions of each key's flight, a column for each model.
        self.of_keys = np.stack([expected(model, rows) for model in models], axis=1)

    def bodies(self, name: str) -> list[Any]:
        """Returns the bodies of a request whose answers are compared."""
        if name == "given":
            return self._rows[:BODIES].tolist()
        return REQUESTS[name].bodies(self._inputs)[:BODIES]

    def answers(self, name: str, bodies: Sequence[Any]) -> list[list[float]]:
        """Returns a flat list of numbers for each body."""
        if name == "given":
            return self.of_keys[: len(bodies), :1].tolist()
        if name == "tenants":
            place = {key: number for number, key in enumerate(self._inputs.keys)}
            return [[float(self.of_keys[place[*body[1:]], body[0]])] for body in bodies]
        return [self._ranked(name, body) for body in bodies]

    def _ranked(self, name: str, body: Sequence[Any]) -> list[float]:
        """Returns the best ids and their scores; of equal scores the smaller ids are first."""
        ranking = self._inputs.ranking
        trip, last = body[1:-1] or ranking.trips[body[0]], body[-1]
        size = int(name.removeprefix("rank_")) if name in RANKINGS else SIZES[0]
        ids = np.sort(last) if isinstance(last, list) else ranking.members[size][last]
        rows = xgboost.DMatrix(ranking.rows(trip, ids), feature_names=FEATURES)
        scores = self._first.predict(rows)
        order = np.lexsort((ids, -scores))[:BEST]
        pairs = zip(ids[order].tolist(), scores[order].tolist(), strict=True)
        return [*chain.from_iterable(pairs)]


def flat(answer: Any) -> list[float]:
    """Returns the numbers of an answer: a number, or lists of them."""
    if isinstance(answer, list | tuple):
        return [number for one in answer for number in flat(one)]
    return [answer]


def compare_further(
    way: str, bodies: Sequence[Any], wanted: Sequence[list[float]], given: Sequence[list[float]]
) -> int:
    """Raises unless all answers equal the reference to the bit; returns their number."""
    for body, right, answer in zip(bodies, wanted, given, strict=True):
        if _bits(np.array(right)).tolist() != _bits(np.array(answer)).tolist():
            raise Unequal(f"{way}: the answer to {body} is {answer}, not XGBoost's {right}")
    return len(bodies)
