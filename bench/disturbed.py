"""`make bench-disturbed`: PostgreSQL and the best Python service at a fixed rate while they are disturbed.

Features are written again meanwhile, with the values that they have, so that every answer can be checked, and
brought to the disk, by CHECKPOINT and VACUUM or by BGSAVE. A new model is deployed, by deploy_model or by a
file and a graceful reload; a process is killed, a backend or a worker; then all of the store, PostgreSQL or
Redis, which starts again at once. A client replaces a connection that the server has closed, as pools do, and
sends no request twice. All runs on this machine.
"""

import argparse
import itertools
import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import redis

from bench import processes
from bench.answers import Reference
from bench.asking import rows
from bench.database import ROLE
from bench.generators import InvalidRun, Load, request_log
from bench.generators.python_client import Schedule, at_rate
from bench.hosts import STATE
from bench.key_set import split
from bench.record import RESULTS, keep
from bench.requests import REQUESTS, model_name
from bench.site import Site
from bench.systems.description import described, made
from bench.topology import on_this_machine
from bench.workload import TREES, WORKLOADS
from python_baseline.keys import text
from tools.cluster.paths import Place
from tools.cluster.server import bin_directory

RATE, CONNECTIONS, KEYS, ROWS = 1_000, 20, 10_000, 1_000_000
# The seconds at the start that are not counted, and the keys whose features are written each second.
SETTLING, WRITTEN = 2.0, 1_000
# What happens when, in parts of the time.
MOMENTS = {"deploy": 0.3, "process": 0.55, "store": 0.8}
REWRITE = """UPDATE flights f SET distance = f.distance
    FROM unnest(%s::real[], %s::real[], %s::real[], %s::real[]) AS k(origin, year, month, day)
    WHERE (f.originairportid, f.year, f.month, f.dayofmonth) = (k.origin, k.year, k.month, k.day)"""

Act = Callable[[], object]


class Live(Site):
    """A site whose model is a file that a deploy replaces."""

    def models(self, trees: int) -> list[Path]:
        return [self.directory / "live.ubj"]


class Postgres:
    """The database, asked by prepared statements."""

    name = "postgres_direct"

    def __init__(self, site: Site, _: Any, keys: list[Any], new: Path) -> None:
        self._database, self._conninfo = site.database, site.database.socket()
        parts = (zip(*some, strict=True) for some in split(keys, WRITTEN))
        self._keys = itertools.cycle([[[*column] for column in columns] for columns in parts])
        load = "SELECT load_model(%s, %s, deploy => false)"
        self._new = self._one(load, model_name(TREES), {"file": str(new)})

    def _one(self, statement: str, *values: Any) -> Any:
        """Executes a statement on a new connection; returns its first value."""
        found = rows(self._conninfo, [(statement, values)])[0]
        return found and found[0][0]

    def meanwhile(self, period: float) -> dict[str, tuple[float, Act]]:
        return {
            "writes": (1, lambda: self._one(REWRITE, *next(self._keys))),
            "checkpoints": (period, lambda: self._one("CHECKPOINT")),
            "vacuums": (period, lambda: self._one("VACUUM flights")),
        }

    def deploy(self) -> None:
        self._one("SELECT deploy_model(%s)", f"{model_name(TREES)}@{self._new}")

    def process(self) -> None:
        query = "SELECT pid FROM pg_stat_activity WHERE usename = %s LIMIT 1"
        os.kill(self._one(query, ROLE), signal.SIGKILL)

    def store(self) -> None:
        place = Place(**self._database.start())
        os.kill(self._database.roots()[0].pid, signal.SIGKILL)
        command = [bin_directory() / "pg_ctl", "restart", "-D", place.data, "-l", place.log, "-w"]
        # It does not start before the last backend has ended.
        while place.run(*command, check=False).returncode:
            time.sleep(0.1)


class Service:
    """The service, with its features in Redis."""

    name = "asgi"

    def __init__(self, site: Site, system: Any, keys: list[Any], new: Path) -> None:
        self._site, self._pid, self._new = site, system.service.pid, new
        known = dict(zip(site.keys, site.features.astype("<f4"), strict=True))
        values = split([(text(key), known[key].tobytes()) for key in keys], WRITTEN)
        self._values = itertools.cycle([dict(some) for some in values])
        self._redis = redis.Redis.from_url(system.redis_url)
        self._redis.save()

    def meanwhile(self, period: float) -> dict[str, tuple[float, Act]]:
        return {
            "writes": (1, lambda: self._redis.mset(next(self._values))),
            "checkpoints": (period, self._redis.bgsave),
        }

    def deploy(self) -> None:
        (live,) = self._site.models(TREES)
        Path(shutil.copy(self._new, live.with_suffix(".part"))).replace(live)
        os.kill(self._pid, signal.SIGHUP)

    def process(self) -> None:
        os.kill(min({*processes.tree([self._pid])} - {self._pid}), signal.SIGKILL)

    def store(self) -> None:
        os.kill(self._site.feature_cache.roots("float32")[0].pid, signal.SIGKILL)
        self._site.feature_cache.restart("float32")


