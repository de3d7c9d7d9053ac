"""Formats figures, with as many digits as a repetition would confirm.

Each of `WAYS` is a template filter of that name. A spread is written as its median, and by `ranged` with the
smallest and the largest in brackets; a missing figure is a dash.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from bench.results import Spread

NOTHING = "-"


def whole(value: float) -> str:
    """Formats whole numbers with thousands separators: requests per second, megabytes, rows."""
    return f"{value:,.0f}"


def three_digits(value: float) -> str:
    """Formats times with three significant digits, never with an exponent."""
    if value == 0 or abs(value) >= 100:
        return whole(value)
    return f"{value:.{1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3}f}"


WAYS: dict[str, Callable[[float], str]] = {
    "whole": whole,
    "three": three_digits,
    # Of processor time the clock's ticks and the runs' spread allow no more digits.
    "tenths": lambda value: whole(value) if abs(value) >= 100 else f"{value:.1f}",
    # A ratio: 16.9, 5.31 or 0.97.
    "times": lambda value: f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f}",
    "hundredths": "{:.2f}".format,
    "percent": lambda value: f"{100 * value:.0f} %",
    "seconds": lambda value: f"{value:,.0f} s",
    "change": lambda value: f"{100 * value:+.1f} %",
    "ns": lambda value: f"{three_digits(value / 1e3)} µs",
}


def ranged(spread: Spread | None, way: str) -> str:
    """Formats the median, with the smallest and the largest in brackets if they differ."""
    if spread is None:
        return NOTHING
    middle, low, high = map(WAYS[way], (spread.median, spread.smallest, spread.largest))
    return middle if low == high else f"{middle} ({low} to {high})"


def _filter(write: Callable[[float], str], value: Any) -> str:
    if value is None:
        return NOTHING
    return write(value.median if isinstance(value, Spread) else value)


FILTERS: dict[str, Callable[..., Any]] = {
    **{name: partial(_filter, write) for name, write in WAYS.items()},
    "ranged": ranged,
    "bound": lambda value, way: f"{value:g}" if way in ("times", "whole") else WAYS[way](value),
}
