"""A database that was loaded by others; it has the flights and the model `flights`.

The statements that are timed name a model by its number of trees, so the same bytes are loaded under that
name for the time of the run.
"""

from pathlib import Path
from typing import Any

import psycopg

from bench.attached.places import Login
from bench.hosts import CommandFailed, Process
from bench.queries import model_name
from bench.results import Loading
from data.flights import Request
from workbench.queries import MODEL


class AttachedDatabase:
    """What bench.database.Database is to a system, without a cluster of its own."""

    def __init__(self, login: Login) -> None:
        self._login = login
        self._made: list[str] = []

    def one(self, statement: str, *parameters: Any) -> Any:
        """The one value of one row."""
        try:
            with psycopg.connect(self._login.conninfo(), autocommit=True) as connection:
                return connection.execute(statement, parameters).fetchone()[0]
        except psycopg.Error as error:
            raise CommandFailed(f"{self._login.at.address}: {error}") from error

    def load(self, request: Request) -> list[Loading]:
        """Nothing is loaded; an error unless the flights are as many as was said."""
        found = self.one("SELECT count(*) FROM flights")
        if found != request.rows:
            raise CommandFailed(f"the database has {found} flights, not {request.rows}")
        return []

    def model(self) -> bytes:
        """The model's own file."""
        return self.one("SELECT export_model(%s)", MODEL)

    def load_model(self, trees: int, path: Path) -> None:
        """Loads the file under the name that is timed, unless that name has it."""
        name, content = model_name(trees), path.read_bytes()
        if self.one("SELECT EXISTS (SELECT FROM pgboost_models WHERE name = %s)", name):
            if self.one("SELECT export_model(%s)", name) == content:
                return
        else:
            self._made.append(name)
        self.one("SELECT load_model(%s, %s)", name, content)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._login.at.port

    def roots(self) -> list[Process]:
        """None that could be seen."""
        return []

    def environment(self, _: int) -> dict[str, str]:
        """What leads pgbench to it."""
        return self._login.environment()

    def conninfo(self, _: int) -> str:
        """The same for psycopg."""
        return self._login.conninfo()

    def configuration(self) -> dict[str, str]:
        """Every setting that was given on the server's command line."""
        query = (
            "SELECT coalesce(jsonb_object_agg(name, setting), '{}') FROM pg_settings"
            " WHERE source = 'command line' AND name <> 'data_directory'"
        )
        return self.one(query)

    def program(self, name: str) -> str:
        """A program of PostgreSQL's, found by PATH."""
        return name

    def stop(self) -> None:
        """Removes the models that were loaded for the run."""
        while self._made:
            self.one("SELECT drop_model(%s)", self._made.pop())
