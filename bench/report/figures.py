"""Figures as text, the same everywhere: as many digits as a repetition would confirm.

Each way of writing is a filter of the templates by its name. A spread is written as its median, and by
`ranged` with the smallest and the largest in brackets; a figure that is not there is a dash.
"""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from bench.results import Spread

NOTHING = "-"
Written = Callable[[float], str]


def whole(value: float) -> str:
    """With thousands apart: requests per second, megabytes, rows."""
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


WAYS: dict[str, Written] = {
    "whole": whole,
    "three": three_digits,
    "tenths": tenths,
    "times": times,
    "hundredths": "{:.2f}".format,
    "thousandths": "{:.3f}".format,
    "two_digits": "{:,.2f}".format,
    "percent": lambda value: f"{100 * value:.0f} %",
    "change": lambda value: f"{100 * value:+.1f} %",
}


def ranged(spread: Spread | None, written: Written | str) -> str:
    """The median, and in brackets the smallest and the largest."""
    if spread is None:
        return NOTHING
    write = WAYS[written] if isinstance(written, str) else written
    if isinstance(spread, dict):
        spread = Spread(**spread)
    low, high = write(spread.smallest), write(spread.largest)
    if spread.smallest == spread.largest:
        return write(spread.median)
    return f"{write(spread.median)} ({low} to {high})"


def added(values: Sequence[float], written: Written) -> str:
    """Parts of a whole, joined by the sign of each."""
    text = ""
    for value in values:
        sign = "-" if value < 0 else "+" if text else ""
        text += f" {sign} {written(abs(value))}" if text else sign + written(abs(value))
    return text


def sentence_list(parts: Sequence[str]) -> str:
    """`a`, `a and b`, or `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def columns_with_figures(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Of each column whether any of its cells is a figure."""
    return [any(cell != NOTHING for cell in column) for column in zip(*rows, strict=True)]


def readable(fact: str) -> str:
    """A machine's fact; memory as GiB."""
    if fact.endswith(" kB"):
        return f"{int(fact.removesuffix(' kB')) / 1024**2:.1f} GiB"
    return fact


def _filter(write: Written) -> Callable[[Any], str]:
    def written(value: Any) -> str:
        if value is None:
            return NOTHING
        return write(value.median if isinstance(value, Spread) else value)

    return written


FILTERS: dict[str, Callable[..., Any]] = {
    **{name: _filter(write) for name, write in WAYS.items()},
    "ranged": ranged,
    "bound": lambda value, way: f"{value:g}" if way in ("times", "whole") else WAYS[way](value),
    "sentence": sentence_list,
    "readable": readable,
    "suffixed": lambda text, suffix: text + suffix,
    "before_comma": lambda text: text.partition(",")[0],
    "by_runs": lambda tried: sorted(
        tried, key=lambda one: (-len(one["runs"]), one["workers"], one["threads"])
    ),
    "compress": lambda row, kept: [*compress(row, kept)],
}
