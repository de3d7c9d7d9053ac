"""Compares the systems' answers before anything is timed.

All score the same rows with the same model, so their answers must be equal bit for bit. The
reference is XGBoost's `Booster.predict` on the features of the keys' flights.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import xgboost
from numpy.typing import NDArray

from bench.results import Checked
from data.columns import FEATURES
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
