"""Connections of a test, closed when it ends, whatever it has left them in."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import psycopg

Connect = Callable[..., psycopg.Connection]


@contextmanager
def closed_after(connect: Connect) -> Iterator[Connect]:
    """The same function, whose connections are closed at the end."""
    with ExitStack() as stack:

        def opened(*how: Any, **known: Any) -> psycopg.Connection:
            return stack.enter_context(closing(connect(*how, **known)))

        yield opened
