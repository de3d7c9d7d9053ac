"""Client functions that a host's agent calls: SQL, predictions and the loading of flights.

Predictions are in the order of the keys. JSON carries them exactly: a real's text is the shortest one that
identifies it, so rounding to 32 bits restores it.

The time of loading starts once the program has connected, and includes generating the flights on both sides.
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
    """Returns the rows of each statement, executed in its own transaction.

    `prepare=False` selects the simple protocol. A parameter {"file": ...} stands for the file's bytes.
    """
    # psycopg's default cursor never uses the simple protocol with parameters; ClientCursor does.
    factory = psycopg.ClientCursor if prepare is False else psycopg.Cursor
    found = []
    with psycopg.connect(conninfo, autocommit=True, cursor_factory=factory) as connection:
        for statement, parameters in statements:
            given = [Path(p["file"]).read_bytes() if isinstance(p, dict) else p for p in parameters]
            # Given None instead of an empty list, psycopg leaves % as it is.
            cursor = connection.execute(statement, given or None, prepare=prepare)
            found.append([[*row] for row in cursor] if cursor.description else [])
    return found


def by_client(client: str, where: str, calls: list[str], bodies: list[Any]) -> list[list[float]]:
    """Calls through a client of generators/python_client.py; returns each body's answers to all calls."""
    ask = CLIENTS[client](where)
    found = [[ask(call, body) for call in calls] for body in bodies]
    return [
        [*chain.from_iterable(one if isinstance(one, list) else [one] for one in answers)]
        for answers in found
    ]


def into_postgresql(conninfo: str, **flights: Any) -> tuple[float, int]:
    """Fills the table by COPY, builds the index and runs VACUUM ANALYZE; returns seconds and bytes."""
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
    """Fills Redis by redis-cli --pipe; returns seconds and bytes."""
    with redis.Redis.from_url(url) as client:
        before = client.info("memory")["used_memory"]
        began = time.monotonic()
        load(url, Request(**flights), serializer)
        took = time.monotonic() - began
        return took, client.info("memory")["used_memory"] - before
