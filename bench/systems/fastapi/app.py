"""The service as people write it: FastAPI, functions on its threads, redis-py, and XGBRegressor of XGBoost.

Redis has the rows as JSON, as in 2022, and a category as the list of its ids, whose offers are a value each.
"""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, ClassVar

from fastapi import Body, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from uvicorn_worker import UvicornWorker

from bench.requests import BEST
from data.columns import FEATURES
from data.ranking import OFFER, SIZES, TRIP
from python_baseline import keys, predictors, store
from python_baseline.settings import Settings
from python_baseline.verbs import Verb, verbs

Content = Annotated[Any, Body()]


class Worker(UvicornWorker):
    """A uvicorn worker without an access log."""

    CONFIG_KWARGS: ClassVar[dict[str, Any]] = {**UvicornWorker.CONFIG_KWARGS, "access_log": False}


class Service:
    """The models and the store of a worker."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @asynccontextmanager
    async def opened(self, _: FastAPI) -> AsyncIterator[None]:
        """Loads the models and connects to Redis when the worker starts."""
        self._models = predictors.load(self._settings)
        self._store = store.open_store(self._settings)
        yield

    def answer(self, verb: Verb, body: Any) -> Any:
        wanted = verb.wanted(body)
        return verb.answer(self._models, self._store.fetch(wanted) if verb.looks_up else wanted)

    def rank(self, trip: Sequence[float] | int, ids: Sequence[int] | str) -> list[list[float]]:
        """Returns the best offers for a trip, or its number, of these ids, or of a category."""
        client = self._store.client
        if isinstance(trip, int):
            trip = json.loads(client.get(f"trip:{trip}"))
        if isinstance(ids, str):
            ids = json.loads(client.get(ids))
        offers = map(json.loads, client.mget([f"offer:{one}" for one in ids]))
        rows = []
        for offer in offers:
            known = dict(zip(TRIP, trip, strict=True)) | dict(zip(OFFER, offer, strict=True))
            rows.append([known[name] for name in FEATURES])
        scores = self._models[0](rows)
        order = sorted(zip(ids, scores, strict=True), key=lambda one: (-one[1], one[0]))
        return [[*one] for one in order[:BEST]]

    def fresh(self, trip: int, features: Sequence[float], category: int) -> list[list[float]]:
        """Writes a trip's features, and ranks with them."""
        self._store.client.set(f"trip:{trip}", json.dumps(features))
        return self.rank(features, f"category:{SIZES[0]}:{category}")


def app() -> FastAPI:
    """Returns the application; a worker opens its service when it starts."""
    settings = Settings.read()
    service = Service(settings)
    found = FastAPI(lifespan=service.opened, openapi_url=None)

    def post(path: str, verb: Verb) -> None:
        @found.post(path)
        def _(body: Content) -> Any:
            return service.answer(verb, body)

    for path, verb in verbs(len(settings.models)).items():
        post(path, verb)

    @found.post("/rank/{size}")
    def _(size: int, body: Content) -> Any:
        return service.rank(body[0], f"category:{size}:{body[1]}")

    @found.post("/rank_ids")
    def _(body: Content) -> Any:
        return service.rank(*body)

    @found.post("/fresh")
    def _(body: Content) -> Any:
        return service.fresh(body[0], body[1:-1], body[-1])

    @found.get("/ping")
    def ping() -> Any:
        return "pong"

    def refuse(error: type[Exception], status: int, message: str | None = None) -> None:
        @found.exception_handler(error)
        def _(__: Request, raised: Exception) -> JSONResponse:
            return JSONResponse({"error": message or str(raised)}, status)

    # FastAPI raises the second where the body is no UTF-8.
    for malformed in (RequestValidationError, HTTPException):
        refuse(malformed, 400, "the body is not JSON")
    refuse(keys.BadRequest, 400)
    refuse(store.UnknownKey, 404)
    refuse(store.StoreGone, 503)
    return found
