"""Predictions over a distributed table: in batches on the nodes, equal to those over a local one."""

import pytest
from psycopg import Connection, errors

from tests.extension.citus.conftest import Nodes, file_of

ROWS = 1_000_000


@pytest.fixture(scope="module", autouse=True)
def tables(nodes: Nodes) -> None:
    """The same rows in a local and a distributed table, and a colocated table for their scores."""
    with nodes.coordinator.connect(nodes.dbname) as connection:
        connection.execute("SELECT load_model('price', %s)", (file_of("price"),))
        for table in ("local_houses", "houses", "scores"):
            connection.execute(
                f"CREATE TABLE {table} (id integer, area real, rooms real, age real, score real)"
            )
        connection.execute("SELECT create_distributed_table('houses', 'id', shard_count => 4)")
        connection.execute(
            "SELECT create_distributed_table('scores', 'id', colocate_with => 'houses')"
        )
        for table in ("local_houses", "houses"):
            connection.execute(
                f"INSERT INTO {table} SELECT i, i % 197, nullif(i % 7, 0), i % 91 "
                f"FROM generate_series(1, {ROWS}) AS i"
            )
            connection.execute(f"ANALYZE {table}")


def plan(connection: Connection, query: str) -> list[str]:
    connection.execute("SET citus.explain_all_tasks = on")
    lines = connection.execute("EXPLAIN (COSTS OFF) " + query).fetchall()
    return [line.strip().removeprefix("->").strip() for (line,) in lines]


@pytest.mark.parametrize(
    "call",
    [
        "predict('price', h.area, h.rooms, h.age)",
        "predict('price', h)",
        "predict('price', VARIADIC ARRAY[h.area, h.rooms, h.age])",
    ],
)
def test_each_shard_predicts_in_batches(connection: Connection, call: str) -> None:
    lines = plan(connection, f"SELECT {call} FROM houses AS h")
    assert lines[0] == "Custom Scan (Citus Adaptive)"
    assert lines.count("Custom Scan (BatchPredict)") == 4


def test_a_million_rows_equal_the_local_ones(connection: Connection) -> None:
    differing = connection.execute(
        "WITH d AS MATERIALIZED (SELECT id, predict('price', h) AS score FROM houses AS h) "
        "SELECT count(*), count(*) FILTER (WHERE d.score IS DISTINCT FROM l.score) FROM d "
        "JOIN (SELECT id, predict('price', area, rooms, age) AS score FROM local_houses) AS l USING (id)"
    ).fetchone()
    assert differing == (ROWS, 0)


def test_insert_select_stays_on_the_nodes(connection: Connection) -> None:
    query = "INSERT INTO scores (id, score) SELECT id, predict('price', h) FROM houses AS h"
    assert plan(connection, query).count("Custom Scan (BatchPredict)") == 4
    with connection.transaction(force_rollback=True):
        assert connection.execute(query).rowcount == ROWS


def test_the_ten_best(connection: Connection) -> None:
    query = "SELECT id FROM {} AS h ORDER BY predict('price', h) DESC, id LIMIT 10"
    assert "Limit" in plan(connection, query.format("houses"))
    best = connection.execute(query.format("houses")).fetchall()
    assert best == connection.execute(query.format("local_houses")).fetchall()


# For each query how many of its plans have a batch: those of the four shards, or the coordinator's.
QUERIES = {
    "SELECT sum(predict('price', area, rooms, age)::numeric) FROM {t}": 4,
    "SELECT avg(predict('price', area, rooms, age)::numeric) FILTER (WHERE rooms > 2) FROM {t}": 4,
    "SELECT rooms, max(p) FROM (SELECT rooms, predict('price', area, rooms, age) AS p FROM {t}) AS s"
    " GROUP BY rooms HAVING max(p) > 10": 4,
    "SELECT area, predict('price', area, count(*), max(age)) FROM {t} GROUP BY area": 1,
    "SELECT predict('price', a, n, m) FROM (SELECT area AS a, count(*) AS n, max(age) AS m FROM {t}"
    " GROUP BY area OFFSET 0) AS s": 1,
    "SELECT id, predict('price', avg(area::numeric) OVER (ORDER BY id), rooms, age) FROM {t}"
    " WHERE id < 900": 1,
    "WITH s AS MATERIALIZED (SELECT * FROM {t}) SELECT sum(predict('price', area, rooms, age)::numeric)"
    " FROM s": 1,
    "SELECT sum(predict('price', area, rooms, age)::numeric) FROM (SELECT * FROM {t} ORDER BY id LIMIT 1000)"
    " AS s": 1,
}


@pytest.mark.parametrize("query", QUERIES)
def test_plans_of_the_coordinator_and_of_nodes(connection: Connection, query: str) -> None:
    lines = plan(connection, query.format(t="houses"))
    assert lines.count("Custom Scan (BatchPredict)") == QUERIES[query], "\n".join(lines)
    rows = connection.execute(query.format(t="houses")).fetchall()
    local = connection.execute(query.format(t="local_houses")).fetchall()
    assert sorted(map(str, rows)) == sorted(map(str, local))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE houses SET score = predict('price', area, rooms, age)",
        "DELETE FROM houses WHERE predict('price', area, rooms, age) > 0",
        "UPDATE houses SET score = 0 WHERE id = 1 RETURNING predict('price', 1, 2, 3)",
    ],
)
def test_statements_that_citus_refuses(connection: Connection, statement: str) -> None:
    """docs/operations.md has the ways round it, which the next tests take."""
    with pytest.raises(errors.FeatureNotSupported, match=r"STABLE|non-IMMUTABLE"):
        connection.execute(statement)


@pytest.mark.parametrize(
    "before, statement",
    [
        (
            "SELECT",
            "WITH p AS MATERIALIZED (SELECT id, predict('price', h) AS score FROM houses AS h "
            "WHERE id <= 1000) "
            "UPDATE houses SET score = p.score FROM p WHERE houses.id = p.id",
        ),
        (
            "INSERT INTO scores (id, score) SELECT id, predict('price', h) FROM houses AS h "
            "WHERE id <= 1000",
            "UPDATE houses SET score = scores.score FROM scores WHERE houses.id = scores.id",
        ),
    ],
)
def test_ways_to_update(connection: Connection, before: str, statement: str) -> None:
    with connection.transaction(force_rollback=True):
        connection.execute(before)
        assert connection.execute(statement).rowcount == 1000
        differing = connection.execute(
            "SELECT count(*) FROM houses AS h JOIN local_houses AS l USING (id) WHERE id <= 1000 "
            "AND h.score IS DISTINCT FROM predict('price', l.area, l.rooms, l.age)"
        ).fetchone()
        assert differing == (0,)
