"""What may stand between {{ and }} in a template, and what each becomes.

A placeholder is a name and its arguments, apart by blanks. CELL is a cell's name as the
harness prints it (`bench/run --list`), such as postgres_direct/simple/hot/25t/20c; with
`split` before the name of the placeholder it is one of the run on three hosts, else of the run
on one machine. Every figure of a page comes through here, and from nowhere else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.report import goals
from bench.report.entries import entry
from bench.report.figures import Written, ranged, tenths, three_digits, times, whole
from bench.report.files import Sources, pick
from bench.report.markdown import sentence_list
from bench.report.measured import (
    Lacking,
    Measured,
    RunFigure,
    asked_of,
    latency,
    requests_per_second,
    server_megabytes,
    server_us,
)
from bench.report.tables import TABLES
from bench.report.wins import wins
from bench.results import CellResult, Spread

# Figures that two cells may be compared by, and whether less is better.
COMPARED: Mapping[str, tuple[RunFigure, bool]] = {
    "rate": (requests_per_second, False),
    "us": (server_us, True),
    "mb": (server_megabytes, True),
    "mean": (latency("mean"), True),
    "p50": (latency("p50"), True),
    "p99": (latency("p99"), True),
    "p99_9": (latency("p99_9"), True),
    "max": (latency("max"), True),
}


class BadTemplate(Exception):
    """A template that cannot be filled; the message says why."""


@dataclass(frozen=True)
class Filling:
    """Where a placeholder of a page takes its text from."""

    sources: Sources
    measured: Measured


def _cell(measured: Measured, name: str) -> CellResult:
    for cell in measured.result.cells:
        if cell.name == name and cell.runs:
            return cell
    raise Lacking(f"{measured.name} has no figures of the cell {name}")


def _spread(measured: Measured, name: str, figure: RunFigure) -> Spread:
    cell = _cell(measured, name)
    return measured.needed(entry(cell.system, cell.variant), asked_of(cell), figure)


def _one(figure: RunFigure, written: Written) -> Callable[..., str]:
    """A figure of a cell, and with the word `range` its smallest and largest."""

    def fill(filling: Filling, cell: str, how: str = "median") -> str:
        spread = _spread(filling.measured, cell, figure)
        return ranged(spread, written) if how == "range" else written(spread.median)

    return fill


def _latency(filling: Filling, cell: str, name: str = "mean") -> str:
    return three_digits(_spread(filling.measured, cell, latency(name)).median)


def _part_us(filling: Filling, part: str, cell: str) -> str:
    """Processor time of one part of the server for a request."""

    def figure(run):
        return run.server_parts[part].cpu_seconds * 1e6 / run.requests

    return tenths(_spread(filling.measured, cell, figure).median)


def _us_a_prediction(filling: Filling, cell: str) -> str:
    predictions = _cell(filling.measured, cell).predictions_per_request
    return tenths(_spread(filling.measured, cell, server_us).median / predictions)


def _ratio(filling: Filling, above: str, below: str, name: str = "rate") -> Spread:
    """How many times better the first cell is."""
    figure, less_is_better = COMPARED[name]
    cells = [_cell(filling.measured, cell) for cell in (above, below)]
    found = filling.measured.ratio(*cells, figure)
    return goals.inverse(found) if less_is_better else found


def _times(filling: Filling, above: str, below: str, name: str = "rate") -> str:
    return times(_ratio(filling, above, below, name).median)


def _times_range(filling: Filling, above: str, below: str, name: str = "rate") -> str:
    found = _ratio(filling, above, below, name)
    return f"{times(found.smallest)} to {times(found.largest)}"


def _cores(filling: Filling, rate: str, cell: str) -> str:
    """How many cores of the servers that many predictions a second take."""
    predictions = _cell(filling.measured, cell).predictions_per_request
    us = _spread(filling.measured, cell, server_us).median / predictions
    return tenths(float(rate) * us / 1e6)


def _table(filling: Filling, name: str) -> str:
    return filling.sources.sweep.table() if name == "sweep" else TABLES[name](filling.measured)


def _missed(filling: Filling) -> str:
    """How many targets were met, and which were not."""
    found = goals.of_local(filling.measured)
    missed = [goal.what for goal in found if goal.verdict == "missed"]
    judged = [goal for goal in found if goal.measured]
    if not missed:
        return f"All {len(judged)} that were measured are met."
    return f"{len(judged) - len(missed)} of {len(judged)} are met; missed: {'; '.join(missed)}."


def _wins_summary(filling: Filling) -> str:
    found, compared = wins(filling.measured)
    if not found:
        return (
            f"In none of {compared:,} comparisons of a figure was the service's best entry better"
        )
    clear = sum(win.clear for win in found)
    kinds = sentence_list(list(dict.fromkeys(win.contest.what.partition(",")[0] for win in found)))
    return (
        f"In {len(found):,} of {compared:,} comparisons of a figure the service's best entry was better"
        f" ({kinds}), in {clear:,} of them by more than the spread"
    )


def _machine(filling: Filling) -> str:
    facts = filling.measured.result.topology.hosts[filling.measured.result.topology.roles["server"]]
    return f"{facts['cores']} cores ({facts['processor']})"


def _link(filling: Filling, text: str) -> str:
    return f"[{text.replace('_', ' ')}](../../bench/results/{filling.measured.name}/results.json)"


def _json(filling: Filling, kind: str, place: str, how: str = "whole") -> str:
    """A number from the newest bench/results/*/KIND.json, by the way to it: rows.0.us."""
    written = {"whole": whole, "tenths": tenths, "three": three_digits, "times": times}[how]
    return written(pick(filling.sources.other(kind), place))


FILLED: Mapping[str, Callable[..., str]] = {
    "rate": _one(requests_per_second, whole),
    "us": _one(server_us, tenths),
    "mb": _one(server_megabytes, whole),
    "ms": _latency,
    "us_of": _part_us,
    "us_prediction": _us_a_prediction,
    "times": _times,
    "times_range": _times_range,
    "cores": _cores,
    "table": _table,
    "goals_met": _missed,
    "wins_found": _wins_summary,
    "machine": _machine,
    "link": _link,
    "name": lambda filling: filling.measured.name,
    "date": lambda filling: filling.measured.result.started[:10],
    "commit": lambda filling: filling.measured.result.commit[:12],
    "minutes": lambda filling: whole(filling.measured.minutes),
    "version": lambda filling, of: filling.measured.result.versions[of].split(" ")[0],
    "workload": lambda filling, of: f"{filling.measured.result.workload[of]:,}",
    "answers_compared": lambda filling: whole(
        sum(sum(one.compared.values()) for one in filling.measured.result.checked)
    ),
    "sweep_taken": lambda filling: filling.sources.sweep.taken,
    "json": _json,
}


def filled(sources: Sources, text: str) -> str:
    """What a placeholder's inside becomes."""
    name, *arguments = text.split()
    measured = sources.local
    if name == "split":
        if sources.split is None:
            raise Lacking(f"there is no run on three hosts for {text!r}")
        measured, (name, *arguments) = sources.split, arguments
    if name not in FILLED:
        raise BadTemplate(f"no placeholder is called {name}")
    try:
        return FILLED[name](Filling(sources, measured), *arguments)
    except (KeyError, TypeError) as error:
        raise BadTemplate(f"{text!r}: {error}") from error
