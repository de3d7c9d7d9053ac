"""The PostgreSQL that predicts: a throw-away cluster on the server's host, loaded once a run.

Reached over TCP with a password, as a service would be, by a role that may read the
table and owns the models, and nothing else. What is set up is set up on that host, over the socket.
"""

import json
import secrets
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from psycopg import sql
from psycopg.conninfo import make_conninfo

from bench.hosts import Address, Host, Process
from bench.requests import model_name
from bench.results import Loading
from cluster.server import SETTINGS, SUPERUSER, bin_directory
from data.flights import Request

DATABASE = "bench"
ROLE = "bench"
PREFERRED_PORT = 54350

Statement = tuple[str | sql.Composable, Sequence[Any]]


def _text(statement: str | sql.Composable) -> str:
    return statement if isinstance(statement, str) else statement.as_string(None)


def program(name: str) -> str:
    """A program of the PostgreSQL that PG_CONFIG names."""
    return str(bin_directory() / name)


class Database:
    """The cluster, started at the first need of it."""

    def __init__(
        self, host: Host, client: Host, network: str | None = None, clients: int = 0
    ) -> None:
        self.name, self.role = DATABASE, ROLE
        # The role's, made anew for each run.
        self.password = secrets.token_hex(16)
        self._host = host
        self._client = client
        self._network = network
        # As a server has it whose data matter: loading and training are timed too.
        durable = dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), "on")
        # The clients, and who looks on.
        connections = str(max(200, clients + 50))
        self._added = {
            "max_connections": connections,
            "listen_addresses": host.address,
            **durable,
        }
        self._place: dict[str, Any] | None = None
        self._loaded = self._has_accounts = False

    def _cluster(self, verb: str, *arguments: str) -> str:
        command = [self._host.python, "-m", "cluster", verb, str(self._host.directory), *arguments]
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

    def execute(self, *statements: Statement, dbname: str | None = None) -> list[list[list[Any]]]:
        """The rows of each statement, run by the superuser on the database's host."""
        asked = [(_text(statement), parameters) for statement, parameters in statements]
        conninfo = self._socket(dbname) if dbname else self.socket
        return self._host.call("bench.asking:rows", conninfo=conninfo, statements=asked)

    def one(self, statement: str, *parameters: Any) -> Any:
        """The one value of one row."""
        return self.execute((statement, parameters))[0][0][0]

    def _socket(self, dbname: str) -> str:
        place = self.start()
        sockets = f"{place['home']}/sockets"
        return make_conninfo(host=sockets, port=place["port"], dbname=dbname, user=SUPERUSER)

    @property
    def socket(self) -> str:
        """What leads the superuser to the database, on its own host."""
        return self._socket(DATABASE)

    def _create(self) -> None:
        name, role = sql.Identifier(DATABASE), sql.Identifier(ROLE)
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name)
        create = sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(name)
        self.execute((drop, ()), (create, ()), dbname="postgres")
        if not self.one("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %s)", ROLE):
            self.execute((sql.SQL("CREATE ROLE {}").format(role), ()))
        login = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(role, sql.Literal(self.password))
        grant = sql.SQL("GRANT EXECUTE ON FUNCTION load_model TO {}").format(role)
        self.execute(("CREATE EXTENSION pgboost", ()), (login, ()), (grant, ()))

    def load(self, request: Request) -> list[Loading]:
        """Copies the flights and builds the index, unless done; how long it took."""
        if self._loaded:
            return []
        took = self._host.call(
            "bench.loading:into_postgresql", apart=True, rows=request.rows, seed=request.seed,
            conninfo=self.socket,
        )  # fmt: skip
        grant = sql.SQL("GRANT SELECT ON flights TO {}").format(sql.Identifier(ROLE))
        self.execute((grant, ()))
        self._loaded = True
        return [Loading("postgresql: COPY, index, VACUUM ANALYZE", request.rows, *took)]

    def load_model(self, trees: int, path: Path, model: int = 0) -> None:
        """Loads the model, unless the database has it, as the role's own."""
        name = model_name(trees, model)
        if self.one("SELECT EXISTS (SELECT FROM pgboost_models WHERE name = %s)", name):
            return
        self._host.put(path)
        file = {"file": str(self._host.there(path))}
        # xgboost_predict needs the model's bytes, which are for its owner alone.
        become = sql.SQL("SET ROLE {}").format(sql.Identifier(ROLE))
        self.execute((become, ()), ("SELECT load_model(%s, %s)", (name, file)))

    def make_accounts(self, scale: int) -> None:
        """The tables of pgbench's own transactions, at the first need of them, for the role."""
        if not self._has_accounts:
            make = ["--initialize", "--quiet", f"--scale={scale}", self.socket]
            self._host.run([self.program("pgbench"), *make])
            tables = ("pgbench_accounts", "pgbench_branches", "pgbench_history", "pgbench_tellers")
            grant = sql.SQL("GRANT ALL ON {} TO {}").format(
                sql.SQL(", ").join(map(sql.Identifier, tables)), sql.Identifier(ROLE)
            )
            self.execute((grant, ()))
            self._has_accounts = True

    @property
    def at(self) -> Address:
        """Where it listens."""
        return self._host.address, self.start()["port"]

    @property
    def owner(self) -> str | None:
        """The unprivileged user who runs it, where that host's user is root."""
        return self.start()["user"]

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
            "PGHOST": host, "PGPORT": str(port), "PGDATABASE": self.name,
            "PGUSER": self.role, "PGPASSWORD": self.password,
        }  # fmt: skip

    def conninfo(self, at: Address | None = None) -> str:
        """The same for psycopg."""
        host, port = at or self.at
        return make_conninfo(
            host=host, port=port, dbname=self.name, user=self.role, password=self.password
        )

    def configuration(self) -> dict[str, str]:
        """Every setting that is not the default's."""
        query = (
            "SELECT name, setting FROM pg_settings WHERE source = 'command line'"
            " AND name = ANY (%s) ORDER BY name"
        )
        names = [*dict.fromkeys([*SETTINGS, *self._added])]
        return dict(self.execute((query, (names,)))[0])

    def program(self, name: str) -> str:
        """A client program that comes with PostgreSQL, on the client's host."""
        return self._client.call("bench.database:program", name=name)

    def stop(self) -> None:
        """Stops the cluster; its files stay until the next run."""
        if self._place is not None:
            self._cluster("stop")
            self._place = None
