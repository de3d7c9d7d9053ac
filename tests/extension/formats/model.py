"""A model of a library, its rows, and the library's predictions for them."""

from dataclasses import dataclass

import numpy as np

# Rows of which the tests compare leaves.
LEAVES = 500


@dataclass(frozen=True)
class Model:
    """`kinds` has the SQL types of the columns; margins and values are the library's, one row each.

    A library that gives no margins has none; classes are those that it names.
    """

    name: str
    file: bytes
    kinds: dict[str, str]
    rows: list[list]
    margins: np.ndarray | None
    values: np.ndarray
    classes: list[str] | None = None


@dataclass(frozen=True)
class Predictions:
    """A library's predictions: leaves of the first LEAVES rows, and classes where the model has some."""

    margins: np.ndarray
    values: np.ndarray
    leaves: list[list[int]]
    classes: list[str] | None = None
