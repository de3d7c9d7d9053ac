"""Asks servers, and fills them, on the host where these functions are called: SQL, predictions, flights.

Predictions come in the order of the keys, as numbers that JSON carries whole: as text a real has the fewest
digits that no other real shares, so rounding them gives it.

Flights are generated; the seconds begin when the program is loaded and connected, and making the flights is
within them on both sides.
"""

import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import psycopg
import redis

from bench.generators.python_client import CLIENTS
from data.flights import Request
from data.load import copy_rows, create_table, finish_table, generated
from python_baseline.load import load


def rows(
    conninfo: str, statements: Sequence[tuple[str, Sequence[Any]]], prepare: bool | None = None
) -> list[list[list[Any]]]:
    """The rows of each statement, each a transaction; prepared, or by the simple protocol if that is false.

    A parameter {"file": ...} is that file's bytes.
    """
    # psycopg's own cursor never uses the simple protocol with parameters; ClientCursor does.
    factory = psycopg.ClientCursor if prepare is False else psycopg.Cursor
    found = []
    with psycopg.connect(conninfo, autocommit=True, cursor_factory=factory) as connection:
        for statement, parameters in statements:
            given = [Path(p["file"]).read_bytes() if isinstance(p, dict) else p for p in parameters]
            # Without parameters a % is a %.
            cursor = connection.execute(statement, given or None, prepare=prepare)
            found.append([[*row] for row in cursor] if cursor.description else [])
    return found


def by_client(client: str, where: str, calls: list[str], bodies: list[Any]) -> list[list[float]]:
    """By a client of generators/python_client.py: to each body the answers to all calls."""
    ask = CLIENTS[client](where)
    found = [[ask(call, body) for call in calls] for body in bodies]
    return [
        [*chain.from_iterable(one if isinstance(one, list) else [one] for one in answers)]
        for answers in found
    ]


def into_postgresql(conninfo: str, **flights: Any) -> tuple[float, int]:
    """Fills the table by COPY; the index and VACUUM ANALYZE are part of it; seconds, and bytes."""
    request = Request(**flights)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        began = time.monotonic()
        with connection.transaction():
            create_table(connection)
            copy_rows(connection, generated(request), request.rows)
        finish_table(connection)
        took = time.monotonic() - began
        size = connection.execute("SELECT pg_total_relation_size('flights')").fetchone()[0]
    return took, size


def into_redis(url: str, serializer: str, **flights: Any) -> tuple[float, int]:
    """Fills Redis by redis-cli --pipe; seconds, and bytes."""
    with redis.Redis.from_url(url) as client:
        before = client.info("memory")["used_memory"]
        began = time.monotonic()
        load(url, Request(**flights), serializer)
        took = time.monotonic() - began
        return took, client.info("memory")["used_memory"] - before
