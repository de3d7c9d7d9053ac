"""Fills the running containers: flights into PostgreSQL by COPY, a model into both sides, flights into Redis.

`docker compose up` runs it. It is idempotent: a step whose work is done does nothing. The settings come from
the environment:

    PGHOST and the like   the database, as its owner
    BASELINE_REDIS_URL    the Redis database with the service's features
    FLIGHTS, TREES        their numbers

The model is trained here, outside the database; PostgreSQL loads and the service reads the same file.
"""

import os
import shutil
from pathlib import Path

import psycopg
import redis

from data.flights import Request
from python_baseline.load import load
from tools.workbench.console import Teller, say
from tools.workbench.preparation import load_flights, load_model, train
from tools.workbench.queries import MODEL
from tools.workbench.training import Recipe, Trained

MODELS = Path("/models")
# The key of a record of the loaded flights; no flight has such a key.
RECORD = "loaded"


def settings() -> tuple[str, Request, int]:
    """Reads the URL of Redis, the flights and the number of trees; an error names what is wrong."""
    try:
        rows, trees = int(os.environ["FLIGHTS"]), int(os.environ["TREES"])
        url = os.environ["BASELINE_REDIS_URL"]
    except KeyError as error:
        raise SystemExit(f"error: {error.args[0]} is not set") from None
    except ValueError as error:
        raise SystemExit(f"error: FLIGHTS and TREES are whole numbers: {error}") from None
    if rows < 1 or trees < 1:
        raise SystemExit("error: FLIGHTS and TREES must be at least 1")
    return url, Request(rows), trees


def published(teller: Teller, request: Request, trees: int) -> Trained:
    """Trains the model, and copies its file to the name that the service opens."""
    recipe = Recipe(request.rows, trees, seed=request.seed)
    model = train(teller, recipe, f"{MODEL}_{request.rows}_{trees}", MODELS)
    path = MODELS / f"{MODEL}.ubj"
    part = path.with_suffix(".part")
    shutil.copyfile(model.path, part)
    part.rename(path)
    return model


def fill_redis(teller: Teller, url: str, request: Request) -> None:
    """Loads the flights into Redis, unless it has these already."""
    record = f"{request.rows} flights of seed {request.seed}"
    title = f"load {request.rows:,} flights into Redis"
    with teller.step(title), redis.Redis.from_url(url) as client:
        if client.get(RECORD) == record.encode():
            say("already done")
            return
        load(url, request)
        # Written last, so that it implies all flights.
        client.set(RECORD, record)
        # Otherwise Redis would save a minute later, perhaps during a measurement.
        client.save()
        say(f"{client.dbsize() - 1:,} keys")


def main() -> None:
    url, request, trees = settings()
    teller = Teller(4)
    with psycopg.connect(autocommit=True) as connection:
        load_flights(teller, connection, request)
        load_model(teller, connection, published(teller, request, trees))
    fill_redis(teller, url, request)


if __name__ == "__main__":
    main()
