"""Functions that find a figure in the results, named by claims.toml.

Their arguments are the sources and those in the file: cells as `bench/run --list` prints them, looked up on
one machine, on three hosts, and in the full runs of earlier commits; both cells of a ratio are of one result.
RIVAL stands for the best Python service. For a missing figure they return None, or raise `MissingFigure`,
KeyError or StatisticsError.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import StatisticsError
from typing import Any

from bench.inside import series
from bench.report import computed, inside, ways
from bench.report.files import Sources
from bench.report.measured import (
    Entry,
    Measured,
    MissingFigure,
    RequestSpec,
    better,
    entry,
    quotient,
    ratio,
    values,
)
from bench.results import CellResult, Spread

# Stands for the best Python service of the main request in a claim.
RIVAL = "rival"


def _cells(sources: Sources, *names: str) -> list[CellResult]:
    """Returns the cells of these names in the first result that has all of them."""
    for measured in sources.comparisons:
        found = {cell.name: cell for cell in measured.result.cells if cell.runs}
        if found.keys() >= {*names}:
            return [found[name] for name in names]
    raise MissingFigure(f"no result has figures of {' and '.join(names)}")


def _entry(sources: Sources, name: str) -> Entry:
    return sources.local.rival(RequestSpec()) if name == RIVAL else entry(*name.split("/"))


# The count of a figure that is exact and needs no repetition.
EXACT = 1_000


def _exact(value: float) -> Spread:
    return Spread(value, value, value, EXACT)


def _file(sources: Sources, kind: str) -> Path:
    """Returns the newest run of a separate measurement on the comparison's machine."""
    path = sources.other(kind)
    if path is None:
        raise MissingFigure(kind)
    return path.parent


def rate(sources: Sources, name: str) -> float:
    """Returns a cell's requests per second."""
    return _cells(sources, name)[0].requests_per_second.median


def times(sources: Sources, above: str, below: str, figure: str = "rate") -> Spread:
    """Returns how many times better the first cell is in a figure."""
    return better(*_cells(sources, above, below), figure)


def _against_rival(
    measured: Measured, best: Entry | None, above: str, figure: str, memory: bool
) -> Spread:
    cell = measured.named(above)
    asked = RequestSpec(cell.request, cell.clients, cell.trees, cell.rate, cell.delay_ms)
    rival = measured.rival(asked, memory)
    if rival is None or (best and not measured.cell(best, asked)):
        raise MissingFigure(f"the best service was not asked what {above} was")
    return better(cell, measured.cell(rival, asked), figure)


def against_rival(
    sources: Sources, above: str, figure: str = "rate", memory: bool = False
) -> Spread:
    """Returns how many times better a cell is than its rival (measured.py).

    The best service of the main request must have this cell too: a weaker rival proves little.
    """
    best = sources.local.rival(RequestSpec(), memory)
    missing = []
    for measured in sources.comparisons:
        try:
            return _against_rival(measured, best, above, figure, memory)
        except MissingFigure as error:
            missing.append(error)
    raise missing[0]


def waiting(sources: Sources, name: str, delay_ms: float) -> Spread:
    """Returns the network's share of one client's latency with that delay."""
    grown = computed.growth(sources.split) if sources.split else []
    one = {one.entry: one for one in grown}[_entry(sources, name)]
    trip = computed.round_trip_ms(sources.split, delay_ms)
    latency = dict(one.points)[trip]
    away = one.round_trips * trip
    shares = (away / one for one in (latency.median, latency.largest, latency.smallest))
    return Spread(*shares, latency.count)


def of_best(sources: Sources, beginning: str, clients: int = 0, per_core: int = 0) -> Spread:
    """Returns the share of an entry's best throughput that the number of clients nearest to that reaches."""
    wanted = clients or per_core * int(sources.local.result.machine["cores"])
    for measured in (sources.local, *sources.earlier):
        cells = [
            cell
            for cell in measured.result.cells
            if cell.runs and cell.rate is None and cell.name.startswith(f"{beginning}/")
        ]
        near = min(cells, key=lambda cell: abs(cell.clients - wanted), default=None)
        if near and (not clients or near.clients == clients):
            best = max(cells, key=lambda cell: cell.requests_per_second.median)
            return ratio(near, best, "rate")
    raise MissingFigure(beginning)


