"""Read access to one result, for the report: cells by entry and request, figures by name, ratios of cells.

An entry is a variant of a system, labelled by its system.toml; one that no folder describes any more has the
harness's name. A ratio of two cells is taken within each repetition, which measures both minutes apart, and
summarized as median and range; it differs from the quotient of the medians if the cells have different
repetitions. Two cells without a common repetition have that quotient, with the widest range.

The rival of a cell is the service without this project's engine that has the highest throughput for the same
request, among those with features in a shared store, or among those with a copy of all features in memory.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from bench.results import LATENCIES, CellResult, Result, Run, Spread
from bench.systems.description import GROUPS, SIDES, described

# The model and the number of clients of the comparison's main figures.
TREES = 25
CLIENTS = 20
POSTGRES, PYTHON = SIDES
# The variants measured by load generators.
GENERATED = ("simple", "prepared", "http")


class MissingFigure(Exception):
    """A figure that a result does not have; the message names it."""


@dataclass(frozen=True)
class Entry:
    """One entry of the comparison."""

    system: str
    variant: str
    label: str
    side: str
    # One of GROUPS of bench/systems/description.py.
    group: str
    what: str = ""
    # Whether it predicts by this project's engine, and whether it holds a copy of all features in memory.
    engine: bool = False
    memory: bool = False

    @property
    def program(self) -> bool:
        """Whether a program measures it as an application would, instead of a load generator."""
        return self.variant not in GENERATED


_KNOWN = {
    (of.name, name): Entry(
        of.name, name, one.label, of.side, GROUPS[of.side][of.other], of.what,
        of.side == POSTGRES or of.engine, of.options.get("store") == "memory",
    )
    for of in described().values()
    for name, one in of.variants.items()
}  # fmt: skip
ALL = (*_KNOWN.values(),)


def entry(system: str, variant: str) -> Entry:
    """Returns the entry of a system and a variant."""
    side = POSTGRES if system.startswith(POSTGRES) else PYTHON
    plain = Entry(system, variant, f"{system} ({variant})", side, GROUPS[side][1])
    return _KNOWN.get((system, variant), plain)


SIMPLE, PREPARED = entry("postgres_direct", "simple"), entry("postgres_direct", "prepared")


@dataclass(frozen=True)
class RequestSpec:
    """A request to an entry, with its model, load and delay."""

    request: str = "random"
    clients: int = CLIENTS
    trees: int = TREES
    rate: int | None = None
    # The one-way delay between hosts in milliseconds; None if none was set.
    delay_ms: float | None = None


def asked_by(cell: CellResult) -> RequestSpec:
    return RequestSpec(cell.request, cell.clients, cell.trees, cell.rate, cell.delay_ms)


class Trained(NamedTuple):
    """One way to train, summarized over its measurements."""

    what: str
    seconds: Spread
    megabytes: Spread


# The figures of a run; a KeyError if it lacks one.
FIGURES: Mapping[str, Callable[[Run], float]] = {
    "rate": lambda run: run.requests_per_second,
    # CPU time of all server processes per request, in microseconds.
    "us": lambda run: run.server.cpu_seconds * 1e6 / run.requests,
    # Peak memory (PSS) of all server processes.
    "mb": lambda run: run.server.pss_bytes / 1e6,
    "generator us": lambda run: run.generator.cpu_seconds * 1e6 / run.requests,
    **{name: lambda run, name=name: run.latency_ms[name] for name in LATENCIES},
}


def values(cell: CellResult, figure: str) -> list[float]:
    """Returns a figure of each run of a cell; `us of redis` is that of one part of the server."""
    name, _, part = figure.partition(" of ")
    runs = cell.runs
    if part:
        runs = [Run(**{**vars(run), "server": run.server_parts[part]}) for run in runs]
    return [FIGURES[name](run) for run in runs]


def spread(cell: CellResult | None, figure: str) -> Spread | None:
    """Summarizes a figure over the runs of a cell; None without a run, or if one lacks the figure."""
    try:
        return Spread.of(values(cell, figure)) if cell and cell.runs else None
    except KeyError:
        return None


def quotient(a: Spread, b: Spread) -> Spread:
    """Returns the quotient of unpaired figures, with the widest range."""
    low, high = a.smallest / b.largest, a.largest / b.smallest
    return Spread(a.median / b.median, low, high, min(a.count, b.count))


def by_repetition(cell: CellResult, figure: str) -> dict[str, float]:
    """Returns a figure by repetition, which the log's name ends with; a repeated run replaces the first."""
    names = (re.sub(r"[^/]*-", "", run.log) for run in cell.runs)
    return dict(zip(names, values(cell, figure), strict=True))


