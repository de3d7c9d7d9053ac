"""How a figure is found in the results: small functions that claims.toml and targets.toml name.

Each is given the sources and what the file says after its name: cells as `bench/run --list` prints them,
looked for on one machine and then on three hosts. What the results lack is None, `Lacking`, a KeyError, or
the median of nothing.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import StatisticsError
from typing import Any

from bench.report import computed, fresh, inside, rungs, serving
from bench.report.files import Sources, newest
from bench.report.measured import (
    PYTHON,
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
from speed import series


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


def _same(value: float) -> Spread:
    return Spread(value, value, value)


def _run(sources: Sources, file: str) -> Path:
    """The newest run of a measurement of its own."""
    run = newest(sources.directory, file)
    if run is None:
        raise Lacking(file)
    return run


def times(sources: Sources, above: str, below: str, figure: str = "rate") -> Spread:
    """How many times better the first cell is by a figure."""
    return better(_cell(sources, above)[1], _cell(sources, below)[1], figure)


def against_best_service(sources: Sources, above: str, figure: str = "rate") -> Spread:
    """The same against the entry of the service that answers most of what the cell was asked."""
    measured, cell = _cell(sources, above)
    asked = Asked(cell.request, cell.clients, cell.trees, cell.rate, cell.delay_ms)
    cells = [measured.cell(one, asked) for one in measured.entries if one.side == PYTHON]
    found = {one.requests_per_second.median: one for one in cells if one}
    return better(cell, found[max(found, default=0)], figure)


def waiting(sources: Sources, name: str, delay_ms: float) -> Spread:
    """What waiting for the network takes of one client's latency with that delay."""
    grown = computed.growth(sources.split) if sources.split else []
    one = {one.entry: one for one in grown}[_entry(name)]
    trip = computed.round_trip_ms(sources.split, delay_ms)
    latency = dict(one.points)[trip]
    away = one.round_trips * trip
    return Spread(away / latency.median, away / latency.largest, away / latency.smallest)


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


def all_but(sources: Sources, name: str, request: str) -> Spread:
    """What all other steps take."""
    taken = step(sources, name, request)
    return Spread(1 - taken.median, 1 - taken.largest, 1 - taken.smallest)


def memory_of_part(sources: Sources, part: str, name: str) -> Spread:
    """What a part of the server takes of its memory."""
    _, cell = _cell(sources, name)
    return quotient(Spread.of(values(cell, f"mb of {part}")), Spread.of(values(cell, "mb")))


def serving_memory(sources: Sources, name: str, part: str) -> Spread | None:
    """A part of the service against the private memory of as many connections as it has clients."""
    _, cell = _cell(sources, name)
    found = inside.read(_run(sources, series.FILE))
    private = found.spread("copies", f"private/{series.LARGE}", cell.clients / 1e6)
    return private and quotient(Spread.of(values(cell, f"mb of {part}")), private)


def trained(sources: Sources, above: str, below: str) -> Spread:
    """How many times the memory one way to train takes."""
    found = {one.what: one.megabytes for one in sources.local.trainings()}
    return quotient(found[above], found[below])


def largest_table(sources: Sources, above: str, below: str) -> Spread:
    """How many times the rows one way trains on within the memory that both may have."""
    found = (sources.other("training-limit") or {})["largest_rows"]
    return _same(found[above] / found[below])


def loading_seconds(sources: Sources, beginning: str, rows: int) -> Spread:
    """How long so many rows or more took, in any run, by the ways that begin so."""
    every = [load for one in sources.all for load in one.result.loading]
    found = [one.seconds for one in every if one.rows >= rows and one.what.startswith(beginning)]
    return Spread.of(found)


def loaded(sources: Sources, above: str, beginning: str) -> Spread:
    """How many times faster the first way loads as many rows than those that begin so."""
    own = [one for one in sources.local.result.loading if one.what == above]
    other = [one for one in sources.local.result.loading if one.what.startswith(beginning)]
    return Spread.of([b.seconds / a.seconds for a in own for b in other if a.rows == b.rows])


def answers(sources: Sources) -> Spread:
    """How many were compared."""
    return _same(sum(sum(one.compared.values()) for one in sources.local.result.checked))


def _builds(sources: Sources, kind: str) -> dict[str, Any]:
    file = f"{kind}.json"
    return json.loads((_run(sources, file) / file).read_text())


def changed(
    sources: Sources,
    kind: str,
    query: str,
    figure: str,
    builds: Sequence[str] = ("plain", "optimised"),
) -> Spread:
    """The change of a figure from one build to another, within each round, as KIND.json has them."""
    runs = {cell["name"]: cell["runs"] for cell in _builds(sources, kind)["cells"]}[query]

    def read(run: dict[str, Any]) -> float:
        return run[figure] if figure in run else run["latency_ms"][figure]

    before, after = builds
    pairs = zip(runs[after], runs[before], strict=True)
    return Spread.of([read(a) / read(b) - 1 for a, b in pairs])


def profiled_rows(sources: Sources) -> Spread:
    """How many predictions of the two builds were compared."""
    return _same(_builds(sources, "pgo")["plan"]["rows"])


def rung_us(sources: Sources, rung: str, verb: str) -> Spread | None:
    """What a prediction takes by a rung of the ladder, in µs."""
    return rungs.read(_run(sources, rungs.FILE)).spread("titanic", rung, verb)


def rung_share(sources: Sources, rung: str) -> Spread:
    """What everything but predicting takes of a rung's time for a raw row."""
    of = rungs.read(_run(sources, rungs.FILE))
    raw, features, echo = (of.values("titanic", rung, verb) for verb in ("raw", "features", "echo"))
    return Spread.of([1 - (f - e) / r for r, f, e in zip(raw, features, echo, strict=True)])


def served(sources: Sources, above: str, below: str, verb: str, figure: str) -> Spread | None:
    """How many times better one service is than another."""
    return serving.read(_run(sources, serving.FILE)).times(above, below, verb, figure)


def lead(sources: Sources, above: str, below: str, more: str, less: str) -> Spread | None:
    """What is left of one service's lead over another in throughput with more work for each request."""
    found = [served(sources, above, below, verb, "rate") for verb in (more, less)]
    return quotient(*found) if all(found) else None


def fresh_ratio(
    sources: Sources, above: list[Any], below: list[Any], figure: str, less: float = 0
) -> Spread | None:
    """How many times a latency of a store is another's; each a store, rows held and updates a second."""
    found = fresh.read(_run(sources, fresh.FILE))
    runs = [found.one(*one) for one in (above, below)]
    if not all(runs):
        return None
    first, second = (one["latency_ms"][figure] for one in runs)
    return _same(first / second - less)


def pushed(sources: Sources, above: str, below: str) -> Spread:
    """The change from one to another of the document's own benchmarks, by their means."""
    found = fresh.read(_run(sources, fresh.FILE)).run["push"]
    return _same(found[above]["ns/op"] / found[below]["ns/op"] - 1)


FUNCTIONS: dict[str, Callable[..., Spread | None]] = {
    one.__name__: one
    for one in (
        times, against_best_service, waiting, of_best, lowest_of_control, step, all_but, memory_of_part,
        serving_memory, trained, largest_table, loading_seconds, loaded, answers, changed, profiled_rows,
        rung_us, rung_share, served, lead, fresh_ratio, pushed,
    )
}  # fmt: skip


def found_by(sources: Sources, given: list[Any]) -> Spread | None:
    """What the function of that name finds; None: the results lack it."""
    name, *arguments = given
    function = FUNCTIONS[name]
    try:
        return function(sources, *arguments)
    except (Lacking, KeyError, StatisticsError):
        return None