def step(sources: Sources, name: str, request: str) -> Spread:
    """Returns a step's share of an entry's CPU time for a request."""
    every = (computed.steps(one, _entry(sources, name)) for one in sources.comparisons)
    steps = next(filter(None, every), {})
    taken = zip(steps[request], zip(*steps.values(), strict=True), strict=True)
    return Spread.of([one / sum(together) for one, together in taken])


def _of_rival(sources: Sources, request: str) -> CellResult:
    best = _entry(sources, RIVAL)
    return _cells(sources, f"{best.system}/{best.variant}/{request}")[0]


def memory_of_part(sources: Sources, part: str, request: str) -> Spread:
    """Returns the share of a part in the best Python service's memory."""
    cell = _of_rival(sources, request)
    return quotient(Spread.of(values(cell, f"mb of {part}")), Spread.of(values(cell, "mb")))


def serving_memory(sources: Sources, request: str) -> Spread | None:
    """Returns the memory of the best Python service's workers relative to that of as many connections."""
    cell = _of_rival(sources, request)
    found = inside.read(_file(sources, "inside"))
    private = found.spread("copies", f"private/{series.LARGE}", cell.clients / 1e6)
    (part,) = cell.runs[0].server_parts.keys() - {"redis"}
    return private and quotient(Spread.of(values(cell, f"mb of {part}")), private)


def trained(sources: Sources, above: str, below: str) -> Spread:
    """Returns the memory of one way to train relative to another's."""
    found = {one.what: one.megabytes for one in sources.local.trainings()}
    return quotient(found[above], found[below])


def largest_table(sources: Sources, above: str, below: str) -> Spread:
    """Returns the ratio of the most rows that two ways can train on in the same memory."""
    path = _file(sources, "training-limit") / "training-limit.json"
    found = json.loads(path.read_text())["largest_rows"]
    ratio_ = found[above] / found[below]
    return Spread(ratio_, ratio_, ratio_, 1)


def loading_seconds(sources: Sources, beginning: str, rows: int) -> Spread:
    """Returns the seconds of loading at least that many rows, in any run, by ways with that prefix."""
    every = [load for one in sources.all for load in one.result.loading]
    found = [one.seconds for one in every if one.rows >= rows and one.what.startswith(beginning)]
    return Spread.of(found)


def loaded(sources: Sources, above: str, beginning: str) -> Spread:
    """Returns how many times faster the first way loads as many rows than ways with that prefix."""
    own = [one for one in sources.local.result.loading if one.what == above]
    other = [one for one in sources.local.result.loading if one.what.startswith(beginning)]
    found = [b.seconds / a.seconds for a in own for b in other if a.rows == b.rows]
    return replace(Spread.of(found), count=len(own))


def answers(sources: Sources) -> Spread:
    """Returns the number of compared answers."""
    return _exact(sum(sum(one.compared.values()) for one in sources.local.result.checked))


def fresh_ratio(
    sources: Sources, above: list[Any], below: list[Any], figure: str, less: float = 0
) -> Spread | None:
    """Returns the ratio of two latencies; each argument is a store, live rows and updates per second."""
    found = ways.fresh(_file(sources, "fresh"))
    runs = [found.one(*one) for one in (above, below)]
    if not all(runs):
        return None
    first, second = (one["latency_ms"][figure] for one in runs)
    value = first / second - less
    return Spread(value, value, value, 1)


FUNCTIONS: dict[str, Callable[..., Spread | None]] = {
    one.__name__: one
    for one in (
        times, against_rival, waiting, of_best, step, memory_of_part, serving_memory,
        trained, largest_table, loading_seconds, loaded, answers, fresh_ratio,
    )
}  # fmt: skip


def found_by(sources: Sources, given: list[Any]) -> Spread | None:
    """Calls the function named first; returns None if the results lack its figure."""
    name, *arguments = given
    function = FUNCTIONS[name]
    try:
        return function(sources, *arguments)
    except (MissingFigure, KeyError, StatisticsError):
        return None
