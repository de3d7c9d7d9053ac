"""A statement ends, with the same result, while PostgreSQL discards its caches at every opportunity.

Only a PostgreSQL with assertions does: make test-assertions.
tests/extension/long/test_regression_settings.py runs whole SQL files like that.
"""

import pytest
from psycopg import Connection

from tests.extension.lifecycle.models import drop_all, grown, load

STATEMENTS = [
    "SELECT predict('m', homes) FROM homes ORDER BY f1",
    "SELECT predict('m', ROW(f1, f2)) FROM homes ORDER BY f1",
    "SELECT predict('m', f1, f2) FROM homes ORDER BY f1",
    "SELECT feature, value FROM homes, explain_prediction('m', homes) ORDER BY f1, feature",
]


@pytest.fixture(autouse=True)
def homes(connection: Connection) -> None:
    if connection.execute("SHOW debug_assertions").fetchone() != ("on",):
        pytest.skip("needs a PostgreSQL with assertions")
    drop_all(connection)
    load(connection, "m", grown(3, 2, features=2))
    # The base type of a domain is looked up in the catalogs.
    connection.execute(
        "DROP TABLE IF EXISTS homes;"
        "DROP DOMAIN IF EXISTS area;"
        "CREATE DOMAIN area AS real;"
        "CREATE TABLE homes AS SELECT (n / 7.0)::area AS f1, n / 3.0 AS f2 FROM generate_series(1, 3) AS n"
    )


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("batch", ["on", "off"])
def test_a_statement_ends(connection: Connection, statement: str, batch: str) -> None:
    connection.execute(f"SET pgboost.enable_batch = {batch}")
    expected = connection.execute(statement).fetchall()
    assert len(expected) >= 3
    connection.execute("SET statement_timeout = '60s'")
    connection.execute("SET debug_discard_caches = 1")
    assert connection.execute(statement).fetchall() == expected
