"""Runs a workload: prepares, compares the answers, and only then measures.

The servers of all systems run beside each other through the whole run, for a repetition takes
every cell in turn, in an order drawn anew. One that is not asked waits for requests
and takes no time worth measuring. One whose connections would count as another's memory is
measured after the others. With another model all are started again.
"""

import datetime
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import answers, machine, results, training
from bench.measuring import ROOT, Measuring
from bench.site import Site
from bench.systems import System, described, made
from bench.topology import Topology
from bench.workload import Cell
from data.flights import blocks
from python_baseline.stores.memory_store import MemoryStore


def now() -> str:
    """The time, as results have it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def commit() -> str:
    """The commit of this repository, with "+" where files differ from it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return machine.UNKNOWN
        return done.stdout.strip() if done.returncode == 0 else machine.UNKNOWN

    found = git("rev-parse", "HEAD")
    changed = found != machine.UNKNOWN and git("status", "--porcelain", "-uno")
    return found + ("+" if changed else "")


class Harness:
    """One run, whose raw logs go to `output` as they come."""

    def __init__(
        self,
        site: Site,
        cells: Sequence[Cell],
        output: Path,
    ) -> None:
        self._site = site
        self._cells = cells
        self._described = described()
        wanted = dict.fromkeys(cell.system for cell in cells)
        self._systems: dict[str, System] = {n: made(self._described[n], site) for n in wanted}
        self._measuring = Measuring(site, self._systems, cells, output)
        self._progress = self._measuring.progress
        self._checked: list[results.Checked] = []

    def run(self) -> results.Result:
        """Everything; the servers are stopped whatever happens."""
        began = now()
        with ExitStack() as stack:
            stack.callback(self._site.stop)
            round_trips = self._round_trips()
            versions, loading = self._prepare()
            trained = self._train()
            configuration = {}
            for trees, systems in self._phases():
                with ExitStack() as started:
                    self._start(systems, trees, started)
                    self._check(systems, trees)
                    self._measuring.measure(trees, systems)
                    # The first model's stands, which every system has.
                    configuration = {
                        n: s.configuration() for n, s in systems.items()
                    } | configuration
        return results.Result(
            schema=results.SCHEMA,
            started=began,
            finished=now(),
            commit=commit(),
            machine=machine.facts(),
            topology=self._site.topology.facts(round_trips),
            versions=versions,
            workload=asdict(self._site.workload),
            configuration=configuration,
            loading=loading,
            training=trained,
            checked=self._checked,
            cells=self._measuring.found(),
        )

    def _phases(self) -> Iterator[tuple[int, dict[str, System]]]:
        """Models, and systems that are measured beside each other."""
        for trees in dict.fromkeys(cell.trees for cell in self._cells):
            asked = {cell.system for cell in self._cells if cell.trees == trees}
            for apart in (False, True):
                systems = {
                    name: system
                    for name, system in self._systems.items()
                    if name in asked and self._described[name].apart == apart
                }
                if systems:
                    yield trees, systems

    def _round_trips(self) -> list[results.RoundTrip]:
        if self._site.attached:
            # There is nothing at the other end that would send an echo back.
            return []
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

    def _train(self) -> list[results.Training]:
        workload, database = self._site.workload, self._site.database
        if not workload.training_rounds:
            return []
        database.execute(("CREATE EXTENSION IF NOT EXISTS pgboost_train", ()))
        question = {
            "conninfo": database.socket, "rounds": workload.training_rounds,
            "threads": int(self._site.server.facts()["cores"]),
        }  # fmt: skip
        found = []
        for _ in range(workload.trainings):
            for what in training.WAYS:
                self._progress.say(f"{what}: {workload.training_rounds} rounds")
                answer = self._site.server.module(
                    "bench.training", question={**question, "what": what}
                )
                found.append(results.Training(**answer))
        return found

    def _start(self, systems: Mapping[str, System], trees: int, started: ExitStack) -> None:
        for name, system in systems.items():
            self._progress.say(f"{name}: start with {trees} trees")
            started.callback(system.stop)
            system.start(trees)

    def _rows(self) -> NDArray[np.float32]:
        flights = np.concatenate([*blocks(self._site.request)])
        return MemoryStore(flights).fetch(self._site.keys)

    def _check(self, systems: Mapping[str, System], trees: int) -> None:
        site = self._site
        wanted = answers.expected(site.model(trees), self._rows())
        given = {}
        for name, system in systems.items():
            self._progress.say(f"{name}: compare its answers to {len(site.keys):,} keys")
            given |= {f"{name}, {way}": found for way, found in system.check().items()}
        checked = answers.compare(trees, site.keys, wanted, given)
        total = sum(checked.compared.values())
        if self._checked and self._checked[-1].trees == trees:
            before = self._checked.pop()
            checked = replace(checked, compared=before.compared | checked.compared)
        self._checked.append(checked)
        self._progress.say(f"all {total:,} answers equal XGBoost's to the bit")


def result_directory(parent: Path, workload: str, topology: Topology) -> Path:
    """A new directory for a result, below one of the server's machine."""
    names = [name for name in (workload, topology.name) if name not in ("full", "local")]
    parts = (machine.short_name(topology.server.facts()), *dict.fromkeys(names))
    return results.new_directory(parent, "-".join(parts))


def elapsed(began: float) -> str:
    """How long ago that was, to read."""
    minutes, seconds = divmod(int(time.monotonic() - began), 60)
    return f"{minutes} min {seconds:02} s"
