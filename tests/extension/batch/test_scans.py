"""Rows of each kind of scan below a batch, from one start of the node to the next.

The node starts scans by an index without their output, and reads the rows as stored."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.connections import Connect, plan_of
from tests.extension.batch.conftest import create

PRICE = "predict('price', area, rooms, age)"
SCANS = {
    "Index Scan": ("enable_seqscan", "enable_bitmapscan", "enable_indexonlyscan"),
    "Bitmap Heap Scan": ("enable_seqscan", "enable_indexscan", "enable_indexonlyscan"),
    "Index Only Scan": ("enable_seqscan", "enable_bitmapscan"),
    "Seq Scan": ("enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan"),
}
# Of the first id and the number of ids.
STATEMENTS = {
    "all": f"SELECT id, {PRICE} FROM homes WHERE id BETWEEN $1 AND $1 + $2 - 1",
    "first": f"SELECT {PRICE}, id, {PRICE} FROM homes WHERE id BETWEEN $1 AND $1 + $2 - 1",
    "computed": f"SELECT id + rooms, {PRICE} * 2, area FROM homes WHERE id BETWEEN $1 AND $1 + $2 - 1",
    "best": f"SELECT id, {PRICE} AS p FROM homes WHERE id BETWEEN $1 AND $1 + $2 - 1"
    " ORDER BY p DESC, id LIMIT 5",
    "sum": f"SELECT sum({PRICE}) FROM homes WHERE id BETWEEN $1 AND $1 + $2 - 1",
    "filter": f"SELECT rooms, id FROM homes WHERE id BETWEEN $1 AND $1 + $2 - 1 AND {PRICE} > 50",
    "rescanned": "SELECT start, id, p FROM unnest(ARRAY[$1, $1 + 7, -5]) AS start, LATERAL"
    f" (SELECT id, {PRICE} AS p FROM homes WHERE id BETWEEN start AND start + $2 - 1 OFFSET 0) AS s",
    "failing": f"SELECT id, {PRICE}, 1 / (id - 150) FROM homes WHERE id BETWEEN $1 AND $1 + $2 - 1",
    "ids": f"SELECT id, {PRICE} FROM homes WHERE id = ANY(ARRAY(SELECT generate_series($1, $1 + $2 - 1)))",
    "arrays": "SELECT id, predict('price', ARRAY[area, rooms, age]) FROM homes"
    " WHERE id BETWEEN $1 AND $1 + $2 - 1",
}


@pytest.fixture(scope="module", autouse=True)
def tables(cluster, dbname: str) -> None:
    """Tables and models for the statements."""
    with cluster.connect(dbname) as connection:
        create(connection)
        # PostgreSQL guesses that a range has one row of 200.
        connection.execute(
            "INSERT INTO homes SELECT id + 1000 * n, area, rooms, age, town, price, day, zone, hours"
            " FROM homes, generate_series(1, 29) AS n"
        )
        connection.execute("CREATE INDEX ON homes (id) INCLUDE (area, rooms, age)")
        connection.execute("VACUUM ANALYZE homes")


@pytest.fixture
def connection(connect: Connect) -> Iterator[psycopg.Connection]:
    """A connection whose plans are generic."""
    connection = connect()
    connection.execute("SET plan_cache_mode = force_generic_plan")
    yield connection
    connection.close()


def outcomes(connection: psycopg.Connection, batch: str, statement: str) -> list[object]:
    """The rows or the error of each execution; the table gets a column in between."""
    connection.execute("DEALLOCATE ALL")
    connection.execute(f"SET pgboost.enable_batch = {batch}")
    connection.execute(f"PREPARE q (int, int) AS {statement}")
    found: list[object] = []
    for first, count in [(1, 0), (5, 1), (5, 10), (0, 100), (3, 1), (100, 700), (149, 3)]:
        try:
            found.append(connection.execute(f"EXECUTE q ({first}, {count})").fetchall())
        except psycopg.Error as error:
            found.append((error.sqlstate, str(error)))
        if count == 1:
            connection.execute("ALTER TABLE homes ADD COLUMN IF NOT EXISTS more int DEFAULT 3")
    connection.execute("ALTER TABLE homes DROP COLUMN more")
    return found


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_a_prepared_statement_returns_the_same_each_time(
    connection: psycopg.Connection, scan: str, statement: str
) -> None:
    for setting in SCANS[scan]:
        connection.execute(f"SET {setting} = off")
    expected = outcomes(connection, "off", statement)
    assert outcomes(connection, "on", statement) == expected
    plan = plan_of(connection, "EXECUTE q (1, 10)")
    assert "BatchPredict" in plan
    assert f"{scan} using" in plan or f"{scan} on" in plan, plan
