"""A statement's time, and a session's settings."""

import time
from collections.abc import Callable, Mapping

import psycopg

Measure = Callable[[], float]


def seconds(connection: psycopg.Connection, statement: str) -> float:
    """How long a statement takes until its last row is there; never a prepared one."""
    began = time.perf_counter()
    cursor = connection.execute(statement, prepare=False)
    if cursor.description:
        cursor.fetchall()
    return time.perf_counter() - began


def set_(connection: psycopg.Connection, settings: Mapping[str, object]) -> None:
    """Changes settings of the session."""
    for name, value in settings.items():
        connection.execute("SELECT set_config(%s, %s, false)", (name, str(value)))
