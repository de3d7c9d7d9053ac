"""Runs a workload: prepares, compares the answers, and only then measures.

The servers of all systems run for the whole run, because each repetition measures every cell, in a
new random order. An idle server takes no measurable time. For each model all are started again.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from bench import answers, record, results, training
from bench.generators import InvalidRun
from bench.hosts import CommandFailed
from bench.measuring import Measuring
from bench.requests import RANKINGS
from bench.site import Site
from bench.systems.description import described, made
from bench.systems.running import System
from bench.workload import Cell
from tools.workbench.console import say

# Requests whose answers are compared where they are measured; drawn keys and batches always are.
FURTHER = {"given", "rank_ids", "fresh", "tenants", *RANKINGS}


class Harness:
    """One run, whose raw logs go to `output` as they come."""

    def __init__(self, site: Site, cells: Sequence[Cell], output: Path) -> None:
        self._site = site
        self._cells = cells
        known, names = described(), dict.fromkeys(cell.system for cell in cells)
        systems = {name: made(known[name], site) for name in names}
        self._measuring = Measuring(site, systems, cells, output)
        # A system of which every cell is skipped is not installed.
        asked = {cell.system for cell in cells if cell not in self._measuring.skipped}
        self._systems = {name: system for name, system in systems.items() if name in asked}
        self._checked: list[results.Checked] = []

    @property
    def failed(self) -> str | None:
        """The last error that ended the measurement of some cells."""
        return self._measuring.failed

    def run(self) -> results.Result:
        """Runs everything, and stops the servers whatever happens."""
        began = record.now()
        with ExitStack() as stack:
            stack.callback(self._site.stop)
            round_trips = self._round_trips()
            versions, loading = self._prepare()
            trained = self._train()
            configuration = {}
            for trees in dict.fromkeys(cell.trees for cell in self._cells):
                # The systems that are measured with a model run at the same time.
                asked = {cell.system for cell in self._cells if cell.trees == trees}
                systems = {name: one for name, one in self._systems.items() if name in asked}
                try:
                    self._measure(trees, systems)
                except (CommandFailed, InvalidRun) as error:
                    # Other systems' runs are kept.
                    self._measuring.fail(trees, systems, str(error))
                # The first model's configuration is kept; every system has that model.
                found = {name: system.configuration() for name, system in systems.items()}
                configuration = found | configuration
            if self.failed and not self._measuring.measured():
                raise InvalidRun(self.failed)
            return results.Result(
                schema=results.SCHEMA,
                started=began,
                finished=record.now(),
                commit=record.commit(),
                machine=record.facts(),
                topology=self._site.topology.facts(round_trips),
                versions=versions,
                workload=asdict(self._site.workload),
                configuration=configuration,
                loading=loading,
                training=trained,
                checked=self._checked,
                cells=self._measuring.found(),
            )

    def _measure(self, trees: int, systems: Mapping[str, System]) -> None:
        with ExitStack() as started:
            for name, system in systems.items():
                say(f"{name}: start with {trees} trees")
                started.callback(system.stop)
                system.start(trees)
            self._check(systems, trees)
            self._measuring.measure(trees, systems)

    def _round_trips(self) -> list[results.RoundTrip]:
        say("the round trips between the hosts")
        delays = dict.fromkeys([None, *(cell.delay_ms for cell in self._cells)])
        round_trips = self._site.topology.round_trips([*delays])
        # Loading and comparing need no delay.
        self._site.topology.links.set_delay(None)
        return round_trips

    def _prepare(self) -> tuple[dict[str, str], list[results.Loading]]:
        versions: dict[str, str] = {}
        loading = []
        for name, system in self._systems.items():
            say(f"{name}: install, load")
            versions |= system.install()
            loading += system.load()
        return versions, loading

    def _train(self) -> list[results.Training]:
        workload, database, host = self._site.workload, self._site.database, self._site.server
        rounds, found = workload.training_rounds, []
        if rounds:
            database.execute("CREATE EXTENSION IF NOT EXISTS pgboost_train")
        for what in training.ways(workload.rows) if rounds else ():
            say(f"{what}: {rounds} rounds")
            asked = {"conninfo": database.socket(), "rounds": rounds, "threads": host.cores}
            answer = host.call("bench.training:train", apart=True, what=what, **asked)
            found.append(results.Training(**answer))
        return found

    def _check(self, systems: Mapping[str, System], trees: int) -> None:
        site, compared = self._site, {}
        alone = site.workload.keys_one_at_a_time
        right = answers.Reference(site.models(trees), site.inputs(trees), site.features, alone)
        for name, system in systems.items():
            say(f"{name}: compare its answers to {len(site.keys):,} keys")
            own = (cell for cell in self._cells if (cell.system, cell.trees) == (name, trees))
            asked = {cell.request for cell in own} & FURTHER
            for request in ("random", "batch", *sorted(asked)):
                bodies = right.bodies(request)
                wanted = right.answers(request, bodies)
                for way, given in system.answers(request, bodies).items():
                    answers.compare(f"{name}, {way}", bodies, wanted, given, system.exact)
                    count = len(site.keys if request == "batch" else bodies)
                    compared[f"{name}, {way}"] = count
        self._checked.append(results.Checked(trees, len(site.keys), compared))
        say(f"all {sum(compared.values()):,} answers equal XGBoost's to the bit")
