"""Features in Redis: a list of serialized rows under the text of each key, as published.

The client keeps a pool of connections and lends one to each thread. A batch is one
pipeline, so one round trip.
"""

from collections.abc import Sequence

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from python_baseline import keys
from python_baseline.serializers import SERIALIZERS
from python_baseline.settings import Settings
from python_baseline.stores import StoreGone, UnknownKey

# A request that waits twice for Redis is still answered within the two seconds that the
# published Gunicorn gives a worker. One retry, as a connection of the pool may have been closed.
SECONDS = 0.4
RETRIES = 1


class RedisStore:
    """The flights of one Redis database."""

    def __init__(self, settings: Settings) -> None:
        self._client = redis.Redis.from_url(
            settings.redis_url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS,
            retry=Retry(NoBackoff(), RETRIES),
        )  # fmt: skip
        self._loads = SERIALIZERS[settings.serializer].loads

    def fetch(self, wanted: Sequence[keys.Key]) -> list[list[float]]:
        """A row of features for each key."""
        try:
            found = self._lists(wanted)
        except (redis.ConnectionError, redis.TimeoutError) as error:
            raise StoreGone("redis cannot be reached") from error
        for key, values in zip(wanted, found, strict=True):
            if not values:
                raise UnknownKey(key)
        return [self._loads(values[0]) for values in found]

    def _lists(self, wanted: Sequence[keys.Key]) -> list[list[bytes]]:
        if len(wanted) == 1:
            return [self._client.lrange(keys.text(wanted[0]), 0, 1)]
        pipeline = self._client.pipeline(transaction=False)
        for key in wanted:
            pipeline.lrange(keys.text(key), 0, 1)
        return pipeline.execute()


def open_store(settings: Settings) -> RedisStore:
    """Connects at the first request only."""
    return RedisStore(settings)
