"""The variables of the pages' templates, and the tables behind engine.md."""

import contextlib
import csv
import io
import json
from typing import Any

from bench.report import claims, computed, explanations, headline, measured, queries, scores
from bench.report.files import Sources, newest
from bench.report.measured import MissingFigure

# The cell by which days are compared.
CELL = "postgres_direct/simple/random/25t/20c"
# The parts of engine.md, which are measured separately, on the machine that each record names.
ENGINE = {"scores": scores, "explanations": explanations, "queries": queries}


def of_comparison(sources: Sources) -> dict[str, Any]:
    """Returns the variables of the comparison's pages."""
    local = sources.local
    return {
        "local": local, "split": sources.split, "before": _days(sources),
        "disturbed": _disturbed(sources),
        "documents": claims.judged(sources), "claims": claims, "headline": headline,
        "compared": sum(sum(one.compared.values()) for one in local.result.checked),
        "e": measured, "computed": computed, "RequestSpec": measured.RequestSpec,
        "TREES": measured.TREES,
    }  # fmt: skip


def _disturbed(sources: Sources) -> dict[str, Any] | None:
    """Returns the newest record of bench/disturbed.py, if there is one, with its place."""
    path = sources.other("disturbed")
    name = path and str(path.parent.relative_to(sources.directory))
    return path and json.loads(path.read_text()) | {"name": name}


def _days(sources: Sources) -> list[dict[str, Any]]:
    """Returns how fast the machine was on the days of earlier runs, relative to this one."""
    found, today = [], sources.local.result.started[:10]
    for one in (one for one in sources.earlier if one.result.started[:10] != today):
        with contextlib.suppress(MissingFigure):
            both = one, sources.local
            then, now = (of.named(CELL).requests_per_second.median for of in both)
            us = [computed.round_trip_ms(of, None) * 1e3 for of in both]
            found.append({"of": one, "times": then / now, "us": us[0], "now": us[1]})
    return found


def of_engine(sources: Sources) -> dict[str, Any]:
    """Returns the variables of engine.md, and its tables as CSV; a part without a record is empty."""
    found: dict[str, Any] = {"tables": {}}
    for name, part in ENGINE.items():
        run, text = newest(sources.directory, part.FILE), io.StringIO()
        found[name] = {}
        if run:
            found[name] = part.given(run) | {"name": str(run.relative_to(sources.directory))}
            csv.writer(text, lineterminator="\n").writerows(part.table(run))
            found["tables"][f"{name}.csv"] = text.getvalue()
    return found
