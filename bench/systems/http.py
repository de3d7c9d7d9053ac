"""What is asked by HTTP: a service with features in Redis or in its own memory.

wrk asks in a closed loop, oha at a rate. All services answer the same: GET /ping with any status 200; POST /
with a key [origin, year, month, day] by the prediction, POST /batch with a list of keys by a list,
POST /features with a key by the first of its features. Where the features are counts to the
servers whose processor time and memory are measured.
"""

import json
import os
import re
from collections.abc import Sequence, Set
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

from bench.answers import Answers, single_precision
from bench.generators import Load, oha, wrk
from bench.hosts import Address, CommandFailed, Parts, Service
from bench.key_set import split
from bench.requests import REQUESTS, Asked, Request
from bench.results import Loading
from bench.site import Site
from bench.systems.running import Asking, Running
from bench.workload import Cell
from python_baseline.settings import Settings

STORES = ("redis", "memory")
# What a record has in place of a host and a port.
ADDRESS = "ADDRESS"

# A command and what it adds to the environment.
Started = tuple[list[str], dict[str, str]]


class Http(Running):
    """A service; its class says how it is started, and where its features are."""

    client = "http_client"
    # What its processes are called in results.
    part = "service"

    def __init__(self, site: Site, store: str = "redis", serializer: str = "json") -> None:
        if store not in STORES:
            raise ValueError(f"no store {store}: there are {', '.join(STORES)}")
        super().__init__(site)
        self._store = store
        self._serializer = serializer
        # The running service, and where it listens.
        self.service: Service | None = None
        self.at: Address | None = None
        self._started: Started = ([], {})
        self._bodies: dict[str, Path] = {}

    def command(self, models: Sequence[PurePath], address: str) -> Started:
        """What to run on the server's host: the models' files there, and where to listen, host:port."""
        raise NotImplementedError

    def versions(self) -> dict[str, str]:
        """Of what the service is made of; built or looked for by now."""
        return {}

    @property
    def redis_url(self) -> str:
        """Where the features are, in Redis."""
        return self._site.feature_cache.url(self._serializer)

    def settings(self, models: Sequence[PurePath], **more: Any) -> Settings:
        """What a service is told that is made of the parts of python_baseline/."""
        workload = self._site.workload
        where = {"redis_url": self.redis_url} if self._store == "redis" else {}
        return Settings(
            os.pathsep.join(map(str, models)), self._store, self._serializer,
            rows=workload.rows, seed=workload.seed, **where, **more,
        )  # fmt: skip

    def install(self) -> dict[str, str]:
        host = self._site.client
        # wrk answers --version with its usage and the status 1.
        try:
            report = host.run(["wrk", "--version"])
        except CommandFailed as error:
            if "is not installed" in str(error):
                raise
            report = str(error)
        versions = self.versions() | {"wrk": re.search(r"^wrk (\S+)", report, re.MULTILINE)[1]}
        versions["oha"] = host.run([host.root / oha.PROGRAM, "--version"]).strip()
        if self._store == "redis":
            versions["redis-server"] = self._site.feature_cache.version()
        return versions

    def load(self) -> list[Loading]:
        """Fills what it has its features from; its own memory it fills when it starts."""
        site = self._site
        if self._store == "redis":
            return site.feature_cache.load(site.request, self._serializer)
        return []

    def start(self, trees: int) -> None:
        """Starts the service, and writes the bodies that are sent."""
        site, host = self._site, self._site.server
        self._asked = Asked(trees, site.keys, features=site.features[0].tolist())
        self._bodies = write_bodies(site.directory / "bodies", self._asked)
        site.client.put(site.directory / "bodies")
        models, port, name = site.models(trees), host.free_port(), type(self).__name__.lower()
        for model in models:
            host.put(model)
        there = [host.there(model) for model in models]
        self._started = self.command(there, f"{host.address}:{port}")
        log = host.directory / "services" / f"{name}.log"
        self.service = host.start(self._started[0], log, self._started[1])
        self.at = self.service.ready(port, "/ping")

    def stop(self) -> None:
        if self.service:
            self.service.stop()
            self.service = None

    def lacks(self, cell: Cell) -> str | None:
        """What SQL alone can be asked for."""
        if REQUESTS[cell.request].paths:
            return None
        return f"{cell.request} can be asked for in SQL alone"

    @property
    def where(self) -> str:
        return "http://{}:{}".format(*self.at)

    def calls(self, request: Request) -> list[str]:
        return [self.where + path for path in request.paths]

    def exact(self, said: list[list[float]]) -> Answers:
        return single_precision(said)

    def check(self, asked: Set[str]) -> dict[str, Answers]:
        """The answers of POST / and of POST /batch, and of what else is asked."""
        one = self.answered([f"{self.where}/"], self._site.keys_alone(self._asked.trees))
        batches = self.answered([f"{self.where}/batch"], split(self._asked.keys))
        both = {"one": self.exact(one), "batch": self.exact([*chain.from_iterable(batches)])}
        return both | super().check(asked)

    def parts(self) -> Parts:
        if not self.service:
            return {}
        parts = {self.part: [self.service]}
        if self._store == "redis":
            parts["redis"] = self._site.feature_cache.roots(self._serializer)
        return parts

    def asking(self, cell: Cell, load: Load, log: PurePath) -> Asking:
        """oha at a rate, else wrk."""
        site, urls = self._site, self.calls(REQUESTS[cell.request])
        body = self._bodies.get(cell.request)
        if load.rate:
            command = oha.command(site.client.root / oha.PROGRAM, urls[0], body, load, log)
            return Asking(
                command, {}, lambda said: oha.parse(said, self._logs.figures("oha", log, load))
            )
        command = wrk.command(urls[0], body, load, site.client_cores)
        return Asking(command, {}, lambda said: wrk.parse(said, load.clients, len(urls)))

    def configuration(self) -> dict[str, Any]:
        """The command, and what it adds to the environment; no place, no password."""
        command, environment = self._started
        address = ":".join(map(str, self.at)) if self.at else ""
        command = [_recorded(word, address) for word in command]
        hidden = ("PATH", "_MODEL", "_URL")
        kept = {name: value for name, value in environment.items() if not name.endswith(hidden)}
        entry = {"store": self._store, "serializer": self._serializer}
        return {"entry": entry, "command": command[1:], "environment": kept}


def _recorded(word: str, address: str) -> str:
    """A word of a command without what differs by run: ports, and where files lie."""
    if word.startswith("redis://"):
        return ADDRESS
    return PurePath(word).name if word.startswith("/") else word.replace(address or " ", ADDRESS)


def write_bodies(directory: Path, asked: Asked) -> dict[str, Path]:
    """The files that wrk and oha read bodies from, one on a line, after its path where there are several."""
    directory.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, request in REQUESTS.items():
        if request.bodies:
            bodies = map(json.dumps, request.bodies(asked))
            if len(request.paths) > 1:
                bodies = (f"{path} {body}" for body in [*bodies] for path in request.paths)
            files[name] = directory / f"{name}.json"
            # oha sends the whole file, so no line end follows the last.
            files[name].write_text("\n".join(bodies))
    return files
