"""`python -m bench.fresh`: what keeping features fresh costs the tail of predictions.

Predictions are asked for at a fixed rate while features are replaced at another: of Go services whose
collector runs as it comes, within a memory limit, between requests, or has nothing to look at; of one with
Redis, with snapshots or without; of a Python service with its collector on or frozen; of PostgreSQL with
autovacuum off, as it comes and eager, and with an index that keeps updates from being HOT.
Latency begins when a request was due. One system runs at a time.
Writes fresh.json, which docs/benchmarks/fresh.md is made from.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.attempts import Attempts
from bench.fresh.stores import NAPTIME, SET, STORES, Store, check, events, start
from bench.generators import Load, caller, request_log
from bench.hosts import Host
from bench.ladder.servers import Servers
from bench.ladder.stage import Stage, Unanswered, chosen, command
from bench.rungs import Rung

CLIENTS, WRITERS = 20, 8
BUCKET_SECONDS = 0.1
# Rows held and updates a second; where how it grows is asked, the slowest and the fastest alone.
LIVE = 1_000_000
LIVES = (10_000, LIVE, 10_000_000)
UPDATES = (0, 500, 2_000, 8_000)
ENDS = (UPDATES[0], UPDATES[-1])
# About what a run takes beside its seconds, and rows a second as they are written; progress is told by them.
AROUND_SECONDS, PUSH_SECONDS = 2.0, 25.0
WRITTEN, WRITTEN_BY_POSTGRES = 500_000, 150_000


def _timeline(requests: request_log.Requests, window: request_log.Window) -> list[float]:
    """The largest latency of what was due in each tenth of a second, in ms."""
    due, _, done = requests.T
    found = np.zeros(round(window.seconds / BUCKET_SECONDS))
    places = ((due - window.warm_up) / BUCKET_SECONDS).astype(int)
    counted = (places >= 0) & (places < len(found))
    np.maximum.at(found, places[counted], (done - due)[counted] * 1e3)
    return [round(ms, 3) for ms in found.tolist()]


def measure(servers: Servers, store: Store, rung: Rung, load: Load, updates: int) -> dict[str, Any]:
    """One run of a store that was started."""
    also = f"put:{WRITERS}:{updates}" if updates else ""
    log, usage = servers.watched(rung, servers.question(rung, "key", 1), load, also)
    if updates:
        check(servers, store)
    requests, clock = request_log.caller_requests(Path(log))
    window = request_log.Window(load.warm_up, load.seconds, load.rate)
    begins = clock / 1e9 + load.warm_up
    ends = [at / 1e9 - begins for at in events(servers, store, rung)]
    written = 0.0
    if updates:
        of = servers.logs.figures("caller", caller.beside(log), replace(load, rate=updates))
        written = of.requests_per_second
    found = request_log.summary(requests, window)
    if "p99" not in found.latency_ms:
        raise Unanswered("too few predictions to tell a percentile")
    return {
        "latency_ms": found.latency_ms, "rate": found.requests_per_second,
        "updated": written, "mb": usage.server.pss_bytes / 1e6,
        "timeline": _timeline(requests, window), "events": [at for at in ends if 0 <= at < load.seconds],
    }  # fmt: skip


def push(host: Host) -> dict[str, dict[str, float]]:
    """The document's microbenchmark (bench/caller/push): nanoseconds by its name."""
    said = host.run(["go", "-C", str(host.root / "bench"), "test", "-bench", ".", "./caller/push"])
    found = {}
    for name, rest in re.findall(r"^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$", said, re.MULTILINE):
        values = re.findall(r"([\d.]+) (\S+)", rest)
        found[name] = {unit: float(value) for value, unit in values}
    return found


@dataclass(frozen=True)
class Asked:
    """A store that holds so many rows, and the rates of updates, of which those after 0 begin anew."""

    store: Store
    live: int
    updates: tuple[int, ...]
    # Of each rate.
    seconds: tuple[int, ...]

    @property
    def planned_seconds(self) -> float:
        """About what it takes: rows are written at each start."""
        starts = len([rate for rate in self.updates if rate]) or 1
        written = 2 + self.live / (WRITTEN_BY_POSTGRES if self.store.table else WRITTEN)
        return sum(self.seconds) + len(self.seconds) * AROUND_SECONDS + starts * written


def asked(stores: Sequence[Store], seconds: int, longest: int) -> list[Asked]:
    """What is asked: every rate of every store with a million rows, the last for the picture.

    Stores of one kind do the same while nothing is updated, so one of them is asked for that; and how it
    grows with the rows is asked of those whose rows a collector, or a vacuum, has to go through.
    """
    found = []
    for live in LIVES:
        for store in stores:
            middle = live == LIVE
            rates = tuple(r for r in UPDATES if (r or store.plain) and (middle or r in ENDS))
            lasts = tuple(longest if middle and r == UPDATES[-1] else seconds for r in rates)
            if middle or store.grows:
                found.append(Asked(store, live, rates, lasts))
    return found


def _run(
    servers: Servers, one: Asked, load: Load, updates: int, rung: Rung | None
) -> tuple[Rung, dict[str, Any]]:
    """One run, of a store that is started and compared first, unless it is there already."""
    if rung is None:
        rung = start(servers, one.store, one.live)
        servers.compare(rung, "key")
    known = {"store": one.store.name, "live": one.live, "updates": updates, "seconds": load.seconds}
    return rung, known | measure(servers, one.store, rung, load, updates)


def of_store(
    servers: Servers, one: Asked, load: Load, attempts: Attempts
) -> Iterator[dict[str, Any]]:
    """A store's runs, as they come."""
    rung, planned = None, one.planned_seconds / len(one.updates)
    for updates, seconds in zip(one.updates, one.seconds, strict=True):
        name = f"{one.store.name}, {one.live:,} rows, {updates:,} updates/s"
        part = partial(_run, servers, one, replace(load, seconds=seconds), updates, rung)
        rung, found = attempts.make(name, part, planned) or (None, None)
        if found:
            ms = found["latency_ms"]
            attempts.say(f"{name}: p99 {ms['p99']:.2f} ms, longest {ms['max']:.1f} ms")
            yield found
        # What was not updated is as it was, and need not be filled again.
        if updates or not found:
            servers.stop_one(one.store.name)
            rung = None
    servers.stop_one(one.store.name)


def run(given: argparse.Namespace, stage: Stage) -> None:
    """Leaves the whole result there, and what there is as it comes."""
    every = {one.name: one for one in STORES}
    stores = [every[name] for name in chosen(every, given.only)]
    load = Load(CLIENTS, given.seconds, 0, given.rate, warm_up=1)
    plan = asked(stores, given.seconds, given.longest)
    attempts = Attempts(PUSH_SECONDS + sum(one.planned_seconds for one in plan))
    runs: list[dict[str, Any]] = []
    stage.begin(
        attempts, any(one.store.table for one in plan), load=asdict(load), bucket_seconds=BUCKET_SECONDS,
        settings=NAPTIME, stores={one.name: one.label for one in STORES}, runs=runs,
        push=attempts.make("the document's loop", partial(push, stage.host), PUSH_SECONDS) or {},
    )  # fmt: skip
    with stage.servers(SET) as servers:
        for one in plan:
            for found in of_store(servers, one, load, attempts):
                runs.append(found)
                stage.keep()
    stage.finish()


OPTIONS = {
    "rate": (1_000, "predictions a second"),
    "seconds": (8, "of a run"),
    "longest": (30, "seconds of a run for the picture"),
}

if __name__ == "__main__":
    command("fresh", OPTIONS, run, NAPTIME)
