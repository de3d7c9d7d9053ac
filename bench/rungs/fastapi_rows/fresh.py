"""Features in a Python service's memory that are replaced while it predicts from them.

LIVE rows are held, of which those of the table are asked for. With FROZEN the collector leaves alone what was
there at the start, as python_baseline's tuned workers have it.
"""

import gc
import itertools
import os
import time

import orjson
from fastapi import FastAPI, Request, Response

from bench.rungs.predicting import Predictor

# The ends of collections of the oldest generation, in nanoseconds since 1970.
COLLECTIONS: list[int] = []


def _noted(phase: str, known: dict[str, int]) -> None:
    if phase == "stop" and known["generation"] == 2:
        COLLECTIONS.append(time.time_ns())


def app() -> FastAPI:
    """A dictionary of lists, as `redis.get` or a table's rows would leave it."""
    predictor = Predictor(os.environ["MODEL"], os.environ["ROWS"])
    every = itertools.islice(itertools.cycle(predictor.rows), int(os.environ["LIVE"]))
    store = {key: row.tolist() for key, row in enumerate(every, 1)}
    if os.environ["FROZEN"] == "1":
        gc.collect()
        gc.freeze()
    gc.callbacks.append(_noted)
    made = FastAPI(openapi_url=None)

    @made.post("/ping")
    async def ping() -> Response:
        return Response()

    @made.post("/key")
    async def key(request: Request) -> Response:
        row = store.get(orjson.loads(await request.body()))
        if row is None:
            return Response(b'{"error": "no row has the key"}', 404)
        return Response(orjson.dumps(predictor.features(row)))

    @made.post("/put")
    async def put(request: Request) -> Response:
        wanted, row = orjson.loads(await request.body())
        if wanted not in store:
            return Response(b'{"error": "no row has the key"}', 404)
        store[wanted] = row
        return Response()

    @made.get("/events")
    async def events() -> Response:
        return Response(orjson.dumps(COLLECTIONS))

    return made
