"""The service of python_baseline/ as an asynchronous application: the same keys, store, model and answers.

A worker has one thread, which serves others while a request waits for Redis. The model predicts on that
thread: a prediction takes less time than handing it to another.
"""

import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, ClassVar

import orjson
import redis.asyncio
from fastapi import FastAPI, Request, Response
from uvicorn_worker import UvicornWorker

from python_baseline import keys, predictors, stores
from python_baseline.serializers import SERIALIZERS
from python_baseline.settings import Settings

Rows = Sequence[Sequence[float]]


class Worker(UvicornWorker):
    """A uvicorn that writes no line for each request."""

    CONFIG_KWARGS: ClassVar[dict[str, Any]] = {**UvicornWorker.CONFIG_KWARGS, "access_log": False}


class Redis:
    """Features in Redis, as python_baseline/stores/redis_store.py has them."""

    def __init__(self, settings: Settings) -> None:
        self._client = redis.asyncio.Redis.from_url(settings.redis_url)
        self._loads = SERIALIZERS[settings.serializer].loads

    async def fetch(self, wanted: Sequence[keys.Key]) -> Rows:
        """A row of features for each key."""
        if len(wanted) == 1:
            found = [await self._client.execute_command("LINDEX", keys.text(wanted[0]), 0)]
        else:
            pipeline = self._client.pipeline(transaction=False)
            for key in wanted:
                pipeline.lindex(keys.text(key), 0)
            found = await pipeline.execute()
        for key, value in zip(wanted, found, strict=True):
            if value is None:
                raise stores.UnknownKey(key)
        return [self._loads(value) for value in found]


class Memory:
    """Features in the worker's own memory."""

    def __init__(self, settings: Settings) -> None:
        self._store = stores.open_store(settings)

    async def fetch(self, wanted: Sequence[keys.Key]) -> Rows:
        """A row of features for each key."""
        return self._store.fetch(wanted)


STORES = {"redis": Redis, "memory": Memory}


class Service:
    """A model and the features to predict from, opened in the worker."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @asynccontextmanager
    async def opened(self, _: FastAPI) -> AsyncIterator[None]:
        """For as long as the worker serves."""
        self._models = predictors.load(self._settings)
        self._store = STORES[self._settings.store](self._settings)
        gc.collect()
        gc.freeze()
        yield

    async def one(self, body: Any, model: int = 0) -> float:
        """The prediction of a model for a key."""
        return self._models[model](await self._store.fetch([keys.checked(body)]))[0]

    async def batch(self, body: Any) -> list[float]:
        """The prediction for each key."""
        return self._models[0](await self._store.fetch(keys.checked_list(body)))

    async def given(self, body: Any) -> float:
        """The prediction for features."""
        return self._models[0]([keys.checked_row(body)])[0]

    async def all(self, body: Any) -> list[float]:
        """Each model's prediction for a key."""
        rows = await self._store.fetch([keys.checked(body)])
        return [predict(rows)[0] for predict in self._models]

    async def features(self, body: Any) -> float:
        """The first of a flight's features."""
        return float((await self._store.fetch([keys.checked(body)]))[0][0])


def _answer(value: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")


def app() -> FastAPI:
    """The application; a worker opens its service when it starts."""
    settings = Settings.read()
    service = Service(settings)
    found = FastAPI(lifespan=service.opened, openapi_url=None)

    def post(path: str, ask: Callable[[Any], Awaitable[Any]]) -> None:
        @found.post(path)
        async def _(request: Request) -> Response:
            return _answer(await ask(orjson.loads(await request.body())))

    post("/", service.one)
    post("/batch", service.batch)
    post("/features", service.features)
    post("/given", service.given)
    post("/all", service.all)
    for number in range(len(settings.models)):
        post(f"/{number}", partial(service.one, model=number))

    @found.get("/ping")
    async def ping() -> Response:
        return _answer("pong")

    def refuse(error: type[Exception], status: int, message: str | None = None) -> None:
        @found.exception_handler(error)
        async def _(__: Request, raised: Exception) -> Response:
            return _answer({"error": message or str(raised)}, status)

    refuse(orjson.JSONDecodeError, 400, "the body is not JSON")
    refuse(keys.BadRequest, 400)
    refuse(stores.UnknownKey, 404)
    refuse(redis.RedisError, 503, "redis cannot be reached")
    return found
