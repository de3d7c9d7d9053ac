"""UPDATE and DELETE in batches, of rows that another transaction changes before they are reached.

PostgreSQL then evaluates the plan again for the row's new version. What comes out
must be what a plan without batches gives.
"""

from collections.abc import Callable

import psycopg
import pytest
from psycopg import errors

from tests.connections import Connect, plan_of

PRICE = "predict('price', area, rooms, age)"
STATEMENTS = (
    f"UPDATE {{table}} SET age = {PRICE}",
    f"UPDATE {{table}} SET age = CASE WHEN {PRICE} > 50 THEN -1 ELSE {PRICE} END WHERE id > 20",
    f"UPDATE {{table}} SET age = -1 WHERE {PRICE} > 50",
    f"UPDATE {{table}} SET area = area + 1, age = {PRICE} WHERE town <> 'town 1' AND {PRICE} < 50",
    f"DELETE FROM {{table}} WHERE {PRICE} < 50",
    f"DELETE FROM {{table}} WHERE id > 90 AND {PRICE} < 50",
)


pytestmark = pytest.mark.usefixtures("tables")
EXTRA = (
    "CREATE TABLE original AS SELECT * FROM homes",
    "CREATE INDEX ON parted (id)",
    "CREATE TABLE elder (LIKE homes)",
    "CREATE TABLE heir () INHERITS (elder)",
)


def restore(connection: psycopg.Connection, table: str) -> None:
    connection.execute(f"TRUNCATE {table}")
    connection.execute(f"INSERT INTO {table} SELECT * FROM original ORDER BY id")
    connection.execute(f"ANALYZE {table}")


def outcome(
    connect: Connect, blocked: Callable, statement: str, table: str, batch: str
) -> tuple[str, list, list]:
    """The plan, the statement's rows, and the table afterwards."""
    admin, changing, first = connect(), connect(), connect(autocommit=False)
    restore(admin, table)
    first.execute(f"UPDATE {table} SET area = 99 - area WHERE id IN (100, 101, 170, 320, 760)")
    first.execute(f"DELETE FROM {table} WHERE id IN (800, 870)")
    changing.execute(f"SET pgboost.enable_batch = {batch}")
    plan = plan_of(changing, statement)
    running = blocked(changing, f"{statement} RETURNING id, age")
    first.commit()
    returned = running.result(timeout=30).fetchall()
    rows = admin.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
    return plan, returned, rows


@pytest.mark.parametrize("table", ["homes", "parted"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_row_changed_meanwhile(
    connect: Connect, blocked: Callable, statement: str, table: str
) -> None:
    statement = statement.format(table=table)
    plan, returned, rows = outcome(connect, blocked, statement, table, "on")
    assert "BatchPredict" in plan, plan
    plan, expected_returned, expected_rows = outcome(connect, blocked, statement, table, "off")
    assert "BatchPredict" not in plan, plan
    assert returned == expected_returned
    assert rows == expected_rows


def test_a_snapshot_that_is_kept_refuses_such_a_row(connect: Connect) -> None:
    restore(connect(), "homes")
    changing, first = connect(autocommit=False), connect()
    changing.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    changing.execute("SELECT 1 FROM homes")
    first.execute("UPDATE homes SET area = 99 WHERE id = 700")
    with pytest.raises(errors.SerializationFailure):
        changing.execute(STATEMENTS[0].format(table="homes"))


CURSORS = {
    "all rows": (f"SELECT id, {PRICE} FROM {{table}}", (1, 2, 3, 70, 600)),
    "filter": (f"SELECT id FROM {{table}} WHERE {PRICE} > 20", (1, 4, 100)),
    "filter and output": (
        f"SELECT id, {PRICE} FROM {{table}} WHERE {PRICE} > 20 AND age > 1",
        (9,),
    ),
    "by an index": (f"SELECT id, {PRICE} FROM {{table}} WHERE id BETWEEN 5 AND 800", (1, 300)),
    "back": (f"SELECT id, {PRICE} FROM {{table}}", (600, -1, -70, 2, 9)),
}


@pytest.mark.parametrize("table", ["homes", "parted", "elder"])
@pytest.mark.parametrize(("query", "steps"), CURSORS.values(), ids=CURSORS.keys())
def test_the_row_of_a_cursor(
    connect: Connect, query: str, steps: tuple[int, ...], table: str
) -> None:
    """It is the one that the cursor has returned, however far the batch is ahead."""
    admin, cursor = connect(), connect(autocommit=False)
    restore(admin, table)
    admin.execute(
        "TRUNCATE heir; WITH half AS (DELETE FROM ONLY elder WHERE id >= 500 RETURNING *)"
        " INSERT INTO heir TABLE half"
    )
    cursor.execute("SET LOCAL enable_seqscan = off")
    query = query.format(table=table)
    assert "BatchPredict" in plan_of(cursor, query)
    # A plan that cannot go back gets another node for SCROLL, below which PostgreSQL does not look.
    scroll = "SCROLL" if min(steps) < 0 else ""
    cursor.execute(f"DECLARE c {scroll} CURSOR FOR {query}")
    update = f"UPDATE {table} SET age = age + 1 WHERE CURRENT OF c RETURNING id"
    delete = f"DELETE FROM {table} WHERE CURRENT OF c RETURNING id"
    for step in steps:
        *_, (id, *_) = cursor.execute(f"FETCH {step} FROM c").fetchall()
        assert cursor.execute(update).fetchall() == [(id,)]
    assert cursor.execute(delete).fetchall() == [(id,)]
    cursor.rollback()


@pytest.mark.parametrize("inner", ["OFFSET 0", "LIMIT 900", f"WHERE {PRICE} > 10 OFFSET 0"])
def test_the_row_of_a_cursor_over_a_subquery(connect: Connect, inner: str) -> None:
    admin, cursor = connect(), connect(autocommit=False)
    restore(admin, "homes")
    query = f"SELECT id, {PRICE} FROM (SELECT * FROM homes {inner}) AS s WHERE {PRICE} > 20"
    plan = plan_of(cursor, query)
    assert "Subquery Scan" in plan and "BatchPredict" in plan
    cursor.execute(f"DECLARE c CURSOR FOR {query}")
    for step in (1, 4, 100):
        *_, (id, _) = cursor.execute(f"FETCH {step} FROM c").fetchall()
        changed = cursor.execute("UPDATE homes SET age = 1 WHERE CURRENT OF c RETURNING id")
        assert changed.fetchall() == [(id,)]
    cursor.rollback()
