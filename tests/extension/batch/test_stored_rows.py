"""Rows that a batch reads as a table stores them, and rows that it has to deform: with NULLs, without
columns that were added later, of tables with columns of variable length, or of partitions whose columns
are in another order."""

import psycopg
import pytest

from tests.connections import plan_of
from tests.extension.batch.conftest import answer

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
    "ANALYZE",
)
PRICE = "predict('price', area, rooms, age)"
STATEMENTS = {
    "features": f"SELECT {PRICE} FROM {{}}",
    "values": f"SELECT id, flag, small, big, day, ratio, {PRICE} FROM {{}}",
    "computed": f"SELECT letter::int, big + small, {PRICE} FROM {{}}",
    "references": f"SELECT key, {PRICE}, note FROM {{}}",
    "apart": "SELECT flag, small, predict('price', age, area, ratio) FROM {}",
    "sum": f"SELECT count(*), sum({PRICE}), max(big) FROM {{}}",
    "filter": f"SELECT small, day, area FROM {{}} WHERE {PRICE} > 60",
}
pytestmark = pytest.mark.usefixtures("tables")


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
