"""A feature in front of the trees, as a function of one column of the table.

A split of the feature becomes a split of the column. Where the function ascends, the threshold moves to the
last double that the function sends left. The function may also turn and jump, as a square or a bin does: its
`turns` divide the column into intervals in each of which it is monotone, and bisection finds the ends of the
runs of numbers that go left. Each row goes the way that the function itself sends it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Feature:
    """A function of a column.

    `fill` replaces a missing value of the column itself. A number goes through `functions`. A category has
    a number in `table`, by its code; missing and unknown values have `missing`, which may be NaN, and
    `unknown`, without which they are an error. `refusal` is the reason why trees may not use the feature.
    `sparse` marks a column of a sparse matrix, which has no zeros, `single` one of `float32`. All features
    share `encoded`: by column, the categories of encoders.
    """

    column: int
    fill: Any = None
    functions: tuple[Function, ...] = ()
    turns: tuple[float, ...] = ()
    values: Sequence[Any] | None = None
    table: Any = None
    missing: float = np.nan
    unknown: float | None = None
    refusal: str | None = None
    sparse: bool = False
    single: bool = False
    encoded: dict[int, list[Any]] = field(default_factory=dict, compare=False)

    @property
    def is_raw(self) -> bool:
        return self.table is None and not self.functions

    def then(self, function: Function, turns_at: Sequence[float] = ()) -> Feature:
        """Applies a function of numbers, which turns or jumps above each of `turns_at`."""
        if self.table is None:
            turns = self.turns
            if turns_at:
                runs = self.runs(np.asarray(turns_at, np.float64), np.float64, False)
                turns = tuple(np.unique([*turns, *(end for _, ends in runs for end in ends)]))
            return replace(self, functions=(*self.functions, function), turns=turns)
        unknown = None if self.unknown is None else float(function(np.array([self.unknown]))[0])
        missing = float(function(np.array([self.missing]))[0])
        return replace(self, table=function(self.table), missing=missing, unknown=unknown)

    def without(self, below: float, end: float) -> Feature:
        """Replaces numbers above `below` and up to `end` by NaN."""
        return self.then(
            lambda x: np.where((x > below) & (x <= end), np.nan, x), (float(below), float(end))
        )

    def seen(self, values: Any, cast: Any = np.float64) -> Any:
        """Computes the feature of numbers of the column, rounded by `cast`."""
        with np.errstate(all="ignore"):
            for function in self.functions:
                values = function(values)
            return values.astype(cast).astype(np.float64)

    def runs(self, limits: Any, cast: Any, of_nan: Any) -> list[tuple[bool, Any]]:
        """Returns for each limit whether the smallest number goes left, and the last double of each run.

        A run has the numbers that go one way: left where the feature, rounded by `cast`, is at most the
        limit, and where `of_nan` holds and it is NaN.
        """
        limits = np.asarray(limits, np.float64)[:, np.newaxis]
        ends = np.asarray(self.turns, np.float64)
        high = np.append(_rank(ends), _rank(np.array([np.inf])))
        low = np.append(_rank(np.array([-np.inf])), _rank(ends) + 1)
        of_nan = np.broadcast_to(np.asarray(of_nan, bool), len(limits))[:, np.newaxis]

        def holds(ranks: Any) -> Any:
            seen = self.seen(_double(ranks), cast)
            return np.where(np.isnan(seen), of_nan, seen <= limits)

        low, high = (np.tile(part, (len(limits), 1)) for part in (low, high))
        first, last = holds(low), holds(high)
        # Invariant: at rank low it is as at the interval's begin, at rank high as at its end.
        while np.any(open_ := (first != last) & (low + 1 < high)):
            middle = _between(low, high)
            same = holds(middle) == first
            low = np.where(open_ & same, middle, low)
            high = np.where(open_ & ~same, middle, high)
        found = []
        changes, jumps = first != last, last[:, :-1] != first[:, 1:]
        for row in range(len(limits)):
            inside = _double(low[row][changes[row]])
            found.append((bool(first[row, 0]), np.sort([*inside, *ends[jumps[row]]])))
        return found

    def lowest(self) -> float | None:
        """Returns the smallest number whose function is finite, unless every number's is."""
        low, high = _rank(np.array([-1e300])), _rank(np.array([1e300]))
        if self.table is not None or np.isfinite(self.seen(_double(low))[0]):
            return None
        while low + 1 < high:
            middle = _between(low, high)
            is_finite = np.isfinite(self.seen(_double(middle))[0])
            low, high = (low, middle) if is_finite else (middle, high)
        return float(_double(high)[0])

    def line(self) -> tuple[float, float] | None:
        """Returns the slope and the offset of a function that is a straight line, up to rounding."""
        far = 2.0**60
        numbers = np.pi * 2.0 ** np.arange(-30, 60)
        numbers = np.concatenate([numbers, -numbers])
        low, offset, high = self.seen(np.array([-far, 0.0, far]))
        slope = float((high - low) / (2 * far))
        size = np.abs(slope * numbers) + abs(offset)
        is_line = np.abs(self.seen(numbers) - (slope * numbers + offset)) <= 1e-12 * size
        return (slope, float(offset)) if is_line.all() else None

    def as_number(self) -> Feature:
        """Returns a feature of numeric categories as a function of numbers."""
        if self.table is None or self.unknown is None:
            return self
        keys = np.asarray(self.values, np.float64)
        order = np.argsort(keys)
        keys, table, unknown = keys[order], np.asarray(self.table)[order], self.unknown

        def found(values: Any) -> Any:
            places = np.searchsorted(keys, values).clip(0, len(keys) - 1)
            known = np.where(keys[places] == values, table[places], unknown)
            return np.where(np.isnan(values), self.missing, known)

        turns = np.unique([np.nextafter(keys, -np.inf), keys])
        return Feature(self.column, None, (found,), tuple(turns))


def refused(column: int, reason: str) -> Feature:
    return Feature(column, refusal=reason)


def _rank(values: Any) -> Any:
    """Maps doubles to integers of the same order."""
    bits = np.asarray(values, np.float64).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits)


def _between(low: Any, high: Any) -> Any:
    """Returns the middle of two ranks, whose sum may overflow."""
    return (low >> 1) + (high >> 1) + (low & high & 1)


def _double(ranks: Any) -> Any:
    bits = np.where(ranks < 0, np.int64(-(2**63)) - ranks - 1, ranks)
    return bits.astype(np.int64).view(np.float64)
