"""The variables of the comparison's templates: results and computed figures."""

import contextlib
from typing import Any

from bench.report import claims, computed, headline, measured
from bench.report.files import Sources
from bench.report.measured import Measured, MissingFigure

# The cell by which days are compared.
CELL = "postgres_direct/simple/random/25t/20c"


def of_comparison(sources: Sources) -> dict[str, Any]:
    """Returns the variables of the comparison's pages."""
    local = sources.local
    return {
        "local": local, "split": sources.split, "before": _days(sources),
        "documents": claims.judged(sources), "claims": claims, "headline": headline,
        "compared": sum(sum(one.compared.values()) for one in local.result.checked),
        "e": measured, "computed": computed, "RequestSpec": measured.RequestSpec,
        "TREES": measured.TREES,
    }  # fmt: skip


def _round_trip_us(of: Measured) -> float:
    """Returns the time of a round trip between client and server."""
    return computed.round_trip_ms(of, None) * 1e3


def _days(sources: Sources) -> list[dict[str, Any]]:
    """Returns how fast the machine was on the days of earlier runs, relative to this one."""
    found, today = [], sources.local.result.started[:10]
    for one in (one for one in sources.earlier if one.result.started[:10] != today):
        with contextlib.suppress(MissingFigure):
            then, now = (of.named(CELL).requests_per_second for of in (one, sources.local))
            times, us = then.median / now.median, _round_trip_us(one)
            found.append(
                {"of": one, "times": times, "us": us, "now": _round_trip_us(sources.local)}
            )
    return found
