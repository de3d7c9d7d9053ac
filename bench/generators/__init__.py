"""The load generators, a file each: its command, and what its output says.

Each reads the whole output or raises `Unsound`: a run in which a request failed, or
whose report cannot be understood, is no result. Where a generator logs single requests,
request_log.py reads them, next to the generator, and `logged` takes what it says.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.results import OpenLoop


class Unsound(Exception):
    """A run that must not become a result; the message says why."""


@dataclass(frozen=True)
class Load:
    """How hard and how long to ask."""

    clients: int
    seconds: float
    seed: int
    # Requests a second; None: a closed loop.
    rate: int | None = None
    # Seconds before the others that are asked alike and not counted; at a rate, and of pgbench.
    warm_up: float = 0


@dataclass(frozen=True)
class Figures:
    """What a load generator measured. Percentiles that it does not report are absent."""

    requests: int
    requests_per_second: float
    latency_ms: dict[str, float]
    # How many single requests the percentiles rest on.
    latency_requests: int = 0
    # Where the rate was given.
    open_loop: OpenLoop | None = None


def number(pattern: str, output: str) -> float:
    """The number that a line of the report holds."""
    found = re.search(pattern, output, re.MULTILINE)
    if not found:
        raise Unsound(f"the report has no line {pattern!r}:\n{output}")
    return float(found[1])


def checked(figures: Figures) -> Figures:
    """The figures, unless nothing was measured."""
    if figures.requests < 1:
        raise Unsound("not one request was completed")
    return figures


def logged(summary: Mapping[str, Any]) -> Figures:
    """What request_log.py answered."""
    if "error" in summary:
        raise Unsound(summary["error"])
    schedule = summary["open_loop"]
    return checked(Figures(**{**summary, "open_loop": schedule and OpenLoop(**schedule)}))


# Of a thousandth part of a thousand requests floats make a little less than one.
ROUNDING = 1e-9


def tells(requests: int, part: float) -> bool:
    """Whether so many requests tell a percentile from the largest of them."""
    return requests * (1 - part) >= 1 - ROUNDING
