"""Where features are kept fresh, in Go, Redis, Python or PostgreSQL, and who frees what updates leave."""

import json
import re
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from bench.ladder.servers import Servers
from bench.ladder.stage import Unanswered
from bench.rungs import Rung

SET = "flights"
# What every update changes.
INDEXED = "updates"
GO = ("{build}/go_http", "{model}", "{rows}", "{host}")
PYTHON = (
    "{python}", "-m", "uvicorn", "--factory", "--no-access-log", "--log-level=warning", "--host=127.0.0.1",
    "--port={port}", "bench.rungs.fastapi_rows.fresh:app",
)  # fmt: skip
# Its cluster sleeps ten minutes between two looks for work, and a server as it comes one: too long for a run.
NAPTIME = {"autovacuum_naptime": "5s"}
EAGER = "autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0"
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


def start(servers: Servers, store: Store, live: int) -> Rung:
    """Starts a store that holds so many rows."""
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


def check(servers: Servers, store: Store) -> None:
    """That updates were HOT in a table that lets them, and only there."""
    if store.table:
        where = {"conninfo": servers.database.socket, "name": SET}
        share = servers.host.call("bench.ladder.tables:hot_share", **where)
        if (share > 0.5) != store.hot:
            raise Unanswered(f"{share:.0%} of its updates were HOT")


def events(servers: Servers, store: Store, rung: Rung) -> list[int]:
    """The ends of collections or vacuums, in nanoseconds since 1970."""
    if store.table:
        where = {"conninfo": servers.database.socket, "name": SET}
        return servers.host.call("bench.ladder.tables:vacuums", **where)
    if store.save is not None:
        return _snapshots(
            servers.host.run(["cat", str(servers.host.directory / "services/redis.log")])
        )
    address = servers.question(rung, "key", 1).address
    with urllib.request.urlopen(f"http://{address}/events", b"", PATIENCE_SECONDS) as answer:
        return json.load(answer)
