"""This extension's predict, called directly and through PgBouncer, which pools transactions."""

import re
from functools import cached_property
from pathlib import PurePath
from typing import Any

from bench.database import DATABASE, ROLE
from bench.hosts import Address, Parts
from bench.systems.sql import Sql
from bench.workload import Cell

# Connections of the pool: as in 2022, and more on machines with more than four cores.
MIN_POOL = 10
POOL_PER_CORE = 2.5
FIRST_WITH_PREPARED = (1, 21)
MAX_CLIENTS = 2_000


Direct = Sql


class Pooled(Sql):
    """PgBouncer on the server's host, between pgbench and PostgreSQL."""

    at: Address | None = None

    @cached_property
    def _version(self) -> str:
        report = self._site.server.run(["pgbouncer", "--version"])
        return re.search(r"PgBouncer ([0-9.]+)", report)[1]

    @property
    def can_prepare(self) -> bool:
        return tuple(map(int, self._version.split(".")[:2])) >= FIRST_WITH_PREPARED

    def install(self) -> dict[str, str]:
        return {**super().install(), "pgbouncer": self._version}

    def _lines(self, port: int, users: PurePath) -> list[str]:
        host = self._site.server
        settings = {
            "listen_addr": host.address, "listen_port": port, "unix_socket_dir": "",
            "auth_type": "scram-sha-256",
            "auth_file": users, "pool_mode": "transaction", "log_connections": 0, "log_disconnections": 0,
            "default_pool_size": max(MIN_POOL, round(POOL_PER_CORE * host.cores)),
            "max_client_conn": MAX_CLIENTS,
            **({"max_prepared_statements": 200} if self.can_prepare else {}),
        }  # fmt: skip
        where = "host={} port={}".format(*self._site.database.at)
        lines = ["[databases]", f"{DATABASE} = {where} dbname={DATABASE}", "[pgbouncer]"]
        return [*lines, *(f"{name} = {value}".rstrip() for name, value in settings.items())]

    def start(self, trees: int) -> None:
        """Starts PgBouncer as the cluster's owner, which root may not, with files in its home."""
        super().start(trees)
        host, database = self._site.server, self._site.database
        directory, port = database.home / "pgbouncer", host.free_port()
        users, ini = directory / "users.txt", directory / "pgbouncer.ini"
        self._ini = self._lines(port, users)
        known = f'"{ROLE}" "{database.password}"'
        owner = database.start()["user"]
        for path, lines in ((users, [known]), (ini, self._ini)):
            host.write(path, "\n".join([*lines, ""]).encode(), owner)
        log = directory / "pgbouncer.log"
        self.service = host.start(["pgbouncer", str(ini)], log, user=owner)
        self.at = self.service.ready(port)

    def parts(self) -> Parts:
        started = {"pgbouncer": [self.service]} if self.service else {}
        return {**super().parts(), **started}

    def lacks(self, cell: Cell) -> str | None:
        if cell.variant != "prepared" or self.can_prepare:
            return None
        wanted = ".".join(map(str, FIRST_WITH_PREPARED))
        return (
            f"PgBouncer {self._version} cannot carry prepared statements when it pools"
            f" transactions; {wanted} and later can"
        )

    def configuration(self) -> dict[str, Any]:
        """Adds PgBouncer's file, without the path of its users."""
        kept = [line for line in self._ini if not line.startswith("auth_file")]
        return {**super().configuration(), "pgbouncer.ini": kept}
