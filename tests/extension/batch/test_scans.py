"""Rows below a batch, read as the table stores them or deformed, and by each kind of scan.

Deformed are those with NULLs, without columns that were added later, of tables with columns of variable
length, or of partitions whose columns are in another order. The node starts scans by an index without their
output, and reads the rows as stored, from one start of the node to the next.
"""

import psycopg
import pytest

from tests.connections import plan_of
from tests.extension.batch.conftest import answer

pytestmark = pytest.mark.usefixtures("tables")
PRICE = "predict('price', area, rooms, age)"
# Values are negative as well, and columns of each length stand before the features.
VALUES = {
    "id int": "i",
    "flag bool": "i % 3 = 0",
    'letter "char"': '(i % 256 - 128)::"char"',
    "small smallint": "nullif(i % 500 - 250, 7)::smallint",
    "key uuid": "md5(i::text)::uuid",
    "gone bigint": "i",
    "big bigint": "(i - 300) * 4294967296",
    "day date": "date '1999-12-01' + i",
    "area real": "nullif(i % 100, 99) + 0.5",
    "rooms real": "i % 7",
    "age real": "CASE WHEN i % 90 = 5 THEN 'NaN'::real ELSE i % 9 END",
    "ratio float8": "i / 7.0 - 20",
    "note text": "CASE WHEN i % 3 > 0 THEN repeat('x', i % 200) END",
}


def table(name: str, columns: list[str]) -> str:
    """The statement that makes a table of these columns."""
    return f"CREATE TABLE {name} ({', '.join(columns)})"


def filled(name: str, columns: list[str], first: int, last: int) -> str:
    """The statement that inserts rows."""
    names = ", ".join(column.split()[0] for column in columns)
    values = ", ".join(VALUES[column] for column in columns)
    return (
        f"INSERT INTO {name} ({names}) SELECT {values} FROM generate_series({first}, {last}) AS i"
    )


ALL = list(VALUES)
LATE = ["area real", "rooms real", "age real"]
EARLY = [column for column in ALL if column not in LATE]
NOTE_FIRST = ["note text", *ALL[:-1]]
BACKWARDS = [*ALL[:6], *reversed(ALL[6:])]
EXTRA = (
    table("whole", ALL),
    filled("whole", ALL, 1, 700),
    table("dropped", ALL),
    filled("dropped", ALL, 1, 400),
    "ALTER TABLE dropped DROP COLUMN gone",
    filled("dropped", [column for column in ALL if column != "gone bigint"], 401, 700),
    table("added", EARLY),
    filled("added", EARLY, 1, 400),
    *(f"ALTER TABLE added ADD COLUMN {column} DEFAULT 3.5" for column in LATE),
    filled("added", ALL, 401, 700),
    table("variable", NOTE_FIRST),
    filled("variable", NOTE_FIRST, 1, 700),
    table("mixed", ALL) + " PARTITION BY RANGE (id)",
    table("mixed_low", ALL),
    table("mixed_high", BACKWARDS),
    "ALTER TABLE mixed ATTACH PARTITION mixed_low FOR VALUES FROM (1) TO (350)",
    "ALTER TABLE mixed ATTACH PARTITION mixed_high FOR VALUES FROM (350) TO (800)",
    filled("mixed", ALL, 1, 700),
    # More homes: PostgreSQL guesses that a range of ids has one row of 200.
    "INSERT INTO homes SELECT id + 1000 * n, area, rooms, age, town, price, day, zone, hours"
    " FROM homes, generate_series(1, 29) AS n",
    "CREATE INDEX ON homes (id) INCLUDE (area, rooms, age)",
    "CREATE TABLE zones AS TABLE homes",
    "CREATE INDEX ON zones (area, rooms, age) WHERE zone = 20 AND town IS NOT NULL",
    # Before 15.13, 16.9 and 17.5, a bitmap scan without an output reads no page whose rows are all visible.
    "VACUUM (FREEZE, ANALYZE)",
)
STATEMENTS = {
    "features": f"SELECT {PRICE} FROM {{}}",
    "values": f"SELECT id, flag, small, big, day, ratio, {PRICE} FROM {{}}",
    "computed": f"SELECT letter::int, big + small, {PRICE} FROM {{}}",
    "references": f"SELECT key, {PRICE}, note FROM {{}}",
    "apart": "SELECT flag, small, predict('price', age, area, ratio) FROM {}",
    "sum": f"SELECT count(*), sum({PRICE}), max(big) FROM {{}}",
    "filter": f"SELECT small, day, area FROM {{}} WHERE {PRICE} > 60",
}


