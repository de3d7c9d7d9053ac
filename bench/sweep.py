"""How many workers and threads the tuned service does best with, on this machine and at this distance.

Every pair is started, warmed up, and asked with the hot key by each number of clients; the pairs take
turns. Best is the pair with the largest product of its median requests per second over the numbers of
clients: it is good at all of them. `bench/run` takes what was recorded on the same machine, with the same
topology, and makes a short sweep where nothing was; `bench/run --sweep` makes a longer one.
"""

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bench import record
from bench.generators import Load
from bench.results import Spread
from bench.site import Site
from bench.systems import made
from bench.systems.description import described
from bench.turns import in_turn
from bench.workload import TREES, WORKLOADS, Cell
from workbench.tell import say

ENTRY = "python_tuned"
KIND = "sweep"
ROWS = WORKLOADS["quick"].rows
# What makes a recorded sweep one of the same machine.
SAME = ("processor", "cores")

Pair = tuple[int, int]


@dataclass(frozen=True)
class Plan:
    """What to try, how long, and how often."""

    # Workers for each core of the server.
    workers: tuple[float, ...]
    threads: tuple[int, ...]
    clients: tuple[int, ...] = (5, 20)
    seconds: int = 3
    repetitions: int = 1

    def pairs(self, cores: int) -> list[Pair]:
        """All pairs of workers and threads."""
        workers = dict.fromkeys(max(1, round(share * cores)) for share in self.workers)
        return [*itertools.product(workers, self.threads)]


SHORT = Plan(workers=(1, 2), threads=(2, 4, 10))
LONG = Plan((0.5, 1, 2, 3, 4), threads=(1, 2, 4, 10), clients=(5, 20, 100), repetitions=3)


def is_swept(system: str) -> bool:
    """Whether a system has as many workers and threads as the sweep has found best."""
    return described()[system].options.get("mode") == "tuned"


def delay_of(workload_delays: Sequence[float | None]) -> float | None:
    """The distance to sweep at: the middle one of those that a workload sets."""
    set_ = sorted(delay for delay in workload_delays if delay)
    return set_[len(set_) // 2] if set_ else None


def _measure(site: Site, pair: Pair, plan: Plan) -> list[float]:
    """Requests per second with one pair, for each number of clients."""
    service = made(described()[ENTRY], site)
    service.pair = pair
    service.start(TREES)
    try:
        rates = []
        for clients in plan.clients:
            load = Load(clients, plan.seconds, seed=0, warm_up=1)
            cell = Cell(ENTRY, "http", "hot", TREES, clients)
            rates.append(service.run(cell, load)[1].requests_per_second)
    finally:
        service.stop()
    say(f"{pair[0]} workers of {pair[1]} threads: {', '.join(f'{rate:,.0f}' for rate in rates)}")
    return rates


def _spreads(runs: list[list[float]]) -> list[Spread]:
    return [Spread.of([*column]) for column in zip(*runs, strict=True)]


def best(runs: dict[Pair, list[list[float]]]) -> Pair:
    """The pair with the largest product of medians, of runs that are a rate for each number of clients."""
    return max(runs, key=lambda pair: math.prod(one.median for one in _spreads(runs[pair])))


def sweep(site: Site, plan: Plan) -> dict[str, Any]:
    """Measures; what the file holds, of which the report reads `clients`, `tried` and `best`."""
    service, facts = made(described()[ENTRY], site), site.server.facts()
    versions = service.install()
    service.load()
    delay = delay_of(site.workload.delays_ms)
    site.topology.links.set_delay(delay)
    pairs = plan.pairs(int(facts["cores"]))
    runs = in_turn({pair: partial(_measure, site, pair, plan) for pair in pairs}, plan.repetitions)
    site.topology.links.set_delay(None)

    def named(pair: Pair) -> dict[str, Any]:
        return dict(zip(("workers", "threads"), pair, strict=True))

    tried = [
        {**named(p), "runs": runs[p], "requests_per_second": [*map(asdict, _spreads(runs[p]))]}
        for p in pairs
    ]
    return {
        "machine": facts, "versions": versions,
        "topology": site.topology.name, "delay_ms": delay,
        "entry": ENTRY, "trees": TREES, "request": "hot", "rows": site.workload.rows,
        "plan": asdict(plan), "clients": plan.clients, "tried": tried, "best": named(best(runs)),
    }  # fmt: skip


def swept(site: Site, plan: Plan, output: Path) -> Pair:
    """Sweeps with few rows, and writes the file; the best pair."""
    site = replace(site, workload=replace(site.workload, rows=ROWS))
    try:
        path = record.keep(output, KIND, partial(sweep, site, plan), site.topology)
    finally:
        site.stop()
    pair = (*json.loads(path.read_text())["best"].values(),)
    say("best: {} workers of {} threads".format(*pair))
    return pair


def recorded(directories: Sequence[Path], site: Site) -> Pair | None:
    """The best pair of the newest sweep on the server's machine, with this topology and distance."""
    facts = site.server.facts()
    files = {
        path.resolve() for directory in directories for path in directory.rglob(f"{KIND}.json")
    }
    for path in sorted(files, key=lambda path: path.parent.name, reverse=True):
        known = json.loads(path.read_text())
        # One without a topology is of the time when connections were not spread over the workers.
        same = known.get("topology") == site.topology.name
        if same and all(known["machine"].get(name) == facts.get(name) for name in SAME):
            return (*known["best"].values(),)
    return None


def best_pair(site: Site, output: Path) -> Pair:
    """What was recorded, or what a short sweep finds now."""
    if known := recorded((record.RESULTS, output), site):
        return known
    say("no sweep of the service's workers and threads was recorded here: a short one")
    return swept(site, SHORT, output)
