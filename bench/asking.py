"""Asks servers, on the host where these functions are called: SQL of the superuser, and predictions.

Predictions come in the order of the keys, as numbers that JSON carries whole: as text a real has the fewest
digits that no other real shares, so rounding them gives it.
"""

from itertools import chain
from pathlib import Path
from typing import Any

import psycopg

from bench.generators.python_client import CLIENTS


class NoAnswer(Exception):
    """A system that does not answer as it should."""


def _connect(conninfo: str, simple: bool = False) -> psycopg.Connection:
    # psycopg's own cursor never uses the simple protocol with parameters; ClientCursor does.
    factory = psycopg.ClientCursor if simple else psycopg.Cursor
    return psycopg.connect(conninfo, autocommit=True, cursor_factory=factory)


def rows(conninfo: str, statements: list[tuple[str, list[Any]]]) -> list[list[list[Any]]]:
    """The rows of each statement, each a transaction. A parameter {"file": ...} is that file's bytes."""
    found = []
    with _connect(conninfo) as connection:
        for statement, parameters in statements:
            given = [Path(p["file"]).read_bytes() if isinstance(p, dict) else p for p in parameters]
            # Without parameters a % is a %.
            cursor = connection.execute(statement, given or None)
            found.append([[*row] for row in cursor] if cursor.description else [])
    return found


def sql(conninfo: str, statement: str, keys: list[list[int]], prepare: bool) -> list[float]:
    """The answer to a statement with placeholders, for each key: by the simple protocol, or prepared."""
    with _connect(conninfo, simple=not prepare) as connection:
        # pgbench sends numbers without a type, and PostgreSQL makes them reals.
        given = [[*map(str, key)] for key in keys] if prepare else keys
        return [connection.execute(statement, key, prepare=prepare).fetchone()[0] for key in given]


def sql_batches(conninfo: str, statements: list[tuple[int, str]]) -> list[float]:
    """The answers to statements that give a place and a number for each of several keys."""
    found = []
    with _connect(conninfo, simple=True) as connection:
        for size, statement in statements:
            given = sorted(connection.execute(statement).fetchall())
            if [place for place, _ in given] != [*range(size)]:
                raise NoAnswer(f"a batch of {size} keys has {len(given)} answers")
            found += [answer for _, answer in given]
    return found


def by_client(client: str, where: str, calls: list[str], bodies: list[Any]) -> list[list[float]]:
    """By a client of generators/python_client.py: to each body the answers to all calls."""
    ask = CLIENTS[client](where)
    found = [[ask(call, body) for call in calls] for body in bodies]
    return [
        [*chain.from_iterable(one if isinstance(one, list) else [one] for one in answers)]
        for answers in found
    ]
