"""What the ladder, the services and fresh features are measured on, and the record that they leave.

Built programs, data sets with their models, a throw-away PostgreSQL; whatever was started is stopped. What
is found is written as it comes, and as NAME.json when all of it is there.
"""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import record
from bench.attempts import Attempts
from bench.database import Database
from bench.hosts import STATE, Host, local
from bench.ladder import crosscheck
from bench.ladder.servers import Servers
from bench.measuring import say
from bench.rungs import builds


class Unanswered(Exception):
    """Who answers too seldom to be measured, or did not do what is measured."""


@dataclass(frozen=True)
class Stage:
    """Where a run takes place."""

    host: Host
    database: Database
    path: Path
    # Of the data sets.
    directory: Path = STATE / "ladder"
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def cores(self) -> int:
        """The machine's."""
        return int(self.host.facts()["cores"])

    @contextmanager
    def servers(self, name: str) -> Iterator[Servers]:
        """Of a data set."""
        servers = Servers(self.host, self.database, self.directory / name, self.cores)
        try:
            yield servers
        finally:
            servers.stop()

    def begin(self, attempts: Attempts, asks_postgres: bool, **known: Any) -> None:
        """The head of the record."""
        versions = crosscheck.versions(self.host, self.database if asks_postgres else None)
        own = {"finished": None, "versions": versions, "failed": attempts.failed}
        self.result.update(record.head() | own | known)

    def keep(self, **found: Any) -> None:
        """What there is so far."""
        self.result.update(found)
        record.write(self.path, self.result, whole=False)

    def finish(self) -> None:
        """The whole record."""
        record.write(self.path, self.result | {"finished": record.now()})
        print(f"results in {self.path}")


@contextmanager
def staged(name: str, output: Path, **of_database: Any) -> Iterator[Stage]:
    """Builds, and makes the data sets; the record goes below `output`."""
    with ExitStack() as stack:
        host = local()
        stack.callback(host.close)
        for build in builds():
            say(f"build {build.parent.name}")
            subprocess.run([build], check=True)
        database = Database(host, host, **of_database)
        stack.callback(database.stop)
        stage = Stage(host, database, record.directory(output, name) / f"{name}.json")
        say("the data sets and their models")
        host.call("bench.ladder.data:prepare_all", apart=True, directory=str(stage.directory))
        yield stage
