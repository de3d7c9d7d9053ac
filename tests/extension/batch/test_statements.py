"""Every statement that predicts for many rows does so in batches, also where no EXPLAIN shows it:
auto_explain tells the plans that ran."""

import re
from collections.abc import Iterator

import psycopg
import pytest

from tests.connections import Notice, plan_of
from tools.cluster.server import installed

PRICE = "predict('price', area, rooms, age)"
LOOP = f"""DO $$
DECLARE r record; total real := 0;
BEGIN
    FOR r IN SELECT id, {PRICE} AS p FROM homes WHERE id < 400 LOOP
        total := total + r.p;
    END LOOP;
    INSERT INTO sums VALUES (total);
END $$"""
RETURNED = f"""CREATE OR REPLACE FUNCTION prices(lowest real) RETURNS SETOF real LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT {PRICE} FROM homes WHERE {PRICE} > lowest;
END $$"""
GENERIC = "SET LOCAL plan_cache_mode = force_generic_plan"
PREPARED = f"PREPARE price (int) AS SELECT sum({PRICE}) FROM homes WHERE id > $1"
INTO_VARIABLE = f"""DO $$
DECLARE total real;
BEGIN
    SELECT sum({PRICE}) INTO total FROM homes;
    INSERT INTO sums VALUES (total);
END $$"""

pytestmark = pytest.mark.usefixtures("tables")
EXTRA = ("CREATE TABLE sums (total real)",)

# Of the ids in an array, whose length the planner does not know.
WANTED = {
    "ids": f"SELECT id, {PRICE} FROM homes WHERE id = ANY($1)",
    "ids as rows": f"SELECT id, {PRICE} FROM unnest($1) AS wanted JOIN homes ON id = wanted",
    "ids of a subquery": f"SELECT id, {PRICE} FROM homes WHERE id IN (SELECT unnest($1))",
    "ids of an expression table": "WITH wanted AS MATERIALIZED (SELECT unnest($1) AS id)"
    f" SELECT id, {PRICE} FROM wanted JOIN homes USING (id)",
    "ids of a text": f"SELECT id, {PRICE} FROM homes WHERE id = ANY(array_to_string($1, ' ')::int2vector)",
    "best of ids": f"SELECT id FROM homes WHERE id = ANY($1) ORDER BY {PRICE} DESC, id LIMIT 10",
    "filter of ids": f"SELECT id FROM homes WHERE id = ANY($1) AND {PRICE} > 50",
    "ids, several models": f"SELECT id, {PRICE}, predict('large', area, rooms, age),"
    " predict('gaps', area, rooms) FROM homes WHERE id = ANY($1)",
    "ids, a model for each": "SELECT id, predict(CASE WHEN id < 50 THEN 'price' ELSE 'price_doubled' END,"
    " area, rooms, age) FROM homes WHERE id = ANY($1)",
}

# Preparations, and last the statement whose plan must have a batch. sql/batch.sql has those of EXPLAIN.
STATEMENTS = {
    "best of each": (
        f"SELECT * FROM (SELECT id, rank() OVER (PARTITION BY town ORDER BY {PRICE} DESC, id) AS r"
        " FROM homes) AS s WHERE r <= 3",
    ),
    "expression table": (f"WITH p AS MATERIALIZED (SELECT {PRICE} AS p FROM homes) TABLE p",),
    "update": (f"UPDATE homes SET hours = {PRICE} + 1",),
    "delete": (f"DELETE FROM homes WHERE {PRICE} > 100",),
    "insert": (f"INSERT INTO sums SELECT {PRICE} FROM homes",),
    "create table": (f"CREATE TEMP TABLE t AS SELECT {PRICE} FROM homes",),
    "create view": (f"CREATE MATERIALIZED VIEW v AS SELECT id, {PRICE} FROM homes",),
    "refresh view": (
        f"CREATE MATERIALIZED VIEW v AS SELECT id, {PRICE} FROM homes WITH NO DATA",
        "REFRESH MATERIALIZED VIEW v",
    ),
    "copy": (f"COPY (SELECT id, {PRICE} FROM homes) TO '/dev/null'",),
    "cursor": (f"DECLARE c CURSOR FOR SELECT {PRICE} FROM homes", "FETCH 600 FROM c", "CLOSE c"),
    "loop": (LOOP,),
    "variable": (INTO_VARIABLE,),
    "function": (RETURNED, "SELECT count(*) FROM prices(50)"),
    "prepared": (PREPARED, "EXECUTE price (5)"),
    "prepared for all": (PREPARED, GENERIC, "EXECUTE price (5)"),
} | {
    name: (
        f"PREPARE wanted (int[]) AS {query}", GENERIC,
        f"EXECUTE wanted ('{{{','.join(map(str, range(100)))}}}')",
    )
    for name, query in WANTED.items()
}  # fmt: skip


