"""PostgreSQL itself: pgbench runs a SQL expression that predicts.

It uses the simple protocol, prepared statements, and the extended protocol without a name.
"""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from bench.answers import Answers, flat
from bench.generators import Load, pgbench, python_client
from bench.hosts import Address, Parts
from bench.requests import REQUESTS, Request
from bench.results import Loading
from bench.site import Site
from bench.systems.running import Asking, System
from bench.workload import Cell

PREDICT = "predict({model}, {columns})"


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

    def call(self, request: Request, body: Any) -> tuple[str, Any]:
        return request.program(self._asked), request.parameters(body)

    def parts(self) -> Parts:
        return {"postgres": self._site.database.roots()}

    def install(self) -> dict[str, str]:
        database = self._site.database
        query = "SELECT extversion FROM pg_extension WHERE extname = %s"
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
        self._asked = site.inputs(trees, self._call)
        name = f"{type(self).__name__}-{self._extension}".lower()
        directory = site.directory / "scripts" / name
        directory.mkdir(parents=True, exist_ok=True)
        self._scripts: dict[str, pgbench.Scripts] = {}
        for name, request in REQUESTS.items():
            scripts = request.scripts(self._asked)
            paths = [directory / f"{name}-{trees}-{number}.sql" for number in range(len(scripts))]
            for path, script in zip(paths, scripts, strict=True):
                path.write_text(script + ";\n")
            self._scripts[name] = pgbench.Scripts(paths, request.variables(self._asked))
        site.client.put(directory)

    def answers(self, name: str, bodies: Sequence[Any]) -> dict[str, Answers]:
        """Returns the answers by simple statements, and by prepared ones if possible.

        They are the shortest texts that identify reals, so rounding to 32 bits restores these.
        """
        statements, found = [self.call(REQUESTS[name], body) for body in bodies], {}
        for way, prepare in (("simple", False), ("prepared", True))[: 1 + self.can_prepare]:
            asked = {"conninfo": self.where, "prepare": prepare, "statements": statements}
            found[f"{name} {way}"] = [*map(flat, self._site.ask("rows", **asked))]
        return found

    def asking(self, cell: Cell, load: Load, log: PurePath) -> Asking:
        database, cores = self._site.database, self._site.client.cores
        program = pgbench.Program(database.program("pgbench"), cell.variant, cores)
        return Asking(
            pgbench.command(program, self._scripts[cell.request], load, log), database.environment(self.at),
            lambda said: pgbench.parse(said, self.logged("pgbench", log, load), load.warm_up),
        )  # fmt: skip

    def configuration(self) -> dict[str, Any]:
        """Returns the server's settings and a statement as it is sent."""
        return {
            "settings": self._site.database.configuration(),
            "statement": REQUESTS["random"].program(self._asked),
            "connection": "TCP, password",
        }
