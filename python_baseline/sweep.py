"""Finds the tuned service's best number of workers and threads on this machine.

    python -m python_baseline.sweep --output bench/results/DATE-MACHINE-sweep --minutes 7

Every pair is started, warmed up and asked by ab with the hot key, in rounds, each in an order drawn
anew, so that a machine that slows down does so for all. The pairs that are best after these are
measured in further rounds. The best of those has the largest product of its median requests a second
over the numbers of clients: it is good at all of them. A run during which other processes took
more than a little of the processors is repeated, and put on record. With --minutes it stops in
time, and goes on from its file when called again.
"""

import argparse
import itertools
import json
import math
import random
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bench import machine, processes
from bench.generators import Load
from bench.results import Spread
from bench.site import Site
from bench.systems.python import ENTRIES, Microservice
from bench.topology import local
from bench.workload import QUICK, Cell
from python_baseline.modes import ROOT
from workbench.tell import say, table

ENTRY = "python_tuned"
FILE = "sweep.json"
STATE = ROOT / ".bench"
TREES = 25
# Cores that other processes may take during a run; it is repeated where they took more.
MOST_FOREIGN = 0.15
ATTEMPTS = 10

Pair = tuple[int, int]


@dataclass(frozen=True)
class Plan:
    """What to try, and how often."""

    workers: list[int]
    threads: list[int]
    clients: list[int]
    seconds: int
    rounds: int
    finalists: int
    final_rounds: int
    rows: int

    @property
    def pairs(self) -> list[Pair]:
        """All pairs."""
        return [*itertools.product(self.workers, self.threads)]


@dataclass
class Sweep:
    """What was measured so far: for each pair the runs, each a rate for each number of clients."""

    plan: Plan
    about: dict[str, Any]
    runs: dict[Pair, list[list[float]]] = field(default_factory=dict)
    # The runs that were repeated: the cores that others took, and requests a second.
    disturbed: list[list[float]] = field(default_factory=list)

    def spreads(self, pair: Pair) -> list[Spread]:
        """Requests a second of a pair, for each number of clients."""
        return [Spread.of([*column]) for column in zip(*self.runs[pair], strict=True)]

    def ranked(self) -> list[Pair]:
        """The pairs measured most often, the best first."""
        most = max(map(len, self.runs.values()))
        often = [pair for pair, runs in self.runs.items() if len(runs) == most]
        score = {pair: math.prod(s.median for s in self.spreads(pair)) for pair in often}
        return sorted(often, key=score.__getitem__, reverse=True)

    def remaining(self) -> Iterator[Pair]:
        """What is to be measured yet, in order, decided anew after each run."""
        plan = self.plan
        for number in range(plan.rounds):
            yield from self._behind(plan.pairs, number)
        finalists = self._finalists()
        for number in range(plan.rounds, plan.rounds + plan.final_rounds):
            yield from self._behind(finalists, number)

    def _finalists(self) -> list[Pair]:
        # By the rounds that all had: what finalists had more must not change who they are.
        first = {pair: runs[: self.plan.rounds] for pair, runs in self.runs.items()}
        return Sweep(self.plan, self.about, first).ranked()[: self.plan.finalists]

    def _behind(self, pairs: list[Pair], number: int) -> list[Pair]:
        order = [pair for pair in pairs if len(self.runs.get(pair, [])) <= number]
        random.Random(number).shuffle(order)
        return order

    def to_json(self) -> dict[str, Any]:
        """The file's content; `tried` and `best` are what the report reads."""
        best = self.ranked()[0]
        tried = [
            {
                "workers": pair[0], "threads": pair[1],
                "requests_per_second": [asdict(spread) for spread in self.spreads(pair)],
                "runs": runs,
            }
            for pair, runs in sorted(self.runs.items())
        ]  # fmt: skip
        return {
            **self.about, "plan": asdict(self.plan), "clients": self.plan.clients,
            "disturbed": self.disturbed,
            "tried": tried, "best": {"workers": best[0], "threads": best[1]},
        }  # fmt: skip


def _about(site: Site) -> dict[str, Any]:
    git = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    versions = Microservice(ENTRIES[ENTRY], site).install()
    return {
        "commit": commit or machine.UNKNOWN, "machine": machine.facts(), "versions": versions,
        "entry": ENTRY, "trees": TREES, "request": "hot",
    }  # fmt: skip


