"""Figures of cells by their names, for the sentences of a template.

A name is as `bench/run --list` prints it, such as postgres_direct/simple/hot/25t/20c. What this run did
not measure is said to be so, on the page and in a warning.
"""

import functools
import sys
from collections.abc import Callable

from bench.report.entries import entry
from bench.report.figures import tenths, three_digits, times, whole
from bench.report.measured import (
    Lacking,
    Measured,
    RunFigure,
    asked_of,
    latency,
    requests_per_second,
    server_us,
)
from bench.results import CellResult, Spread

NOT_MEASURED = "(not measured)"


def _said(function: Callable[..., str]) -> Callable[..., str]:
    """The same, which says where a figure lacks instead of failing."""

    @functools.wraps(function)
    def asked(self: "Named", *arguments: object) -> str:
        try:
            return function(self, *arguments)
        except Lacking as error:
            print(f"warning: {error}", file=sys.stderr)
            return NOT_MEASURED

    return asked


class Named:
    """The figures of one result."""

    def __init__(self, measured: Measured) -> None:
        self._measured = measured

    def _cell(self, name: str) -> CellResult:
        return self._measured.named(name)

    def _spread(self, name: str, figure: RunFigure) -> Spread:
        cell = self._cell(name)
        return self._measured.needed(entry(cell.system, cell.variant), asked_of(cell), figure)

    @_said
    def rate(self, cell: str) -> str:
        """Requests a second."""
        return whole(self._spread(cell, requests_per_second).median)

    @_said
    def us(self, cell: str) -> str:
        """Processor time of all servers for a request, in microseconds."""
        return tenths(self._spread(cell, server_us).median)

    @_said
    def us_of(self, part: str, cell: str) -> str:
        """The same of one part of the server."""

        def figure(run):
            return run.server_parts[part].cpu_seconds * 1e6 / run.requests

        return tenths(self._spread(cell, figure).median)

    @_said
    def us_prediction(self, cell: str) -> str:
        """The same for a prediction: of a batch, a hundredth."""
        predictions = self._cell(cell).predictions_per_request
        return tenths(self._spread(cell, server_us).median / predictions)

    @_said
    def cores(self, rate: float, cell: str) -> str:
        """How many cores of the servers that many predictions per second take."""
        us = self._spread(cell, server_us).median / self._cell(cell).predictions_per_request
        return tenths(rate * us / 1e6)

    @_said
    def ms(self, cell: str, name: str = "mean") -> str:
        """A latency."""
        return three_digits(self._spread(cell, latency(name)).median)

    @_said
    def times(self, above: str, below: str, name: str = "rate") -> str:
        """How many times better the first cell is."""
        return times(self._measured.better(self._cell(above), self._cell(below), name).median)
