"""Finds the tuned service's best number of workers and threads on this machine.

    python -m python_baseline.sweep --workers 1 2 3 4 --threads 1 5 10 20

Each pair is started, warmed up and asked by ab with the hot key, in rounds, so that a
machine that slows down does so for all. The best has the largest product of its
median requests a second over the numbers of clients: it is good at all of them.
"""

import argparse
import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from bench.generators import Load
from bench.site import Site
from bench.systems.python import Entry, Microservice
from bench.topology import local
from bench.workload import QUICK, Cell
from demo.tell import say, table
from python_baseline.modes import ROOT

STATE = ROOT / ".bench"
TREES = 25


@dataclass(frozen=True)
class Sweep:
    """What to try."""

    pairs: Sequence[tuple[int, int]]
    clients: Sequence[int]
    seconds: int
    rounds: int


def _measure(site: Site, pair: tuple[int, int], sweep: Sweep) -> list[float]:
    """Requests a second with one pair, for each number of clients."""
    service = Microservice(Entry("tuned"), site, pair)
    service.start(TREES)
    try:
        rates = []
        for clients in sweep.clients:
            cell = Cell("python_tuned", "http", "hot", TREES, clients)
            service.run(cell, Load(clients, 1, seed=0))
            _, figures, _ = service.run(cell, Load(clients, sweep.seconds, seed=0))
            rates.append(figures.requests_per_second)
        return rates
    finally:
        service.stop()


def _medians(site: Site, sweep: Sweep) -> dict[tuple[int, int], list[float]]:
    rates: dict[tuple[int, int], list[list[float]]] = {pair: [] for pair in sweep.pairs}
    rounds = [(pair, number) for number in range(sweep.rounds) for pair in sweep.pairs]
    for pair, _ in tqdm(rounds, unit=" starts", disable=None):
        rates[pair].append(_measure(site, pair, sweep))
    return {
        pair: [statistics.median(column) for column in zip(*runs, strict=True)]
        for pair, runs in rates.items()
    }


def run(site: Site, sweep: Sweep) -> tuple[int, int]:
    """Prints the table; returns the best pair."""
    try:
        site.feature_cache.load(site.request, "json")
        medians = _medians(site, sweep)
    finally:
        site.stop()
    order = sorted(medians, key=lambda pair: math.prod(medians[pair]), reverse=True)
    clients = [f"{clients} clients" for clients in sweep.clients]
    table(
        ("workers", "threads", *clients),
        [(*pair, *(f"{rate:,.0f}" for rate in medians[pair])) for pair in order],
    )
    say("requests a second, the best first")
    return order[0]


def main() -> None:
    """Tries every pair of the given numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 5, 10, 20])
    parser.add_argument("--clients", type=int, nargs="+", default=[5, 20])
    parser.add_argument("--seconds", type=int, default=3, help="of a run; %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--rows", type=int, default=QUICK.rows, help="default: %(default)s")
    parser.add_argument("--state", type=Path, default=STATE, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    pairs = [*itertools.product(arguments.workers, arguments.threads)]
    sweep = Sweep(pairs, arguments.clients, arguments.seconds, arguments.rounds)
    site = Site(replace(QUICK, rows=arguments.rows), local(arguments.state), arguments.state)
    workers, threads = run(site, sweep)
    say(f"the best: {workers} workers of {threads} threads")


if __name__ == "__main__":
    main()
