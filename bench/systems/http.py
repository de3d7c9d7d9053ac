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
from types import SimpleNamespace
from typing import Any

from bench.answers import Answers, single_precision
from bench.generators import Load, oha, wrk
from bench.hosts import Parts
from bench.key_set import split
from bench.requests import REQUESTS, Asked, Request
from bench.results import Loading
from bench.site import Site
from bench.systems.running import Asking, System
from bench.workload import Cell
from python_baseline.settings import Settings

# What a record has in place of a host and a port.
ADDRESS = "ADDRESS"

# A command and what it adds to the environment.
Started = tuple[list[str], dict[str, str]]


class Http(System):
    """A service; its class says how it is started, and where its features are."""

    client = "http_client"
    # What its processes are called in results.
    part = "service"

    def __init__(
        self, site: Site, store: str = "redis", serializer: str = "json", **options: Any
    ) -> None:
        super().__init__(site)
        # What else its system.toml says.
        self._options = SimpleNamespace(**options)
        self._entry = {"store": store, "serializer": serializer}
        self._in_redis, self._serializer = store == "redis", serializer
        self._started: Started = ([], {})

    def command(self, models: Sequence[PurePath], address: str) -> Started:
        """What to run on the server's host: the models' files there, and where to listen, host:port."""
        raise NotImplementedError

    def versions(self) -> dict[str, str]:
        """Of what the service is made of; built or looked for by now."""
        raise NotImplementedError

    @property
    def redis_url(self) -> str:
        """Where the features are, in Redis."""
        return self._site.feature_cache.url(self._serializer)

    def settings(self, models: Sequence[PurePath], **more: Any) -> Settings:
        """What a service is told that is made of the parts of python_baseline/."""
        workload, files = self._site.workload, os.pathsep.join(map(str, models))
        where = {"redis_url": self.redis_url} if self._in_redis else {}
        flights = {"rows": workload.rows, "seed": workload.seed}
        return Settings(files, **self._entry, **flights, **where, **more)

    def install(self) -> dict[str, str]:
        host = self._site.client
        # It answers with its usage and the status 1.
        report = host.run(["sh", "-c", "wrk --version; [ $? = 1 ]"])
        versions = self.versions() | {"wrk": re.search(r"^wrk (\S+)", report, re.MULTILINE)[1]}
        versions["oha"] = host.run([host.root / oha.PROGRAM, "--version"]).strip()
        if self._in_redis:
            versions["redis-server"] = self._site.feature_cache.version()
        return versions

    def load(self) -> list[Loading]:
        """Fills what it has its features from; its own memory it fills when it starts."""
        site = self._site
        return site.feature_cache.load(site.request, self._serializer) if self._in_redis else []

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

    def lacks(self, cell: Cell) -> str | None:
        """What SQL alone can be asked for."""
        can = REQUESTS[cell.request].paths
        return None if can else f"{cell.request} can be asked for in SQL alone"

    @property
    def where(self) -> str:
        return "http://{}:{}".format(*self.at)

    def calls(self, request: Request) -> list[str]:
        return [self.where + path for path in request.paths]

    def exact(self, said: list[list[float]]) -> Answers:
        return single_precision(said)

    def check(self, asked: Set[str]) -> dict[str, Answers]:
        """The answers of POST / and of POST /batch, and of what else is asked."""
        one = self.answered([f"{self.where}/"], self._site.keys_alone)
        batches = self.answered([f"{self.where}/batch"], split(self._asked.keys))
        both = {"one": self.exact(one), "batch": self.exact([*chain.from_iterable(batches)])}
        return both | super().check(asked)

    def parts(self) -> Parts:
        parts = {self.part: [self.service]} if self.service else {}
        if self.service and self._in_redis:
            parts["redis"] = self._site.feature_cache.roots(self._serializer)
        return parts

    def asking(self, cell: Cell, load: Load, log: PurePath) -> Asking:
        """oha at a rate, else wrk."""
        host, urls = self._site.client, self.calls(REQUESTS[cell.request])
        body = self._bodies.get(cell.request)
        if load.rate:
            command = oha.command(host.root / oha.PROGRAM, urls[0], body, load, log)
            return Asking(command, {}, lambda said: oha.parse(said, self.logged("oha", log, load)))
        command = wrk.command(urls[0], body, load, host.cores)
        return Asking(command, {}, lambda said: wrk.parse(said, load.clients, len(urls)))

    def configuration(self) -> dict[str, Any]:
        """The command, and what it adds to the environment; no place, no password."""
        command, environment = self._started
        address = ":".join(map(str, self.at)) if self.at else " "
        # What differs by run: ports, and where files lie.
        known = [
            re.sub(r"^redis://.*", ADDRESS, word).replace(address, ADDRESS) for word in command
        ]
        hidden = ("PATH", "_MODEL", "_URL")
        return {
            "entry": self._entry,
            "command": [re.sub(r"^/.*/", "", word) for word in known[1:]],
            "environment": {k: v for k, v in environment.items() if not k.endswith(hidden)},
        }


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
