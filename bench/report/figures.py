"""Figures as text, the same everywhere: as many digits as a repetition would confirm.

A figure that is not there is a dash.
"""

from collections.abc import Callable, Sequence

from bench.results import Spread

NOTHING = "-"
Written = Callable[[float], str]


def whole(value: float) -> str:
    """With thousands apart: requests a second, megabytes, rows."""
    return f"{value:,.0f}"


def three_digits(value: float) -> str:
    """Milliseconds, microseconds, seconds: three digits that count, never an exponent."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return whole(value)
    decimals = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{decimals}f}"


def tenths(value: float) -> str:
    """Microseconds of processor time: the clock's ticks and the runs' spread leave no more."""
    return whole(value) if abs(value) >= 100 else f"{value:.1f}"


def times(value: float) -> str:
    """A ratio: 16.9, 5.31 or 0.97."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ranged(spread: Spread | None, written: Written) -> str:
    """The median, and in brackets the smallest and the largest."""
    if spread is None:
        return NOTHING
    low, high = written(spread.smallest), written(spread.largest)
    return f"{written(spread.median)} ({low} to {high})"


def added(values: Sequence[float], written: Written) -> str:
    """Parts of a whole, joined by the sign of each."""
    text = ""
    for value in values:
        sign = "-" if value < 0 else "+" if text else ""
        text += f" {sign} {written(abs(value))}" if text else sign + written(abs(value))
    return text


def median(spread: Spread | None, written: Written) -> str:
    """The median alone."""
    return NOTHING if spread is None else written(spread.median)
