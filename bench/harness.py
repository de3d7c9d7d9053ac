"""Runs a workload: prepares, compares the answers, and only then measures.

The servers of all systems run beside each other through the whole run, for a repetition takes
every cell in turn, in an order drawn anew. One that is not asked waits for requests
and takes no time worth measuring. With another model all are started again.
"""

import datetime
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import answers, machine, results
from bench.generators import Figures, Load
from bench.hosts import Usage
from bench.progress import Progress
from bench.site import Site
from bench.systems import SYSTEMS, System, Systems
from bench.topology import Topology
from bench.workload import Cell
from data.flights import blocks
from python_baseline.stores.memory_store import MemoryStore

ROOT = Path(__file__).resolve().parent.parent


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _commit() -> str:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return machine.UNKNOWN
        return done.stdout.strip() if done.returncode == 0 else machine.UNKNOWN

    commit = git("rev-parse", "HEAD")
    changed = commit != machine.UNKNOWN and git("status", "--porcelain", "-uno")
    return commit + ("+" if changed else "")


class Harness:
    """One run, whose raw logs go to `output` as they come."""

    def __init__(
        self,
        site: Site,
        cells: Sequence[Cell],
        output: Path,
        systems: Systems = SYSTEMS,
    ) -> None:
        self._site = site
        self._cells = cells
        self._output = output
        wanted = dict.fromkeys(cell.system for cell in cells)
        self._systems: dict[str, System] = {name: systems[name](site) for name in wanted}
        self._skipped = {cell: why for cell in cells if (why := self._lacks(cell))}
        self._runs: dict[Cell, list[results.Run]] = {cell: [] for cell in cells}
        self._checked: list[results.Checked] = []
        workload = site.workload
        runs = (len(cells) - len(self._skipped)) * workload.repetitions
        self._progress = Progress(runs)

    def _lacks(self, cell: Cell) -> str | None:
        return self._systems[cell.system].lacks(cell)

    def run(self) -> results.Result:
        """Everything; the servers are stopped whatever happens."""
        began = _now()
        with ExitStack() as stack:
            stack.callback(self._site.stop)
            round_trips = self._round_trips()
            versions, loading = self._prepare()
            configuration = {}
            for trees in dict.fromkeys(cell.trees for cell in self._cells):
                with ExitStack() as started:
                    self._start(trees, started)
                    self._check(trees)
                    self._measure([cell for cell in self._cells if cell.trees == trees])
                    configuration = {n: s.configuration() for n, s in self._systems.items()}
        return results.Result(
            schema=results.SCHEMA,
            started=began,
            finished=_now(),
            commit=_commit(),
            machine=machine.facts(),
            topology=self._site.topology.facts(round_trips),
            versions=versions,
            workload=asdict(self._site.workload),
            configuration=configuration,
            loading=loading,
            training=[],
            checked=self._checked,
            cells=[self._cell_result(cell) for cell in self._cells],
        )

    def _round_trips(self) -> list[results.RoundTrip]:
        self._progress.say("the round trips between the hosts")
        delays = dict.fromkeys([None, *(cell.delay_ms for cell in self._cells)])
        round_trips = self._site.topology.round_trips([*delays])
        # What is loaded and compared takes no part in what is measured.
        self._site.topology.links.set_delay(None)
        return round_trips

    def _prepare(self) -> tuple[dict[str, str], list[results.Loading]]:
        versions: dict[str, str] = {}
        loading = []
        for name, system in self._systems.items():
            self._progress.say(f"{name}: install, load")
            versions |= system.install()
            loading += system.load()
        return versions, loading

    def _start(self, trees: int, started: ExitStack) -> None:
        for name, system in self._systems.items():
            self._progress.say(f"{name}: start with {trees} trees")
            started.callback(system.stop)
            system.start(trees)

    def _rows(self) -> NDArray[np.float32]:
        flights = np.concatenate([*blocks(self._site.request)])
        return MemoryStore(flights).fetch(self._site.keys)

    def _check(self, trees: int) -> None:
        site = self._site
        wanted = answers.expected(site.model(trees), self._rows())
        given = {}
        for name, system in self._systems.items():
            self._progress.say(f"{name}: compare its answers to {len(site.keys):,} keys")
            given |= {f"{name}, {way}": found for way, found in system.check().items()}
        self._checked.append(answers.compare(trees, site.keys, wanted, given))
        total = sum(self._checked[-1].compared.values())
        self._progress.say(f"all {total:,} answers equal XGBoost's to the bit")

    def _measure(self, cells: Sequence[Cell]) -> None:
        workload = self._site.workload
        able = [cell for cell in cells if cell not in self._skipped]
        for repetition in range(workload.repetitions):
            for cell in workload.in_turn(able, repetition):
                system = self._systems[cell.system]
                seed = workload.seed + repetition
                self._site.topology.links.set_delay(cell.delay_ms)
                if workload.warm_up_seconds:
                    system.run(cell, Load(cell.clients, workload.warm_up_seconds, seed))
                self._run(system, cell, Load(cell.clients, workload.seconds, seed), repetition)

    def _run(self, system: System, cell: Cell, load: Load, repetition: int) -> None:
        output, figures, usage = system.run(cell, load)
        log = Path("raw", f"{cell.name.replace('/', '-')}-{repetition + 1}.txt")
        path = self._output / log
        path.parent.mkdir(parents=True, exist_ok=True)
        # A result may be published: it does not say where the repository lay.
        path.write_text(output.replace(f"{ROOT}/", ""))
        self._runs[cell].append(measured(figures, usage, str(log)))
        self._progress.done(f"{cell.name}: {figures.requests_per_second:,.0f} requests/s")

    def _cell_result(self, cell: Cell) -> results.CellResult:
        runs = self._runs[cell]
        return results.CellResult(
            name=cell.name,
            **asdict(cell),
            predictions_per_request=cell.predictions,
            skipped=self._skipped.get(cell),
            runs=runs,
            requests_per_second=_spread([run.requests_per_second for run in runs]),
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


def _spread(values: list[float]) -> results.Spread | None:
    return results.Spread.of(values) if values else None


def _latencies(runs: Sequence[results.Run]) -> dict[str, results.Spread]:
    """The spread of each latency that every run has."""
    return {
        name: results.Spread.of([run.latency_ms[name] for run in runs])
        for name in results.LATENCIES
        if runs and all(name in run.latency_ms for run in runs)
    }


def result_directory(parent: Path, workload: str, topology: Topology) -> Path:
    """A new directory for a result, named for the server's machine: what is there is never written over."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    names = [name for name in (workload, topology.name) if name not in ("full", "local")]
    parts = (today, machine.short_name(topology.server.facts()), *dict.fromkeys(names))
    base = "-".join(parts)
    number = 1
    while True:
        path = parent / (base if number == 1 else f"{base}-{number}")
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            number += 1


def elapsed(began: float) -> str:
    """How long ago that was, to read."""
    minutes, seconds = divmod(int(time.monotonic() - began), 60)
    return f"{minutes} min {seconds:02} s"
