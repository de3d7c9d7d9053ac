"""The PostgreSQL that predicts: a throw-away cluster on the server's host, loaded once per run.

Reached over TCP with a password, as a service would be, by a role that may read the
table and owns the models, and nothing else. What is set up is set up on that host, over the socket.
"""

import json
import secrets
from pathlib import Path, PurePath
from typing import Any

from psycopg.conninfo import make_conninfo

from bench.hosts import Address, Host, Process
from bench.requests import model_name
from bench.results import Loading
from data.flights import Request
from tools.cluster.server import SETTINGS, SUPERUSER, bin_directory

DATABASE = "bench"
ROLE = "bench"
PREFERRED_PORT = 54350
# As a server has it whose data matter: loading and training are timed too.
DURABLE = dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), "on")
# Of pgbench's own transactions.
ACCOUNTS = "pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers"


def program(name: str) -> str:
    """A program of the PostgreSQL that PG_CONFIG names."""
    return str(bin_directory() / name)


class Database:
    """The cluster, started at the first need of it."""

    def __init__(self, host: Host, client: Host, network: str | None, clients: int) -> None:
        # The role's, new for each run.
        self.password = secrets.token_hex(16)
        self._host = host
        self._client = client
        self._network = network
        # The clients, and who looks on.
        connections = str(max(200, clients + 50))
        known = {"max_connections": connections, "listen_addresses": host.address}
        self._added = known | DURABLE
        self._place: dict[str, Any] | None = None
        self._loaded = self._has_accounts = False

    def _cluster(self, verb: str, *arguments: str) -> str:
        command = [
            self._host.python,
            "-m",
            "tools.cluster",
            verb,
            str(self._host.directory),
            *arguments,
        ]
        return self._host.run(command)

    def start(self) -> dict[str, Any]:
        """Where the running cluster is, with an empty database at first."""
        if self._place is None:
            # One that was left running may have other settings.
            self._cluster("stop")
            settings = [f"--set={name}={value}" for name, value in self._added.items()]
            allow = [f"--allow={self._network}"] if self._network else []
            started = self._cluster("start", f"--port={PREFERRED_PORT}", *settings, *allow)
            self._place = json.loads(started)
            self._create()
        return self._place

    def execute(self, *statements: str, dbname: str = DATABASE) -> None:
        """Runs statements as the superuser on the database's host."""
        self._rows([(statement, ()) for statement in statements], dbname)

    def _rows(self, statements: Any, dbname: str = DATABASE) -> list[list[list[Any]]]:
        asked = {"conninfo": self.socket(dbname), "statements": statements}
        return self._host.call("bench.asking:rows", **asked)

    def one(self, statement: str, *parameters: Any) -> Any:
        """The one value of one row."""
        return self._rows([(statement, parameters)])[0][0][0]

    def socket(self, dbname: str = DATABASE) -> str:
        """What leads the superuser to the database, on its own host."""
        place = self.start()
        where = {"host": f"{place['home']}/sockets", "port": place["port"]}
        return make_conninfo(**where, dbname=dbname, user=SUPERUSER)

    def _create(self) -> None:
        self.execute(
            f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)",
            f"CREATE DATABASE {DATABASE} TEMPLATE template0 ENCODING 'UTF8'",
            dbname="postgres",
        )
        if not self.one("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %s)", ROLE):
            self.execute(f"CREATE ROLE {ROLE}")
        self.execute(
            "CREATE EXTENSION pgboost",
            f"ALTER ROLE {ROLE} LOGIN PASSWORD '{self.password}'",
            f"GRANT EXECUTE ON FUNCTION load_model TO {ROLE}",
        )

    def load(self, request: Request) -> list[Loading]:
        """Copies the flights and builds the index, unless done; how long it took."""
        if self._loaded:
            return []
        asked = {**vars(request), "conninfo": self.socket()}
        took = self._host.call("bench.asking:into_postgresql", apart=True, **asked)
        self.execute(f"GRANT SELECT ON flights TO {ROLE}")
        self._loaded = True
        return [Loading("postgresql: COPY, index, VACUUM ANALYZE", request.rows, *took)]

    def load_model(self, trees: int, path: Path, model: int = 0) -> None:
        """Loads the model, unless the database has it, as the role's own."""
        name = model_name(trees, model)
        if self.one("SELECT EXISTS (SELECT FROM pgboost_models WHERE name = %s)", name):
            return
        self._host.put(path)
        given = (name, {"file": str(self._host.there(path))})
        # xgboost_predict needs the model's bytes, which are for its owner alone.
        self._rows([(f"SET ROLE {ROLE}", ()), ("SELECT load_model(%s, %s)", given)])

    def make_accounts(self, scale: int) -> None:
        """The tables of pgbench's own transactions, at the first need of them, for the role."""
        if not self._has_accounts:
            make = ["--initialize", "--quiet", f"--scale={scale}", self.socket()]
            self._host.run([self.program("pgbench"), *make])
            self.execute(f"GRANT ALL ON {ACCOUNTS} TO {ROLE}")
            self._has_accounts = True

    @property
    def at(self) -> Address:
        """Where it listens."""
        return self._host.address, self.start()["port"]

    @property
    def home(self) -> PurePath:
        """A directory there that the owner can write to."""
        return PurePath(self.start()["home"])

    def roots(self) -> list[Process]:
        """The postmaster, of which every backend is a child."""
        lines = self._host.run(["cat", str(self.home / "data/postmaster.pid")])
        return [Process(self._host, int(lines.split()[0]))]

    def environment(self, at: Address | None = None) -> dict[str, str]:
        """What leads pgbench to the database over TCP, or to what listens before it."""
        host, port = at or self.at
        return {
            "PGHOST": host, "PGPORT": str(port), "PGDATABASE": DATABASE, "PGUSER": ROLE,
            "PGPASSWORD": self.password,
        }  # fmt: skip

    def conninfo(self, at: Address) -> str:
        """The same for psycopg."""
        known = {"dbname": DATABASE, "user": ROLE, "password": self.password}
        return make_conninfo(host=at[0], port=at[1], **known)

    def configuration(self) -> dict[str, str]:
        """Every setting that is not the default's."""
        query = (
            "SELECT name, setting FROM pg_settings WHERE source = 'command line'"
            " AND name = ANY (%s) ORDER BY name"
        )
        names = [*dict.fromkeys([*SETTINGS, *self._added])]
        return dict(self._rows([(query, (names,))])[0])

    def program(self, name: str) -> str:
        """A client program that comes with PostgreSQL, on the client's host."""
        return self._client.call("bench.database:program", name=name)

    def stop(self) -> None:
        """Stops the cluster; its files stay until the next run."""
        if self._place is not None:
            self._cluster("stop")
            self._place = None
