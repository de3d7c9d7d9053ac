"""Functions that find a figure in the results, named by claims.toml and targets.toml.

Their arguments are the sources and those in the file: cells as `bench/run --list` prints them, looked up on
one machine and then on three hosts. For a missing figure they return None, or raise `MissingFigure`,
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


def _cell(sources: Sources, name: str) -> tuple[Measured, CellResult]:
    """Returns the cell of that name on one machine, else on three hosts."""
    try:
        return sources.local, sources.local.named(name)
    except MissingFigure:
        if sources.split is None:
            raise
        return sources.split, sources.split.named(name)


def _entry(name: str) -> Entry:
    return entry(*name.split("/"))


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


def times(sources: Sources, above: str, below: str, figure: str = "rate") -> Spread:
    """Returns how many times better the first cell is in a figure."""
    return better(_cell(sources, above)[1], _cell(sources, below)[1], figure)


def against_rival(
    sources: Sources, above: str, figure: str = "rate", memory: bool = False
) -> Spread:
    """Returns how many times better a cell is than its rival (measured.py)."""
    measured, cell = _cell(sources, above)
    asked = RequestSpec(cell.request, cell.clients, cell.trees, cell.rate, cell.delay_ms)
    rival = measured.rival(asked, memory)
    # The best service of the main cell must have this cell too: a weaker rival proves little.
    best = measured.rival(replace(RequestSpec(), delay_ms=cell.delay_ms), memory)
    if rival is None or (best and not measured.cell(best, asked)):
        raise MissingFigure(f"the best service was not asked what {above} was")
    return better(cell, measured.cell(rival, asked), figure)


def waiting(sources: Sources, name: str, delay_ms: float) -> Spread:
    """Returns the network's share of one client's latency with that delay."""
    grown = computed.growth(sources.split) if sources.split else []
    one = {one.entry: one for one in grown}[_entry(name)]
    trip = computed.round_trip_ms(sources.split, delay_ms)
    latency = dict(one.points)[trip]
    away = one.round_trips * trip
    shares = (away / one for one in (latency.median, latency.largest, latency.smallest))
    return Spread(*shares, latency.count)


def of_best(sources: Sources, beginning: str, clients: int = 0, per_core: int = 0) -> Spread:
    """Returns the share of an entry's best throughput that the number of clients nearest to that reaches."""
    wanted = clients or per_core * int(sources.local.result.machine["cores"])
    cells = [
        cell
        for cell in sources.local.result.cells
        if cell.runs and cell.rate is None and cell.name.startswith(f"{beginning}/")
    ]
    near = min(cells, key=lambda cell: abs(cell.clients - wanted), default=None)
    if near is None or (clients and near.clients != clients):
        raise MissingFigure(beginning)
    return ratio(near, max(cells, key=lambda cell: cell.requests_per_second.median), "rate")


def lowest_of_control(sources: Sources, control: str) -> Spread:
    """Returns the lowest share of its control's throughput that remains with predict in PostgreSQL."""
    found = {one.median: one for one in computed.against_control(sources.local, control).values()}
    return found[min(found, default=0)]


def step(sources: Sources, name: str, request: str) -> Spread:
    """Returns a step's share of an entry's CPU time for a request."""
    steps = computed.steps(sources.local, _entry(name))
    taken = zip(steps[request], zip(*steps.values(), strict=True), strict=True)
    return Spread.of([one / sum(together) for one, together in taken])


def memory_of_part(sources: Sources, part: str, name: str) -> Spread:
    """Returns the share of a part in the server's memory."""
    _, cell = _cell(sources, name)
    return quotient(Spread.of(values(cell, f"mb of {part}")), Spread.of(values(cell, "mb")))


def serving_memory(sources: Sources, name: str, part: str) -> Spread | None:
    """Returns a service's memory relative to the private memory of as many connections as its clients."""
    _, cell = _cell(sources, name)
    found = inside.read(_file(sources, "inside"))
    private = found.spread("copies", f"private/{series.LARGE}", cell.clients / 1e6)
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
        times, against_rival, waiting, of_best, lowest_of_control, step, memory_of_part, serving_memory,
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
