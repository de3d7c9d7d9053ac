"""Features in a Python service's memory that are replaced while it predicts from them.

LIVE rows are held, of which those of the table are asked for. With FROZEN the collector leaves alone what was
there at the start, as python_baseline's tuned workers have it.
"""

import gc
import itertools
import os
import time

import orjson
from fastapi import FastAPI

from bench.rungs.fastapi_rows.app import served
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

    def put(body: bytes) -> int:
        known = orjson.loads(body)
        if known["key"] not in store:
            raise KeyError(known["key"])
        store[known["key"]] = known["row"]
        return 0

    return served(
        {
            "ping": lambda _: 0,
            "key": lambda body: predictor.features(store[orjson.loads(body)]),
            "put": put,
            "events": lambda _: COLLECTIONS,
        }
    )
