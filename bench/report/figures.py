"""Formats figures, with as many digits as a repetition would confirm.

Each format is a template filter of that name. A spread is written as its median, and by `ranged` with the
smallest and the largest in brackets; a missing figure is a dash.
"""

from collections.abc import Callable
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


def tenths(value: float) -> str:
    """Formats microseconds of CPU time; the clock's ticks and the runs' spread allow no more digits."""
    return whole(value) if abs(value) >= 100 else f"{value:.1f}"


def times(value: float) -> str:
    """Formats a ratio: 16.9, 5.31 or 0.97."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


WAYS: dict[str, Callable[[float], str]] = {
    "whole": whole,
    "three": three_digits,
    "tenths": tenths,
    "times": times,
    "hundredths": "{:.2f}".format,
    "percent": lambda value: f"{100 * value:.0f} %",
    "seconds": lambda value: f"{value:,.0f} s",
    "change": lambda value: f"{100 * value:+.1f} %",
    "ns": lambda value: f"{three_digits(value / 1e3)} µs",
}


def ranged(spread: Spread | dict[str, float] | None, way: str) -> str:
    """Formats the median, with the smallest and the largest in brackets if they differ."""
    if spread is None:
        return NOTHING
    if isinstance(spread, dict):
        spread = Spread(**spread)
    middle, low, high = map(WAYS[way], (spread.median, spread.smallest, spread.largest))
    return middle if low == high else f"{middle} ({low} to {high})"


def readable(fact: str) -> str:
    """Formats a fact of a machine; memory in GiB."""
    if fact.endswith(" kB"):
        return f"{int(fact.removesuffix(' kB')) / 1024**2:.1f} GiB"
    return fact


def _filter(write: Callable[[float], str]) -> Callable[[Any], str]:
    def written(value: Any) -> str:
        if value is None:
            return NOTHING
        return write(value.median if isinstance(value, Spread) else value)

    return written


FILTERS: dict[str, Callable[..., Any]] = {
    **{name: _filter(write) for name, write in WAYS.items()},
    "ranged": ranged,
    "bound": lambda value, way: f"{value:g}" if way in ("times", "whole") else WAYS[way](value),
}