def summary(requests: np.ndarray, expected: np.ndarray, events: dict[str, Any]) -> dict[str, Any]:
    """Returns the figures; `expected` has the old and the new model's answers to the calls."""
    due, sent, done, call, answer = requests[requests[:, 0] >= SETTLING].T
    failed = np.isnan(answer)
    old, new = (of[call.astype(int)] == answer.astype(np.float32) for of in expected)
    if not (failed | old | new).all():
        raise InvalidRun("an answer is no model's")
    found, ends = {}, [*(at for at, _ in events.values()), due.max() + 1e-6][1:]
    for (what, (at, took)), end in zip(events.items(), ends, strict=True):
        # A request that waits when a server is killed was due before.
        lost = failed & (at <= done) & ((done < end) | (end > due.max()))
        answered = np.sort(done[~failed & (at < done) & (done < end)])
        found[what] = {
            "at_s": at, "took_s": took,
            "failed": int(lost.sum()),
            "without_answer_s": float(np.diff([at, *answered, end]).max()),
            # Of the old model, to requests that were sent after an answer of the new one.
            "old_answers": int((old & (sent > done[new].min(initial=np.inf))).sum()),
        }  # fmt: skip
    # Without what waited for a killed server, which has its own figures.
    calm = ~failed & (due < events["process"][0])
    load = Load(CONNECTIONS, events["process"][0], 0, RATE)
    figures = request_log.summary(np.column_stack([due, sent, done])[calm], load)
    count = {"requests": len(due), "failed": int(failed.sum())}
    return count | {"latency_ms": figures.latency_ms, "events": found}


def disturbed(site: Site, kind: type[Postgres | Service], seconds: float) -> dict[str, Any]:
    """Measures one side."""
    old, new, (live,) = site.model(TREES), site.model(TREES, 1), site.models(TREES)
    shutil.copy(old, live)
    both = Reference([old, new], site.inputs(TREES), site.features, 0).of_keys
    # Half of the keys are written; of the others those are asked for whose answers tell the model.
    asked = [n for n in range(KEYS // 2) if both[0][n] != both[1][n]]
    stop, counts = threading.Event(), {}

    def repeat(name: str, every: float, act: Act) -> None:
        # What fails while the store is down is done the next time.
        while not stop.wait(every):
            with suppress(psycopg.Error, redis.RedisError):
                act()
                counts[name] = counts.get(name, 0) + 1

    with ExitStack() as stack:
        system = made(described()[kind.name], site)
        versions = system.install()
        system.load()
        stack.callback(system.stop)
        system.start(TREES)
        side = kind(site, system, site.keys[KEYS // 2 :], new)
        calls = [system.call(REQUESTS["random"], [*site.keys[n]]) for n in asked]
        pool = stack.enter_context(multiprocessing.get_context("fork").Pool(CONNECTIONS))
        given = {"client": system.client, "where": system.where, "calls": calls}
        began = time.monotonic() + 1
        clients = [
            (given, Schedule(began, RATE / CONNECTIONS, seconds, number / RATE))
            for number in range(CONNECTIONS)
        ]
        sent = pool.starmap_async(at_rate, clients, chunksize=1)
        stack.callback(stop.set)
        for name, (every, act) in side.meanwhile(seconds / 10).items():
            threading.Thread(target=repeat, args=(name, every, act), daemon=True).start()
        events = {}
        for what, part in MOMENTS.items():
            time.sleep(max(0.0, began + part * seconds - time.monotonic()))
            at = time.monotonic() - began
            getattr(side, what)()
            events[what] = at, time.monotonic() - began - at
        requests = np.array([*itertools.chain.from_iterable(sent.get())])
    found = summary(requests, np.array(both, np.float32)[:, asked], events)
    return found | {"meanwhile": counts, "versions": versions}


def measure(state: Path, seconds: float, count: int = ROWS) -> dict[str, Any]:
    """Measures both sides, each for this time, with that number of flights."""
    workload = replace(WORKLOADS["quick"], name="disturbed", cells={}, keys=KEYS, rows=count)
    topology = on_this_machine(state)
    site = Live(workload, topology, state / "disturbed")
    try:
        sides = {kind.name: disturbed(site, kind, seconds) for kind in (Postgres, Service)}
    finally:
        site.stop()
        topology.close()
        (state / "redis/float32/dump.rdb").unlink(missing_ok=True)
    load = {"rate": RATE, "connections": CONNECTIONS, "seconds": seconds, "rows": count}
    return load | {"sides": sides}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="of both sides; default: 10")
    minutes = parser.parse_args().minutes
    keep(RESULTS, "disturbed", lambda: measure(STATE, 30 * minutes))