@pytest.fixture
def plans(connection: psycopg.Connection, notices: list[Notice]) -> Iterator[list[Notice]]:
    """The plans that the connection runs from now on."""
    if not (installed("--pkglibdir") / "auto_explain.so").exists():
        pytest.skip("this PostgreSQL has no auto_explain")
    connection.execute(
        "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0;"
        "SET auto_explain.log_nested_statements = on; SET client_min_messages = log"
    )
    yield notices
    connection.execute("DEALLOCATE ALL")


def run(connection: psycopg.Connection, name: str) -> tuple[list, list]:
    """The statement's rows, and the tables' after it; all is rolled back."""
    *before, statement = STATEMENTS[name]
    with connection.transaction(force_rollback=True):
        for earlier in before:
            connection.execute(earlier)
        given = connection.execute(statement)
        rows = given.fetchall() if given.description else []
        tables = "SELECT id, area, hours, NULL FROM homes UNION ALL SELECT 0, 0, 0, total FROM sums"
        connection.execute("SET LOCAL auto_explain.log_min_duration = -1")
        kept = connection.execute(f"{tables} ORDER BY 1, 4").fetchall()
    connection.execute("DEALLOCATE ALL")
    return rows, kept


@pytest.mark.parametrize("name", STATEMENTS)
def test_it_runs_in_batches(connection: psycopg.Connection, plans: list[Notice], name: str) -> None:
    with_batches = run(connection, name)
    assert any("BatchPredict" in plan.message for plan in plans), plans
    connection.execute("SET pgboost.enable_batch = off")
    plans.clear()
    assert run(connection, name) == with_batches
    assert not any("BatchPredict" in plan.message for plan in plans), plans


@pytest.mark.parametrize("condition", [
    "id = $1 AND town = ANY($2)", "id = $1 AND town <> ALL($2)", "id = ANY(ARRAY[$1, 7])",
])  # fmt: skip
def test_few_rows_that_are_known_are_predicted_one_by_one(
    connection: psycopg.Connection, condition: str
) -> None:
    connection.execute("SET plan_cache_mode = force_generic_plan")
    connection.execute(f"PREPARE few (int, text[]) AS SELECT {PRICE} FROM homes WHERE {condition}")
    assert "BatchPredict" not in plan_of(connection, "EXECUTE few (5, '{}')")


def test_compiled_expressions_give_the_same(connection: psycopg.Connection) -> None:
    if not (installed("--pkglibdir") / "llvmjit.so").exists():
        pytest.skip("this PostgreSQL has no LLVM")
    query = (
        f"SELECT sum({PRICE}::float8), sum(predict('price', area * 2, rooms + 1, age)::float8)"
        f" FROM homes WHERE area > 3 AND {PRICE} > 105"
    )
    connection.execute("SET jit = off")
    expected = connection.execute(query).fetchone()
    for threshold in ("jit_above_cost", "jit_inline_above_cost", "jit_optimize_above_cost"):
        connection.execute(f"SET {threshold} = 0")
    connection.execute("SET jit = on")
    ((plan,),) = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}").fetchone()
    assert "BatchPredict" in str(plan["Plan"])
    assert plan["JIT"]["Functions"] > 0
    assert plan["JIT"]["Options"]["Inlining"]
    assert connection.execute(query).fetchone() == expected


