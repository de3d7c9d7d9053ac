"""A result as the report asks of it: cells by what they are, ratios of two of them, and what is lacking.

The ratio of two cells is taken within each repetition, in which both were measured minutes
apart, and the median of those is given with the smallest and the largest. It may therefore
differ in its last digit from the quotient of the two medians. Where one cell was measured
less often than the other there are no such pairs: that quotient is taken, with the widest range.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from bench.report.entries import ALL, Entry, entry
from bench.results import LATENCIES, CellResult, Result, Run, Spread, Used

# The model and the number of clients that the comparison's main figures are about.
TREES = 25
CLIENTS = 20
STARVED = " †"


class Lacking(Exception):
    """A result without a figure that the report cannot do without; the message names it."""


@dataclass(frozen=True)
class Asked:
    """What was asked of an entry, and how."""

    request: str = "hot"
    clients: int = CLIENTS
    trees: int = TREES
    rate: int | None = None
    # The delay between hosts, one way, in milliseconds; None: the hosts as they are.
    delay_ms: float | None = None


# What is read from a run; a KeyError where the run has no such figure.
RunFigure = Callable[[Run], float]


def requests_per_second(run: Run) -> float:
    """Answered requests."""
    return run.requests_per_second


def latency(name: str) -> RunFigure:
    """A latency, in milliseconds."""
    return lambda run: run.latency_ms[name]


def _server(run: Run) -> Used:
    if run.server is None:
        raise KeyError("server")
    return run.server


def server_us(run: Run) -> float:
    """Processor time of all server processes for one request, in microseconds."""
    return _server(run).cpu_seconds * 1e6 / run.requests


def server_megabytes(run: Run) -> float:
    """The most memory (Pss) of all server processes at once."""
    return _server(run).pss_bytes / 1e6


def predictions_per_second(predictions: int) -> RunFigure:
    """Answered requests, times the predictions of each."""
    return lambda run: run.requests_per_second * predictions


def generator_busy(run: Run) -> float:
    """How many cores the load generator kept busy."""
    return run.generator.cpu_seconds / run.seconds


def network_busy(run: Run) -> float:
    """How many cores were kept busy by what carries packets between hosts."""
    if run.network is None:
        raise KeyError("network")
    return run.network.cpu_seconds / run.seconds


# The figures that two cells may be compared by, by name; of all but the rate less is better.
COMPARED: Mapping[str, RunFigure] = {
    "rate": requests_per_second,
    "us": server_us,
    "mb": server_megabytes,
    **{name: latency(name) for name in LATENCIES},
}


def inverse(spread: Spread | None) -> Spread | None:
    """The same ratio the other way round."""
    if spread is None:
        return None
    return Spread(1 / spread.median, 1 / spread.largest, 1 / spread.smallest)


def asked_of(cell: CellResult) -> Asked:
    """What was asked in a cell."""
    return Asked(cell.request, cell.clients, cell.trees, cell.rate, cell.delay_ms)


@dataclass(frozen=True)
class Measured:
    """One result file."""

    result: Result
    # The file's directory in bench/results/.
    name: str

    @cached_property
    def _cells(self) -> dict[tuple[str, str, Asked], CellResult]:
        return {(cell.system, cell.variant, asked_of(cell)): cell for cell in self.result.cells}

    def cell(self, of: Entry, asked: Asked) -> CellResult | None:
        """The cell, if it was measured."""
        found = self._cells.get((of.system, of.variant, asked))
        return found if found and found.runs else None

    def named(self, name: str) -> CellResult:
        """The cell of that name, as `bench/run --list` prints it."""
        for cell in self.result.cells:
            if cell.name == name and cell.runs:
                return cell
        raise Lacking(f"{self.name} has no figures of the cell {name}")

    def better(self, above: CellResult, below: CellResult, figure: str) -> Spread:
        """How many times better the first cell is by the figure of that name."""
        found = self.ratio(above, below, COMPARED[figure])
        return found if figure == "rate" else inverse(found)

    def held(self, of: Entry, asked: Asked) -> bool | None:
        """Whether each run answered nearly all that was due, as a closed loop always does; None: no run."""
        cell = self.cell(of, asked)
        if cell is None:
            return None
        return all(run.open_loop is None or run.open_loop.kept_up for run in cell.runs)

    def mark(self, of: Entry, asked: Asked) -> str:
        """What follows a figure of a cell in which a server did not have all of its cores in some run."""
        cell = self.cell(of, asked)
        return STARVED if cell and cell.starved else ""

    def any(self, of: Entry, columns: Iterable[tuple[str, Asked]]) -> bool:
        """Whether an entry has any of these cells."""
        return any(self.cell(of, asked) for _, asked in columns)

    def asked(self, of: Entry) -> list[Asked]:
        """All that an entry was asked and that was measured, in the order of the file."""
        key = (of.system, of.variant)
        return [
            asked for (*known, asked), cell in self._cells.items() if (*known,) == key and cell.runs
        ]

    @cached_property
    def minutes(self) -> float:
        """How long the whole run took."""
        began, ended = map(datetime.fromisoformat, (self.result.started, self.result.finished))
        return (ended - began).total_seconds() / 60

    @cached_property
    def entries(self) -> list[Entry]:
        """Those with any figure, in the order of pages; those unknown here at the end."""
        found = dict.fromkeys(
            entry(cell.system, cell.variant) for cell in self.result.cells if cell.runs
        )
        return sorted(found, key=lambda one: ALL.index(one) if one in ALL else len(ALL))

    def spread(self, of: Entry, asked: Asked, figure: RunFigure) -> Spread | None:
        """A figure over the runs of a cell; None where the cell or the figure is not there."""
        cell = self.cell(of, asked)
        try:
            return Spread.of([figure(run) for run in cell.runs]) if cell else None
        except KeyError:
            return None

    def needed(self, of: Entry, asked: Asked, figure: RunFigure) -> Spread:
        """The same, of a cell without which there is no report."""
        found = self.spread(of, asked, figure)
        if found is None:
            raise Lacking(f"{self.name} has no such figure of {of.label}: {asked}")
        return found

    def ratio(self, above: CellResult, below: CellResult, figure: RunFigure) -> Spread:
        """How many times the first cell's figure is the second's."""
        over, under = ([figure(run) for run in cell.runs] for cell in (above, below))
        if len(over) == len(under):
            return Spread.of([a / b for a, b in zip(over, under, strict=True)])
        a, b = Spread.of(over), Spread.of(under)
        return Spread(a.median / b.median, a.smallest / b.largest, a.largest / b.smallest)

    def times(
        self,
        above: Entry,
        below: Entry,
        asked: Asked,
        figure: RunFigure,
        against: Asked | None = None,
    ) -> Spread | None:
        """The ratio of two entries that were asked the same, or the second something else."""
        cells = self.cell(above, asked), self.cell(below, against or asked)
        if not (cells[0] and cells[1]):
            return None
        try:
            return self.ratio(*cells, figure)
        except KeyError:
            return None

    def asked_for(self, what: Iterable[Entry], **known: object) -> list[Asked]:
        """What any of these entries was asked, of those with the given properties; each once."""
        found = dict.fromkeys(asked for one in what for asked in self.asked(one))
        return [
            asked
            for asked in found
            if all(getattr(asked, name) == value for name, value in known.items())
        ]

    def further_models(self) -> tuple[int, list[int]] | None:
        """The models' numbers of trees, and the clients with which all were asked; None: one model."""
        found = [
            asked
            for asked in self.asked_for(self.entries, request="hot", rate=None, delay_ms=None)
            if asked.trees != TREES
        ]
        if not found:
            return None
        clients = found[0].clients
        return clients, sorted({asked.trees for asked in found if asked.clients == clients})

    def parts(self, of: Entry, asked: Asked) -> dict[str, Spread]:
        """The memory of each part of the server, in megabytes; of a server not taken apart the whole."""
        cell = self.cell(of, asked)
        named = [
            name
            for name in cell.runs[0].server_parts
            if all(name in r.server_parts for r in cell.runs)
        ]
        if not named:
            return {"server": self.needed(of, asked, server_megabytes)}
        return {
            name: Spread.of([run.server_parts[name].pss_bytes / 1e6 for run in cell.runs])
            for name in named
        }

    def batch_clients(self) -> int | None:
        """With how many clients batches are compared: five, where that was asked."""
        found = self.clients("batch")
        return 5 if 5 in found else next(iter(found), None)

    def clients(self, request: str, trees: int = TREES) -> list[int]:
        """With how many clients at a time per request was asked in a closed loop."""
        found = self.asked_for(self.entries, request=request, trees=trees, rate=None, delay_ms=None)
        return sorted(asked.clients for asked in found)
