"""The PostgreSQL that the comparison predicts in: a throw-away cluster, loaded once a run.

Reached over TCP with a password, as a service would be, by a role that may read the
table and owns the models, and nothing else.
"""

import secrets
import time
from pathlib import Path

from psycopg import sql
from psycopg.conninfo import make_conninfo

from bench.queries import model_name
from bench.results import Loading
from cluster import Cluster, start, stop
from cluster.server import SETTINGS, bin_directory
from data.flights import Request
from data.load import copy_rows, create_table, finish_table, generated

DATABASE = "bench"
ROLE = "bench"
PREFERRED_PORT = 54350
# A hundred clients, and who looks on.
ADDED = {"max_connections": "200"}


class Database:
    """The cluster, started at the first need of it."""

    name = DATABASE
    role = ROLE

    def __init__(self, state: Path, address: str) -> None:
        self._state = state
        self._address = address
        self._cluster: Cluster | None = None
        self._loaded = False
        self._password = secrets.token_hex(16)

    @property
    def password(self) -> str:
        """The role's, made anew for each run."""
        return self._password

    def start(self) -> Cluster:
        """The running cluster, with an empty database at first."""
        if self._cluster is None:
            # One that was left running may have other settings.
            stop(self._state)
            self._cluster, _ = start(self._state, PREFERRED_PORT, ADDED)
            self._cluster.create_database(DATABASE, replace=True)
            self._create_role()
        return self._cluster

    def _create_role(self) -> None:
        with self.start().connect(DATABASE) as connection:
            connection.execute("CREATE EXTENSION pgboost")
            role = sql.Identifier(ROLE)
            query = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %s)"
            if connection.execute(query, (ROLE,)).fetchone() == (False,):
                connection.execute(sql.SQL("CREATE ROLE {}").format(role))
            connection.execute(
                sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(role, sql.Literal(self._password))
            )
            connection.execute(sql.SQL("GRANT EXECUTE ON FUNCTION load_model TO {}").format(role))

    def load(self, request: Request) -> list[Loading]:
        """Copies the flights and builds the index, unless done; how long it took."""
        if self._loaded:
            return []
        with self.start().connect(DATABASE) as connection:
            began = time.monotonic()
            with connection.transaction():
                create_table(connection)
                copy_rows(connection, generated(request), request.rows)
            finish_table(connection)
            took = time.monotonic() - began
            connection.execute(
                sql.SQL("GRANT SELECT ON flights TO {}").format(sql.Identifier(ROLE))
            )
            size = connection.execute("SELECT pg_total_relation_size('flights')").fetchone()[0]
        self._loaded = True
        return [Loading("postgresql: COPY, index, VACUUM ANALYZE", request.rows, took, size)]

    def load_model(self, trees: int, path: Path) -> None:
        """Loads the model, unless the database has it, as the role's own."""
        name = model_name(trees)
        with self.start().connect(DATABASE) as connection:
            query = "SELECT EXISTS (SELECT FROM pgboost_models WHERE name = %s)"
            if connection.execute(query, (name,)).fetchone() == (False,):
                # xgboost_predict needs the model's bytes, which are for its owner alone.
                connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(ROLE)))
                connection.execute("SELECT load_model(%s, %s)", (name, path.read_bytes()))

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.start().port

    @property
    def owner(self) -> str | None:
        """The unprivileged user who runs it, where this is root."""
        return self.start().place.user

    @property
    def home(self) -> Path:
        """A directory that the owner can write to."""
        return Path(self.start().place.home)

    def roots(self) -> list[int]:
        """The postmaster, of which every backend is a child."""
        return [int((self.start().place.data / "postmaster.pid").read_text().split()[0])]

    def environment(self, port: int | None = None) -> dict[str, str]:
        """What leads pgbench to the database over TCP, or to what listens at another port."""
        return {
            "PGHOST": self._address, "PGPORT": str(port or self.port), "PGDATABASE": DATABASE,
            "PGUSER": ROLE, "PGPASSWORD": self._password,
        }  # fmt: skip

    def conninfo(self, port: int | None = None) -> str:
        """The same for psycopg."""
        return make_conninfo(
            host=self._address, port=port or self.port, dbname=DATABASE, user=ROLE,
            password=self._password,
        )  # fmt: skip

    def configuration(self) -> dict[str, str]:
        """Every setting that is not the default's."""
        with self.start().connect(DATABASE) as connection:
            rows = connection.execute(
                "SELECT name, setting FROM pg_settings WHERE source = 'command line'"
                " AND name = ANY (%s) ORDER BY name",
                ([*SETTINGS, *ADDED],),
            ).fetchall()
        return dict(rows)

    def program(self, name: str) -> Path:
        """A program that comes with this PostgreSQL."""
        return bin_directory() / name

    def stop(self) -> None:
        """Stops the cluster; its files stay until the next run."""
        if self._cluster is not None:
            stop(self._state)
            self._cluster = None
