"""PostgreSQL itself: pgbench runs a SQL expression that predicts.

It uses the simple protocol, pgbench's default, and prepared statements.
"""

from collections.abc import Sequence, Set
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from bench import requests
from bench.answers import Answers, Unequal
from bench.generators import Load, python_client
from bench.hosts import Address, Parts
from bench.key_set import split
from bench.requests import REQUESTS, Request, RequestInputs
from bench.results import Loading
from bench.site import Site
from bench.systems.running import Asking, System
from bench.workload import Cell

PREDICT = "predict('{model}', {columns})"


class Sql(System):
    """A database that load generators connect to directly."""

    client = python_client.SQL
    # Whether prepared statements may be sent.
    can_prepare = True

    def __init__(self, site: Site, call: str = PREDICT, extension: str = "pgboost") -> None:
        """Takes the expression of a prediction, with {model} and {columns}, and its extension."""
        super().__init__(site)
        self._call, self._extension = call, extension

    @property
    def at(self) -> Address:
        return self._site.database.at

    @property
    def where(self) -> str:
        return self._site.database.conninfo(self.at)

    def calls(self, request: Request) -> list[str]:
        return request.statements(self._asked)

    def exact(self, said: list[Any]) -> Answers:
        """Rounds to 32 bits, which restores a real from its shortest text."""
        return np.array(said, dtype=np.float32)

    def parts(self) -> Parts:
        return {"postgres": self._site.database.roots()}

    def install(self) -> dict[str, str]:
        database, query = (
            self._site.database,
            "SELECT extversion FROM pg_extension WHERE extname = %s",
        )
        database.execute(f"CREATE EXTENSION IF NOT EXISTS {self._extension}")
        version = self._site.client.run([database.program("pgbench"), "--version"])
        server = database.one("SHOW server_version")
        extensions = {name: database.one(query, name) for name in ("pgboost", self._extension)}
        return {"postgresql": server, "pgbench": version.strip(), **extensions}

    def load(self) -> list[Loading]:
        return self._site.database.load(self._site.request)

    def start(self, trees: int) -> None:
        """Loads the model and writes pgbench's scripts for it."""
        site = self._site
        for number, model in enumerate(site.models(trees)):
            site.database.load_model(trees, model, number)
        self._asked = RequestInputs(trees, site.keys, self._call, site.features[0].tolist())
        name = f"{type(self).__name__}-{self._extension}".lower()
        directory = site.directory / "scripts" / name
        directory.mkdir(parents=True, exist_ok=True)
        self._scripts: dict[str, list[Path]] = {}
        for name, request in REQUESTS.items():
            scripts = request.scripts(self._asked)
            paths = [directory / f"{name}-{trees}-{number}.sql" for number in range(len(scripts))]
            for path, script in zip(paths, scripts, strict=True):
                path.write_text(script + ";\n")
            self._scripts[name] = paths
        site.client.put(directory)

    def check(self, asked: Set[str]) -> dict[str, Answers]:
        """Returns the answers by simple and prepared statements, in batches, and of the further requests."""
        keys, one = self._site.keys_alone, requests.one(self._asked, ["%s"] * 4)
        batches = split(self._asked.keys)
        said = self._said([(requests.batch(self._asked, some), ()) for some in batches])
        for some, given in zip(batches, said, strict=True):
            if [place for place, _ in sorted(given)] != [*range(len(some))]:
                raise Unequal(f"a batch of {len(some)} keys has {len(given)} answers")
        answers = {
            "simple": self.exact(self._said([(one, key) for key in keys])).ravel(),
            "batch": self.exact([answer for given in said for _, answer in sorted(given)]),
        }
        if self.can_prepare:
            # As pgbench sends them: numbers without a type, which PostgreSQL makes reals.
            texts = [(one, [*map(str, key)]) for key in keys]
            answers["prepared"] = self.exact(self._said(texts, prepare=True)).ravel()
        return answers | super().check(asked)

    def _said(self, statements: Sequence[tuple[str, Any]], prepare: bool = False) -> list[Any]:
        asked = {"statements": statements, "prepare": prepare}
        return self._site.ask("rows", conninfo=self.where, **asked)

    def asking(self, cell: Cell, load: Load, log: PurePath) -> Asking:
        """Runs pgbench with the request's scripts."""
        return self.by_pgbench(self._scripts[cell.request], cell.variant, self.at, load, log)

    def configuration(self) -> dict[str, Any]:
        """Returns the server's settings and a statement as it is sent."""
        return {
            "settings": self._site.database.configuration(),
            "statement": requests.one(self._asked, self._site.keys[0]),
            "connection": "TCP, password",
        }
