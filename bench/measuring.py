"""Measures cells in turn, repetition after repetition, and keeps what was found.

A rate that a cell cannot hold in the first repetition is measured that once, as it is; the faster
ones of the same system are then not asked for, and say so.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bench import results
from bench.generators import Figures, Load, Unsound
from bench.hosts import Usage
from bench.progress import Progress
from bench.site import Site
from bench.systems import System
from bench.workload import Cell

ROOT = Path(__file__).resolve().parent.parent


class Measuring:
    """The cells of a run, and their runs, whose raw logs go to `output` as they come."""

    def __init__(
        self, site: Site, systems: Mapping[str, System], cells: Sequence[Cell], output: Path
    ) -> None:
        self._site = site
        self._workload = site.workload
        self._systems = systems
        self._cells = cells
        self._output = output
        self._skipped = {
            cell: why for cell in cells if (why := systems[cell.system].lacks(cell)) is not None
        }
        # What was given up is asked no more, though it may have a run.
        self._given_up: set[Cell] = set()
        self._runs: dict[Cell, list[results.Run]] = {cell: [] for cell in cells}
        self.progress = Progress()
        for cell in self._to_come(cells):
            for _ in range(self._workload.repetitions):
                self.progress.expect(self._workload.planned_seconds(cell))

    def _to_come(self, cells: Sequence[Cell]) -> list[Cell]:
        return [cell for cell in cells if cell not in self._skipped and cell not in self._given_up]

    def measure(self, trees: int, systems: Collection[str]) -> None:
        """The cells of some systems with so many trees."""
        cells = [cell for cell in self._cells if cell.trees == trees and cell.system in systems]
        self._warm_up(self._to_come(cells))
        for repetition in range(self._workload.repetitions):
            for cell in self._workload.in_turn(self._to_come(cells), repetition):
                if cell not in self._skipped:
                    self._measure(cell, repetition)

    def _warm_up(self, cells: Sequence[Cell]) -> None:
        seconds = self._workload.warm_up_seconds
        asked = {(cell.system, cell.variant): cell for cell in cells}
        for cell in asked.values() if seconds else ():
            self.progress.say(f"{cell.system}/{cell.variant}: warm up")
            load = Load(cell.clients, seconds, self._workload.seed)
            self._systems[cell.system].run(replace(cell, rate=None), load)

    def _load(self, cell: Cell, repetition: int) -> Load:
        workload = self._workload
        seconds = workload.seconds if cell.rate is None else workload.seconds_at_a_rate
        seed = workload.seed + repetition
        return Load(cell.clients, seconds, seed, cell.rate, warm_up=cell.settling_seconds)

    def _measure(self, cell: Cell, repetition: int) -> None:
        self._site.topology.links.set_delay(cell.delay_ms)
        system = self._systems[cell.system]
        try:
            run = self._run(system, cell, self._load(cell, repetition), repetition)
        except Unsound as error:
            if cell.rate is None or repetition:
                raise
            self._give_up(cell, str(error).splitlines()[0])
            return
        held = run.open_loop is None or run.open_loop.kept_up
        figure = f"{run.requests_per_second:,.0f} requests/s" + ("" if held else ", falls behind")
        self.progress.done(f"{cell.name}: {figure}", self._workload.planned_seconds(cell))
        if not held and repetition == 0:
            self._give_up(cell, f"it answered {run.requests_per_second:,.0f}")

    def _run(self, system: System, cell: Cell, load: Load, repetition: int) -> results.Run:
        output, figures, usage = system.run(cell, load)
        log = Path("raw", f"{cell.name.replace('/', '-')}-{repetition + 1}.txt")
        path = self._output / log
        path.parent.mkdir(parents=True, exist_ok=True)
        # A result may be published: it does not say where the repository lay.
        path.write_text(output.replace(f"{ROOT}/", ""))
        self._runs[cell].append(measured(figures, usage, str(log)))
        return self._runs[cell][-1]

    def _give_up(self, cell: Cell, why: str) -> None:
        """What cannot hold a rate, or fails at it, is not asked for it again, nor for a faster one."""
        reason = f"{cell.system}/{cell.variant} cannot keep up with {cell.rate:,} requests per second ({why})"
        for other in self._cells:
            if other.rate is None or replace(other, rate=cell.rate) != cell:
                continue
            if other.rate > cell.rate:
                self._skipped[other] = f"{reason}, so no faster ones were sent"
                self._dismiss(other, first=0)
            elif other == cell and self._runs[cell]:
                self._given_up.add(cell)
                self._dismiss(cell, first=1)
            elif other == cell:
                self._skipped[cell] = reason
                self._dismiss(cell, first=0)

    def _dismiss(self, cell: Cell, first: int) -> None:
        for _ in range(first, self._workload.repetitions):
            self.progress.dismiss(self._workload.planned_seconds(cell))

    def found(self) -> list[results.CellResult]:
        """All cells, measured or not."""
        return [self._result(cell) for cell in self._cells]

    def _result(self, cell: Cell) -> results.CellResult:
        runs = self._runs[cell]
        rates = [run.requests_per_second for run in runs]
        return results.CellResult(
            name=cell.name,
            system=cell.system,
            variant=cell.variant,
            request=cell.request,
            trees=cell.trees,
            clients=cell.clients,
            rate=cell.rate,
            delay_ms=cell.delay_ms,
            predictions_per_request=cell.predictions,
            skipped=self._skipped.get(cell),
            runs=runs,
            requests_per_second=results.Spread.of(rates) if rates else None,
            latency_ms=_latencies(runs),
        )


def measured(figures: Figures, usage: Usage, log: str) -> results.Run:
    """A run's figures beside what was used meanwhile."""
    return results.Run(
        requests=figures.requests,
        requests_per_second=figures.requests_per_second,
        latency_ms=figures.latency_ms,
        latency_requests=figures.latency_requests,
        open_loop=figures.open_loop,
        seconds=usage.seconds,
        server=usage.server,
        server_parts=usage.server_parts,
        generator=usage.generator,
        network=usage.network,
        log=log,
    )


def _latencies(runs: Sequence[results.Run]) -> dict[str, results.Spread]:
    """The spread of each latency that every run has."""
    return {
        name: results.Spread.of([run.latency_ms[name] for run in runs])
        for name in results.LATENCIES
        if runs and all(name in run.latency_ms for run in runs)
    }
