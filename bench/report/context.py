"""The templates' variables: results, computed figures, and functions for the figures of a cell."""

import contextlib
import statistics
import sys
from collections.abc import Callable
from typing import Any

from bench.report import claims, computed, finding, headline, measured, ways
from bench.report.figures import WAYS
from bench.report.files import Sources
from bench.report.measured import Measured, MissingFigure, better, values

NOT_MEASURED = "(not measured)"


def _said(shown: str, found: Callable[..., float]) -> Callable[..., str]:
    """Formats a figure; one that was not measured becomes `NOT_MEASURED`, with a warning."""

    def said(*asked: Any) -> str:
        try:
            return WAYS[shown](found(*asked))
        except (MissingFigure, KeyError) as error:
            print(f"warning: {asked}: {error}", file=sys.stderr)
            return NOT_MEASURED

    return said


def _rate(of: Measured, name: str) -> float:
    return statistics.median(values(of.named(name), "rate"))


def named(of: Measured) -> dict[str, Callable[..., Any]]:
    """Returns functions for the figures of a cell, named as `bench/run --list` prints it."""

    def times(above: str, below: str, figure: str = "rate") -> float:
        return better(of.named(above), of.named(below), figure).median

    return {
        "has": lambda name: any(cell.name == name and cell.runs for cell in of.result.cells),
        "rate": _said("whole", lambda name: _rate(of, name)),
        "times": _said("times", times),
    }


def of_comparison(sources: Sources) -> dict[str, Any]:
    """Returns the variables of the comparison's pages."""
    local = sources.local
    return {
        **named(local), "rate": _said("whole", lambda name: finding.rate(sources, name)),
        "local": local, "split": sources.split, "before": _days(sources),
        "documents": claims.judged(sources), "ENOUGH": headline.ENOUGH, "headline": headline,
        "compared": sum(sum(one.compared.values()) for one in local.result.checked),
        "starved": [cell for cell in local.result.cells if cell.starved],
        "e": measured, "computed": computed, "RequestSpec": measured.RequestSpec,
        "CLIENTS": measured.CLIENTS, "TREES": measured.TREES,
    }  # fmt: skip


def _round_trip_us(of: Measured) -> float:
    """Returns the time of a round trip between client and server."""
    return computed.round_trip_ms(of, None) * 1e3


def _days(sources: Sources) -> list[dict[str, Any]]:
    """Returns how fast the machine was on the days of earlier runs, relative to this one."""
    cell = "postgres_direct/simple/hot/25t/20c"
    found = []
    for one in sources.earlier:
        with contextlib.suppress(MissingFigure):
            faster = _rate(one, cell) / _rate(sources.local, cell)
            found.append({"of": one, "times": faster, "us": _round_trip_us(one)})
    return [one | {"now": _round_trip_us(sources.local)} for one in found]


def of_ways(sources: Sources) -> dict[str, Any]:
    """Returns the records of other ways to serve a model, on this machine."""
    made = {"ladder": ways.ladder, "serving": ways.serving, "fresh": ways.fresh}
    files = {kind: sources.other(kind) for kind in made}
    return {
        kind: make(path.parent) if (path := files[kind]) else None for kind, make in made.items()
    }
