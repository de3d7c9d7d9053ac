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

import numpy as np
import psycopg
import redis

from bench.generators.python_client import CLIENTS
from data.flights import Request
from data.load import copy_rows, create_table, finish_table, generated
from data.ranking import OFFER, SIZES, TRIP, Ranking
from python_baseline.load import load, redis_values


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
            given = parameters
            if not isinstance(given, dict):
                files = (isinstance(one, dict) and Path(one["file"]) for one in given)
                given = [f.read_bytes() if f else p for f, p in zip(files, given, strict=True)]
            # Given None instead of an empty list, psycopg leaves % as it is.
            cursor = connection.execute(statement, given or None, prepare=prepare)
            found.append([[*row] for row in cursor] if cursor.description else [])
    return found


def by_client(client: str, where: str, calls: list[tuple[str, Any]]) -> list[Any]:
    """Returns the answers to calls through a client of generators/python_client.py."""
    ask = CLIENTS[client](where)
    return [ask(*call) for call in calls]


def _rank(connection: psycopg.Connection, ranking: Ranking) -> None:
    """Fills the tables of trips and offers, with an index for each size of category that covers a ranking."""
    trips = ", ".join(f"{name} real NOT NULL" for name in TRIP)
    offers = ", ".join(f"{name} real NOT NULL" for name in OFFER)
    categories = ", ".join(f"c{size} int NOT NULL" for size in SIZES)
    of_category = np.empty((len(ranking.offers), len(SIZES)), np.int64)
    for place, members in enumerate(ranking.members.values()):
        of_category[members, place] = np.arange(len(members))[:, None]
    for table, columns, rows in (
        ("trips", trips, [ranking.trips]),
        ("offers", f"{categories}, {offers}", [of_category, ranking.offers]),
    ):
        connection.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, {columns})")
        lists = [part.tolist() for part in rows]
        with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for number, parts in enumerate(zip(*lists, strict=True)):
                copy.write_row([number, *chain.from_iterable(parts)])
    for size in SIZES:
        connection.execute(f"CREATE INDEX ON offers (c{size}) INCLUDE (id, {', '.join(OFFER)})")
    connection.execute("VACUUM ANALYZE trips, offers")


def into_postgresql(conninfo: str, **flights: Any) -> tuple[float, int]:
    """Fills the flights by COPY, with index and VACUUM ANALYZE, and all tables; returns seconds and bytes.

    The figures are of the flights alone.
    """
    request = Request(**flights)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        began = time.monotonic()
        with connection.transaction():
            create_table(connection)
            copy_rows(connection, generated(request), request.rows)
        finish_table(connection)
        took = time.monotonic() - began
        size = connection.execute("SELECT pg_total_relation_size('flights')").fetchone()[0]
        _rank(connection, Ranking(request))
    return took, size


def into_redis(url: str, serializer: str, **flights: Any) -> tuple[float, int]:
    """Fills Redis by redis-cli --pipe, then with trips and offers; returns the flights' seconds and bytes."""
    request = Request(**flights)
    with redis.Redis.from_url(url) as client:
        before = client.info("memory")["used_memory"]
        began = time.monotonic()
        load(url, request, serializer)
        found = time.monotonic() - began, client.info("memory")["used_memory"] - before
        for values in redis_values(Ranking(request), serializer):
            client.mset(values)
        return found