@pytest.mark.parametrize("name", ["whole", "dropped", "added", "variable", "mixed"])
@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_each_table_gives_the_same(
    connection: psycopg.Connection, name: str, statement: str
) -> None:
    query = statement.format(name)
    connection.execute("SET max_parallel_workers_per_gather = 0")
    assert "BatchPredict" in plan_of(connection, query)
    expected = answer(connection, query, "off")
    assert answer(connection, query, "on") == expected
    assert isinstance(expected, list), expected


SCANS = {
    "Index Scan": ("enable_seqscan", "enable_bitmapscan", "enable_indexonlyscan"),
    "Bitmap Heap Scan": ("enable_seqscan", "enable_indexscan", "enable_indexonlyscan"),
    "Index Only Scan": ("enable_seqscan", "enable_bitmapscan"),
    "Seq Scan": ("enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan"),
}
# Of the first id and the number of ids.
EXECUTED = {
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


# Before and after the table gets a column.
BOUNDS = [(1, 0), (5, 10), (0, 100), (100, 700), (149, 3), (5, 1)]
AGAIN = [(3, 1), (5, 10), (100, 700)]


def outcomes(connection: psycopg.Connection, batch: str, statement: str) -> list[object]:
    """The rows or the error of each execution; nothing stays of the column."""
    connection.execute("DEALLOCATE ALL")
    connection.execute(f"SET pgboost.enable_batch = {batch}")
    connection.execute(f"PREPARE q (int, int) AS {statement}")

    def executed(first: int, count: int) -> object:
        try:
            with connection.transaction():
                return connection.execute(f"EXECUTE q ({first}, {count})").fetchall()
        except psycopg.Error as error:
            return error.sqlstate, str(error)

    with connection.transaction(force_rollback=True):
        found = [executed(*bounds) for bounds in BOUNDS]
        connection.execute("ALTER TABLE homes ADD COLUMN more int DEFAULT 3")
        return found + [executed(*bounds) for bounds in AGAIN]


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("statement", EXECUTED.values(), ids=EXECUTED)
def test_a_prepared_statement_returns_the_same_each_time(
    connection: psycopg.Connection, scan: str, statement: str
) -> None:
    connection.execute("SET plan_cache_mode = force_generic_plan")
    for setting in SCANS[scan]:
        connection.execute(f"SET {setting} = off")
    expected = outcomes(connection, "off", statement)
    assert outcomes(connection, "on", statement) == expected
    plan = plan_of(connection, "EXECUTE q (1, 10)")
    assert "BatchPredict" in plan
    assert f"{scan} using" in plan or f"{scan} on" in plan, plan


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT count(*), sum(age) FROM zones WHERE zone = 20 AND town > '' AND {PRICE} > 50",
        f"SELECT area, {PRICE} FROM zones WHERE zone = 20 AND town IS NOT NULL AND {PRICE} > 50",
        f"SELECT age, {PRICE} FROM zones WHERE zone = 20 AND town IS NOT NULL",
    ],
)
def test_a_partial_index_need_not_have_the_columns_of_its_condition(
    connection: psycopg.Connection, query: str
) -> None:
    for setting in SCANS["Index Only Scan"]:
        connection.execute(f"SET {setting} = off")
    expected = answer(connection, query, "off")
    assert isinstance(expected, list)
    assert answer(connection, query, "on") == expected
    plan = plan_of(connection, query)
    assert "BatchPredict" in plan and ("town >" in plan or "Index Only Scan" in plan), plan


@pytest.mark.parametrize(("elements", "arrays"), [(1600, 1), (1601, 2)])
def test_an_array_of_more_elements_than_a_table_has_columns_is_formed(
    connection: psycopg.Connection, elements: int, arrays: int
) -> None:
    """The plan below has it as one column."""
    connection.execute("SET max_parallel_workers_per_gather = 0")
    array = ", ".join(f"area + {number}" for number in range(elements))
    query = f"SELECT predict('price', ARRAY[{array}]) FROM homes"
    assert plan_of(connection, query, "VERBOSE").count("ARRAY[") == arrays
    found = answer(connection, query, "on")
    assert found[1] == f'model "price" expects 3 features, not {elements}'
