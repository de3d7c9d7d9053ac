"""A result as the report asks of it: cells by entry and by what was asked, figures by name, ratios of cells.

An entry is a system in one of its variants, named and drawn as its system.toml says; one that no folder
describes any more is named as the harness named it. The ratio of two cells is taken within each repetition of
each run, in which both were measured minutes apart, and the median of those is given with the smallest and
the largest: it differs from the quotient of the medians where cells have other repetitions. Where two have no
repetition in common, that quotient is taken, with the widest range.

The rival of a cell is computed: the service without this project's engine that answered most of what the cell
was asked, of those whose features are in a store that others can write, or of those that hold a copy of all.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from bench.results import LATENCIES, CellResult, Result, Run, Spread
from bench.systems.description import GROUPS, SIDES, described

# The model and the number of clients that the comparison's main figures are about.
TREES = 25
CLIENTS = 20
POSTGRES, PYTHON = SIDES
# The variants that load generators ask.
GENERATED = ("simple", "prepared", "http")


class Lacking(Exception):
    """A result without a figure that was asked for; the message names it."""


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
    # Whether it predicts by this project's engine, and whether it holds a copy of all features in its memory.
    engine: bool = False
    memory: bool = False

    @property
    def program(self) -> bool:
        """Whether a program asks it as an application would, and no load generator."""
        return self.variant not in GENERATED


_KNOWN = {
    (of.name, name): Entry(
        of.name, name, one.label, of.side, GROUPS[of.side][of.other], of.what,
        of.side == POSTGRES or of.engine, of.options.get("store") == "memory",
    )
    for of in described().values()
    for name, one in of.variants.items()
}  # fmt: skip
_RETIRED = tomllib.loads(Path(__file__).with_name("retired.toml").read_text())
for _name, _one in _RETIRED.items():
    _group = GROUPS[_one["side"]][_one.pop("group")]
    _KNOWN[(*_name.split("/"),)] = Entry(*_name.split("/"), **_one, group=_group)
ALL = (*_KNOWN.values(),)


def entry(system: str, variant: str) -> Entry:
    """The entry of that system and variant."""
    side = POSTGRES if system.startswith(POSTGRES) else PYTHON
    return _KNOWN.get(
        (system, variant), Entry(system, variant, f"{system} ({variant})", side, GROUPS[side][1])
    )


SIMPLE, PREPARED = entry("postgres_direct", "simple"), entry("postgres_direct", "prepared")
ONE_THREAD = entry("python_published_one_thread", "http")
# The service of 2022 as it was is for the record.
AS_PUBLISHED = entry("python_published", "http")


@dataclass(frozen=True)
class Asked:
    """What was requested from an entry, and how."""

    request: str = "hot"
    clients: int = CLIENTS
    trees: int = TREES
    rate: int | None = None
    # The delay between hosts, one way, in milliseconds; None: the hosts as they are.
    delay_ms: float | None = None


class Trained(NamedTuple):
    """One way to train, over the times it was measured."""

    what: str
    rows: int
    rounds: int
    threads: int
    seconds: Spread
    megabytes: Spread


# What a run tells; a KeyError where it does not.
FIGURES: Mapping[str, Callable[[Run], float]] = {
    "rate": lambda run: run.requests_per_second,
    # Processor time of all server processes for one request, in microseconds,
    "us": lambda run: run.server.cpu_seconds * 1e6 / run.requests,
    # and the most memory (Pss) of all of them at once.
    "mb": lambda run: run.server.pss_bytes / 1e6,
    # The load generator's.
    "generator us": lambda run: run.generator.cpu_seconds * 1e6 / run.requests,
    **{name: lambda run, name=name: run.latency_ms[name] for name in LATENCIES},
}


def values(cell: CellResult, figure: str) -> list[float]:
    """A figure in each run of a cell; of one part of the server where `figure` is such as `us of redis`."""
    name, _, part = figure.partition(" of ")
    runs = cell.runs
    if part:
        runs = [Run(**{**vars(run), "server": run.server_parts[part]}) for run in runs]
    return [FIGURES[name](run) for run in runs]


def quotient(a: Spread, b: Spread) -> Spread:
    """Of figures that are no pairs: with the widest range."""
    return Spread(
        a.median / b.median, a.smallest / b.largest, a.largest / b.smallest, min(a.count, b.count)
    )


def turns(cell: CellResult, figure: str) -> dict[str, float]:
    """A figure by the run and the repetition, which the log's name ends with; of a repeated one the last."""
    names = (re.sub(r"[^/]*-", "", run.log) for run in cell.runs)
    return dict(zip(names, values(cell, figure), strict=True))


