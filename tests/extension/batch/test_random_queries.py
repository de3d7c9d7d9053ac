"""Random queries give the same with batches and without, with every kernel that the processor can
run: the same rows in the same order, or an error in the same step. Where several rows fail, or one in
several ways, another of these errors may come first."""

from collections import Counter

import psycopg
import pytest
from psycopg import sql

from tests.connections import plan_of
from tests.extension.batch.conftest import ROWS, answer
from tests.extension.batch.queries import Generator
from tests.extension.batch.test_kernels import present
from tests.state import TIMES

QUERIES = 600 * TIMES
SEEDS = (1, 2, 3)
# This many separate queries for each kernel.
QUERIES_A_KERNEL = 80 * TIMES
# Prepared statements, each executed for each of COUNTS.
STATEMENTS = 40 * TIMES
# Of rows, around the sizes of batches and of blocks.
COUNTS = (1, 2, 8, 9, 63, 64, 65, 128, 129, 256, 257, 511, 513, 999)
# Conditions with the types of their parameters. The planner takes a ninth of the rows for the first, and for
# BETWEEN too few for a batch.
RANGE, KEYS = ("id >= $1 AND id + 0 <= $2", "int, int"), ("id = ANY($1)", "int[]")
# A plan with batches is the point; this many queries of all have one.
AT_LEAST_IN_BATCHES = 0.25
pytestmark = pytest.mark.usefixtures("tables")
EXTRA = (
    "CREATE TABLE kept AS SELECT * FROM homes",
    "SELECT maintain_scores('kept', 'price')",
    "UPDATE kept SET score_version = NULL",
)


@pytest.fixture(autouse=True)
def one_process(connection: psycopg.Connection) -> None:
    """Workers' rows would come in any order."""
    connection.execute("SET max_parallel_workers_per_gather = 0")


def fetched(
    connection: psycopg.Connection, query: str, of: tuple[str, list[str]], batches: str
) -> list:
    """The rows of a kind of cursor in steps, and its error if there is one."""
    kind, directions = of
    connection.execute(f"SET pgboost.enable_batch = {batches}")
    steps: list = []
    try:
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(f"DECLARE c {kind} FOR {query}")
            for direction in directions:
                steps.append(cursor.execute(f"FETCH {direction} FROM c").fetchall())
            cursor.execute("CLOSE c")
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
        return "BatchPredict" in plan_of(connection, query)
    except psycopg.Error:
        return False


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_the_same(connection: psycopg.Connection, seed: int) -> None:
    generator = Generator(seed)
    kinds: Counter[str] = Counter()
    for _ in range(QUERIES // len(SEEDS)):
        query = generator.query()
        without, with_batches = (answer(connection, query, on) for on in ("off", "on"))
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
        expected = answer(connection, query, "off")
        connection.execute(f"SET pgboost.kernel = {kernel}")
        assert answer(connection, query, "off") == expected, query
        assert are_alike(answer(connection, query, "on"), expected), query
        batches += is_in_batches(connection, query)
    assert batches >= AT_LEAST_IN_BATCHES * QUERIES_A_KERNEL


@pytest.mark.parametrize("condition", [RANGE, KEYS], ids=["range", "keys"])
def test_prepared_statements_of_any_number_of_rows(
    connection: psycopg.Connection, condition: tuple[str, str]
) -> None:
    """Of one plan, from which each execution starts."""
    generator = Generator(6)
    connection.execute("SET plan_cache_mode = force_generic_plan")
    batches = prepared = 0
    while prepared < STATEMENTS:
        query = generator.by_key(condition[0])
        try:
            for name in ("without", "with"):
                connection.execute(sql.SQL(f"PREPARE {name}_batches({condition[1]}) AS {query}"))
        except psycopg.Error:
            continue
        prepared += 1
        for rows in COUNTS:
            first = generator.random.randrange(ROWS - rows)
            given = f"{first}, {first + rows - 1}"
            if condition == KEYS:
                keys = [generator.random.randrange(ROWS) for _ in range(rows)]
                given = f"'{{{','.join(map(str, keys))},NULL}}'"
            without, with_batches = (
                answer(connection, f"EXECUTE {name}_batches({given})", on)
                for name, on in (("without", "off"), ("with", "on"))
            )
            assert are_alike(with_batches, without), (query, given)
        batches += is_in_batches(connection, f"EXECUTE with_batches({given})")
        connection.execute("DEALLOCATE ALL")
    assert batches >= AT_LEAST_IN_BATCHES * STATEMENTS


def test_cursors_stop_at_the_same_row(connection: psycopg.Connection) -> None:
    generator = Generator(4)
    for _ in range(100 * TIMES):
        query, steps = generator.query(), generator.steps()
        without, with_batches = (fetched(connection, query, steps, on) for on in ("off", "on"))
        assert are_alike(with_batches, without), (query, steps)


def test_kept_scores_are_the_predictions(connection: psycopg.Connection) -> None:
    """Of rows that random statements write, which may predict in batches themselves."""
    generator, rows = Generator(7), 0
    for _ in range(50 * TIMES):
        statement = generator.written()
        answers = []
        for on in ("off", "on"):
            connection.execute("BEGIN")
            answers.append(answer(connection, statement, on))
            connection.execute("ROLLBACK")
        without, with_batches = answers
        assert are_alike(with_batches, without), statement
        if isinstance(without, list):
            rows += len(without)
            assert all(score == predicted for score, predicted in without), statement
    assert rows > 1000
