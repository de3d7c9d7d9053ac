"""A row that fails is not read before it is needed: a reader that stops before it gets no error.

With batches as without. Row 500 fails in each query, and no row before it.
"""

import pytest
from psycopg import Connection
from psycopg.errors import DivisionByZero

from tests.connections import Notice, plan_of

FAILING = 500
CALL = f"predict('price', area, 100 / (id - {FAILING}), age)"
# Rows of which row 500 fails: in an argument, in a condition, and while it is read.
QUERIES = {
    "argument": f"SELECT id, {CALL} AS p FROM homes",
    "condition": "SELECT id, predict('price', area, rooms, age) AS p"
    f" FROM homes WHERE 100 / (id - {FAILING}) < 500",
    "input": f"SELECT id, predict('price', area, half, 1) AS p"
    f" FROM (SELECT id, area, 100 / (id - {FAILING}) AS half FROM homes OFFSET 0) AS s",
    "join": "SELECT h.id, predict('price', h.area, o.half, 1) AS p FROM homes AS h"
    f" JOIN LATERAL (SELECT 100 / (h.id - {FAILING}) AS half FROM towns LIMIT 1) AS o ON true",
    "filter": f"SELECT id, area AS p FROM homes WHERE {CALL} > -1000",
    "window": f"SELECT id, predict('price', area, 100 / (n - 1 - {FAILING}), 1) AS p"
    " FROM (SELECT id, area, row_number() OVER (ORDER BY id) AS n FROM homes) AS s",
    "partitions": f"SELECT id, predict('price', area, 100 / (id - {FAILING}), age) AS p FROM parted",
    "set": f"SELECT id, unnest(predict_array('price', area, 100 / (id - {FAILING}), age)) AS p FROM homes",
}
pytestmark = pytest.mark.usefixtures("tables")
EXTRA = ("CREATE TABLE copied AS SELECT * FROM homes WITH NO DATA",)
EXIT = """DO $$
DECLARE r record;
BEGIN
    FOR r IN {query} LOOP
        EXIT WHEN r.id = {last};
    END LOOP;
END $$"""


@pytest.fixture(params=QUERIES)
def query(request: pytest.FixtureRequest) -> str:
    return QUERIES[request.param]


@pytest.fixture(autouse=True, params=["on", "off"])
def batches(connection: Connection, request: pytest.FixtureRequest) -> str:
    """Without workers, the rows come in the order of their numbers."""
    connection.execute("SET max_parallel_workers_per_gather = 0; SET synchronize_seqscans = off")
    connection.execute(f"SET pgboost.enable_batch = {request.param}")
    return request.param


def test_a_cursor_returns_the_rows_before_the_error(connection: Connection, query: str) -> None:
    with connection.transaction(force_rollback=True), connection.cursor() as cursor:
        cursor.execute(f"DECLARE c CURSOR FOR {query}")
        rows = []
        for count in (1, 9, 100, 300, FAILING - 411):
            rows += cursor.execute(f"FETCH {count} FROM c").fetchall()
        assert [row[0] for row in rows] == list(range(FAILING - 1))
        assert cursor.execute("FETCH 1 FROM c").fetchone()[0] == FAILING - 1
        with pytest.raises(DivisionByZero):
            cursor.execute("FETCH 1 FROM c")


# PL/pgSQL asks for 10 rows and then for 50 at a time.
@pytest.mark.parametrize("last", [0, 60, 459])
def test_a_loop_may_end_before(connection: Connection, query: str, last: int) -> None:
    connection.execute(EXIT.format(query=query, last=last))


@pytest.mark.parametrize("part", ["7 / (SELECT 0)", "(SELECT 7 / min(id - id) FROM homes)"])
def test_a_part_without_columns_in_a_branch_is_not_evaluated_early(
    connection: Connection, part: str
) -> None:
    query = (
        f"SELECT id, predict('price', area, rooms, age) FROM homes WHERE id < 100 OR area > {part}"
    )
    with connection.transaction(force_rollback=True), connection.cursor() as cursor:
        cursor.execute(f"DECLARE c CURSOR FOR {query}")
        for _ in range(3):
            assert len(cursor.execute("FETCH 30 FROM c").fetchall()) == 30
        with pytest.raises(DivisionByZero):
            cursor.execute("FETCH 30 FROM c")


def test_into_a_variable_goes_the_first_row(connection: Connection, query: str) -> None:
    into = query.replace(" FROM", " INTO r FROM", 1)
    connection.execute(f"DO $$ DECLARE r record; BEGIN {into}; ASSERT r.id = 0; END $$")


@pytest.mark.parametrize("limit", ["10", "400", str(FAILING), "(SELECT 400)", "400 OFFSET 100"])
def test_limit_stops_before(connection: Connection, query: str, limit: str) -> None:
    rows = connection.execute(f"{query} LIMIT {limit}").fetchall()
    assert rows[0][0] in (0, 100)
    assert rows[-1][0] < FAILING