REASONS = {
    f"SELECT CASE WHEN id = 5 THEN {PRICE} END FROM homes": "it is not evaluated for every row",
    f"SELECT {PRICE} FROM homes FOR UPDATE": "the statement may evaluate a row again",
    f"SELECT {PRICE} FROM homes LIMIT 5": "LIMIT asks for few rows",
    f"SELECT {PRICE} FROM homes WHERE id = 4": "no step of the plan has its arguments for at least 64 rows",
    "SELECT predict((SELECT 'price'), area, rooms, age) FROM homes": "the model is named neither by a"
    " constant nor by columns",
    "SELECT predict('price', area, random(), age) FROM homes": "random() is volatile",
    "SELECT predict('price', area, 1 / rooms, age), random() FROM homes": "int4div(integer,integer) can"
    " fail, and the statement calls volatile functions",
    "SELECT predict('price', area, 1 / rooms, age) FROM homes LIMIT (SELECT 400)": "int4div(integer,integer)"
    " can fail, and LIMIT may leave rows unread",
    "SELECT c FROM homes, unnest(predict_array('price', area, rooms, age)) AS c": "PostgreSQL calls a"
    " function in FROM for one row at a time",
}


@pytest.mark.parametrize("query", REASONS)
def test_debug_messages_give_the_reason_without_a_batch(
    connection: psycopg.Connection, notices: list[Notice], query: str
) -> None:
    connection.execute("SET client_min_messages = debug1")
    connection.execute(f"EXPLAIN {query}")
    told = [one.message for one in notices if "is not computed in batches" in one.message]
    assert len(told) == 1 and told[0].endswith(": " + REASONS[query]), told


def test_other_extensions_may_look_at_the_nodes_data(
    connection: psycopg.Connection, notices: list[Notice]
) -> None:
    # Citus reads the first cell of every custom scan's data as a node.
    connection.execute("SET client_min_messages = log; SET debug_print_plan = on")
    connection.execute(f"SELECT {PRICE} FROM homes")
    (plan,) = [one.detail for one in notices if ":custom_private" in (one.detail or "")]
    assert re.search(r":custom_private \(\(i ", plan)


@pytest.mark.parametrize(("query", "reads"), [
    ("SELECT sum({p}) FROM homes", "all rows"),
    ("SELECT {p} FROM homes", "the rows that are fetched"),
    ("SELECT {p} FROM homes LIMIT 500", "the rows of LIMIT, if all are fetched"),
    ("SELECT {p} FROM homes JOIN towns USING (town) LIMIT 500", "the rows of LIMIT, if all are fetched"),
    ("SELECT s.p FROM (SELECT {p} AS p FROM homes OFFSET 0) AS s, towns", "all rows, if all are fetched"),
    ("SELECT EXISTS (SELECT {p} AS p FROM homes OFFSET 7)", "no rows, since some may not be needed"),
])  # fmt: skip
def test_explain_tells_which_rows_are_read_ahead(
    connection: psycopg.Connection, query: str, reads: str
) -> None:
    query = query.format(p="predict('price', area, 1 / (rooms + 1), age)")
    plan = plan_of(connection, query, "(VERBOSE)")
    told = [line.strip() for line in plan.splitlines() if "Reads Ahead" in line]
    assert told == [f"Reads Ahead: {reads}"], plan


@pytest.mark.parametrize(("condition", "ahead"), [
    ("id >= $1 + 9", True), ("hours > 7 / $1 AND id <> 3", True),
    ("area < extract(epoch FROM now() - interval '1 day' * $1)", True),
    ("id < 700 / $1 + rooms", False), ("id < 0 OR area > 7 / $1", False),
    ("CASE WHEN id > 9 THEN area > 7 / $1 END", False),
])  # fmt: skip
def test_a_part_of_a_condition_without_columns_fails_for_the_first_row_or_none(
    connection: psycopg.Connection, condition: str, ahead: bool
) -> None:
    connection.execute("SET plan_cache_mode = force_generic_plan")
    connection.execute(f"PREPARE few (int) AS SELECT id, {PRICE} FROM homes WHERE {condition}")
    plan = plan_of(connection, "EXECUTE few (1)", "(VERBOSE)")
    assert "BatchPredict" in plan
    assert ("Reads Ahead" in plan) is not ahead
