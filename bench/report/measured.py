"""A result as the report asks of it: cells by what they are, figures by name, and ratios of two cells.

The ratio of two cells is taken within each repetition, in which both were measured minutes apart, and the
median of those is given with the smallest and the largest. It may therefore differ in its last digit from
the quotient of the two medians. Where one cell was measured less often than the other, that quotient is
taken, with the widest range.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from bench.report.entries import ALL, Entry, entry
from bench.results import LATENCIES, CellResult, Result, Run, Spread, Used

# The model and the number of clients that the comparison's main figures are about.
TREES = 25
CLIENTS = 20
STARVED = " †"


class Lacking(Exception):
    """A result without a figure that was asked for; the message names it."""


@dataclass(frozen=True)
class Asked:
    """What was asked of an entry, and how."""

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


def _there(used: Used | None) -> Used:
    if used is None:
        raise KeyError("not seen")
    return used


def _latency(name: str) -> Callable[[Run, int], float]:
    return lambda run, _: run.latency_ms[name]


# What a run tells, given the predictions per request; a KeyError where it does not.
FIGURES: Mapping[str, Callable[[Run, int], float]] = {
    "rate": lambda run, _: run.requests_per_second,
    # Processor time of all server processes for one request, in microseconds,
    "us": lambda run, _: _there(run.server).cpu_seconds * 1e6 / run.requests,
    # and the most memory (Pss) of all of them at once.
    "mb": lambda run, _: _there(run.server).pss_bytes / 1e6,
    **{name: _latency(name) for name in LATENCIES},
    "predictions": lambda run, per: run.requests_per_second * per,
    "us per prediction": lambda run, per: _there(run.server).cpu_seconds * 1e6 / run.requests / per,
    # How many cores the load generator kept busy, and what carries packets between hosts.
    "busy": lambda run, _: run.generator.cpu_seconds / run.seconds,
    "network": lambda run, _: _there(run.network).cpu_seconds / run.seconds,
}
MORE_IS_BETTER = ("rate", "predictions")


def values(cell: CellResult, figure: str) -> list[float]:
    """A figure in each run of a cell; of one part of the server where `figure` is such as `us of redis`."""
    name, _, part = figure.partition(" of ")
    runs = cell.runs
    if part:
        runs = [_part(run, part) for run in runs]
    return [FIGURES[name](run, cell.predictions_per_request or 1) for run in runs]


def _part(run: Run, part: str) -> Run:
    return Run(**{**vars(run), "server": run.server_parts[part]})


def ratio(above: CellResult, below: CellResult, figure: str) -> Spread:
    """How many times the first cell's figure is the second's."""
    over, under = values(above, figure), values(below, figure)
    if len(over) == len(under):
        return Spread.of([a / b for a, b in zip(over, under, strict=True)])
    return quotient(Spread.of(over), Spread.of(under))


def quotient(a: Spread, b: Spread) -> Spread:
    """Of figures that are no pairs: with the widest range."""
    return Spread(a.median / b.median, a.smallest / b.largest, a.largest / b.smallest)


def inverse(spread: Spread) -> Spread:
    """The same ratio the other way round."""
    return Spread(1 / spread.median, 1 / spread.largest, 1 / spread.smallest)


def better(above: CellResult, below: CellResult, figure: str) -> Spread:
    """How many times better the first cell is."""
    found = ratio(above, below, figure)
    return found if figure in MORE_IS_BETTER else inverse(found)


def held(cell: CellResult) -> bool:
    """Whether each run answered nearly all that was due, as a closed loop always does."""
    return all(run.open_loop is None or run.open_loop.kept_up for run in cell.runs)


@dataclass(frozen=True)
class Measured:
    """One result file."""

    result: Result
    # The file's directory in bench/results/.
    name: str

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

    def mark(self, of: Entry, asked: Asked) -> str:
        """What follows a figure of a cell in which a server did not have all of its cores in some run."""
        cell = self.cell(of, asked)
        return STARVED if cell and cell.starved else ""

    @cached_property
    def entries(self) -> list[Entry]:
        """Those with any figure, in the order of pages; those unknown here at the end."""
        found = dict.fromkeys(of for of, _ in self._cells)
        return sorted(found, key=lambda one: ALL.index(one) if one in ALL else len(ALL))

    def asked_for(self, of: Iterable[Entry], **known: object) -> list[Asked]:
        """What any of these entries was asked, of those with the given properties; each once."""
        found = dict.fromkeys(asked for one in of for other, asked in self._cells if one == other)
        return [
            asked
            for asked in found
            if all(getattr(asked, name) == value for name, value in known.items())
        ]

    def clients(self, request: str, trees: int = TREES) -> list[int]:
        """With how many clients at a time a request was asked in a closed loop."""
        found = self.asked_for(self.entries, request=request, trees=trees, rate=None, delay_ms=None)
        return sorted(asked.clients for asked in found)

    def requests(self) -> list[str]:
        """What was asked in closed loops, in the order of the file."""
        asked = self.asked_for(self.entries, rate=None, delay_ms=None)
        return [*dict.fromkeys(one.request for one in asked)]

    def batch_clients(self) -> int | None:
        """With how many clients batches are compared: five, where that was asked."""
        found = self.clients("batch")
        return 5 if 5 in found else next(iter(found), None)

    def further_models(self) -> tuple[int, list[int]] | None:
        """The models' numbers of trees, and the clients with which all were asked; None: one model."""
        asked = self.asked_for(self.entries, request="hot", rate=None, delay_ms=None)
        found = [one for one in asked if one.trees != TREES]
        if not found:
            return None
        clients = found[0].clients
        return clients, sorted({one.trees for one in found if one.clients == clients})

    def parts(self, of: Entry, asked: Asked) -> dict[str, Spread]:
        """The memory of each part of the server, in megabytes."""
        names = [*self.cell(of, asked).runs[0].server_parts]
        return {name: Spread.of(values(self.cell(of, asked), f"mb of {name}")) for name in names}

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

    @cached_property
    def minutes(self) -> float:
        """How long the whole run took."""
        began, ended = map(datetime.fromisoformat, (self.result.started, self.result.finished))
        return (ended - began).total_seconds() / 60
