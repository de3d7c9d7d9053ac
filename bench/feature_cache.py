"""The Redis that the microservice finds its features in: its own server, loaded once a run.

Each serializer has a database of its own in it, as the keys are the same. It is loaded from
the server's host, where the service that uses it runs.
"""

from bench.hosts import Host, Process
from bench.results import Loading
from bench.servers import Listening, start_redis
from data.flights import Request
from python_baseline.serializers import SERIALIZERS


class FeatureCache:
    """The server, started at the first need of it."""

    def __init__(self, host: Host, loader: Host) -> None:
        self._host = host
        self._loader = loader
        self._listening: Listening | None = None
        self._loaded: set[str] = set()

    def start(self) -> Listening:
        """The running server."""
        if self._listening is None:
            self._listening = start_redis(self._host, self._host.directory / "redis")
        return self._listening

    def url(self, serializer: str) -> str:
        """The database of a serializer."""
        listening = self.start()
        number = [*SERIALIZERS].index(serializer)
        return f"redis://{listening.address}:{listening.port}/{number}"

    def load(self, request: Request, serializer: str) -> list[Loading]:
        """Fills the serializer's database, unless done; how long it took."""
        if serializer in self._loaded:
            return []
        question = {
            "redis": self.url(serializer), "serializer": serializer,
            "rows": request.rows, "seed": request.seed,
        }  # fmt: skip
        took = self._loader.module("bench.loading", question=question)
        self._loaded.add(serializer)
        return [Loading(f"redis: pipelines, {serializer}", request.rows, **took)]

    def roots(self) -> list[Process]:
        """The server's process."""
        return [self.start().service.process]

    def version(self) -> str:
        """The server's."""
        said = self._host.run(["redis-server", "--version"])
        return next(word[2:] for word in said.split() if word.startswith("v="))

    def stop(self) -> None:
        """Stops the server, and with it what was loaded."""
        if self._listening is not None:
            self._host.stop(self._listening.service)
            self._listening = None
            self._loaded.clear()
