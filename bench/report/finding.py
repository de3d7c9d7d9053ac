"""How a figure is found in the results: small functions that claims.toml and targets.toml name.

Each is given the sources and what the file says after its name: cells as `bench/run --list` prints them,
looked for on one machine and then on three hosts. What the results do not have is None, `Lacking`, a
KeyError, or the median of nothing.
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
    Asked,
    Entry,
    Lacking,
    Measured,
    better,
    entry,
    quotient,
    ratio,
    values,
)
from bench.results import CellResult, Spread


def _cell(sources: Sources, name: str) -> tuple[Measured, CellResult]:
    """The cell of that name on one machine, else on three hosts."""
    try:
        return sources.local, sources.local.named(name)
    except Lacking:
        if sources.split is None:
            raise
        return sources.split, sources.split.named(name)


def _entry(name: str) -> Entry:
    return entry(*name.split("/"))


# What is counted and not measured needs no repetition.
EXACT = 1_000


def _exact(value: float) -> Spread:
    return Spread(value, value, value, EXACT)


def _file(sources: Sources, kind: str) -> Path:
    """The newest run of a separate measurement, on the machine of the comparison."""
    path = sources.other(kind)
    if path is None:
        raise Lacking(kind)
    return path.parent


def times(sources: Sources, above: str, below: str, figure: str = "rate") -> Spread:
    """How many times better the first cell is by a figure."""
    return better(_cell(sources, above)[1], _cell(sources, below)[1], figure)


def against_rival(
    sources: Sources, above: str, figure: str = "rate", memory: bool = False
) -> Spread:
    """The same against the cell's rival: see measured.py."""
    measured, cell = _cell(sources, above)
    asked = Asked(cell.request, cell.clients, cell.trees, cell.rate, cell.delay_ms)
    rival = measured.rival(asked, memory)
    # Who is best where all are asked has to be asked here, too: a weaker one says little.
    best = measured.rival(replace(Asked(), delay_ms=cell.delay_ms), memory)
    if rival is None or (best and not measured.cell(best, asked)):
        raise Lacking(f"the best service was not asked what {above} was")
    return better(cell, measured.cell(rival, asked), figure)


def waiting(sources: Sources, name: str, delay_ms: float) -> Spread:
    """What waiting for the network takes of one client's latency with that delay."""
    grown = computed.growth(sources.split) if sources.split else []
    one = {one.entry: one for one in grown}[_entry(name)]
    trip = computed.round_trip_ms(sources.split, delay_ms)
    latency = dict(one.points)[trip]
    away = one.round_trips * trip
    shares = (away / one for one in (latency.median, latency.largest, latency.smallest))
    return Spread(*shares, latency.count)


def of_best(sources: Sources, beginning: str, clients: int = 0, per_core: int = 0) -> Spread:
    """What the number of clients nearest to that reaches of the best throughput with any number of them."""
    wanted = clients or per_core * int(sources.local.result.machine["cores"])
    cells = [
        cell
        for cell in sources.local.result.cells
        if cell.runs and cell.rate is None and cell.name.startswith(f"{beginning}/")
    ]
    near = min(cells, key=lambda cell: abs(cell.clients - wanted), default=None)
    if near is None or (clients and near.clients != clients):
        raise Lacking(beginning)
    return ratio(near, max(cells, key=lambda cell: cell.requests_per_second.median), "rate")


def lowest_of_control(sources: Sources, control: str) -> Spread:
    """The lowest share of its control's throughput that predicting leaves in PostgreSQL."""
    found = {one.median: one for one in computed.against_control(sources.local, control).values()}
    return found[min(found, default=0)]


def step(sources: Sources, name: str, request: str) -> Spread:
    """What a step takes of an entry's processor time for a request."""
    steps = computed.steps(sources.local, _entry(name))
    taken = zip(steps[request], zip(*steps.values(), strict=True), strict=True)
    return Spread.of([one / sum(together) for one, together in taken])


def memory_of_part(sources: Sources, part: str, name: str) -> Spread:
    """What a part of the server takes of its memory."""
    _, cell = _cell(sources, name)
    return quotient(Spread.of(values(cell, f"mb of {part}")), Spread.of(values(cell, "mb")))


def serving_memory(sources: Sources, name: str, part: str) -> Spread | None:
    """A part of the service against the private memory of as many connections as it has clients."""
    _, cell = _cell(sources, name)
    found = inside.read(_file(sources, "inside"))
    private = found.spread("copies", f"private/{series.LARGE}", cell.clients / 1e6)
    return private and quotient(Spread.of(values(cell, f"mb of {part}")), private)


def trained(sources: Sources, above: str, below: str) -> Spread:
    """How many times the memory one way to train takes."""
    found = {one.what: one.megabytes for one in sources.local.trainings()}
    return quotient(found[above], found[below])


def largest_table(sources: Sources, above: str, below: str) -> Spread:
    """How many times the rows one way trains on within the memory that both may have."""
    path = _file(sources, "training-limit") / "training-limit.json"
    found = json.loads(path.read_text())["largest_rows"]
    ratio_ = found[above] / found[below]
    return Spread(ratio_, ratio_, ratio_, 1)


def loading_seconds(sources: Sources, beginning: str, rows: int) -> Spread:
    """How long so many rows or more took, in any run, by the ways that begin so."""
    every = [load for one in sources.all for load in one.result.loading]
    found = [one.seconds for one in every if one.rows >= rows and one.what.startswith(beginning)]
    return Spread.of(found)


def loaded(sources: Sources, above: str, beginning: str) -> Spread:
    """How many times faster the first way loads as many rows than those that begin so."""
    own = [one for one in sources.local.result.loading if one.what == above]
    other = [one for one in sources.local.result.loading if one.what.startswith(beginning)]
    found = [b.seconds / a.seconds for a in own for b in other if a.rows == b.rows]
    return replace(Spread.of(found), count=len(own))


def answers(sources: Sources) -> Spread:
    """How many were compared."""
    return _exact(sum(sum(one.compared.values()) for one in sources.local.result.checked))


def fresh_ratio(
    sources: Sources, above: list[Any], below: list[Any], figure: str, less: float = 0
) -> Spread | None:
    """How many times one store's latency is another's; each is a store, live rows and updates per second."""
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
    """What the function of that name finds; None: the results do not have it."""
    name, *arguments = given
    function = FUNCTIONS[name]
    try:
        return function(sources, *arguments)
    except (Lacking, KeyError, StatisticsError):
        return None
