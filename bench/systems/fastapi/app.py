"""The service of python_baseline/ as an asynchronous application: the same keys, store, model and answers.

A worker has one thread, which serves other requests while one waits for Redis. It also predicts, since a
prediction takes less time than a hand-over to another thread.
"""

import gc
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import orjson
import redis.asyncio
from fastapi import FastAPI, Request, Response
from uvicorn_worker import UvicornWorker

from python_baseline import keys, predictors, store
from python_baseline.serializers import SERIALIZERS
from python_baseline.settings import Settings
from python_baseline.verbs import Verb, verbs

Rows = Sequence[Sequence[float]]
# A worker's connections to Redis. With 100 clients four workers have 25 requests each, with 1,000 some wait.
MAX_CONNECTIONS = 100
# The load generators' timeout.
PATIENCE_SECONDS = 60


class Worker(UvicornWorker):
    """A uvicorn worker without an access log."""

    CONFIG_KWARGS: ClassVar[dict[str, Any]] = {**UvicornWorker.CONFIG_KWARGS, "access_log": False}


class Redis:
    """Features in Redis, stored as in python_baseline/store.py.

    The pool lets requests wait for a connection; redis-py's default pool raises when it is exhausted.
    """

    def __init__(self, settings: Settings) -> None:
        pool = redis.asyncio.BlockingConnectionPool.from_url(
            settings.redis_url, max_connections=MAX_CONNECTIONS, timeout=PATIENCE_SECONDS
        )
        self._client = redis.asyncio.Redis.from_pool(pool)
        self._loads = SERIALIZERS[settings.serializer].loads

    async def fetch(self, wanted: Sequence[keys.Key]) -> Rows:
        """Returns a row of features for each key."""
        if len(wanted) == 1:
            found = [await self._client.execute_command("LINDEX", keys.text(wanted[0]), 0)]
        else:
            pipeline = self._client.pipeline(transaction=False)
            for key in wanted:
                pipeline.lindex(keys.text(key), 0)
            found = await pipeline.execute()
        for key, value in zip(wanted, found, strict=True):
            if value is None:
                raise store.UnknownKey(key)
        return [self._loads(value) for value in found]


class Service:
    """The models and the store of a worker."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @asynccontextmanager
    async def opened(self, _: FastAPI) -> AsyncIterator[None]:
        """Loads the models and connects to Redis when the worker starts."""
        self._models = predictors.load(self._settings)
        self._store = Redis(self._settings)
        gc.collect()
        gc.freeze()
        yield

    async def answer(self, verb: Verb, body: object) -> object:
        """Answers a request."""
        wanted = verb.wanted(body)
        rows = await self._store.fetch(wanted) if verb.looks_up else wanted
        return verb.answer(self._models, rows)


def _answer(value: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")


def app() -> FastAPI:
    """Returns the application; a worker opens its service when it starts."""
    settings = Settings.read()
    service = Service(settings)
    found = FastAPI(lifespan=service.opened, openapi_url=None)

    def post(path: str, verb: Verb) -> None:
        @found.post(path)
        async def _(request: Request) -> Response:
            return _answer(await service.answer(verb, orjson.loads(await request.body())))

    for path, verb in verbs(len(settings.models)).items():
        post(path, verb)

    @found.get("/ping")
    async def ping() -> Response:
        return _answer("pong")

    def refuse(error: type[Exception], status: int, message: str | None = None) -> None:
        @found.exception_handler(error)
        async def _(__: Request, raised: Exception) -> Response:
            return _answer({"error": message or str(raised)}, status)

    refuse(orjson.JSONDecodeError, 400, "the body is not JSON")
    refuse(keys.BadRequest, 400)
    refuse(store.UnknownKey, 404)
    refuse(redis.RedisError, 503, "redis cannot be reached")
    return found
