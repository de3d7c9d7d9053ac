"""`python -m bench.fresh`: what keeping features fresh costs the tail of predictions.

Predictions are asked for at a fixed rate while features are replaced at another: of Go services whose
collector runs as it comes, within a memory limit, between requests, or has nothing to look at; of one with
Redis, with snapshots or without; of a Python service with its collector on or frozen; of PostgreSQL with
autovacuum off, as it comes and eager, and with an index that keeps updates from being HOT.
Latency begins when a request was due. One system runs at a time.
Writes fresh.json, which docs/benchmarks/fresh.md is made from.
"""

import argparse
import json
import re
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import machine, record
from bench.attempts import Attempts
from bench.database import Database
from bench.generators import Load, caller, request_log
from bench.hosts import Host, local, run_measured
from bench.ladder import crosscheck
from bench.ladder.__main__ import Unanswered, prepare
from bench.ladder.servers import Servers
from bench.request_logs import RequestLogs
from bench.rungs import Rung

SET = "flights"
INDEXED = "distance"
GO = ("{build}/go_fresh", "{model}", "{rows}", "{host}")
PYTHON = (
    "{python}", "-m", "uvicorn", "--factory", "--no-access-log", "--log-level=warning", "--host=127.0.0.1",
    "--port={port}", "bench.rungs.fastapi_rows.fresh:app",
)  # fmt: skip
# Its cluster sleeps ten minutes between two looks for work, and a server as it comes one: too long for a run.
NAPTIME = {"autovacuum_naptime": "5s"}
EAGER = "autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0"
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
PATIENCE_SECONDS = 10


@dataclass(frozen=True)
class Store:
    """Where the features are, and who frees what an update leaves."""

    name: str
    label: str
    # Of Go and Python what is started; of PostgreSQL the table's storage parameters.
    go: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    table: str = ""
    hot: bool = True
    # Of Redis, when it takes a snapshot.
    save: str | None = None
    # Whether it is asked while nothing is updated, for all stores of its kind,
    plain: bool = False
    # and with other numbers of rows.
    grows: bool = False

    def rung(self, live: int) -> Rung:
        """As a server is started and asked."""
        if self.table:
            return Rung(self.name, 0, self.label, "", "pg-binary", ("key",), postgres="socket")
        command = (*GO, self.go, str(live)) if self.go else PYTHON
        own = {"MODEL": "{model}", "ROWS": "{rows}", "PYTHONPATH": "{root}", "OMP_NUM_THREADS": "1"}
        environment = {**self.environment, **({} if self.go else own | {"LIVE": str(live)})}
        verbs = ("key",)
        return Rung(self.name, 0, self.label, "", "http", verbs, command, environment)


STORES = (
    Store("go_map", "Go, collector as it comes", "map", plain=True, grows=True),
    Store("go_limit", "Go, a memory limit alone", "map", {"GOGC": "off", "GOMEMLIMIT": "1GiB"}),
    Store("go_controlled", "Go, collected between requests", "controlled", {"GOGC": "off"}),
    Store("go_flat", "Go, without pointers", "flat", plain=True, grows=True),
    Store("redis", "Go with Redis, no snapshots", "redis", save="", plain=True),
    Store("redis_snapshots", "Go with Redis, snapshots every 2 s", "redis", save="2 1"),
    Store("python", "Python, collector on", environment={"FROZEN": "0"}, plain=True),
    Store("python_frozen", "Python, frozen", environment={"FROZEN": "1"}),
    Store("pg_auto", "PostgreSQL, autovacuum as it comes", table="fillfactor=50", plain=True, grows=True),
    Store("pg_off", "PostgreSQL, autovacuum off", table="fillfactor=50, autovacuum_enabled=off"),
    Store("pg_eager", "PostgreSQL, autovacuum eager", table=f"fillfactor=50, {EAGER}"),
    Store("pg_no_hot", "PostgreSQL, eager, updates not HOT", table=f"fillfactor=50, {EAGER}", hot=False),
)  # fmt: skip


def _start(servers: Servers, store: Store, live: int) -> Rung:
    rung = store.rung(live)
    if store.save is not None:
        socket = servers.start_redis(store.save)
        rung = replace(rung, environment={**rung.environment, "REDIS": str(socket)})
        _until_there(socket)
    if not store.table:
        servers.start_one(rung)
        return rung
    call, database = servers.host.call, servers.database
    known = {"conninfo": database.socket, "role": database.role}
    call("bench.ladder.tables:load", **known, directory=str(servers.directory))
    call(
        "bench.ladder.tables:grow", **known, name=SET, live=live,
        table_is={"options": store.table, "indexed": None if store.hot else INDEXED},
    )  # fmt: skip
    return rung


def _until_there(socket: Path) -> None:
    """Waits until a server has made its socket."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not socket.exists():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{socket.name} does not answer")
        time.sleep(0.05)


def _snapshots(log: str) -> list[int]:
    """When snapshots ended, by Redis' log, in nanoseconds since 1970."""
    ended = re.findall(r"(\d+ \w+ \d+ [\d:.]+) \* Background saving terminated", log)
    times = (datetime.strptime(one, "%d %b %Y %H:%M:%S.%f").astimezone() for one in ended)
    return [round(one.timestamp() * 1e6) * 1_000 for one in times]


