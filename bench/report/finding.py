"""Finds the figure of a claim in the results.

A claim of claims.toml names a method of `Finding` and its arguments. Cells are named as `bench/run --list`
prints them, and looked up on one machine, in the full runs of earlier commits, and on three hosts; both cells
of a ratio are of one result. RIVAL stands for the best Python service.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from statistics import StatisticsError
from typing import Any

from bench.inside import series
from bench.report import computed, inside
from bench.report import measured as reader
from bench.report.files import Sources
from bench.report.measured import Entry, Measured, MissingFigure, RequestSpec, entry, spread
from bench.results import CellResult, Spread

# Stands for the best Python service of the main request in a claim.
RIVAL = "rival"
# The count of a figure that is exact and needs no repetition.
EXACT = 1_000
# The steps to a value in a record: names, or properties of an element of a list.
Steps = Sequence[str | dict[str, Any]]


def _reached(record: Any, steps: Steps) -> Any:
    for step in steps:
        if isinstance(step, dict):
            record = next(one for one in record if step.items() <= one.items())
        else:
            record = record[step]
    return record


def _figures(runs: Any, figure: str) -> list[float]:
    """Returns a figure of each run: a field, a latency, or with `A/B` the quotient of two fields.

    Without a name the figure is the value itself.
    """
    if not figure:
        return [runs]
    several = runs if isinstance(runs, list) else [runs]
    known = [run | run.get("latency_ms", {}) for run in several]
    if figure in known[0]:
        return [run[figure] for run in known]
    above, below = figure.split("/")
    return [run[above] / run[below] for run in known]


class Finding:
    """A search for one figure.

    It notes the results that it used, and what ours is compared with. For a missing figure a method returns
    None, or raises `MissingFigure`, a LookupError or a StatisticsError.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.runs: list[str] = []
        self.rival = ""

    def _used(self, *names: str) -> None:
        self.runs += [name for name in names if name not in self.runs]

    def _record(self, kind: str) -> dict[str, Any]:
        """Reads the newest record of a separate measurement on the comparison's machine."""
        path = self._sources.other(kind)
        if path is None:
            raise MissingFigure(kind)
        self._used(str(path.parent.relative_to(self._sources.directory)))
        return json.loads(path.read_text())

    def _cells(self, *names: str) -> list[CellResult]:
        """Returns the cells of these names in the first result that has all of them."""
        for measured in self._sources.comparisons:
            found = {cell.name: cell for cell in measured.result.cells if cell.runs}
            if found.keys() >= {*names}:
                self._used(*measured.names)
                return [found[name] for name in names]
        raise MissingFigure(f"no result has figures of {' and '.join(names)}")

    def _entry(self, name: str) -> Entry:
        best = self._sources.local.rival(RequestSpec())
        found = best if name == RIVAL else entry(*name.split("/"))
        self.rival = found.label if name == RIVAL else ""
        return found

    def times(self, above: str, below: str, figure: str = "rate") -> Spread:
        """Returns how many times better the first cell is in a figure."""
        first, second = self._cells(above, below)
        self.rival = entry(second.system, second.variant).label
        return reader.better(first, second, figure)

    def against_rival(self, above: str, figure: str = "rate") -> Spread:
        """Returns how many times better a cell is than its rival (measured.py).

        The best service of the main request must have this cell too: a weaker rival proves little.
        """
        missing = []
        for measured in self._sources.comparisons:
            try:
                return self._against(measured, above, figure)
            except MissingFigure as error:
                missing.append(error)
        raise missing[0]

    def _against(self, measured: Measured, above: str, figure: str) -> Spread:
        cell, best = measured.named(above), self._sources.local.rival(RequestSpec())
        asked = reader.asked_by(cell)
        rival = measured.rival(asked)
        if rival is None or (best and not measured.cell(best, asked)):
            raise MissingFigure(f"the best service was not asked what {above} was")
        self.rival = rival.label
        self._used(*measured.names)
        return reader.better(cell, measured.cell(rival, asked), figure)

    def waiting(self, name: str, delay_ms: float) -> Spread:
        """Returns the network's share of one client's latency with that delay."""
        split = self._sources.split
        grown = computed.growth(split) if split else []
        one = {one.entry: one for one in grown}[self._entry(name)]
        trip = computed.round_trip_ms(split, delay_ms)
        latency = dict(one.points)[trip]
        away = one.round_trips * trip
        self._used(*split.names)
        shares = (away / one for one in (latency.median, latency.largest, latency.smallest))
        return Spread(*shares, latency.count)

    def of_best(self, beginning: str, per_core: int) -> Spread:
        """Returns the share of the best throughput that the number of clients nearest to that reaches."""
        wanted = per_core * int(self._sources.local.result.machine["cores"])
        for measured in self._sources.comparisons:
            cells = [
                cell
                for cell in measured.result.cells
                if cell.runs and cell.rate is None and cell.name.startswith(f"{beginning}/")
            ]
            if cells:
                self._used(*measured.names)
                near = min(cells, key=lambda cell: abs(cell.clients - wanted))
                best = max(cells, key=lambda cell: cell.requests_per_second.median)
                return reader.ratio(near, best, "rate")
        raise MissingFigure(beginning)

    def step(self, name: str, request: str) -> Spread:
        """Returns a step's share of an entry's CPU time for a request."""
        one = self._entry(name)
        for measured in self._sources.comparisons:
            if steps := computed.steps(measured, one):
                self._used(*measured.names)
                taken = zip(steps[request], zip(*steps.values(), strict=True), strict=True)
                return Spread.of([one / sum(together) for one, together in taken])
        raise MissingFigure(f"no result has the steps of {name}")

    def _of_rival(self, request: str) -> CellResult:
        best = self._entry(RIVAL)
        return self._cells(f"{best.system}/{best.variant}/{request}")[0]

    def memory_of_part(self, part: str, request: str) -> Spread:
        """Returns the share of a part in the best Python service's memory."""
        cell = self._of_rival(request)
        return reader.quotient(spread(cell, f"mb of {part}"), spread(cell, "mb"))

    def serving_memory(self, request: str) -> Spread | None:
        """Returns the memory of the best Python service's workers relative to that of as many connections."""
        cell = self._of_rival(request)
        found = inside.Found(self._record("inside"))
        private = found.figure("copies", f"private/{series.LARGE}", scale=cell.clients / 1e6)
        (part,) = cell.runs[0].server_parts.keys() - {"redis"}
        return private and reader.quotient(spread(cell, f"mb of {part}"), private)

    def trained(self, above: str, below: str) -> Spread:
        """Returns the memory of one way to train relative to another's."""
        for measured in self._sources.comparisons:
            found = {one.what: one.megabytes for one in measured.trainings()}
            if {above, below} <= found.keys():
                self._used(*measured.names)
                self.rival = above
                return reader.quotient(found[above], found[below])
        raise MissingFigure(f"no result has trainings of {above} and {below}")

    def loading_seconds(self, beginning: str, rows: int) -> Spread:
        """Returns the seconds of loading at least that many rows, in any run, by ways with that prefix."""
        found = []
        for measured in self._sources.all:
            for one in measured.result.loading:
                if one.rows >= rows and one.what.startswith(beginning):
                    self._used(*measured.names)
                    found.append(one.seconds)
        return Spread.of(found)

    def loaded(self, above: str, beginning: str) -> Spread:
        """Returns how many times faster the first way loads as many rows than ways with that prefix."""
        local = self._sources.local
        own = [one for one in local.result.loading if one.what == above]
        other = [one for one in local.result.loading if one.what.startswith(beginning)]
        self._used(*local.names)
        self.rival = other[0].what
        found = [b.seconds / a.seconds for a in own for b in other if a.rows == b.rows]
        return replace(Spread.of(found), count=len(own))

    def answers(self) -> Spread:
        """Returns the number of compared answers."""
        local = self._sources.local
        self._used(*local.names)
        count = sum(sum(one.compared.values()) for one in local.result.checked)
        return Spread(count, count, count, EXACT)

    def recorded(
        self, kind: str, figure: str, above: Steps, below: Steps | None = None, less: float = 0
    ) -> Spread:
        """Returns a figure of a separate record, or its ratio to another one's, less a number."""
        record = self._record(kind)
        found = _figures(_reached(record, above), figure)
        if below is not None:
            others = _figures(_reached(record, below), figure)
            found = [one / other for one, other in zip(found, others, strict=True)]
        return Spread.of([one - less for one in found])

    def lead(self, kind: str, figure: str, more: Sequence[Steps], less: Sequence[Steps]) -> Spread:
        """Returns the ratio of two ratios of a separate record."""
        return reader.quotient(*(self.recorded(kind, figure, *pair) for pair in (more, less)))

    def counted(self, kind: str, steps: Steps) -> Spread:
        """Returns an exact number of a separate record."""
        count = _reached(self._record(kind), steps)
        return Spread(count, count, count, EXACT)


def found_by(sources: Sources, given: Sequence[Any]) -> tuple[Spread | None, Finding]:
    """Calls the method named first; without its figure the results used and the rival are empty."""
    finding = Finding(sources)
    if given:
        name, *arguments = given
        try:
            if ours := getattr(finding, name)(*arguments):
                return ours, finding
        except (MissingFigure, LookupError, StatisticsError, StopIteration):
            pass
    return None, Finding(sources)
