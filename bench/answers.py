"""Compares the systems' answers before anything is timed.

All score the same rows with the same model, so their answers must be equal bit for bit. The
reference is XGBoost's `Booster.predict` on the features of the keys' flights.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

from bench.key_set import split
from bench.requests import BEST, RANKINGS, REQUESTS, RequestInputs
from data.columns import FEATURES
from data.ranking import SIZES

# The bodies of each request that are compared, but for those of drawn keys and of batches.
BODIES = 200

# The numbers of each answer.
Answers = list[list[float]]


class Unequal(Exception):
    """Systems disagree: nothing may be timed."""


def flat(answer: Any) -> list[float]:
    """Returns the numbers of an answer: a number, or lists of them."""
    if isinstance(answer, list | tuple):
        return [number for one in answer for number in flat(one)]
    return [answer]


def compare(
    way: str, bodies: Sequence[Any], wanted: Answers, given: Answers, exact: bool = False
) -> None:
    """Raises unless all answers equal the reference to the bit; `exact` ones are not rounded to 32 bits."""
    if len(given) != len(bodies):
        raise Unequal(f"{way}: {len(given)} answers to {len(bodies)} requests")
    kind = np.float64 if exact else np.float32
    bits = ([np.array(one, kind).tobytes() for one in answers] for answers in (wanted, given))
    different = [place for place, (a, b) in enumerate(zip(*bits, strict=True)) if a != b]
    if different:
        first = different[0]
        raise Unequal(
            f"{way}: {len(different)} of {len(bodies)} answers differ from XGBoost's;"
            f" to {bodies[first]} it is {given[first]}, not {wanted[first]}"
        )


class Reference:
    """XGBoost's answers to requests, by the models of a phase; the first is the one of every request."""

    def __init__(
        self, models: Sequence[Path], inputs: RequestInputs, rows: NDArray[np.float32], alone: int
    ) -> None:
        """Takes the rows of the keys' flights, and the number of keys that are asked one at a time."""
        self._inputs, self._rows, self._alone = inputs, rows, alone
        boosters = [xgboost.Booster(model_file=model) for model in models]
        self._first = boosters[0]
        matrix = xgboost.DMatrix(rows, feature_names=FEATURES)
        # The predictions of each key's flight, by model.
        self.of_keys = [booster.predict(matrix).tolist() for booster in boosters]

    def bodies(self, name: str) -> list[Any]:
        """Returns the bodies of a request whose answers are compared."""
        keys = [[*key] for key in self._inputs.keys]
        known = {"random": keys[: self._alone], "batch": split(keys)}
        if name in known:
            return known[name]
        if name == "given":
            return self._rows[:BODIES].tolist()
        return REQUESTS[name].bodies(self._inputs)[:BODIES]

    def answers(self, name: str, bodies: Sequence[Any]) -> Answers:
        """Returns a flat list of numbers for each body."""
        first = self.of_keys[0]
        if name == "batch":
            return split(first)
        if name in ("random", "given"):
            return split(first[: len(bodies)], 1)
        if name == "tenants":
            place = {key: number for number, key in enumerate(self._inputs.keys)}
            return [[self.of_keys[body[0]][place[*body[1:]]]] for body in bodies]
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
