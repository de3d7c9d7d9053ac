"""What may be given as `connection`: a connection of psycopg 3, or a string to connect with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg


@contextmanager
def connected(connection: Any) -> Iterator[psycopg.Connection[Any]]:
    """The connection itself; for a string, a new one, which is committed and closed at the end."""
    if isinstance(connection, psycopg.Connection):
        yield connection
    elif isinstance(connection, str):
        with psycopg.connect(connection) as opened:
            yield opened
    else:
        kind = type(connection)
        raise TypeError(
            f"connection is a {kind.__module__}.{kind.__qualname__}: pass a psycopg.Connection"
            " (psycopg 3, not async), or a connection string such as 'dbname=flights' or"
            " 'postgresql://host/flights'"
        )
