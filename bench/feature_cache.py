"""The Redis that the microservice finds its features in, loaded once a run.

Each serializer has a server of its own, so that the memory counted for a service is that of
one copy of the features. It is loaded from the server's host, where the service runs.
"""

from bench.hosts import Host, Process
from bench.results import Loading
from bench.servers import Listening, start_redis
from data.flights import Request


class FeatureCache:
    """The servers, each started at the first need of it."""

    def __init__(self, host: Host, loader: Host) -> None:
        self._host = host
        self._loader = loader
        self._listening: dict[str, Listening] = {}
        self._loaded: set[str] = set()

    def start(self, serializer: str) -> Listening:
        """The running server of a serializer."""
        if serializer not in self._listening:
            directory = self._host.directory / "redis" / serializer
            self._listening[serializer] = start_redis(self._host, directory)
        return self._listening[serializer]

    def url(self, serializer: str) -> str:
        """Where a serializer's features are."""
        address, port = self.start(serializer).at
        return f"redis://{address}:{port}/0"

    def load(self, request: Request, serializer: str) -> list[Loading]:
        """Fills the serializer's server, unless done; how long it took."""
        if serializer in self._loaded:
            return []
        question = {
            "redis": self.url(serializer), "serializer": serializer,
            "rows": request.rows, "seed": request.seed,
        }  # fmt: skip
        took = self._loader.module("bench.loading", question=question)
        self._loaded.add(serializer)
        return [Loading(f"redis: redis-cli --pipe, {serializer}", request.rows, **took)]

    def roots(self, serializer: str) -> list[Process]:
        """The process of a serializer's server."""
        return [self.start(serializer).service.process]

    def version(self) -> str:
        """The servers'."""
        said = self._host.run(["redis-server", "--version"])
        return next(word[2:] for word in said.split() if word.startswith("v="))

    def stop(self) -> None:
        """Stops the servers, and with them what was loaded."""
        while self._listening:
            _, listening = self._listening.popitem()
            self._host.stop(listening.service)
        self._loaded.clear()
