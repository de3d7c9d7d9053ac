"""`python -m bench.statements`: runs SQL on the database's own host, for the harness elsewhere.

The question: {"conninfo": "...", "statements": [["SELECT %s", [1]], ...]}; each statement
commits by itself. A parameter {"file": "..."} is that file's bytes. The answer: the rows
of each statement.
"""

import json
import sys
from pathlib import Path
from typing import Any

import psycopg

Rows = list[list[Any]]


def _parameter(value: Any) -> Any:
    return Path(value["file"]).read_bytes() if isinstance(value, dict) else value


def run(conninfo: str, statements: list[tuple[str, list[Any]]]) -> list[Rows]:
    """The rows of each statement; none for those that give no rows."""
    found = []
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for statement, parameters in statements:
            # Without parameters a % is a %.
            given = [*map(_parameter, parameters)] or None
            cursor = connection.execute(statement, given)
            found.append([[*row] for row in cursor] if cursor.description else [])
    return found


def main() -> None:
    """One question, one answer."""
    question = json.load(sys.stdin)
    try:
        print(json.dumps(run(question["conninfo"], question["statements"])))
    except psycopg.Error as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
