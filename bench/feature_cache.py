"""The Redis that the microservice finds its features in: its own server, loaded once a run.

Each serializer has a database of its own in it, as the keys are the same.
"""

import time
from pathlib import Path

import redis

from bench.hosts import LocalHost
from bench.results import Loading
from bench.servers import Listening, start_redis
from data.flights import Request
from python_baseline.load import load
from python_baseline.serializers import SERIALIZERS


class FeatureCache:
    """The server, started at the first need of it."""

    def __init__(self, host: LocalHost, directory: Path) -> None:
        self._host = host
        self._directory = directory
        self._listening: Listening | None = None
        self._loaded: set[str] = set()

    def start(self) -> Listening:
        """The running server."""
        if self._listening is None:
            self._listening = start_redis(self._host, self._directory)
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
        with redis.Redis.from_url(self.url(serializer)) as client:
            before = client.info("memory")["used_memory"]
            began = time.monotonic()
            load(client, request, serializer)
            took = time.monotonic() - began
            size = client.info("memory")["used_memory"] - before
        self._loaded.add(serializer)
        return [Loading(f"redis: pipelines, {serializer}", request.rows, took, size)]

    def roots(self) -> list[int]:
        """The server's process."""
        return [self.start().service.pid]

    def version(self) -> str:
        """The server's."""
        with redis.Redis.from_url(self.url("json")) as client:
            return str(client.info("server")["redis_version"])

    def stop(self) -> None:
        """Stops the server, and with it what was loaded."""
        if self._listening is not None:
            self._host.stop(self._listening.service)
            self._listening = None
            self._loaded.clear()