@pytest.mark.parametrize("outer", [
    "SELECT s.id FROM ({query} OFFSET 0) AS s, LATERAL (SELECT s.id FROM towns OFFSET 1) AS t LIMIT 1200",
    "SELECT s.id FROM ({query} OFFSET 0) AS s WHERE id % 2 = 0 LIMIT 200",
    "SELECT generate_series(1, 3), s.id FROM ({query} OFFSET 0) AS s LIMIT 1200",
    "SELECT EXISTS ({query} OFFSET 5)",
    "SELECT id FROM towns, LATERAL ({query} LIMIT 400) AS s",
    "WITH s AS MATERIALIZED ({query}) SELECT * FROM s LIMIT 400",
    "WITH s AS MATERIALIZED ({query}) SELECT (SELECT max(p) FROM (SELECT p FROM s LIMIT 400) AS t)",
    "SELECT * FROM (SELECT id, row_number() OVER () AS n FROM ({query} OFFSET 0) AS s) AS t WHERE n <= 300",
])  # fmt: skip
def test_an_outer_query_may_stop_early(connection: Connection, query: str, outer: str) -> None:
    # Hashing a side of the join would read all of it.
    connection.execute("SET enable_hashjoin = off; SET enable_material = off")
    assert connection.execute(outer.format(query=query)).fetchall()


@pytest.mark.parametrize("offset", [0, FAILING - 2])
def test_a_hash_join_with_an_empty_side_reads_one_row(connection: Connection, offset: int) -> None:
    connection.execute("SET enable_nestloop = off; SET enable_mergejoin = off")
    query = (
        f"SELECT count(*) FROM (SELECT id, {CALL} AS p FROM homes OFFSET {offset}) AS s"
        " JOIN (SELECT id FROM homes WHERE id < 0 OFFSET 0) AS o ON o.id = s.id WHERE s.p IS NOT NULL"
    )
    assert connection.execute(query).fetchone() == (0,)


def test_a_merge_join_may_end_before(connection: Connection) -> None:
    connection.execute("SET enable_hashjoin = off; SET enable_nestloop = off")
    ordered = f"SELECT id, {CALL} AS p FROM (SELECT * FROM homes ORDER BY id) AS s"
    query = (
        "SELECT count(*) FROM (SELECT id FROM homes WHERE id < 400 ORDER BY id) AS a"
        f" JOIN ({ordered} OFFSET 0) AS b USING (id)"
    )
    assert "Merge Join" in plan_of(connection, query)
    assert connection.execute(query).fetchone() == (400,)


def test_a_merge_join_may_not_begin_its_second_side(connection: Connection) -> None:
    """Rows whose key is NULL come first, and need none of the second side, which fails at once."""
    connection.execute("SET enable_hashjoin = off; SET enable_nestloop = off")
    rows = connection.execute("SELECT count(*) FROM homes WHERE price IS NULL").fetchone()[0]
    query = (
        "SELECT a.id, predict('price', a.area, b.rooms, 1) FROM homes AS a"
        " LEFT JOIN (SELECT price, rooms FROM homes WHERE age > 7 / (SELECT 0)) AS b ON b.price = a.price"
        f" ORDER BY a.price DESC LIMIT (SELECT {rows})"
    )
    assert "Merge Left Join" in plan_of(connection, query)
    assert len(connection.execute(query).fetchall()) == rows
    with pytest.raises(DivisionByZero):
        connection.execute(query.replace(f"SELECT {rows}", f"SELECT {rows + 1}"))


def test_a_transaction_continues_after_the_error(connection: Connection, query: str) -> None:
    block = f"""DO $$
    DECLARE failed int := 0; total int; r record;
    BEGIN
        FOR i IN 1..3 LOOP
            BEGIN
                FOR r IN {query} LOOP
                    BEGIN
                        PERFORM 1 / (r.id - 7);
                    EXCEPTION WHEN division_by_zero THEN
                        failed := failed + 1;
                    END;
                END LOOP;
            EXCEPTION WHEN division_by_zero THEN
                failed := failed + 100;
            END;
        END LOOP;
        SELECT count(*) INTO total FROM ({query} LIMIT 300) AS s;
        ASSERT failed = 303 AND total = 300, failed::text || ' ' || total;
    END $$"""
    connection.execute(block)


def test_reading_all_rows_raises_the_error(
    connection: Connection, query: str, batches: str
) -> None:
    assert ("BatchPredict" in plan_of(connection, query)) == (batches == "on")
    for statement in (
        query, f"SELECT sum(p) FROM ({query}) AS s", f"{query} ORDER BY p", f"COPY ({query}) TO '/dev/null'",
        f"CREATE TABLE made AS {query}", f"INSERT INTO copied (id, area) {query}",
        f"SELECT p FROM ({query}) AS s EXCEPT SELECT 1", f"{query} LIMIT 600",
    ):  # fmt: skip
        with pytest.raises(DivisionByZero):
            connection.execute(statement)


def test_a_stable_function_is_called_once_a_row(
    connection: Connection, notices: list[Notice]
) -> None:
    connection.execute(
        "CREATE OR REPLACE FUNCTION told(n int) RETURNS int LANGUAGE plpgsql STABLE AS"
        " $$ BEGIN RAISE NOTICE '%', n; RETURN 100 / (n - 500); END $$"
    )
    with pytest.raises(DivisionByZero):
        connection.execute("SELECT predict('price', area, told(id), 1) FROM homes")
    assert [told.message for told in notices] == [str(row) for row in range(FAILING + 1)]
    notices.clear()
    connection.execute("SELECT predict('price', area, told(id), 1) FROM homes LIMIT 300")
    assert [told.message for told in notices] == [str(row) for row in range(300)]
