"""The templates' variables: results, computed figures, and functions for the figures of a cell."""

import statistics
import sys
from collections.abc import Callable
from typing import Any

from bench.report import claims, computed, finding, measured, ways
from bench.report.figures import WAYS
from bench.report.files import Sources, note, place
from bench.report.measured import Measured, MissingFigure, better, values

NOT_MEASURED = "(not measured)"
# The cell of the best service in Python.
BEST = "asgi/http/hot/25t/20c"


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


def _quick(sources: Sources) -> dict[str, Any] | None:
    """Returns the best service's figures and note from the newest quick run, if the full run lacks it."""
    if named(sources.local)["has"](BEST):
        return None
    quick = [one for one in sources.all if one.result.workload["name"] == "quick"]
    for one in quick:
        if place(one) == place(sources.local) and (found := named(one))["has"](BEST):
            return found | {"name": one.name, "note": note(sources.directory / one.name)}
    return None


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
    local, runs = sources.local, {one.name: one for one in sources.all}

    def against(name: str, figure: str = "rate", memory: bool = False) -> float:
        return finding.against_rival(sources, name, figure, memory).median

    return {
        **named(local), "local": local, "split": sources.split,
        "against_rival": _said("times", against), "elsewhere": sources.elsewhere, "runs": runs,
        # Another run's rate relative to the pooled runs'.
        "before": _said("times", lambda run, name: _rate(runs[run], name) / _rate(local, name)),
        "quick": _quick(sources),
        "goals": claims.targets(sources, "local"), "split_goals": claims.targets(sources, "split"),
        "documents": claims.judged(sources), "ENOUGH": claims.ENOUGH,
        "compared": sum(sum(one.compared.values()) for one in local.result.checked),
        "starved": [cell for cell in local.result.cells if cell.starved],
        "e": measured, "computed": computed, "RequestSpec": measured.RequestSpec,
        "BEST": BEST, "CLIENTS": measured.CLIENTS, "TREES": measured.TREES,
    }  # fmt: skip


def of_ways(sources: Sources) -> dict[str, Any]:
    """Returns the records of other ways to serve a model, on this machine."""
    made = {"ladder": ways.ladder, "serving": ways.serving, "fresh": ways.fresh}
    files = {kind: sources.other(kind) for kind in made}
    return {
        kind: make(path.parent) if (path := files[kind]) else None for kind, make in made.items()
    }
