"""The microservice, asked by wrk in a closed loop and by oha at a rate.

An entry is a way of running it and where its features come from; the code is one. Redis, or
PostgreSQL where that holds the features, counts to the servers whose CPU and memory
are measured.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.answers import Answers, single_precision
from bench.generators import Figures, Load, oha, wrk
from bench.hosts import CommandFailed, Parts, Usage
from bench.key_set import split, timed_batches
from bench.request_logs import RequestLogs
from bench.results import Loading
from bench.servers import Listening, start_gunicorn
from bench.site import Site
from bench.workload import Cell
from python_baseline import modes
from python_baseline.keys import Key
from python_baseline.settings import Settings

PACKAGES = ("flask", "gunicorn", "numpy", "orjson", "msgpack", "psycopg", "redis", "xgboost-cpu")
_VERSIONS = (
    "import importlib.metadata, json, sys;"
    " print(json.dumps({name: importlib.metadata.version(name) for name in sys.argv[1:]}))"
)
PATHS = {"ping": "/ping", "fetch": "/features", "hot": "/", "random": "/", "batch": "/batch"}


@dataclass(frozen=True)
class Entry:
    """One of the ways to run it."""

    mode: str
    store: str = "redis"
    serializer: str = "json"
    xgboost: str = "pinned"


ENTRIES = {
    "python_published": Entry("published"),
    "python_published_one_thread": Entry("published_one_thread"),
    "python_tuned": Entry("tuned"),
    "python_tuned_3_2": Entry("tuned", xgboost="installed"),
    "python_memory": Entry("tuned", store="memory"),
    "python_postgresql": Entry("tuned", store="postgresql"),
    "python_orjson": Entry("tuned", serializer="orjson"),
    "python_msgpack": Entry("tuned", serializer="msgpack"),
}


TUNED = frozenset(name for name, entry in ENTRIES.items() if entry.mode == "tuned")


class Microservice:
    """The service in one of its entries."""

    variants: tuple[str, ...] = ("http",)

    def __init__(self, entry: Entry, site: Site, pair: tuple[int, int] | None = None) -> None:
        self._entry = entry
        self._site = site
        # Workers and threads, in place of the workload's.
        self._pair = pair
        self._listening: Listening | None = None
        self._trees = 0
        self._logs = RequestLogs(site.client)

    def install(self) -> dict[str, str]:
        """The versions of the packages and of the load generators."""
        host, server = self._site.client, self._site.server
        versions = json.loads(server.run([server.python, "-c", _VERSIONS, *PACKAGES]))
        versions[f"xgboost of the service, {self._entry.xgboost}"] = server.run(
            [server.python, "-m", "python_baseline.releases", self._entry.xgboost],
            {"PYTHONPATH": str(server.root)},
        ).strip()
        # wrk answers --version with its usage and the status 1.
        try:
            report = host.run(["wrk", "--version"])
        except CommandFailed as error:
            if "is not installed" in str(error):
                raise
            report = str(error)
        versions["wrk"] = re.search(r"^wrk (\S+)", report, re.MULTILINE)[1]
        if self._entry.store == "redis":
            versions["redis-server"] = self._site.feature_cache.version()
        versions["oha"] = host.run([host.root / oha.PROGRAM, "--version"]).strip()
        return versions

    def _settings(self, trees: int) -> Settings:
        site, entry = self._site, self._entry
        model = site.model(trees)
        site.server.put(model)
        settings = Settings(
            str(site.server.there(model)), entry.store, entry.serializer, xgboost=entry.xgboost,
            rows=site.workload.rows, seed=site.workload.seed,
        )  # fmt: skip
        if entry.store == "redis":
            settings = replace(settings, redis_url=site.feature_cache.url(entry.serializer))
        elif entry.store == "postgresql":
            settings = replace(settings, conninfo=site.database.conninfo())
        workers, threads = self._pair or (site.workload.workers, site.workload.threads)
        given = {"workers": workers, "threads": threads}
        return replace(settings, **{name: value for name, value in given.items() if value})

    def start(self, trees: int) -> None:
        """Starts Gunicorn, and writes the bodies that are sent."""
        site, self._trees = self._site, trees
        directory = site.server.directory / "services"
        settings = self._settings(trees)
        self._started = modes.command(self._entry.mode, "ADDRESS", settings)
        self._listening = start_gunicorn(site.server, directory, self._entry.mode, settings)
        self._bodies = write_bodies(site.directory / "bodies", site.keys)
        site.client.put(site.directory / "bodies")

    def load(self) -> list[Loading]:
        """Fills what it has its features from; its own memory it fills when it starts."""
        site = self._site
        if self._entry.store == "redis":
            return site.feature_cache.load(site.request, self._entry.serializer)
        return site.database.load(site.request) if self._entry.store == "postgresql" else []

    def lacks(self, cell: Cell) -> str | None:
        """What SQL alone can be asked for."""
        if cell.request not in PATHS:
            return f"{cell.request} can be asked for in SQL alone"
        return None

    def check(self) -> dict[str, Answers]:
        """The answers of POST / and of POST /batch."""
        keys = self._site.keys
        one = keys[: self._site.workload.keys_alone(self._trees)]
        answers = self._answers("/batch", split(keys))
        return {
            "one": single_precision(self._answers("/", one)),
            "batch": single_precision([answer for batch in answers for answer in batch]),
        }

    def _answers(self, path: str, questions: Sequence[object]) -> list[Any]:
        where = {"address": self._listening.address, "port": self._listening.port, "path": path}
        return self._site.ask("http", bodies=questions, **where)

    def _parts(self) -> Parts:
        parts = {"gunicorn": [self._listening.service.process]}
        if self._entry.store == "redis":
            parts["redis"] = self._site.feature_cache.roots(self._entry.serializer)
        elif self._entry.store == "postgresql":
            parts["postgres"] = self._site.database.roots()
        return parts

    def run(self, cell: Cell, load: Load) -> tuple[str, Figures, Usage]:
        """oha at a rate, else wrk."""
        url = f"http://{self._listening.address}:{self._listening.port}{PATHS[cell.request]}"
        if load.rate:
            return self._run_oha(url, self._bodies[cell.request], load)
        command = wrk.command(url, self._bodies.get(cell.request), load, self._site.client_cores)
        output, usage = self._site.run_measured(command, self._parts())
        return output, wrk.parse(output, load.clients), usage

    def _run_oha(self, url: str, body: Path, load: Load) -> tuple[str, Figures, Usage]:
        log = self._logs.fresh()
        program = self._site.client.root / oha.PROGRAM
        command = oha.command(program, url, body, load, log)
        output, usage = self._site.run_measured(command, self._parts())
        return output, oha.parse(output, self._logs.figures("oha", log, load)), usage

    def stop(self) -> None:
        """Stops Gunicorn."""
        if self._listening:
            self._site.server.stop(self._listening.service)
            self._listening = None

    def configuration(self) -> dict[str, Any]:
        """The command, and what in its environment is this project's; no place, no password."""
        command, environment = self._started
        places = ("PYTHONPATH", "BASELINE_MODEL", "BASELINE_CONNINFO", "BASELINE_REDIS_URL")
        kept = {name: value for name, value in environment.items() if name not in places}
        return {"entry": asdict(self._entry), "command": command[1:], "environment": kept}


def write_bodies(directory: Path, keys: Sequence[Key]) -> dict[str, Path]:
    """The files that wrk and oha read bodies from."""
    directory.mkdir(parents=True, exist_ok=True)
    # oha sends the whole file, so no line end follows the one body.
    contents = {
        "fetch": json.dumps(keys[0]),
        "hot": json.dumps(keys[0]),
        "random": "\n".join(map(json.dumps, keys)) + "\n",
        "batch": "\n".join(map(json.dumps, timed_batches(keys))) + "\n",
    }
    files = {}
    for request, content in contents.items():
        files[request] = directory / f"{request}.json"
        files[request].write_text(content)
    return files


SYSTEMS: dict[str, Callable[[Site], Microservice]] = {
    name: partial(Microservice, entry) for name, entry in ENTRIES.items()
}
