"""Connections of a test, closed when it ends, and what tells that the server crashed meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import psycopg

Connect = Callable[..., psycopg.Connection]


def running_since(connection: psycopg.Connection) -> object:
    """When the server came up last. After a crash the postmaster goes on, and its checkpointer is another."""
    query = "SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
    return connection.execute(query).fetchone()


@contextmanager
def closed_after(connect: Connect) -> Iterator[Connect]:
    """The same function, whose connections are closed at the end."""
    with ExitStack() as stack:

        def opened(*how: Any, **known: Any) -> psycopg.Connection:
            return stack.enter_context(closing(connect(*how, **known)))

        yield opened
