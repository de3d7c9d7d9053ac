"""What the ladder, the services and fresh features are measured on, and the record that they leave.

Built programs, data sets with their models, a throw-away PostgreSQL; whatever was started is stopped. What
is found is written as it comes, and as NAME.json when all of it is there.
"""

import argparse
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from bench import record
from bench.attempts import Attempts
from bench.database import Database
from bench.hosts import STATE, Host, local
from bench.ladder import crosscheck
from bench.ladder.servers import Servers
from bench.rungs import builds
from workbench.tell import say


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
def _staged(name: str, output: Path, settings: Mapping[str, str]) -> Iterator[Stage]:
    """Builds, and makes the data sets; the record goes below `output`."""
    with ExitStack() as stack:
        host = local()
        stack.callback(host.close)
        for build in builds():
            say(f"build {build.parent.name}")
            subprocess.run([build], check=True)
        database = Database(host, host, settings=settings)
        stack.callback(database.stop)
        stage = Stage(host, database, record.directory(output, name) / f"{name}.json")
        say("the data sets and their models")
        host.call("bench.ladder.data:prepare_all", apart=True, directory=str(stage.directory))
        yield stage


def chosen(names: Iterable[str], only: list[str] | None) -> list[str]:
    """The names that match one of the patterns; all without one."""
    return [one for one in names if not only or any(fnmatch(one, wanted) for wanted in only)]


def command(
    name: str,
    options: Mapping[str, tuple[float, str]],
    run: Callable[[argparse.Namespace, Stage], None],
    settings: Mapping[str, str] | None = None,
) -> None:
    """A program that measures: its options, and where its record goes; `settings` are PostgreSQL's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", metavar="PATTERN", help="such as 'pg_*'")
    parser.add_argument("--output", type=Path, default=record.RESULTS, help="%(default)s")
    for option, (default, what) in options.items():
        known = {"type": type(default), "default": default, "help": f"{what}; %(default)s"}
        parser.add_argument(f"--{option}", **known)
    given = parser.parse_args()
    with _staged(name, given.output, settings or {}) as stage:
        run(given, stage)
