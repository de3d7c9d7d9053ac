"""What pgbench asks: a SQL expression that predicts, in PostgreSQL itself.

By the simple protocol, the one that pgbench has by default, and with prepared statements.
"""

from collections.abc import Set
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from bench import requests
from bench.answers import Answers
from bench.generators import Load, python_client
from bench.hosts import Address, Parts
from bench.key_set import split
from bench.requests import REQUESTS, Asked, Request
from bench.results import Loading
from bench.site import Site
from bench.systems.running import Asking, Running
from bench.workload import Cell


class Sql(Running):
    """A database that is asked directly; a system's class says what differs."""

    # With {model} and {columns}.
    call = "predict('{model}', {columns})"
    client = python_client.SQL
    # Whether prepared statements may be sent.
    can_prepare = True

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._asked = Asked(0, (), self.call)
        self._scripts: dict[str, list[Path]] = {}

    @property
    def at(self) -> Address:
        """Where connections lead."""
        return self._site.database.at

    @property
    def where(self) -> str:
        return self._site.database.conninfo(self.at)

    def calls(self, request: Request) -> list[str]:
        return request.statements(self._asked)

    def exact(self, said: list[Any]) -> Answers:
        """In SQL the fewest digits come that no other real shares, so rounding gives it."""
        return np.array(said, dtype=np.float32)

    def parts(self) -> Parts:
        return {"postgres": self._site.database.roots()}

    def install(self) -> dict[str, str]:
        database = self._site.database
        version = self._site.client.run([database.program("pgbench"), "--version"])
        pgboost = database.one("SELECT extversion FROM pg_extension WHERE extname = 'pgboost'")
        server = database.one("SHOW server_version")
        return {"postgresql": server, "pgbench": version.strip(), "pgboost": pgboost}

    def load(self) -> list[Loading]:
        return self._site.database.load(self._site.request)

    def start(self, trees: int) -> None:
        """Loads the model and writes pgbench's scripts for it."""
        site = self._site
        for number, model in enumerate(site.models(trees)):
            site.database.load_model(trees, model, number)
        self._asked = Asked(trees, site.keys, self.call, site.features[0].tolist())
        directory = site.directory / "scripts" / type(self).__name__.lower()
        directory.mkdir(parents=True, exist_ok=True)
        self._scripts = {request: [] for request in REQUESTS}
        for request, paths in self._scripts.items():
            for number, script in enumerate(REQUESTS[request].scripts(self._asked)):
                paths.append(directory / f"{request}-{trees}-{number}.sql")
                paths[-1].write_text(script + ";\n")
        site.client.put(directory)

    def lacks(self, _: Cell) -> str | None:
        return None

    def check(self, asked: Set[str]) -> dict[str, Answers]:
        """The answers by simple statements, by prepared ones, and in batches; and of what else is asked."""
        keys, one = self._site.keys_alone(self._asked.trees), requests.one(self._asked, ["%s"] * 4)
        batches = [
            (len(some), requests.batch(self._asked, some)) for some in split(self._asked.keys)
        ]
        given = {
            "simple": self._said("sql", statement=one, keys=keys, prepare=False),
            "batch": self._said("sql_batches", statements=batches),
        }
        if self.can_prepare:
            given["prepared"] = self._said("sql", statement=one, keys=keys, prepare=True)
        return given | super().check(asked)

    def _said(self, kind: str, **question: Any) -> Answers:
        return self.exact(self._site.ask(kind, conninfo=self.where, **question))

    def asking(self, cell: Cell, load: Load, log: PurePath) -> Asking:
        """pgbench with the request's scripts."""
        return self.by_pgbench(self._scripts[cell.request], cell.variant, self.at, load, log)

    def stop(self) -> None:
        """Nothing: the cluster is the site's."""

    def configuration(self) -> dict[str, Any]:
        """The server's settings, and a statement as it is sent."""
        return {
            "settings": self._site.database.configuration(),
            "statement": requests.one(self._asked, self._site.keys[0]),
            "connection": "TCP, password",
        }
