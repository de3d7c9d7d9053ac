"""`python -m bench.asking`: asks a system for predictions on the client's host, before anything is timed.

The question's `kind` says how: `sql`, a statement with placeholders for each of the keys,
by the simple protocol or prepared; `sql_batches`, statements that give a place and a
number for each of several keys; `http`, a POST of each body. The answer is the numbers in the
order of the keys, which JSON carries whole.
"""

import http.client
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import psycopg

ANSWER_SECONDS = 60

Question = dict[str, Any]


class NoAnswer(Exception):
    """A system that does not answer as it should."""


def _sql(question: Question) -> Iterator[float]:
    """As text a real has the fewest digits that no other real shares, so rounding them gives it."""
    prepare = question["prepare"]
    # psycopg's own cursor never uses the simple protocol with parameters; this one does.
    factory = psycopg.Cursor if prepare else psycopg.ClientCursor
    with psycopg.connect(
        question["conninfo"], autocommit=True, cursor_factory=factory
    ) as connection:
        for key in question["keys"]:
            # pgbench sends numbers without a type, and PostgreSQL makes them reals.
            parameters = [*map(str, key)] if prepare else key
            cursor = connection.execute(question["statement"], parameters, prepare=prepare)
            (answer,) = cursor.fetchone()
            yield answer


def _sql_batches(question: Question) -> Iterator[float]:
    with psycopg.connect(
        question["conninfo"], autocommit=True, cursor_factory=psycopg.ClientCursor
    ) as connection:
        for size, statement in question["statements"]:
            rows = connection.execute(statement).fetchall()
            if sorted(place for place, _ in rows) != [*range(size)]:
                raise NoAnswer(f"a batch of {size} keys has {len(rows)} answers")
            yield from (answer for _, answer in sorted(rows))


def _console(question: Question) -> Iterator[Any]:
    """The first column of what PgBouncer's console says, which knows the simple protocol only."""
    with psycopg.connect(
        question["conninfo"], autocommit=True, cursor_factory=psycopg.ClientCursor
    ) as connection:
        yield from (row[0] for row in connection.execute(question["statement"]))


def _http(question: Question) -> Iterator[Any]:
    connection = http.client.HTTPConnection(
        question["address"], question["port"], timeout=ANSWER_SECONDS
    )
    path = question["path"]
    for body in question["bodies"]:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise NoAnswer(f"{path} answers {response.status} to {body}: {answer[:200]!r}")
        yield json.loads(answer)
    connection.close()


KINDS: dict[str, Callable[[Question], Iterator[Any]]] = {
    "sql": _sql,
    "sql_batches": _sql_batches,
    "console": _console,
    "http": _http,
}


def main() -> None:
    """One question, all answers."""
    question = json.load(sys.stdin)
    try:
        print(json.dumps([*KINDS[question["kind"]](question)]))
    except (NoAnswer, OSError, psycopg.Error) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