def _events(servers: Servers, store: Store, rung: Rung) -> list[int]:
    """The ends of collections or vacuums, in nanoseconds since 1970."""
    if store.table:
        where = {"conninfo": servers.database.socket, "name": SET}
        return servers.host.call("bench.ladder.tables:vacuums", **where)
    if store.save is not None:
        return _snapshots(
            servers.host.run(["cat", str(servers.host.directory / "services/redis.log")])
        )
    address = servers.question(rung, "key", 1).address
    with urllib.request.urlopen(f"http://{address}/events", timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)


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
    host, logs = servers.host, RequestLogs(servers.host)
    log = logs.fresh()
    also = log.with_name("updates")
    question = servers.question(rung, "key", 1)
    command = caller.command(servers.caller(rung), question, load, log)
    if updates:
        command += ["-also", f"put:{WRITERS}:{updates}", "-also-log", str(also)]
    _, usage = run_measured(host, command, servers.parts(rung))
    requests, clock = request_log.caller_requests(Path(log))
    window = request_log.Window(load.warm_up, load.seconds, load.rate)
    begins = clock / 1e9 + load.warm_up
    events = [at / 1e9 - begins for at in _events(servers, store, rung)]
    written = logs.figures("caller", also, replace(load, rate=updates)) if updates else None
    found = request_log.summary(requests, window)
    if "p99" not in found.latency_ms:
        raise Unanswered("too few predictions to tell a percentile")
    return {
        "latency_ms": found.latency_ms, "rate": found.requests_per_second,
        "updated": written.requests_per_second if written else 0.0, "mb": usage.server.pss_bytes / 1e6,
        "timeline": _timeline(requests, window), "events": [at for at in events if 0 <= at < load.seconds],
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


def asked(chosen: Sequence[Store], seconds: int, longest: int) -> list[Asked]:
    """What is asked by default: every rate of every store with a million rows, the last for the picture.

    Stores of one kind do the same while nothing is updated, so one of them is asked for that; and how it
    grows with the rows is asked of those whose rows a collector, or a vacuum, has to go through.
    """
    found = []
    for live in LIVES:
        for store in chosen:
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
        rung = _start(servers, one.store, one.live)
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


def run(load: Load, plan: Sequence[Asked], path: Path) -> None:
    """Leaves the whole result there, and what there is as it comes; whatever was started is stopped."""
    with ExitStack() as stack:
        host = local()
        stack.callback(host.close)
        directory = prepare(host)
        database = Database(host, host, settings=NAPTIME)
        stack.callback(database.stop)
        servers = Servers(host, database, directory / SET, int(host.facts()["cores"]))
        stack.callback(servers.stop)
        attempts = Attempts(PUSH_SECONDS + sum(one.planned_seconds for one in plan))
        database_asked = database if any(one.store.table for one in plan) else None
        runs: list[dict[str, Any]] = []
        result = {
            "schema": 1, "started": record.now(), "finished": None, "commit": record.commit(),
            "machine": machine.facts(), "versions": crosscheck.versions(host, database_asked),
            "load": asdict(load), "bucket_seconds": BUCKET_SECONDS, "settings": NAPTIME,
            "stores": {one.name: one.label for one in STORES}, "failed": attempts.failed,
            "push": attempts.make("the document's microbenchmark", partial(push, host), PUSH_SECONDS) or {},
            "runs": runs,
        }  # fmt: skip

        for one in plan:
            for found in of_store(servers, one, load, attempts):
                runs.append(found)
                record.write(path, result, whole=False)
        record.write(path, result | {"finished": record.now()})


def main() -> None:
    """Measures and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=1_000, help="predictions a second")
    parser.add_argument("--seconds", type=int, default=8, help="of a run")
    parser.add_argument("--longest", type=int, default=30, help="of a run for the picture")
    parser.add_argument(
        "--live", type=int, nargs="+", help="rows held, by every store in place of by some"
    )
    parser.add_argument("--updates", type=int, nargs="+", default=UPDATES, help="a second")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="stores, such as 'go_*'")
    parser.add_argument("--output", type=Path, default=record.RESULTS)
    given = parser.parse_args()
    load = Load(CLIENTS, given.seconds, 0, given.rate, warm_up=1)
    patterns = given.only or ["*"]
    chosen = [one for one in STORES if any(fnmatch(one.name, wanted) for wanted in patterns)]
    plan = asked(chosen, given.seconds, given.longest)
    if given.live or given.updates != UPDATES:
        rates, seconds = (*given.updates,), (given.seconds,) * len(given.updates)
        plan = [
            Asked(one, live, rates, seconds) for live in given.live or (LIVE,) for one in chosen
        ]
    path = record.directory(given.output, "fresh") / "fresh.json"
    run(load, plan, path)
    print(f"results in {path}")


if __name__ == "__main__":
    main()