def ratio(above: CellResult, below: CellResult, figure: str) -> Spread:
    """Returns the ratio of the first cell's figure to the second's."""
    over, under = by_repetition(above, figure), by_repetition(below, figure)
    if found := [value / under[turn] for turn, value in over.items() if turn in under]:
        return Spread.of(found)
    return quotient(Spread.of([*over.values()]), Spread.of([*under.values()]))


def better(above: CellResult, below: CellResult, figure: str) -> Spread:
    """Returns how many times better the first cell is."""
    return ratio(above, below, figure) if figure == "rate" else ratio(below, above, figure)


def held(cell: CellResult) -> bool:
    """Whether more than half of the runs kept up with their rate, as a closed loop always does."""
    kept_up = [run.open_loop is None or run.open_loop.kept_up for run in cell.runs]
    return 2 * sum(kept_up) > len(kept_up)


def pooled(runs: Sequence["Measured"]) -> "Measured":
    """Pools several results into one, with the first one's name and facts and all runs of each cell."""
    cells: dict[str, CellResult] = {}
    for one in runs:
        for cell in one.result.cells:
            found = [replace(run, log=f"{one.name}/{run.log}") for run in cell.runs]
            before = cells.get(cell.name)
            # A reason for a missing run is kept only if no result has a run.
            first = before if before and before.runs else cell
            cells[cell.name] = replace(first, runs=[*(before.runs if before else ()), *found])
    loading = [load for one in runs for load in one.result.loading]
    training = [way for one in runs for way in one.result.training]
    result = replace(runs[0].result, cells=[*cells.values()], loading=loading, training=training)
    return Measured(result, runs[0].name, tuple(one.name for one in runs))


@dataclass(frozen=True)
class Measured:
    """One result file."""

    result: Result
    # The file's directory in bench/results/.
    name: str
    # The names of all pooled results.
    pool: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all results that it holds."""
        return self.pool or (self.name,)

    @cached_property
    def _cells(self) -> dict[tuple[Entry, RequestSpec], CellResult]:
        found = (cell for cell in self.result.cells if cell.runs)
        return {(entry(cell.system, cell.variant), asked_by(cell)): cell for cell in found}

    @property
    def facts(self) -> dict[str, str]:
        """The server's machine."""
        return self.result.topology.hosts[self.result.topology.roles["server"]]

    def cell(self, of: Entry, asked: RequestSpec) -> CellResult | None:
        """Returns the cell, or None if it was not measured."""
        return self._cells.get((of, asked))

    def named(self, name: str) -> CellResult:
        """Returns the cell of that name, as `bench/run --list` prints it."""
        for cell in self._cells.values():
            if cell.name == name:
                return cell
        raise MissingFigure(f"{self.name} has no figures of the cell {name}")

    def spread(self, of: Entry, asked: RequestSpec, figure: str) -> Spread | None:
        """Summarizes a figure; None if the cell or the figure is missing."""
        return spread(self.cell(of, asked), figure)

    def rival(self, asked: RequestSpec, memory: bool = False) -> Entry | None:
        """Returns the rival for a request, among services with a store or those with features in memory."""
        found = {
            one: cell.requests_per_second.median
            for one in self.entries
            if (one.side, one.engine, one.memory, one.program) == (PYTHON, False, memory, False)
            if (cell := self.cell(one, asked)) and held(cell)
        }
        return max(found, key=found.get, default=None)

    @cached_property
    def entries(self) -> list[Entry]:
        """The entries with any figure, in the order of pages; unknown ones are last."""
        found = dict.fromkeys(of for of, _ in self._cells)
        return sorted(found, key=lambda one: ALL.index(one) if one in ALL else len(ALL))

    def asked_for(self, **known: object) -> list[RequestSpec]:
        """Returns the distinct requests with the given properties."""
        found = dict.fromkeys(asked for _, asked in self._cells)
        return [asked for asked in found if known.items() <= vars(asked).items()]

    def clients(self, request: str, trees: int = TREES) -> list[int]:
        """Returns the numbers of clients that a request was measured with in a closed loop."""
        found = self.asked_for(request=request, trees=trees, rate=None, delay_ms=None)
        return sorted(asked.clients for asked in found)

    def trainings(self) -> list[Trained]:
        """Returns every way to train, summarized over its measurements."""
        found: dict[str, list[tuple[float, float]]] = {}
        for one in self.result.training:
            figures = (one.seconds, one.peak_bytes_above_idle / 1e6)
            found.setdefault(one.what, []).append(figures)
        return [
            Trained(what, *(Spread.of(column) for column in zip(*figures, strict=True)))
            for what, figures in found.items()
        ]
