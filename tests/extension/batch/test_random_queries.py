"""Random queries give the same with batches and without, with every kernel that the processor can
run: the same rows in the same order, or an error in the same step. Where several rows fail, or one in
several ways, another of these errors may come first."""

from collections import Counter

import psycopg
import pytest
from psycopg import sql

from tests.extension.batch.kernels import present
from tests.extension.batch.plans import has_batch
from tests.extension.batch.queries import Generator
from tests.extension.batch.tables import ROWS, create
from tests.times import TIMES

QUERIES = 600 * TIMES
SEEDS = (1, 2, 3)
# This many separate queries for each kernel.
QUERIES_A_KERNEL = 80 * TIMES
# Prepared statements, each executed for each of COUNTS.
STATEMENTS = 40 * TIMES
# Of rows, around the sizes of batches and of blocks.
COUNTS = (1, 2, 8, 9, 63, 64, 65, 128, 129, 256, 257, 511, 513, 999)
# A plan with batches is the point; this many queries of all have one.
AT_LEAST_IN_BATCHES = 0.25


@pytest.fixture(scope="module", autouse=True)
def tables(cluster, dbname: str) -> None:
    """Tables and models for the queries."""
    with cluster.connect(dbname) as connection:
        create(connection)


@pytest.fixture(autouse=True)
def one_process(connection: psycopg.Connection) -> None:
    """Workers' rows would come in any order."""
    connection.execute("SET max_parallel_workers_per_gather = 0")


def answer(connection: psycopg.Connection, query: str, batches: bool) -> list | tuple:
    """The rows, or the error's SQLSTATE and message."""
    connection.execute(f"SET pgboost.enable_batch = {'on' if batches else 'off'}")
    try:
        return connection.execute(sql.SQL(query)).fetchall()
    except psycopg.Error as error:
        assert error.sqlstate is not None and not error.sqlstate.startswith("XX"), query
        return error.sqlstate, error.diag.message_primary


def fetched(connection: psycopg.Connection, query: str, batches: bool) -> list:
    """The rows of a cursor in steps, and its error if there is one."""
    connection.execute(f"SET pgboost.enable_batch = {'on' if batches else 'off'}")
    steps: list = []
    try:
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(f"DECLARE c CURSOR FOR {query}")
            for count in (1, 3, 20, 300, -2, 5, -30, 600):
                direction = "FORWARD" if count > 0 else "BACKWARD"
                steps.append(cursor.execute(f"FETCH {direction} {abs(count)} FROM c").fetchall())
    except psycopg.Error as error:
        steps.append((error.sqlstate, error.diag.message_primary))
    return steps


def are_alike(one: list | tuple, other: list | tuple) -> bool:
    """Returns whether two answers are equal or both errors; steps also if they end alike."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return True
    if one and other and isinstance(one[-1], tuple) and isinstance(one[-1][0], str):
        return one[:-1] == other[:-1] and isinstance(other[-1], tuple)
    return one == other


def is_in_batches(connection: psycopg.Connection, query: str) -> bool:
    """Returns whether the query can be planned, and the plan has a batch."""
    try:
        return has_batch(connection, query)
    except psycopg.Error:
        return False


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_the_same(connection: psycopg.Connection, seed: int) -> None:
    generator = Generator(seed)
    kinds: Counter[str] = Counter()
    for _ in range(QUERIES // len(SEEDS)):
        query = generator.query()
        without, with_batches = (answer(connection, query, on) for on in (False, True))
        assert are_alike(with_batches, without), query
        kinds["error" if isinstance(without, tuple) else "rows"] += 1
        kinds["another error"] += with_batches != without
        kinds["batch"] += is_in_batches(connection, query)
    assert kinds["another error"] < kinds["error"] / 10, kinds
    assert kinds["batch"] >= AT_LEAST_IN_BATCHES * QUERIES / len(SEEDS), kinds
    assert kinds["rows"] > kinds["error"] > 0, kinds


@pytest.mark.parametrize("kernel", present())
def test_rows_are_the_same_with_every_kernel(connection: psycopg.Connection, kernel: str) -> None:
    generator = Generator(5 + present().index(kernel))
    batches = 0
    for _ in range(QUERIES_A_KERNEL):
        query = generator.query()
        connection.execute("SET pgboost.kernel = portable")
        expected = answer(connection, query, batches=False)
        connection.execute(f"SET pgboost.kernel = {kernel}")
        assert answer(connection, query, batches=False) == expected, query
        assert are_alike(answer(connection, query, batches=True), expected), query
        batches += is_in_batches(connection, query)
    assert batches >= AT_LEAST_IN_BATCHES * QUERIES_A_KERNEL


def test_prepared_statements_of_any_number_of_rows(connection: psycopg.Connection) -> None:
    """Of one plan, from which each execution starts."""
    generator = Generator(6)
    connection.execute("SET plan_cache_mode = force_generic_plan")
    batches = prepared = 0
    while prepared < STATEMENTS:
        query = generator.by_key()
        try:
            for name in ("without", "with"):
                connection.execute(sql.SQL(f"PREPARE {name}_batches(int, int) AS {query}"))
        except psycopg.Error:
            continue
        prepared += 1
        for rows in COUNTS:
            first = generator.random.randrange(ROWS - rows)
            without, with_batches = (
                answer(connection, f"EXECUTE {name}_batches({first}, {first + rows - 1})", on)
                for name, on in (("without", False), ("with", True))
            )
            assert are_alike(with_batches, without), (query, first, rows)
        batches += is_in_batches(connection, "EXECUTE with_batches(0, 9)")
        connection.execute("DEALLOCATE ALL")
    assert batches >= AT_LEAST_IN_BATCHES * STATEMENTS


def test_cursors_stop_at_the_same_row(connection: psycopg.Connection) -> None:
    generator = Generator(4)
    for _ in range(100 * TIMES):
        query = generator.query()
        without, with_batches = (fetched(connection, query, on) for on in (False, True))
        assert are_alike(with_batches, without), query
