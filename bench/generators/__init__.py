"""The load generators, a file each: its command, and what its output says.

Each reads the whole output or raises `Unsound`: a run in which a request failed, or
whose report cannot be understood, is no result. Where a generator logs single requests,
request_log.py reads them, next to the generator, and `logged` takes what it says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.results import Figures, OpenLoop


class Unsound(Exception):
    """A run that must not become a result; the message says why."""


@dataclass(frozen=True)
class Load:
    """How hard and how long to ask."""

    clients: int
    # That count.
    seconds: float
    seed: int
    # Requests per second; None: a closed loop.
    rate: int | None = None
    # Seconds before the others that are asked alike and not counted; at a rate, and of pgbench.
    warm_up: float = 0

    @property
    def end(self) -> float:
        """When it is over."""
        return self.warm_up + self.seconds


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
