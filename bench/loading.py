"""Fills the table, or Redis, with generated flights on the host where this is called: seconds, and bytes.

The time begins when the program is loaded and connected; making the flights is within it on both sides.
"""

import time

import psycopg
import redis

from data.flights import Request
from data.load import copy_rows, create_table, finish_table, generated
from python_baseline.load import load


def into_postgresql(rows: int, seed: int, conninfo: str) -> tuple[float, int]:
    """By COPY; the index and VACUUM ANALYZE are part of it."""
    request = Request(rows, seed)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        began = time.monotonic()
        with connection.transaction():
            create_table(connection)
            copy_rows(connection, generated(request), request.rows)
        finish_table(connection)
        took = time.monotonic() - began
        size = connection.execute("SELECT pg_total_relation_size('flights')").fetchone()[0]
    return took, size


def into_redis(rows: int, seed: int, url: str, serializer: str) -> tuple[float, int]:
    """By redis-cli --pipe."""
    with redis.Redis.from_url(url) as client:
        before = client.info("memory")["used_memory"]
        began = time.monotonic()
        load(url, Request(rows, seed), serializer)
        took = time.monotonic() - began
        return took, client.info("memory")["used_memory"] - before
