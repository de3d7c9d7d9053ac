"""Calls that CASE, COALESCE, AND, OR or FILTER may not need: batches compute them for all rows, and a row
whose prediction fails is an error only where the call is needed."""

import psycopg
import pytest

from tests.connections import in_parallel, plan_of
from tests.extension.batch.conftest import answer

PRICE = "predict('price', area, rooms, age)"
# Fails for the two rows of `doomsday`, which the model does not know.
TICKETS = "predict('tickets', day, zone, hours)"
KNOWN = "day IS DISTINCT FROM 'doomsday'"

BATCHED = {
    "filter of groups": f"SELECT town, max({PRICE}) FILTER (WHERE age > 3) FROM homes GROUP BY town",
    "filter and order": f"SELECT array_agg(id ORDER BY {PRICE}, id) FILTER (WHERE rooms > 2) FROM homes",
    "cases": f"SELECT id, CASE WHEN rooms > 2 THEN {PRICE} WHEN age > 3 THEN 7 END FROM homes",
    "array": "SELECT sum((predict_array('price', area, rooms, age))[1]) FILTER (WHERE rooms > 2)"
    " FROM homes",
    "subquery": f"SELECT sum({PRICE}) FILTER (WHERE EXISTS (SELECT FROM towns WHERE towns.town = homes.town))"
    " FROM homes",
    "failing subquery": f"SELECT sum({TICKETS}) FILTER (WHERE {KNOWN} AND id NOT IN (SELECT tax FROM towns)),"
    f" max({TICKETS}) FILTER (WHERE {KNOWN} AND EXISTS (SELECT FROM towns WHERE towns.town = homes.town))"
    " FROM homes",
    # Rows fail, and are not needed.
    "failing filter": f"SELECT sum({TICKETS}) FILTER (WHERE {KNOWN}), count(*) FROM homes",
    "failing filters": f"SELECT sum({TICKETS}) FILTER (WHERE {KNOWN}),"
    f" max({TICKETS}) FILTER (WHERE {KNOWN} AND rooms > 2) FROM homes",
    "failing window": f"SELECT id, sum({TICKETS}) FILTER (WHERE {KNOWN}) OVER (ORDER BY id) FROM homes",
    "failing case": f"SELECT id, CASE WHEN {KNOWN} THEN {TICKETS} ELSE area END FROM homes",
    "failing case of an aggregate": f"SELECT sum(CASE WHEN {KNOWN} THEN {TICKETS} END), max(id) FROM homes",
    "failing else": f"SELECT avg(CASE WHEN NOT ({KNOWN}) THEN 0 ELSE {TICKETS} END) FROM homes",
    "failing or": f"SELECT id FROM homes WHERE NOT ({KNOWN}) OR {TICKETS} > 1",
    "failing and": f"SELECT id, {KNOWN} AND {TICKETS} > 1 FROM homes",
    "failing coalesce": f"SELECT id, coalesce(known, {TICKETS}) FROM stored",
    # Rows fail, and are needed.
    "error of a filter": f"SELECT sum({TICKETS}) FILTER (WHERE id > 5) FROM homes",
    "error of one of two filters": f"SELECT sum({TICKETS}) FILTER (WHERE {KNOWN}),"
    f" max({TICKETS}) FILTER (WHERE id > 5) FROM homes",
    "error of a case": f"SELECT id, CASE WHEN id > 5 THEN {TICKETS} END FROM homes",
    "error elsewhere": f"SELECT sum({TICKETS}) FILTER (WHERE {KNOWN}), max({TICKETS}) FROM homes",
}
ALONE = {
    "arguments that fail": "SELECT sum(predict('price', area, 1 / rooms, age)) FILTER (WHERE rooms > 0)"
    " FROM homes",
    "arguments of a case": "SELECT id, CASE WHEN rooms > 0 THEN predict('price', 1 / rooms, 1, age) END"
    " FROM homes",
    "few rows": f"SELECT sum({PRICE}) FILTER (WHERE id = 5) FROM homes",
    "two conditions": "SELECT sum(CASE WHEN rooms > 2 THEN CASE WHEN age > 3 THEN"
    f" {TICKETS} END END) FILTER (WHERE {KNOWN}) FROM homes",
    "a filter and what has another condition": f"SELECT sum({TICKETS}) FILTER (WHERE {KNOWN}),"
    f" sum(CASE WHEN id < 0 THEN 1 WHEN rooms > 1 AND {KNOWN} THEN {TICKETS} END) FROM homes",
    "condition that predicts": f"SELECT sum({TICKETS}) FILTER"
    " (WHERE predict_class('flower', area, rooms) = 'a') FROM homes WHERE false",
}
ALL = BATCHED | ALONE
pytestmark = pytest.mark.usefixtures("tables")
EXTRA = (
    "CREATE TABLE stored AS SELECT *,"
    f" CASE WHEN NOT ({KNOWN}) OR id % 5 = 0 THEN 1::real END AS known FROM homes; ANALYZE stored",
)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", ALL)
def test_it_gives_the_same(connection: psycopg.Connection, name: str, workers: int) -> None:
    """The rows in any order, or the error."""
    in_parallel(connection)
    connection.execute(f"SET max_parallel_workers_per_gather = {workers}")
    expected = answer(connection, ALL[name], "off")
    assert sorted(map(str, answer(connection, ALL[name], "on"))) == sorted(map(str, expected))
    assert (expected[0] == "22P02") == name.startswith("error"), expected


@pytest.mark.parametrize("name", ALL)
def test_it_has_a_batch(connection: psycopg.Connection, name: str) -> None:
    if name != "condition that predicts":
        assert ("BatchPredict" in plan_of(connection, ALL[name])) == (name in BATCHED)
