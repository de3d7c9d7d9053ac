"""Compares predictions of the database, which are `real`, with Python's, rounded to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import PredictionsDifferError


@dataclass(frozen=True)
class Tolerance:
    """The largest difference from Python's number: `atol + rtol * abs(number)`, as in `numpy.isclose`.

    Classes whose values differ by at most `tie` count as equal.
    """

    rtol: float = 0.0
    atol: float = 0.0
    tie: float = 0.0

    def of(self, values: Any) -> Any:
        import numpy as np

        size = np.where(np.isfinite(values), np.abs(values), 0)
        return self.atol + self.rtol * size


EXACT = Tolerance()


@dataclass(frozen=True)
class Difference:
    """A row for which the database and Python differ: its values, and the classes if these differ."""

    row: int
    in_sql: Any
    in_python: Any

    def __str__(self) -> str:
        return f"row {self.row:,}: {_shown(self.in_sql)} in SQL, {_shown(self.in_python)} in Python"


@dataclass(frozen=True)
class Verification:
    """The result of a comparison, true unless a row differs by more than the tolerance.

    `differing` counts the rows with another bit, `beyond` those with a larger difference than the tolerance,
    or another class that no such difference explains; `first` is the first of those. `classes_differing`
    counts the rows of another class, and `worst` is the row with the largest difference. Of a table, `form`
    is the form of the features that differs most: by columns, by row or as jsonb.
    """

    rows: int
    differing: int
    beyond: int
    classes_differing: int
    largest_absolute: float
    largest_relative: float
    first: Difference | None
    worst: Difference | None
    form: str = ""

    def __bool__(self) -> bool:
        return self.beyond == 0

    def __str__(self) -> str:
        if not self.differing and not self.classes_differing:
            return f"{self.rows:,} rows: all the same"
        form = f" {self.form}" if self.form else ""
        verdict = f"{self.beyond:,} beyond the tolerance" if self.beyond else "within the tolerance"
        return (
            f"{self.rows:,} rows{form}, {verdict}: {self.differing:,} differ in a digit,"
            f" {self.classes_differing:,} in their class; largest difference"
            f" {self.largest_absolute:.3g}, relative {self.largest_relative:.3g}; worst {self.worst}"
        )


@dataclass(frozen=True)
class Predictions:
    """Values of shape `(rows, outputs)`, and of a classifier the class of each row and all classes.

    Of two classes, the value is the second's, which a row has above `cut`.
    """

    values: Any
    classes: Sequence[str] = ()
    labels: Sequence[str] = ()
    cut: float = 0.5

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]], width: int) -> Predictions:
        """Returns the predictions of rows of values and, if `width` is 2, classes."""
        return cls(*([row[place] for row in rows] for place in range(width)))


def compared(ours: Predictions, theirs: Predictions, tolerance: Tolerance) -> Verification:
    """Compares the database's predictions with Python's, whose classes go by the same labels."""
    import numpy as np

    found = np.asarray(ours.values, np.float32).reshape(len(ours.values), -1)
    expected = np.asarray(theirs.values).astype(np.float32).reshape(len(found), -1)
    if found.shape != expected.shape:
        raise PredictionsDifferError(
            f"the model has {expected.shape[1]} outputs, and the database's version {found.shape[1]}"
        )
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        absolute = np.abs(found.astype(np.float64) - expected)
        absolute[np.isnan(absolute)] = np.inf
        absolute[same] = 0
        relative = np.where(same, 0, absolute / np.abs(expected))
    far = (absolute > tolerance.of(expected.astype(np.float64))).any(axis=1)
    other = np.array([a != b for a, b in zip(ours.classes, theirs.classes, strict=True)], bool)
    if len(other):
        far |= other & ~_tied(expected, ours.classes, theirs, tolerance)
    else:
        other = np.zeros(len(found), bool)
    # Of two rows as far apart, one of another class is worse.
    badness = np.where(other & far, np.inf, absolute.max(axis=1, initial=0))

    def difference(row: int) -> Difference:
        if other[row] and far[row]:
            sql, python = (
                (side.classes[row], *values[row].tolist())
                for side, values in ((ours, found), (theirs, expected))
            )
            return Difference(row, sql, python)
        return Difference(row, found[row].tolist(), expected[row].tolist())

    differs = ~same.all(axis=1)
    return Verification(
        rows=len(found),
        differing=int(differs.sum()),
        beyond=int(far.sum()),
        classes_differing=int(other.sum()),
        largest_absolute=float(absolute.max(initial=0)),
        largest_relative=float(relative.max(initial=0)),
        first=difference(int(far.argmax())) if far.any() else None,
        worst=difference(int(badness.argmax())) if (differs | other).any() else None,
    )


def _tied(expected: Any, found: Sequence[str], theirs: Predictions, tolerance: Tolerance) -> Any:
    """Returns for each row whether Python's values of the two classes are within the tolerance."""
    import numpy as np

    if tolerance == EXACT:
        return np.zeros(len(expected), bool)
    margin = 2 * tolerance.of(expected).max(axis=1) + tolerance.tie
    if expected.shape[1] == 1:
        return np.abs(expected[:, 0] - theirs.cut) <= margin
    place = {label: index for index, label in enumerate(theirs.labels)}
    rows = np.arange(len(expected))
    ours = expected[rows, [place.get(label, -1) for label in found]]
    best = expected[rows, [place[label] for label in theirs.classes]]
    return np.abs(ours - best) <= margin


def _shown(values: Any) -> str:
    if isinstance(values, (list, tuple)):
        shown = [_shown(value) for value in values[:4]] + ["..."] * (len(values) > 4)
        return shown[0] if len(values) == 1 else f"({', '.join(shown)})"
    return f"{values:.9g}" if isinstance(values, float) else repr(values)
