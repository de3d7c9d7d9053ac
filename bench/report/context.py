"""What the templates are given: the results, what is computed of them, and figures by their names."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.key_set import PER_BATCH
from bench.report import claims, distance, entries, goals, grid, ladder
from bench.report.figures import columns_with_figures
from bench.report.files import Sources
from bench.report.inside import given as inside_given
from bench.report.measured import (
    CLIENTS,
    TREES,
    Asked,
    Measured,
    generator_busy,
    latency,
    network_busy,
    predictions_per_second,
    requests_per_second,
    server_megabytes,
    server_us,
)
from bench.report.named import Named
from bench.report.preparing import slower, trainings
from bench.report.rates import fixed_rates
from bench.report.wins import wins
from bench.results import cores

# What may be asked of a cell's runs.
FIGURES = SimpleNamespace(
    rate=requests_per_second, mean=latency("mean"), latency=latency, us=server_us,
    mb=server_megabytes, busy=generator_busy, network=network_busy,
    predictions=predictions_per_second,
    us_per=lambda predictions: lambda run: server_us(run) / predictions,
)  # fmt: skip
ENTRIES = SimpleNamespace(
    MAIN=entries.MAIN,
    SIMPLE=entries.SIMPLE,
    TUNED=entries.TUNED,
    FOR_THE_RECORD=(*entries.MAIN, entries.AS_PUBLISHED),
)


def _control_clients(measured: Measured) -> list[int]:
    """With how many clients predictions were held against either control."""
    found = [goals.against_control(measured, name) for name in goals.CONTROLS]
    return sorted({clients for ratios in found for _, clients in ratios})


def _shows(sources: Sources, found: list[goals.Goal], won: list[Any]) -> SimpleNamespace:
    """Which parts of a page have something to say."""
    local, split = sources.local, bool(sources.split and distance.growth(sources.split))
    return SimpleNamespace(
        split=split, no_split=not split,
        sweep=sources.other("sweep"), table_size=sources.other("table-size"),
        request_time=ladder.shown(local), rates=fixed_rates(local),
        random=local.clients("random"), batches=local.clients("batch"), trees=local.further_models(),
        training=local.result.training, wins=won, slower_preparations=slower(local),
        missed=any(goal.verdict == "missed" for goal in found),
    )  # fmt: skip


def of_comparison(sources: Sources) -> dict[str, Any]:
    """All that a page of the comparison may show."""
    local, split = sources.local, sources.split
    found = goals.over_runs([goals.of_local(one) for one in sources.runs])
    won, contests = wins(local)
    named = Named(local)
    return {
        **{name: getattr(named, name) for name in dir(named) if not name.startswith("_")},
        "local": local, "split": split, "runs": sources.runs, "elsewhere": sources.elsewhere,
        "kept": [(one, goals.of_local(one)) for one in sources.kept],
        "goals": found, "split_goals": goals.of_split(split) if split else [],
        "wins": won, "contests": contests, "shows": _shows(sources, found, won),
        "sweep": sources.other("sweep"), "table_size": sources.other("table-size"),
        "compared": sum(sum(one.compared.values()) for one in local.result.checked),
        "link": lambda one: f"[results.json](../../bench/results/{one.name}/results.json)",
        "f": FIGURES, "e": ENTRIES, "Asked": Asked, "CLIENTS": CLIENTS, "TREES": TREES,
        "PER_BATCH": PER_BATCH, "ladder": ladder, "distance": distance, "fixed_rates": fixed_rates,
        "trainings": trainings, "slower": slower, "against_control": goals.against_control,
        "control_clients": _control_clients, "cores_of": cores,
        "columns_with_figures": columns_with_figures, "documents": claims.judged(sources),
    }  # fmt: skip


def engine(run: Path) -> dict[str, Any]:
    """What the page of the engine shows."""
    return grid.given(run)


def inside(run: Path) -> dict[str, Any]:
    """What the page of predictions inside the database shows."""
    return inside_given(run)
