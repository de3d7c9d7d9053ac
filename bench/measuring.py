"""Measures the cells interleaved, repetition by repetition, and keeps their runs.

A rate that a cell cannot sustain in the first repetition is measured that once; faster ones of the same
system are skipped and reported. A cell in which requests fail is reported and not measured again; the others
go on. A run in which a server did not have all of its cores is repeated once, and both runs are kept.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bench import results
from bench.generators import InvalidRun, Load
from bench.hosts import ROOT
from bench.site import Site
from bench.systems.running import System
from bench.workload import Cell
from tools.workbench.console import say

# The most clients of a warm-up.
WARM_UP_CLIENTS = 20
# The suffix of a repeated run's log.
AGAIN = "-again"


class Measuring:
    """The cells of a run of the harness and their runs, whose raw logs are written to `output`."""

    def __init__(
        self, site: Site, systems: Mapping[str, System], cells: Sequence[Cell], output: Path
    ) -> None:
        self._site = site
        self._workload = site.workload
        self._systems = systems
        self._cells = cells
        self._output = output
        # Why a cell is not measured, or was given up after some runs.
        self.skipped = {c: why for c in cells if (why := systems[c.system].lacks(c)) is not None}
        self._given_up: set[Cell] = set()
        # The last failure.
        self.failed: str | None = None
        self._runs: dict[Cell, list[results.Run]] = {cell: [] for cell in cells}
        self._repetition = 0

    def _to_come(self, cells: Sequence[Cell]) -> list[Cell]:
        return [cell for cell in cells if cell not in self.skipped and cell not in self._given_up]

    def measure(self, trees: int, systems: Collection[str]) -> None:
        """Measures the cells of some systems with the model of that number of trees."""
        cells = [cell for cell in self._cells if cell.trees == trees and cell.system in systems]
        self._warm_up(self._to_come(cells))
        for repetition in range(self._workload.repetitions):
            self._repetition = repetition
            for cell in self._workload.in_turn(self._to_come(cells), repetition):
                if cell not in self.skipped:
                    self._measure(cell)

    def measured(self) -> bool:
        """Whether any cell has a run."""
        return any(self._runs.values())

    def fail(self, trees: int, systems: Collection[str], why: str) -> None:
        """Records why cells of some systems have no run."""
        self.failed = why
        for cell in self._cells:
            if cell.trees == trees and cell.system in systems and not self._runs[cell]:
                self._fail(cell, why)

    def _fail(self, cell: Cell, why: str) -> None:
        self.skipped.setdefault(cell, f"the run failed: {why.splitlines()[0]}")

    def _warm_up(self, cells: Sequence[Cell]) -> None:
        seconds = self._workload.warm_up_seconds
        # With a cell that predicts, and few clients: a thousand would spend the time on connecting.
        order = sorted(cells, key=lambda cell: (cell.predictions > 0, -cell.clients))
        asked = {(cell.system, cell.variant): cell for cell in order}
        for cell in asked.values() if seconds else ():
            say(f"{cell.system}/{cell.variant}: warm up")
            few = replace(cell, rate=None, clients=min(cell.clients, WARM_UP_CLIENTS))
            self._systems[cell.system].run(few, Load(few.clients, seconds, self._workload.seed))

    def _measure(self, cell: Cell) -> None:
        self._site.topology.links.set_delay(cell.delay_ms)
        try:
            run = self._run(cell)
        except InvalidRun as error:
            if cell.rate is None or self._repetition:
                self.failed = f"{cell.name}: {error}"
                say(self.failed)
                self._fail(cell, str(error))
            else:
                self._give_up(cell, str(error).splitlines()[0])
            return
        rate = f"{run.requests_per_second:,.0f}"
        found = self.found()
        results.mark_starved(found)
        if len(self._runs[cell]) - 1 in found[self._cells.index(cell)].starved:
            say(f"{cell.name}: {rate} requests/s without all cores, once more")
            run = self._run(cell, AGAIN)
            rate = f"{run.requests_per_second:,.0f}"
        held = run.open_loop is None or run.open_loop.kept_up
        if not held and self._repetition == 0:
            self._give_up(cell, f"it answered {rate}")
        behind = "" if held else ", falls behind"
        print(f"[{self.left()} left] {cell.name}: {rate} requests/s{behind}", flush=True)

    def left(self) -> str:
        """Returns the planned remaining time."""
        # Repeated runs were not in the plan.
        work, runs = self._workload, self._runs.items()
        done = {cell: sum(AGAIN not in run.log for run in its) for cell, its in runs}
        minutes = sum(
            work.planned_seconds(cell) * (work.turns(cell) - done[cell]) / 60
            for cell in self._to_come(self._cells)
        )
        return "under a minute" if minutes < 1 else f"{minutes:.0f} min"

    def _run(self, cell: Cell, again: str = "") -> results.Run:
        workload = self._workload
        seconds = workload.seconds if cell.rate is None else workload.seconds_at_a_rate
        seed, warm_up = workload.seed + self._repetition, cell.settling_seconds
        load = Load(cell.clients, seconds, seed, cell.rate, warm_up)
        output, figures, usage = self._systems[cell.system].run(cell, load)
        name = f"{cell.name.replace('/', '-')}{again}-{self._repetition + 1}.txt"
        log = Path(results.RAW, name)
        path = self._output / log
        path.parent.mkdir(parents=True, exist_ok=True)
        # Results may be published, so logs omit the path of the repository.
        path.write_text(output.replace(f"{ROOT}/", ""))
        run = results.Run(**vars(figures), **vars(usage), log=str(log))
        self._runs[cell].append(run)
        return run

    def _give_up(self, cell: Cell, why: str) -> None:
        """Skips a cell that does not sustain its rate, and those that differ in a faster rate only."""
        reason = f"{cell.system}/{cell.variant} cannot keep up with {cell.rate:,} requests per second ({why})"
        if self._runs[cell]:
            self._given_up.add(cell)
        else:
            self.skipped[cell] = reason
        for other in self._cells:
            faster = other.rate is not None and other.rate > cell.rate
            if faster and replace(other, rate=cell.rate) == cell:
                self.skipped[other] = f"{reason}, so no faster ones were sent"

    def found(self) -> list[results.CellResult]:
        """Returns all cells, measured or not."""
        return [
            results.CellResult(
                cell.name, cell.system, cell.variant, cell.request, cell.trees, cell.clients, cell.rate,
                cell.delay_ms, cell.predictions, self.skipped.get(cell), self._runs[cell],
                requests_per_second=None, latency_ms={},
            )
            for cell in self._cells
        ]  # fmt: skip
