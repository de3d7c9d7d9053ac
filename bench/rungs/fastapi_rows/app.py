"""The contract by FastAPI: `app()` for uvicorn; the model is in the environment."""

import os
from collections.abc import Callable
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response

from bench.rungs.predicting import Predictor


def app() -> FastAPI:
    """Predicts on the one thread that also serves: handing over takes longer than predicting."""
    predictor = Predictor(os.environ["MODEL"], os.environ["ROWS"])
    made = FastAPI(openapi_url=None)

    def post(path: str, ask: Callable[[bytes], Any]) -> None:
        @made.post(path)
        async def _(request: Request) -> Response:
            return Response(orjson.dumps(ask(await request.body())), media_type="application/json")

    post("/ping", lambda _: 0)
    post("/echo", lambda body: 0 * len(orjson.loads(body)))
    post("/features", lambda body: predictor.features(orjson.loads(body)))
    post("/key", lambda body: predictor.keys([orjson.loads(body)])[0])
    post("/keys", lambda body: predictor.keys(orjson.loads(body)))
    post("/top", lambda body: predictor.top(orjson.loads(body)))
    post("/raw", lambda body: predictor.raw(orjson.loads(body)))
    return made
