"""What pgbench asks through PgBouncer, which has a few connections to PostgreSQL and pools transactions."""

import re
from functools import cached_property
from pathlib import PurePath
from typing import Any

from bench.hosts import Address, Parts, Service
from bench.site import Site
from bench.systems.sql import Sql
from bench.workload import Cell

# Connections of the pool: as many as in 2022, and more on machines with more cores than four.
MIN_POOL = 10
POOL_PER_CORE = 2.5
FIRST_WITH_PREPARED = (1, 21)
MAX_CLIENTS = 2_000


class ThroughPgbouncer(Sql):
    """pgbench's connections lead to PgBouncer, on the server's host."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._service: Service | None = None
        self._at: Address | None = None
        self._ini: list[str] = []

    @cached_property
    def _version(self) -> str:
        report = self._site.server.run(["pgbouncer", "--version"])
        return re.search(r"PgBouncer ([0-9.]+)", report)[1]

    @cached_property
    def pool(self) -> int:
        """How many connections it has to PostgreSQL."""
        return max(MIN_POOL, round(POOL_PER_CORE * int(self._site.server.facts()["cores"])))

    @property
    def can_prepare(self) -> bool:
        return tuple(map(int, self._version.split(".")[:2])) >= FIRST_WITH_PREPARED

    def install(self) -> dict[str, str]:
        return {**super().install(), "pgbouncer": self._version}

    def _lines(self, port: int, users: PurePath) -> list[str]:
        """Of its file: it pools transactions, and logs no connections."""
        database = self._site.database
        settings = {
            "listen_addr": self._site.server.address, "listen_port": port, "unix_socket_dir": "",
            "auth_type": "scram-sha-256",
            "auth_file": users, "pool_mode": "transaction", "log_connections": 0, "log_disconnections": 0,
            "default_pool_size": self.pool, "max_client_conn": MAX_CLIENTS,
            **({"max_prepared_statements": 200} if self.can_prepare else {}),
        }  # fmt: skip
        where = "host={} port={}".format(*database.at)
        lines = ["[databases]", f"{database.name} = {where} dbname={database.name}", "[pgbouncer]"]
        return [*lines, *(f"{name} = {value}".rstrip() for name, value in settings.items())]

    def start(self, trees: int) -> None:
        """Starts PgBouncer as the cluster's owner, with its files in the cluster's home: root it refuses."""
        super().start(trees)
        host, database = self._site.server, self._site.database
        directory, port = database.home / "pgbouncer", host.free_port()
        users, ini = directory / "users.txt", directory / "pgbouncer.ini"
        self._ini = self._lines(port, users)
        host.write(users, f'"{database.role}" "{database.password}"\n', database.owner)
        host.write(ini, "\n".join(self._ini) + "\n", database.owner)
        log = directory / "pgbouncer.log"
        self._service = host.start(["pgbouncer", str(ini)], log, user=database.owner)
        self._at = self._service.ready(port)

    @property
    def at(self) -> Address:
        return self._at

    def parts(self) -> Parts:
        started = {"pgbouncer": [self._service]} if self._service else {}
        return {**super().parts(), **started}

    def lacks(self, cell: Cell) -> str | None:
        """Prepared statements, where PgBouncer is older than 1.21."""
        if cell.variant == "prepared" and not self.can_prepare:
            wanted = ".".join(map(str, FIRST_WITH_PREPARED))
            return (
                f"PgBouncer {self._version} cannot carry prepared statements when it pools"
                f" transactions; {wanted} and later can"
            )
        return None

    def stop(self) -> None:
        if self._service:
            self._service.stop()
            self._service = None

    def configuration(self) -> dict[str, Any]:
        """PgBouncer's file too, but for where its users are."""
        kept = [line for line in self._ini if not line.startswith("auth_file")]
        return {**super().configuration(), "pgbouncer.ini": kept}
