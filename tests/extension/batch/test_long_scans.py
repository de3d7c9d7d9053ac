"""A scan in batches of millions of rows takes no more memory than a short one, and can be ended."""

import psycopg
import pytest

from tests.connections import Connect, in_parallel, plan_of
from tests.extension.lifecycle.models import grown, load, one
from tests.extension.lifecycle.test_cancel import SOON, seconds_to_end
from tests.extension.lifecycle.test_memory import private_kb

COLUMNS = ", ".join(f"f{i + 1}" for i in range(10))
RANDOM = ", ".join(f"random()::real AS f{i + 1}" for i in range(10))
ROWS = 100_000
# Joined with this many others, the rows are ten million.
TIMES = 100
MOST_GROWTH_KB = 1024


@pytest.fixture(scope="module", autouse=True)
def rows(cluster, dbname: str) -> None:
    """A table of rows, and a model small enough for ten million of them, and one that is slow."""
    with cluster.connect(dbname) as connection:
        load(connection, "quick", grown(5, 3))
        load(connection, "slow", grown(500, 8))
        connection.execute(
            f"CREATE TABLE rows AS SELECT i AS id, repeat('x', i % 50) AS t, {RANDOM}"
            f" FROM generate_series(1, {ROWS}) AS i"
        )
        connection.execute(f"CREATE TABLE times AS SELECT generate_series(1, {TIMES}) AS n")
        connection.execute("VACUUM ANALYZE rows")
        connection.execute("VACUUM ANALYZE times")


@pytest.fixture
def serial(connect: Connect) -> psycopg.Connection:
    """A connection without parallel workers."""
    connection = connect()
    connection.execute("SET max_parallel_workers_per_gather = 0")
    # The JIT compiler takes memory too.
    connection.execute("SET jit = off")
    return connection


def in_batches(connection: psycopg.Connection, query: str) -> str:
    """The query, whose plan must have a batch."""
    assert "BatchPredict" in plan_of(connection, query)
    return query


@pytest.mark.parametrize("output", ["predict('quick', {})", "length(t) + predict('quick', {})"])
def test_ten_million_rows_take_no_more_memory(serial: psycopg.Connection, output: str) -> None:
    values = output.format(COLUMNS)
    query = f"SELECT count({values}) FROM rows, times WHERE n <= {{}}"
    assert one(serial, in_batches(serial, query.format(1))) == ROWS
    before = private_kb(serial)
    assert one(serial, in_batches(serial, query.format(TIMES))) == ROWS * TIMES
    assert private_kb(serial) - before < MOST_GROWTH_KB


def test_many_short_batches_take_no_more_memory(serial: psycopg.Connection) -> None:
    query = in_batches(serial, f"SELECT id, predict('quick', {COLUMNS}) FROM rows LIMIT 80")
    for _ in range(200):
        serial.execute(query).fetchall()
    before = private_kb(serial)
    for _ in range(1000):
        serial.execute(query).fetchall()
    assert private_kb(serial) - before < MOST_GROWTH_KB


def test_a_scan_in_batches_is_cancelled(serial: psycopg.Connection, connect: Connect) -> None:
    query = in_batches(serial, f"SELECT sum(predict('slow', {COLUMNS})) FROM rows, times")
    assert seconds_to_end(serial, connect(), query) < SOON
    assert one(serial, f"SELECT count(predict('quick', {COLUMNS})) FROM rows") == ROWS


def test_workers_give_the_same_sums(serial: psycopg.Connection, connect: Connect) -> None:
    parallel = connect()
    in_parallel(parallel)
    parallel.execute("SET max_parallel_workers_per_gather = 2")
    query = f"SELECT count(*), sum(predict('slow', {COLUMNS})::float8) FROM rows"
    assert "Gather" in plan_of(parallel, in_batches(parallel, query))
    expected = serial.execute(in_batches(serial, query)).fetchone()
    assert expected is not None and expected[0] == ROWS
    got = parallel.execute(query).fetchone()
    assert got is not None and got[0] == ROWS and got[1] == pytest.approx(expected[1], rel=1e-9)
    # Predictions of workers are counted with the leader's.
    explained = parallel.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}").fetchone()
    assert explained is not None
    plan = explained[0][0]["Plan"]
    while plan.get("Custom Plan Provider") != "BatchPredict":
        plan = plan["Plans"][0]
    assert plan["Batched Rows"] == ROWS
    assert plan["Prediction Time"] > 0
