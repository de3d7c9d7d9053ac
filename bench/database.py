"""The PostgreSQL that predicts: a throw-away cluster on the server's host, loaded once per run.

Load generators connect over TCP with a password, as a role that may read the table and owns the models.
Setup runs as the superuser on the host itself, over the socket.
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
# As on a production server, because loading and training are timed too.
DURABLE = dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), "on")


def program(name: str) -> str:
    """Returns the path of a program of the PostgreSQL that PG_CONFIG names."""
    return str(bin_directory() / name)


class Database:
    """The cluster, started on first use."""

    def __init__(self, host: Host, client: Host, network: str | None, clients: int) -> None:
        self.password = secrets.token_hex(16)
        self._host = host
        self._client = client
        self._network = network
        # Some connections besides the clients'.
        connections = str(max(200, clients + 50))
        known = {"max_connections": connections, "listen_addresses": host.address}
        self._added = known | DURABLE
        self._place: dict[str, Any] | None = None
        self._loaded = False

    def _cluster(self, verb: str, *arguments: str) -> str:
        command = [self._host.python, "-m", "tools.cluster", verb, str(self._host.directory)]
        return self._host.run([*command, *arguments])

    def start(self) -> dict[str, Any]:
        """Starts the cluster with an empty database, unless it runs, and returns its place."""
        if self._place is None:
            # One left running may have other settings.
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
        """Returns the value of a query with one row and one column."""
        return self._rows([(statement, parameters)])[0][0][0]

    def socket(self, dbname: str = DATABASE) -> str:
        """Returns the superuser's connection string, valid on the database's host."""
        place = self.start()
        where = {"host": f"{place['home']}/sockets", "port": place["port"]}
        return make_conninfo(**where, dbname=dbname, user=SUPERUSER)

    def _create(self) -> None:
        self.execute(
            f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)",
            f"CREATE DATABASE {DATABASE} TEMPLATE template0 ENCODING 'UTF8'",
            f"DROP ROLE IF EXISTS {ROLE}",
            f"CREATE ROLE {ROLE} LOGIN PASSWORD '{self.password}'",
            dbname="postgres",
        )
        self.execute("CREATE EXTENSION pgboost", f"GRANT EXECUTE ON FUNCTION load_model TO {ROLE}")

    def load(self, request: Request) -> list[Loading]:
        """Copies the flights and builds the index, unless done; returns the time it took."""
        if self._loaded:
            return []
        asked = {**vars(request), "conninfo": self.socket()}
        took = self._host.call("bench.asking:into_postgresql", apart=True, **asked)
        self.execute(
            f"GRANT SELECT ON flights, offers TO {ROLE}", f"GRANT SELECT, UPDATE ON trips TO {ROLE}"
        )
        self._loaded = True
        return [Loading("postgresql: COPY, index, VACUUM ANALYZE", request.rows, *took)]

    def load_model(self, trees: int, path: Path, model: int = 0) -> None:
        """Loads the model as the role, unless the database has it."""
        name = model_name(trees, model)
        if self.one("SELECT EXISTS (SELECT FROM pgboost_models WHERE name = %s)", name):
            return
        self._host.put(path)
        given = (name, {"file": str(self._host.there(path))})
        # xgboost_predict reads the model's bytes, which only its owner may.
        self._rows([(f"SET ROLE {ROLE}", ()), ("SELECT load_model(%s, %s)", given)])

    @property
    def at(self) -> Address:
        """The address and the port that it listens on."""
        return self._host.address, self.start()["port"]

    @property
    def home(self) -> PurePath:
        """A directory on its host that the cluster's owner can write to."""
        return PurePath(self.start()["home"])

    def roots(self) -> list[Process]:
        """Returns the postmaster, the parent of every backend."""
        lines = self._host.run(["cat", str(self.home / "data/postmaster.pid")])
        return [Process(self._host, int(lines.split()[0]))]

    def environment(self, at: Address) -> dict[str, str]:
        """Returns libpq's variables for the database over TCP, or for a pooler at `at`."""
        known = {"PGHOST": at[0], "PGPORT": str(at[1]), "PGDATABASE": DATABASE}
        return known | {"PGUSER": ROLE, "PGPASSWORD": self.password}

    def conninfo(self, at: Address) -> str:
        """Returns the same as a connection string."""
        known = {"dbname": DATABASE, "user": ROLE, "password": self.password}
        return make_conninfo(host=at[0], port=at[1], **known)

    def configuration(self) -> dict[str, str]:
        """Returns the settings that were given on the command line."""
        query = (
            "SELECT name, setting FROM pg_settings WHERE source = 'command line'"
            " AND name = ANY (%s) ORDER BY name"
        )
        return dict(self._rows([(query, ([*SETTINGS, *self._added],))])[0])

    def program(self, name: str) -> str:
        """Returns the path of a PostgreSQL client program on the client's host."""
        return self._client.call("bench.database:program", name=name)

    def stop(self) -> None:
        """Stops the cluster; its files stay until the next run."""
        if self._place is not None:
            self._cluster("stop")
            self._place = None
