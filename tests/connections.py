"""Connections of a test, closed when it ends, and what tells that the server crashed meanwhile."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any, NamedTuple

import psycopg

Connect = Callable[..., psycopg.Connection]


class Notice(NamedTuple):
    """A notice's text, which psycopg frees when its handler returns."""

    severity: str
    message: str
    detail: str | None
    hint: str | None


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


def until(answer: Callable[[], Any], expected: object = True, seconds: float = 20) -> Any:
    """Returns the answer once it is as expected, or true; an error of the server is another answer."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = answer()
            if found == expected or (expected is True and found):
                return found
        except psycopg.Error as error:
            found = error
        assert time.monotonic() < deadline, f"still {found!r} instead of {expected!r}"
        time.sleep(0.01)


def waits(observer: psycopg.Connection, waiting: psycopg.Connection, seconds: float = 20) -> None:
    """Returns once a connection waits for a lock."""
    query = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"
    pid = (waiting.info.backend_pid,)
    until(lambda: observer.execute(query, pid).fetchone(), (True,), seconds)


def in_parallel(connection: psycopg.Connection) -> None:
    """Makes parallel plans free for this connection."""
    for setting in ("parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size"):
        connection.execute(f"SET {setting} = 0")


def make_table(
    connection: psycopg.Connection, name: str, columns: str, rows: Iterable[Sequence[Any]]
) -> None:
    """Creates a table of these columns and rows, whose values of NumPy become Python's."""
    connection.execute(f"CREATE TABLE {name} ({columns})")
    with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
        for row in rows:
            copy.write_row([one.tolist() if hasattr(one, "tolist") else one for one in row])


def plan_of(connection: psycopg.Connection, query: str, options: str = "") -> str:
    """The lines of EXPLAIN."""
    return "\n".join(line for (line,) in connection.execute(f"EXPLAIN {options} {query}"))
