"""The contract by FastAPI: `app()` for uvicorn; the model is in the environment."""

import os
from collections.abc import Callable
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response

from bench.rungs.predicting import Predictor

Verbs = dict[str, Callable[[bytes], Any]]


def served(verbs: Verbs) -> FastAPI:
    """Predicts on the one thread that also serves: handing over takes longer than predicting."""
    made = FastAPI(openapi_url=None)

    def route(verb: str, ask: Callable[[bytes], Any]) -> None:
        @made.post(f"/{verb}")
        async def _(request: Request) -> Response:
            return Response(orjson.dumps(ask(await request.body())), media_type="application/json")

    for verb, ask in verbs.items():
        route(verb, ask)
    return made


def app() -> FastAPI:
    """Of the ladder."""
    return served(Predictor(os.environ["MODEL"], os.environ["ROWS"]).http())
