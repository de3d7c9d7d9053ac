"""What templates are given: the results, what is computed of them, and figures of cells by name."""

import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from bench.key_set import PER_BATCH
from bench.report import claims, controls, distance, entries, ladder
from bench.report.figures import WAYS
from bench.report.files import Sources
from bench.report.measured import CLIENTS, TREES, Asked, Lacking, Measured, better, values
from bench.report.preparing import slower, trainings
from bench.report.rates import fixed_rates
from bench.report.wins import wins
from bench.results import cores

NOT_MEASURED = "(not measured)"
# The figures of a cell that a sentence may have: the function's name, the figure, and how it is written.
SAID = {
    "rate": ("rate", "whole"),
    "us": ("us", "tenths"),
    "mb": ("mb", "whole"),
    "us_prediction": ("us per prediction", "tenths"),
}


def _said(measured: Measured, name: str, figure: str, shown: str, scale: float = 1.0) -> str:
    """A cell's median as text; what this run did not measure is said to be so, there and in a warning."""
    try:
        return WAYS[shown](statistics.median(values(measured.named(name), figure)) * scale)
    except (Lacking, KeyError):
        print(f"warning: {measured.name} has no {figure} of {name}", file=sys.stderr)
        return NOT_MEASURED


def _times(measured: Measured, above: str, below: str, figure: str = "rate") -> str:
    """How many times better the first cell is, as text."""
    try:
        return WAYS["times"](better(measured.named(above), measured.named(below), figure).median)
    except (Lacking, KeyError):
        print(f"warning: {measured.name} has no {figure} of {above} and {below}", file=sys.stderr)
        return NOT_MEASURED


def named(measured: Measured) -> dict[str, Callable[..., str]]:
    """Functions that give the figure of a cell, whose name is as `bench/run --list` prints it."""
    say = partial(_said, measured)
    return {
        **{one: partial(say, figure=figure, shown=shown) for one, (figure, shown) in SAID.items()},
        "ms": lambda name, figure="mean": say(name, figure, "three"),
        "us_of": lambda part, name: say(name, f"us of {part}", "tenths"),
        "cores": lambda rate, name: say(name, "us per prediction", "tenths", rate / 1e6),
        "times": partial(_times, measured),
    }


def _shows(sources: Sources) -> SimpleNamespace:
    """Which parts of a page have something to say."""
    local = sources.local
    return SimpleNamespace(
        split=bool(sources.split), request_time=ladder.shown(local), rates=fixed_rates(local),
        random=local.clients("random"), batches=local.clients("batch"), trees=local.further_models(),
        training=local.result.training, slower_preparations=slower(local),
    )  # fmt: skip


def of_comparison(sources: Sources) -> dict[str, Any]:
    """All that a page of the comparison may show."""
    local, split = sources.local, sources.split
    won, questions = wins(local)
    return {
        **named(local), "local": local, "split": split, "runs": sources.runs, "elsewhere": sources.elsewhere,
        "kept": [(one, claims.targets(replace(sources, local=one), "local")) for one in sources.kept],
        "goals": claims.over_runs(sources), "split_goals": claims.targets(sources, "split"),
        "documents": claims.judged(sources), "wins": won, "questions": questions, "shows": _shows(sources),
        "sweep": sources.other("sweep"), "table_size": sources.other("table-size"),
        "compared": sum(sum(one.compared.values()) for one in local.result.checked),
        "e": entries, "Asked": Asked, "CLIENTS": CLIENTS, "TREES": TREES, "PER_BATCH": PER_BATCH,
        "ladder": ladder, "distance": distance, "fixed_rates": fixed_rates, "trainings": trainings,
        "slower": slower, "against_control": controls.against_control, "control_clients": controls.clients,
        "cores_of": cores,
    }  # fmt: skip
