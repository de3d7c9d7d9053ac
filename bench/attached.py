"""Servers that already run elsewhere, such as those of docker-compose.yml: neither started nor stopped.

They are named by environment variables; what is asked, compared and measured is the harness's own. What
the servers themselves use cannot be seen from here, so a result says nothing of it.

    PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD   PostgreSQL, which has the flights and the model `flights`
    BENCH_PGBOUNCER, BENCH_SERVICE                   host:port of PgBouncer and of the microservice
    BASELINE_REDIS_URL                               the Redis of the service, asked for its version
    FLIGHTS, TREES                                   what was loaded
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import redis

from bench.database import Database
from bench.hosts import Address, CommandFailed, Host, Process
from bench.results import Loading
from bench.workload import Workload
from data.flights import Request
from workbench.queries import MODEL

NAME = "attached"


@dataclass(frozen=True)
class Attached:
    """All that is asked, and as whom."""

    postgresql: Address
    pgbouncer: Address
    service: Address
    redis_url: str
    dbname: str
    user: str
    password: str
    rows: int
    trees: int

    @classmethod
    def read(cls, known: Mapping[str, str] = os.environ) -> "Attached":
        """What the variables say; an error names the one that lacks."""
        try:
            return cls(
                (known["PGHOST"], int(known.get("PGPORT", "5432"))),
                _address(known["BENCH_PGBOUNCER"]),
                _address(known["BENCH_SERVICE"]),
                known["BASELINE_REDIS_URL"],
                *(known[name] for name in ("PGDATABASE", "PGUSER", "PGPASSWORD")),
                *(int(known[name]) for name in ("FLIGHTS", "TREES")),
            )
        except KeyError as error:
            raise SystemExit(f"error: {error.args[0]} is not set") from None
        except ValueError as error:
            raise SystemExit(f"error: {error}") from None

    def redis_version(self) -> str:
        """The running server's."""
        with redis.Redis.from_url(self.redis_url) as client:
            return str(client.info("server")["redis_version"])

    def workload(self, asked: Workload) -> Workload:
        """What can be asked of so many flights and of this model."""
        # Few flights share a key, so half as many keys as flights can always be had.
        keys = min(asked.keys, self.rows // 2)
        cells = {name: replace(one, trees=(self.trees,)) for name, one in asked.cells.items()}
        return replace(asked, cells=cells, rows=self.rows, keys=keys)


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"{text!r} is not host:port")
    return host, int(port)


class AttachedDatabase(Database):
    """A database that has the flights and the model."""

    def __init__(self, host: Host, attached: Attached) -> None:
        super().__init__(host, host)
        self.name, self.role, self.password = attached.dbname, attached.user, attached.password
        self._at = attached.postgresql

    @property
    def at(self) -> Address:
        return self._at

    @property
    def socket(self) -> str:
        return self.conninfo()

    def load(self, request: Request) -> list[Loading]:
        """Nothing is loaded; an error unless the flights are as many as was said."""
        found = self.one("SELECT count(*) FROM flights")
        if found != request.rows:
            raise CommandFailed(f"the database has {found} flights, not {request.rows}")
        return []

    def export(self, path: Path) -> None:
        """The model's own file."""
        path.write_bytes(bytes.fromhex(self.one("SELECT encode(export_model(%s), 'hex')", MODEL)))

    def load_model(self, trees: int, path: Path, model: int = 0) -> None:
        """It has it."""

    def roots(self) -> list[Process]:
        return []

    def program(self, name: str) -> str:
        """Found by PATH."""
        return name

    def stop(self) -> None:
        """It runs on."""
