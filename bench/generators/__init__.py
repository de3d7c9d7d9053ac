"""The load generators, one module each with its command and the parser of its output.

A parser raises `InvalidRun` if a request failed or the report cannot be parsed. If a generator logs single
requests, request_log.py reads the log on the generator's host, and `logged` takes its figures.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.results import Figures, OpenLoop


class InvalidRun(Exception):
    """A run that must not become a result; the message says why."""


@dataclass(frozen=True)
class Load:
    """The load of a run: clients, duration and rate."""

    clients: int
    # The duration that is counted.
    seconds: float
    seed: int
    # Requests per second; None for a closed loop.
    rate: int | None = None
    # Seconds before that with the same load, not counted.
    warm_up: float = 0

    @property
    def end(self) -> float:
        """The seconds from the start to the end."""
        return self.warm_up + self.seconds


def checked(figures: Figures) -> Figures:
    """Returns the figures; raises if no request was completed."""
    if figures.requests < 1:
        raise InvalidRun("not one request was completed")
    return figures


def logged(summary: Mapping[str, Any]) -> Figures:
    """Converts the answer of request_log.py to figures."""
    if "error" in summary:
        raise InvalidRun(summary["error"])
    schedule = summary["open_loop"]
    return checked(Figures(**{**summary, "open_loop": schedule and OpenLoop(**schedule)}))
