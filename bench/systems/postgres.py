"""Predictions in PostgreSQL, asked for by pgbench: directly, and through PgBouncer.

Each with the simple protocol, the one that pgbench has by default, and with prepared
statements, which a PgBouncer that pools transactions passes on from 1.21 only. And
libxgboost in the server, behind a SQL function, for what this extension is worth beside it.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bench import queries
from bench.answers import Answers
from bench.generators import Figures, Load, pgbench
from bench.hosts import Parts, Usage
from bench.key_set import split
from bench.request_logs import RequestLogs
from bench.results import Loading
from bench.servers import Listening, Pooled, start_pgbouncer
from bench.site import Site
from bench.workload import Cell

# Connections of the pool: as many as in 2022, and more on machines with more cores than four.
MIN_POOL = 10
POOL_PER_CORE = 2.5
FIRST_WITH_PREPARED = (1, 21)


class Direct:
    """pgbench's connections lead to PostgreSQL itself."""

    variants: tuple[str, ...] = ("simple", "prepared")
    call = queries.PREDICT

    def __init__(self, site: Site) -> None:
        self._site = site
        self._trees = 0
        self._scripts: dict[str, list[Path]] = {}
        self._logs = RequestLogs(site.client)

    def install(self) -> dict[str, str]:
        """PostgreSQL's, pgbench's and the extension's versions."""
        database = self._site.database
        pgbench_version = self._site.client.run([database.program("pgbench"), "--version"])
        pgboost = database.one("SELECT extversion FROM pg_extension WHERE extname = 'pgboost'")
        server = database.one("SHOW server_version")
        return {"postgresql": server, "pgbench": pgbench_version.strip(), "pgboost": pgboost}

    def start(self, trees: int) -> None:
        """Loads the model and writes pgbench's scripts for it."""
        site = self._site
        self._trees = trees
        site.database.load_model(trees, site.model(trees))
        directory = site.directory / "scripts" / type(self).__name__.lower()
        self._scripts = queries.write_scripts(directory, trees, site.keys, self.call)
        site.client.put(directory)

    def load(self) -> list[Loading]:
        """Fills the table."""
        return self._site.database.load(self._site.request)

    @property
    def _port(self) -> int:
        return self._site.database.port

    def _parts(self) -> Parts:
        return {"postgres": self._site.database.roots()}

    def lacks(self, _: Cell) -> str | None:
        """Nothing."""
        return None

    def check(self) -> dict[str, Answers]:
        """The answers by simple statements, by prepared ones, and in batches."""
        given = {"simple": self._one_at_a_time(prepare=False), "batch": self._in_batches()}
        if self._can_prepare():
            given["prepared"] = self._one_at_a_time(prepare=True)
        return given

    def _can_prepare(self) -> bool:
        return True

    def _answers(self, kind: str, **question: Any) -> Answers:
        conninfo = self._site.database.conninfo(self._port)
        return np.array(self._site.ask(kind, conninfo=conninfo, **question), dtype=np.float32)

    def _one_at_a_time(self, prepare: bool) -> Answers:
        statement = queries.one(self._trees, ["%s"] * 4, self.call)
        keys = self._site.keys[: self._site.workload.keys_alone(self._trees)]
        return self._answers("sql", statement=statement, keys=keys, prepare=prepare)

    def _in_batches(self) -> Answers:
        batches = split(self._site.keys)
        statements = [(len(keys), queries.batch(self._trees, keys, self.call)) for keys in batches]
        return self._answers("sql_batches", statements=statements)

    def run(self, cell: Cell, load: Load) -> tuple[str, Figures, Usage]:
        """pgbench with the request's scripts."""
        database = self._site.database
        scripts: Sequence[Path] = self._scripts[cell.request]
        log = self._logs.fresh()
        path, cores = database.program("pgbench"), self._site.client_cores
        program = pgbench.Program(path, cell.variant, cores)
        command = pgbench.command(program, scripts, load, log)
        output, usage = self._site.run_measured(
            command, self._parts(), database.environment(self._port)
        )
        logged = self._logs.figures("pgbench", log, load)
        return output, pgbench.parse(output, logged, load.warm_up), usage

    def stop(self) -> None:
        """Nothing: the cluster is the site's."""

    def configuration(self) -> dict[str, Any]:
        """The server's settings, and a statement as it is sent."""
        return {
            "settings": self._site.database.configuration(),
            "statement": queries.one(self._trees, self._site.keys[0], self.call),
            "connection": "TCP, password",
        }


class ThroughPgbouncer(Direct):
    """pgbench's connections lead to PgBouncer, which has a few to PostgreSQL."""

    # Where its files are, beside the cluster's.
    place = "pgbouncer"

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._listening: Listening | None = None
        self._ini = ""

    @cached_property
    def _version(self) -> str:
        report = self._site.server.run(["pgbouncer", "--version"])
        return re.search(r"PgBouncer ([0-9.]+)", report)[1]

    @cached_property
    def _pool(self) -> int:
        return max(MIN_POOL, round(POOL_PER_CORE * int(self._site.server.facts()["cores"])))

    def _can_prepare(self) -> bool:
        return tuple(map(int, self._version.split(".")[:2])) >= FIRST_WITH_PREPARED

    def install(self) -> dict[str, str]:
        """PgBouncer's version beside the others."""
        return {**super().install(), "pgbouncer": self._version}

    def start(self, trees: int) -> None:
        """Starts PgBouncer, in the cluster's directory, as the cluster's owner."""
        super().start(trees)
        database = self._site.database
        pooled = Pooled(database.address, database.port, database.name, database.role,
                        database.password, self._pool, self._can_prepare())  # fmt: skip
        directory = database.home / self.place
        self._listening, self._ini = start_pgbouncer(
            self._site.server, directory, pooled, database.owner
        )

    @property
    def _port(self) -> int:
        return self._listening.port

    def _parts(self) -> Parts:
        return {**super()._parts(), "pgbouncer": [self._listening.service.process]}

    def lacks(self, cell: Cell) -> str | None:
        """Prepared statements, where PgBouncer is older than 1.21."""
        if cell.variant == "prepared" and not self._can_prepare():
            wanted = ".".join(map(str, FIRST_WITH_PREPARED))
            return (
                f"PgBouncer {self._version} cannot carry prepared statements when it pools"
                f" transactions; {wanted} and later can"
            )
        return None

    def stop(self) -> None:
        """Stops PgBouncer."""
        if self._listening:
            self._site.server.stop(self._listening.service)
            self._listening = None

    def configuration(self) -> dict[str, Any]:
        """PgBouncer's file too, but for where its users are."""
        kept = [line for line in self._ini.splitlines() if not line.startswith("auth_file")]
        return {**super().configuration(), "pgbouncer.ini": kept}


class Libxgboost(Direct):
    """XGBoost's own library in the server predicts, by a function of pgboost_train."""

    call = queries.XGBOOST_PREDICT

    def install(self) -> dict[str, str]:
        """pgboost_train's version beside the others."""
        database = self._site.database
        database.execute(("CREATE EXTENSION IF NOT EXISTS pgboost_train", ()))
        query = "SELECT extversion FROM pg_extension WHERE extname = 'pgboost_train'"
        version = database.one(query)
        return {**super().install(), "pgboost_train": version}


SYSTEMS: dict[str, Callable[[Site], Direct]] = {
    "postgres_direct": Direct,
    "postgres_pgbouncer": ThroughPgbouncer,
    "postgres_libxgboost": Libxgboost,
}
