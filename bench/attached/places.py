"""Where the servers are, from the environment, and as whom they are asked.

PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD   PostgreSQL
BENCH_PGBOUNCER, BENCH_SERVICE                   host:port of PgBouncer and of the microservice
BASELINE_REDIS_URL                               the Redis of the service, asked for its version
FLIGHTS, TREES                                   what was loaded
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from psycopg.conninfo import make_conninfo


@dataclass(frozen=True)
class Address:
    """Where a server listens."""

    address: str
    port: int

    @classmethod
    def read(cls, text: str) -> "Address":
        """From host:port."""
        address, _, port = text.rpartition(":")
        if not address or not port.isdecimal():
            raise SystemExit(f"error: {text!r} is not host:port")
        return cls(address, int(port))


@dataclass(frozen=True)
class Login:
    """A way into the database, directly or through PgBouncer."""

    at: Address
    dbname: str
    user: str
    password: str

    def environment(self) -> dict[str, str]:
        """For the programs of PostgreSQL."""
        return {
            "PGHOST": self.at.address, "PGPORT": str(self.at.port), "PGDATABASE": self.dbname,
            "PGUSER": self.user, "PGPASSWORD": self.password,
        }  # fmt: skip

    def conninfo(self, dbname: str | None = None) -> str:
        """For psycopg."""
        return make_conninfo(
            host=self.at.address, port=self.at.port, dbname=dbname or self.dbname,
            user=self.user, password=self.password,
        )  # fmt: skip


@dataclass(frozen=True)
class Places:
    """All that is asked."""

    postgresql: Login
    pgbouncer: Login
    service: Address
    redis_url: str
    rows: int
    trees: int

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> "Places":
        """What the variables say; an error names the one that lacks."""
        try:
            who = [environment[name] for name in ("PGDATABASE", "PGUSER", "PGPASSWORD")]
            postgresql = Address(environment["PGHOST"], int(environment.get("PGPORT", "5432")))
            return cls(
                Login(postgresql, *who),
                Login(Address.read(environment["BENCH_PGBOUNCER"]), *who),
                Address.read(environment["BENCH_SERVICE"]),
                environment["BASELINE_REDIS_URL"],
                int(environment["FLIGHTS"]),
                int(environment["TREES"]),
            )
        except KeyError as error:
            raise SystemExit(f"error: {error.args[0]} is not set") from None
        except ValueError as error:
            raise SystemExit(
                f"error: PGPORT, FLIGHTS and TREES are whole numbers: {error}"
            ) from None
