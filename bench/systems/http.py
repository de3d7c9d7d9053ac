"""HTTP services, with features in Redis or in the service's memory.

wrk sends the requests in a closed loop, vegeta at a rate. All services have the same interface, which
README.md describes. Redis is one of the servers whose CPU time and memory are measured.
"""

import base64
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any

from bench.generators import Load, vegeta, wrk
from bench.hosts import Parts
from bench.requests import REQUESTS, Request, RequestInputs
from bench.results import Loading
from bench.site import Site
from bench.systems.running import Asking, System
from bench.workload import Cell
from python_baseline.settings import Settings

# Stands for a host and a port in records.
ADDRESS = "ADDRESS"

# A command and the variables it adds to the environment.
Started = tuple[list[str], dict[str, str]]


class Http(System):
    """A service; a subclass defines its command."""

    client = "http_client"
    exact = True
    # The name of its processes in results.
    part = "service"

    def __init__(
        self, site: Site, store: str = "redis", serializer: str = "json", **options: Any
    ) -> None:
        super().__init__(site)
        # Further options of its system.toml.
        self._options = SimpleNamespace(**options)
        self._entry = {"store": store, "serializer": serializer}
        self._in_redis, self._serializer = store == "redis", serializer
        self._started: Started = ([], {})

    def command(self, models: Sequence[PurePath], address: str) -> Started:
        """Returns the command for the server's host, which serves the models' files at `address`."""
        raise NotImplementedError

    def versions(self) -> dict[str, str]:
        """Builds the service or looks it up, and returns the versions of its parts."""
        raise NotImplementedError

    @property
    def redis_url(self) -> str:
        return self._site.feature_cache.url(self._serializer)

    def settings(self, models: Sequence[PurePath], **more: Any) -> Settings:
        """Returns the settings of a service that uses python_baseline/."""
        workload, files = self._site.workload, os.pathsep.join(map(str, models))
        where = {"redis_url": self.redis_url} if self._in_redis else {}
        flights = {"rows": workload.rows, "seed": workload.seed}
        return Settings(files, **self._entry, **flights, **where, **more)

    def install(self) -> dict[str, str]:
        host = self._site.client
        # It prints its usage and exits with status 1.
        report = host.run(["sh", "-c", "wrk --version; [ $? = 1 ]"])
        versions = self.versions() | {"wrk": re.search(r"^wrk (\S+)", report, re.MULTILINE)[1]}
        if self._site.workload.has_rates:
            host.run([host.root / vegeta.BUILD])
            report = host.run([host.root / vegeta.PROGRAM, "--version"])
            versions["vegeta"] = re.search(r"^Version: (\S+)", report, re.MULTILINE)[1]
        if self._in_redis:
            versions["redis-server"] = self._site.feature_cache.version()
        return versions

    def load(self) -> list[Loading]:
        """Fills Redis; a service with features in memory loads them at its start."""
        site = self._site
        return site.feature_cache.load(site.request, self._serializer) if self._in_redis else []

    def start(self, trees: int) -> None:
        """Starts the service, and writes the request bodies."""
        site, host = self._site, self._site.server
        self._asked = site.inputs(trees)
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

    @property
    def where(self) -> str:
        return "http://{}:{}".format(*self.at)

    def call(self, request: Request, body: Any) -> tuple[str, Any]:
        path, value = request.call(body)
        return self.where + path, value

    def parts(self) -> Parts:
        parts = {self.part: [self.service]} if self.service else {}
        if self.service and self._in_redis:
            parts["redis"] = self._site.feature_cache.roots(self._serializer)
        return parts

    def asking(self, cell: Cell, load: Load, log: PurePath) -> Asking:
        host, path = self._site.client, REQUESTS[cell.request].path
        body, url = self._bodies.get(cell.request), self.where + ("/" if "{" in path else path)
        if load.rate:
            program = host.root / vegeta.PROGRAM
            command = vegeta.command(program, url, body.with_suffix(".targets"), load, log)
            return Asking(command, {}, lambda _: self.logged("vegeta", log, load))
        command = wrk.command(url, body, load, host.cores)
        return Asking(command, {}, lambda said: wrk.parse(said, load.clients))

    def configuration(self) -> dict[str, Any]:
        """Returns the command and its variables, without addresses, paths and passwords."""
        command, environment = self._started
        address = ":".join(map(str, self.at)) if self.at else " "
        # Ports and paths differ by run.
        known = [
            re.sub(r"^redis://.*", ADDRESS, word).replace(address, ADDRESS) for word in command
        ]
        hidden = ("PATH", "_MODEL", "_URL")
        return {
            "entry": self._entry,
            "command": [re.sub(r"^/.*/", "", word) for word in known[1:]],
            "environment": {k: v for k, v in environment.items() if not k.endswith(hidden)},
        }


def write_bodies(directory: Path, asked: RequestInputs) -> dict[str, Path]:
    """Writes the generators' files of bodies: one per line, after its path where that is drawn too.

    vegeta's file has the bodies alone, in base 64.
    """
    directory.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, request in REQUESTS.items():
        if request.bodies:
            calls = [request.call(body) for body in request.bodies(asked)]
            bodies = [json.dumps(body) for _, body in calls]
            before = [f"{path} " if "{" in request.path else "" for path, _ in calls]
            files[name] = directory / f"{name}.json"
            files[name].write_text("\n".join(map("".join, zip(before, bodies, strict=True))))
            packed = (base64.b64encode(body.encode()).decode() for body in bodies)
            files[name].with_suffix(".targets").write_text("".join(f"{one}\n" for one in packed))
    return files