def ratio(above: CellResult, below: CellResult, figure: str) -> Spread:
    """How many times the first cell's figure is the second's."""
    over, under = turns(above, figure), turns(below, figure)
    if found := [value / under[turn] for turn, value in over.items() if turn in under]:
        return Spread.of(found)
    return quotient(Spread.of([*over.values()]), Spread.of([*under.values()]))


def better(above: CellResult, below: CellResult, figure: str) -> Spread:
    """How many times better the first cell is."""
    found = ratio(above, below, figure)
    return found if figure == "rate" else quotient(Spread(1, 1, 1, found.count), found)


def held(cell: CellResult) -> bool:
    """Whether more than half of the runs answered nearly all that was due, as a closed loop always does."""
    kept_up = [run.open_loop is None or run.open_loop.kept_up for run in cell.runs]
    return 2 * sum(kept_up) > len(kept_up)


def pooled(runs: Sequence["Measured"]) -> "Measured":
    """Several results as one, the first one's name and facts with all runs of each cell."""
    cells: dict[str, CellResult] = {}
    for one in runs:
        for cell in one.result.cells:
            found = [replace(run, log=f"{one.name}/{run.log}") for run in cell.runs]
            before = cells.get(cell.name)
            # A reason stands where no run of any result has a figure.
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
    # Those of all results that were pooled.
    names: tuple[str, ...] = ()

    @cached_property
    def _cells(self) -> dict[tuple[Entry, Asked], CellResult]:
        return {
            (
                entry(cell.system, cell.variant),
                Asked(cell.request, cell.clients, cell.trees, cell.rate, cell.delay_ms),
            ): cell
            for cell in self.result.cells
            if cell.runs
        }

    @property
    def facts(self) -> dict[str, str]:
        """The server's machine."""
        return self.result.topology.hosts[self.result.topology.roles["server"]]

    def cell(self, of: Entry, asked: Asked) -> CellResult | None:
        """The cell, if it was measured."""
        return self._cells.get((of, asked))

    def named(self, name: str) -> CellResult:
        """The cell of that name, as `bench/run --list` prints it."""
        for cell in self._cells.values():
            if cell.name == name:
                return cell
        raise Lacking(f"{self.name} has no figures of the cell {name}")

    def spread(self, of: Entry, asked: Asked, figure: str) -> Spread | None:
        """A figure over the runs of a cell; None where the cell or the figure is not there."""
        cell = self.cell(of, asked)
        try:
            return Spread.of(values(cell, figure)) if cell else None
        except KeyError:
            return None

    def times(
        self, above: Entry, below: Entry, asked: Asked, figure: str, against: Asked | None = None
    ) -> Spread | None:
        """The ratio of two entries that were asked the same, or the second something else."""
        cells = self.cell(above, asked), self.cell(below, against or asked)
        return ratio(*cells, figure) if all(cells) else None

    def rival(self, asked: Asked, memory: bool = False) -> Entry | None:
        """The service without this project's engine that answers most: from a store, or from its memory."""
        found = {
            one: cell.requests_per_second.median
            for one in self.entries
            if (one.side, one.engine, one.memory, one.program) == (PYTHON, False, memory, False)
            if (cell := self.cell(one, asked)) and held(cell)
        }
        return max(found, key=found.get, default=None)

    def share_held(self, of: Entry, asked: Asked) -> tuple[int, int]:
        """In how many of its runs at a rate an entry sustained it."""
        cell = self.cell(of, asked)
        runs = [run for run in cell.runs if run.open_loop] if cell else []
        return sum(run.open_loop.kept_up for run in runs), len(runs)

    @cached_property
    def entries(self) -> list[Entry]:
        """Those with any figure, in the order of pages; those unknown here at the end."""
        found = dict.fromkeys(of for of, _ in self._cells)
        return sorted(found, key=lambda one: ALL.index(one) if one in ALL else len(ALL))

    def asked_for(self, **known: object) -> list[Asked]:
        """What entries were asked, of that with the given properties; each once."""
        found = dict.fromkeys(asked for _, asked in self._cells)
        return [asked for asked in found if known.items() <= vars(asked).items()]

    def clients(self, request: str, trees: int = TREES) -> list[int]:
        """With how many clients at a time a request was asked in a closed loop."""
        found = self.asked_for(request=request, trees=trees, rate=None, delay_ms=None)
        return sorted(asked.clients for asked in found)

    def trainings(self) -> list[Trained]:
        """Every way to train, the figures of the same way put together."""
        found: dict[tuple[str, int, int, int], list[tuple[float, float]]] = {}
        for one in self.result.training:
            figures = (one.seconds, one.peak_bytes_above_idle / 1e6)
            found.setdefault((one.what, one.rows, one.rounds, one.threads), []).append(figures)
        return [
            Trained(*way, *(Spread.of([*column]) for column in zip(*figures, strict=True)))
            for way, figures in found.items()
        ]
