"""What templates are given: the results, what is computed of them, and figures of cells by name."""

import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bench.report import claims, computed, measured
from bench.report.figures import WAYS
from bench.report.files import Sources
from bench.report.measured import Lacking, Measured, better, values
from bench.results import cores

NOT_MEASURED = "(not measured)"


def _said(shown: str, found: Callable[..., float]) -> Callable[..., str]:
    """The figure as text; what this run did not measure is said to be so, there and in a warning."""

    def said(*asked: Any) -> str:
        try:
            return WAYS[shown](found(*asked))
        except (Lacking, KeyError) as error:
            print(f"warning: {asked}: {error}", file=sys.stderr)
            return NOT_MEASURED

    return said


def named(of: Measured) -> dict[str, Callable[..., Any]]:
    """Functions that give the figure of a cell, whose name is as `bench/run --list` prints it."""

    def median(name: str, figure: str) -> float:
        return statistics.median(values(of.named(name), figure))

    def times(above: str, below: str, figure: str = "rate") -> float:
        return better(of.named(above), of.named(below), figure).median

    return {
        "has": lambda name: any(cell.name == name and cell.runs for cell in of.result.cells),
        "rate": _said("whole", lambda name: median(name, "rate")),
        "us": _said("tenths", lambda name: median(name, "us")),
        "us_of": _said("tenths", lambda part, name: median(name, f"us of {part}")),
        "us_prediction": _said("tenths", lambda name: median(name, "us per prediction")),
        "cores": _said("tenths", lambda rate, name: rate / 1e6 * median(name, "us per prediction")),
        "ms": _said("three", lambda name, figure="mean": median(name, figure)),
        "times": _said("times", times),
    }


def of_comparison(sources: Sources) -> dict[str, Any]:
    """All that a page of the comparison may show."""
    local = sources.local
    won, questions = computed.wins(local)
    return {
        **named(local), "local": local, "split": sources.split, "runs": sources.runs,
        "elsewhere": sources.elsewhere, "wins": won, "questions": questions,
        "kept": [(one, claims.targets(replace(sources, local=one), "local")) for one in sources.kept],
        "goals": claims.over_runs(sources), "split_goals": claims.targets(sources, "split"),
        "documents": claims.judged(sources),
        # What a later sweep has found, this run did not know.
        "sweep": sources.other("sweep", local.result.started), "table_size": sources.other("table-size"),
        "compared": sum(sum(one.compared.values()) for one in local.result.checked),
        "e": measured, "computed": computed, "Asked": measured.Asked, "cores_of": cores,
        "CLIENTS": measured.CLIENTS, "TREES": measured.TREES,
    }  # fmt: skip
