"""A prediction of columns that are NULL in some grouping sets, next to the same one of the rows."""

import psycopg
import pytest

from tests.connections import plan_of
from tests.extension.batch.conftest import answer

pytestmark = pytest.mark.usefixtures("tables")
PRICE = "predict('price', area, rooms, age)"
ALL = "area, rooms, age"
# Whether there is a batch in any case.
QUERIES = {
    "output and aggregate": (
        f"SELECT {ALL}, {PRICE}, sum({PRICE}) FROM homes GROUP BY ROLLUP ({ALL})",
        False,
    ),
    "having": (f"SELECT {ALL}, max({PRICE}) FROM homes GROUP BY CUBE ({ALL}) HAVING {PRICE} > 3", False),
    "part of an output": (
        f"SELECT {ALL}, {PRICE} + 1, count(DISTINCT {PRICE}) FROM homes"
        f" GROUP BY GROUPING SETS (({ALL}), (rooms), ())",
        False,
    ),
    "filter": (
        f"SELECT {ALL}, {PRICE}, sum({PRICE}) FILTER (WHERE id > 9) FROM homes GROUP BY ROLLUP ({ALL})",
        False,
    ),
    "window": (
        f"SELECT {ALL}, sum(sum({PRICE})) OVER (ORDER BY {PRICE}, {ALL}) FROM homes GROUP BY ROLLUP ({ALL})",
        False,
    ),
    "direct argument": (
        f"SELECT {ALL}, percentile_disc({PRICE} / 1000) WITHIN GROUP (ORDER BY {PRICE}) FROM homes"
        f" GROUP BY ROLLUP ({ALL})",
        False,
    ),
    "where": (
        f"SELECT {ALL}, {PRICE}, count(*) FROM homes WHERE {PRICE} > 5"
        f" GROUP BY GROUPING SETS (({ALL}), (area), ())",
        True,
    ),
    "aggregate alone": (f"SELECT {ALL}, sum({PRICE}) FROM homes GROUP BY ROLLUP ({ALL})", True),
    "another call": (
        f"SELECT {ALL}, {PRICE}, sum(predict('price', area, rooms, 1)) FROM homes GROUP BY ROLLUP ({ALL})",
        True,
    ),
    "no sets": (f"SELECT {ALL}, {PRICE}, sum({PRICE}) FROM homes GROUP BY {ALL}", True),
}  # fmt: skip


@pytest.mark.parametrize("hashed", ["on", "off"])
@pytest.mark.parametrize(("query", "batched"), QUERIES.values(), ids=QUERIES.keys())
def test_null_columns_are_those_of_the_set(
    connection: psycopg.Connection, query: str, batched: bool, hashed: str
) -> None:
    connection.execute("SET max_parallel_workers_per_gather = 0")
    connection.execute(f"SET enable_hashagg = {hashed}")
    expected = answer(connection, query, "off")
    found = answer(connection, query, "on")
    assert isinstance(found, list) and isinstance(expected, list)
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert not batched or "BatchPredict" in plan_of(connection, query)
