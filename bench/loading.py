"""`python -m bench.loading`: fills the table, or Redis, with generated flights, and says how long it took.

The question: {"rows": ..., "seed": ...} and {"conninfo": "..."} or {"redis": "redis://...",
"serializer": "json"}. The answer: {"seconds": ..., "bytes": ...}. The time begins
when the program is loaded and connected; making the flights is within it on both sides.
"""

import json
import sys
import time
from typing import Any

import psycopg
import redis

from data.flights import Request
from data.load import copy_rows, create_table, finish_table, generated
from python_baseline.load import load


def _into_postgresql(request: Request, conninfo: str) -> tuple[float, int]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        began = time.monotonic()
        with connection.transaction():
            create_table(connection)
            copy_rows(connection, generated(request), request.rows)
        finish_table(connection)
        took = time.monotonic() - began
        size = connection.execute("SELECT pg_total_relation_size('flights')").fetchone()[0]
    return took, size


def _into_redis(request: Request, url: str, serializer: str) -> tuple[float, int]:
    with redis.Redis.from_url(url) as client:
        before = client.info("memory")["used_memory"]
        began = time.monotonic()
        load(url, request, serializer)
        took = time.monotonic() - began
        return took, client.info("memory")["used_memory"] - before


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Loads what the question names."""
    request = Request(question["rows"], question["seed"])
    if "redis" in question:
        took, size = _into_redis(request, question["redis"], question["serializer"])
    else:
        took, size = _into_postgresql(request, question["conninfo"])
    return {"seconds": took, "bytes": size}


if __name__ == "__main__":
    print(json.dumps(answer(json.load(sys.stdin))))
