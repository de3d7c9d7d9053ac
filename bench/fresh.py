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
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from bench import machine, record
from bench.database import Database
from bench.generators import Load, caller, request_log
from bench.hosts import Host, local, run_measured
from bench.ladder import crosscheck
from bench.ladder.__main__ import prepare
from bench.ladder.servers import Servers
from bench.measuring import say
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
    Store("go_map", "Go, collector as it comes", "map"),
    Store("go_limit", "Go, a memory limit alone", "map", {"GOGC": "off", "GOMEMLIMIT": "1GiB"}),
    Store("go_controlled", "Go, collected between requests", "controlled", {"GOGC": "off"}),
    Store("go_flat", "Go, without pointers", "flat"),
    Store("redis", "Go with Redis, no snapshots", "redis", save=""),
    Store("redis_snapshots", "Go with Redis, snapshots every 2 s", "redis", save="2 1"),
    Store("python", "Python, collector on", environment={"FROZEN": "0"}),
    Store("python_frozen", "Python, frozen", environment={"FROZEN": "1"}),
    Store("pg_auto", "PostgreSQL, autovacuum as it comes", table="fillfactor=50"),
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
    with urllib.request.urlopen(f"http://{address}/events") as answer:
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
    print(
        f"    {store.name}, {updates:,} updates/s: p99 {found.latency_ms['p99']:.2f} ms, longest"
        f" {found.latency_ms['max']:.1f} ms",
        flush=True,
    )
    return {
        "store": store.name, "updates": updates, "latency_ms": found.latency_ms,
        "rate": found.requests_per_second,
        "updated": written.requests_per_second if written else 0.0, "mb": usage.server.pss_bytes / 1e6,
        "timeline": _timeline(requests, window), "events": [at for at in events if 0 <= at < load.seconds],
    }  # fmt: skip


def push(host: Host) -> dict[str, dict[str, float]]:
    """The document's microbenchmark (bench/caller/push): nanoseconds by its name."""
    said = host.run(["go", "-C", str(host.root / "bench"), "test", "-bench", ".", "./caller/push"])
    found = {}
    for name, rest in re.findall(r"^Benchmark(\S+?)-\d+\s+\d+\s+(.*)$", said, re.MULTILINE):
        values = re.findall(r"([\d.]+) (\S+)", rest)
        found[name] = {unit: float(value) for value, unit in values}
    return found


def run(
    load: Load, chosen: Sequence[Store], lives: Sequence[int], updates: Sequence[int]
) -> dict[str, Any]:
    """The whole result; whatever was started is stopped."""
    began = record.now()
    runs = []
    with ExitStack() as stack:
        host = local()
        stack.callback(host.close)
        directory = prepare(host)
        database = Database(host, host, settings=NAPTIME)
        stack.callback(database.stop)
        servers = Servers(host, database, directory / SET, int(host.facts()["cores"]))
        stack.callback(servers.stop)
        pushed = push(host)
        for live in lives:
            for store in chosen:
                for rate in updates:
                    say(f"{store.label}, {live:,} rows")
                    rung = _start(servers, store, live)
                    question = servers.question(rung, "key", 1)
                    if rate == updates[0]:
                        host.run(caller.checking(servers.caller(rung), question))
                    runs.append(measure(servers, store, rung, load, rate) | {"live": live})
                    servers.stop_one(rung)
        versions = crosscheck.versions(host, database if any(s.table for s in chosen) else None)
    return {
        "schema": 1, "started": began, "finished": record.now(), "commit": record.commit(),
        "machine": machine.facts(), "versions": versions, "load": asdict(load),
        "bucket_seconds": BUCKET_SECONDS,
        "settings": NAPTIME, "stores": {one.name: one.label for one in STORES}, "push": pushed, "runs": runs,
    }  # fmt: skip


def main() -> None:
    """Measures and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=1_000, help="predictions a second")
    parser.add_argument("--seconds", type=int, default=10, help="of a run")
    parser.add_argument(
        "--live", type=int, nargs="+", default=(10_000, 1_000_000), help="rows held"
    )
    parser.add_argument(
        "--updates", type=int, nargs="+", default=(0, 2_000, 8_000), help="a second"
    )
    parser.add_argument("--only", action="append", metavar="PATTERN", help="stores, such as 'go_*'")
    parser.add_argument("--output", type=Path, default=record.RESULTS)
    given = parser.parse_args()
    load = Load(CLIENTS, given.seconds, 0, given.rate, warm_up=1)
    patterns = given.only or ["*"]
    chosen = [one for one in STORES if any(fnmatch(one.name, wanted) for wanted in patterns)]
    result = run(load, chosen, given.live, given.updates)
    path = record.directory(given.output, "fresh") / "fresh.json"
    record.write(path, result)
    print(f"results in {path}")


if __name__ == "__main__":
    main()
