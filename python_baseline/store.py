"""Features in Redis: a list of serialized rows under the text of each key, as published.

The published service shares one client, whose pool lends a connection for each command and first checks that
it is alive, which takes a few system calls. In the tuned one each thread keeps a connection. Either way a
batch is one pipeline, and so one round trip.

A row is `json`, as published, or `float32`, a library's input format, one string per key, which needs no
parsing and is read by MGET: bench/systems/asgi and bench/systems/axum use it.
"""

import json
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from python_baseline import keys
from python_baseline.settings import Settings

# A request that waits twice for Redis is still answered within the worker timeout of two seconds of the
# published Gunicorn. One retry, because Redis may have closed an idle connection.
SECONDS = 0.4
RETRIES = 1


@dataclass(frozen=True)
class Serializer:
    """Functions that serialize a row and parse it; `loads` is None if predictors read the bytes."""

    dumps: Callable[[Sequence[float]], bytes]
    loads: Callable[[bytes], list[float]] | None
    # The Redis command that stores a row and keeps a key's first one.
    command: bytes = b"RPUSH"


def _floats(row: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(row)}f", *row)


SERIALIZERS = {
    "json": Serializer(lambda row: json.dumps(row).encode(), json.loads),
    "float32": Serializer(_floats, None, b"SETNX"),
}


class UnknownKey(LookupError):
    """No flight has the key."""

    def __init__(self, key: keys.Key) -> None:
        super().__init__(f"no flight has the key {[*key]}")


class StoreGone(ConnectionError):
    """The features cannot be reached."""


class SharedStore:
    """The flights of one Redis database; of several with one key the first is used, as in PostgreSQL."""

    def __init__(self, settings: Settings) -> None:
        self.client = self._client = redis.Redis.from_url(
            settings.redis_url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS,
            retry=Retry(NoBackoff(), RETRIES),
        )  # fmt: skip
        self._loads = SERIALIZERS[settings.serializer].loads

    def fetch(self, wanted: Sequence[keys.Key]) -> list[list[float]]:
        """Returns a row of features for each key."""
        try:
            found = [self._first(wanted[0])] if len(wanted) == 1 else self._firsts(wanted)
        except (redis.ConnectionError, redis.TimeoutError) as error:
            raise StoreGone("redis cannot be reached") from error
        for key, value in zip(wanted, found, strict=True):
            if value is None:
                raise UnknownKey(key)
        return [self._loads(value) for value in found]

    def _first(self, key: keys.Key) -> bytes | None:
        values = self._client.lrange(keys.text(key), 0, 1)
        return values[0] if values else None

    def _firsts(self, wanted: Sequence[keys.Key]) -> list[bytes | None]:
        pipeline = self._client.pipeline(transaction=False)
        for key in wanted:
            pipeline.lindex(keys.text(key), 0)
        return pipeline.execute()


class ThreadwiseStore(SharedStore):
    """A store with a connection for each thread, which fetches one row per key only."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._own = threading.local()

    def _first(self, key: keys.Key) -> bytes | None:
        try:
            client = self._own.client
        except AttributeError:
            # This connects and may fail; the next request then tries again.
            client = self._own.client = redis.Redis(
                connection_pool=self._client.connection_pool, single_connection_client=True
            )
        # client.lindex() would check its arguments at each call.
        return client.execute_command("LINDEX", keys.text(key), 0)


STORES = {"shared": SharedStore, "own": ThreadwiseStore}


def open_store(settings: Settings) -> SharedStore:
    """Returns the store, which connects at the first request."""
    return STORES[settings.redis_connections](settings)
