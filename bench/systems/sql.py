"""What pgbench asks: a SQL expression that predicts, in PostgreSQL itself.

By the simple protocol, the one that pgbench has by default, and with prepared statements.
"""

import json
from collections.abc import Set
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from bench import requests
from bench.answers import Answers
from bench.generators import Load, pgbench, python_client
from bench.hosts import Address, Parts
from bench.key_set import split
from bench.requests import REQUESTS, Asked
from bench.results import Loading
from bench.site import Site
from bench.systems.running import Asking, Running
from bench.workload import Cell


class Sql(Running):
    """A database that is asked directly; a system's class says what differs."""

    # With {model} and {columns}.
    call = "predict('{model}', {columns})"

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._asked = Asked(0, (), self.call)
        self._scripts: dict[str, list[Path]] = {}
        self._questions: dict[str, Path] = {}

    @property
    def at(self) -> Address:
        """Where connections lead."""
        return self._site.database.at

    @property
    def can_prepare(self) -> bool:
        """Whether prepared statements may be sent."""
        return True

    def parts(self) -> Parts:
        """The processes whose time and memory count."""
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
        for name, request in REQUESTS.items():
            if request.statements and request.bodies:
                question = {
                    "calls": request.statements(self._asked),
                    "bodies": request.bodies(self._asked),
                }
                self._questions[name] = directory / f"{name}.json"
                self._questions[name].write_text(json.dumps(question))
        site.client.put(directory)

    def lacks(self, _: Cell) -> str | None:
        return None

    def check(self, asked: Set[str]) -> dict[str, Answers]:
        """The answers by simple statements, by prepared ones, and in batches; and of what else is asked."""
        statements = [
            (len(keys), requests.batch(self._asked, keys)) for keys in split(self._asked.keys)
        ]
        given = {
            "simple": self._one_at_a_time(prepare=False),
            "batch": self._answers("sql_batches", statements=statements),
        }
        if self.can_prepare:
            given["prepared"] = self._one_at_a_time(prepare=True)
        connection = self._site.database.conninfo(self.at)
        return given | self.more_answers(
            asked, "psycopg", connection, lambda r: r.statements(self._asked)
        )

    def _answers(self, kind: str, **question: Any) -> Answers:
        conninfo = self._site.database.conninfo(self.at)
        return np.array(self._site.ask(kind, conninfo=conninfo, **question), dtype=np.float32)

    def _one_at_a_time(self, prepare: bool) -> Answers:
        statement = requests.one(self._asked, ["%s"] * 4)
        keys = self._site.keys_alone(self._asked.trees)
        return self._answers("sql", statement=statement, keys=keys, prepare=prepare)

    def asking(self, cell: Cell, load: Load, log: PurePath) -> Asking:
        """pgbench with the request's scripts, or a program with its statements."""
        database = self._site.database
        environment = database.environment(self.at)
        if cell.variant in python_client.CLIENTS:
            return self.by_program(cell, load, self._questions[cell.request], **environment)
        program = pgbench.Program(
            database.program("pgbench"), cell.variant, self._site.client_cores
        )
        command = pgbench.command(program, self._scripts[cell.request], load, log)
        return Asking(
            command, environment,
            lambda said: pgbench.parse(said, self._logs.figures("pgbench", log, load), load.warm_up),
        )  # fmt: skip

    def stop(self) -> None:
        """Nothing: the cluster is the site's."""

    def configuration(self) -> dict[str, Any]:
        """The server's settings, and a statement as it is sent."""
        return {
            "settings": self._site.database.configuration(),
            "statement": requests.one(self._asked, self._site.keys[0]),
            "connection": "TCP, password",
        }