def _read(path: Path, plan: Plan, about: dict[str, Any]) -> Sweep:
    """The sweep in a file, or one that is yet to begin."""
    if not path.exists():
        return Sweep(plan, about)
    known = json.loads(path.read_text())
    same = known["plan"] == asdict(plan) and known["versions"] == about["versions"]
    if not same or known["machine"] != about["machine"]:
        raise SystemExit(f"{path} is of another sweep")
    runs = {(one["workers"], one["threads"]): one["runs"] for one in known["tried"]}
    kept = {name: known[name] for name in about}
    return Sweep(plan, kept, runs, known["disturbed"])


def _busy_seconds() -> float:
    """Processor time of everything on this machine, and what its hypervisor gave to others."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, interrupts, soft, steal = map(int, fields[:8])
    return (user + nice + system + interrupts + soft + steal) / processes.TICKS


def _quiet_run(service: Microservice, cell: Cell, seconds: int, sweep: Sweep) -> float:
    """Requests a second in a run that nothing else disturbed; others are put on record."""
    load = Load(cell.clients, seconds, seed=0)
    for _ in range(ATTEMPTS):
        before = _busy_seconds()
        _, figures, usage = service.run(cell, load)
        own = usage.server.cpu_seconds + usage.generator.cpu_seconds
        foreign = (_busy_seconds() - before - own) / usage.seconds
        if foreign <= MOST_FOREIGN:
            return figures.requests_per_second
        sweep.disturbed.append([round(foreign, 2), figures.requests_per_second])
    raise SystemExit(f"something else takes {foreign:.2f} cores: no quiet run of {ATTEMPTS}")


def _measure(site: Site, pair: Pair, sweep: Sweep) -> list[float]:
    """Requests a second with one pair, for each number of clients."""
    service = Microservice(ENTRIES[ENTRY], site, pair)
    service.start(TREES)
    try:
        rates = []
        for clients in sweep.plan.clients:
            cell = Cell(ENTRY, "http", "hot", TREES, clients)
            service.run(cell, Load(clients, 1, seed=0))
            rates.append(_quiet_run(service, cell, sweep.plan.seconds, sweep))
        return rates
    finally:
        service.stop()


def _go_on(site: Site, sweep: Sweep, path: Path, deadline: float) -> bool:
    """Measures until the deadline or the end; whether it is the end."""
    site.feature_cache.load(site.request, "json")
    for pair in sweep.remaining():
        if time.monotonic() > deadline:
            return False
        rates = _measure(site, pair, sweep)
        sweep.runs.setdefault(pair, []).append(rates)
        path.write_text(json.dumps(sweep.to_json(), indent=1) + "\n")
        say(f"{pair[0]} workers, {pair[1]} threads: {', '.join(f'{rate:,.0f}' for rate in rates)}")
    return True


def _show(sweep: Sweep) -> None:
    table(
        ("workers", "threads", *(f"{clients} clients" for clients in sweep.plan.clients)),
        [(*pair, *(f"{s.median:,.0f}" for s in sweep.spreads(pair))) for pair in sweep.ranked()],
    )
    workers, threads = sweep.ranked()[0]
    say(f"requests a second; the best: {workers} workers of {threads} threads")


def _arguments() -> tuple[argparse.Namespace, Plan]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="directory of sweep.json")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so many")
    parser.add_argument("--workers", type=int, nargs="+", default=[*range(1, 9)])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 3, 4, 5, 10, 20])
    parser.add_argument("--clients", type=int, nargs="+", default=[5, 20, 100])
    parser.add_argument("--seconds", type=int, default=2, help="of a run; %(default)s")
    parser.add_argument("--rounds", type=int, default=1, help="over all pairs; %(default)s")
    parser.add_argument("--finalists", type=int, default=8, help="default: %(default)s")
    parser.add_argument("--final-rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--rows", type=int, default=QUICK.rows, help="default: %(default)s")
    parser.add_argument("--state", type=Path, default=STATE, help=argparse.SUPPRESS)
    found = parser.parse_args()
    plan = Plan(found.workers, found.threads, found.clients, found.seconds, found.rounds,
                found.finalists, found.final_rounds, found.rows)  # fmt: skip
    return found, plan


def main() -> None:
    """Goes on with the sweep of a directory, or begins it."""
    arguments, plan = _arguments()
    deadline = time.monotonic() + 60 * arguments.minutes
    site = Site(replace(QUICK, rows=plan.rows), local(arguments.state), arguments.state)
    arguments.output.mkdir(parents=True, exist_ok=True)
    path = arguments.output / FILE
    try:
        sweep = _read(path, plan, _about(site))
        done = _go_on(site, sweep, path, deadline)
    finally:
        site.stop()
    if done:
        _show(sweep)
    else:
        say("time is up; call this again to go on")


if __name__ == "__main__":
    main()
