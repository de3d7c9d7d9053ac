"""Foreign tables: their rows are predicted in batches here, or by the other server through a view.

The other server is another database of the same one, reached by its socket.
"""

from pathlib import Path

import pytest
from psycopg import Connection

from tools.cluster import Cluster
from tools.cluster.server import installed

MODELS = Path(__file__).resolve().parents[1] / "sql" / "models"
ROWS = 3_000
REMOTE = "remote_of_foreign_tables"
CALL = "predict('price', {0}.area, {0}.rooms, {0}.age)"
HOUSES = (
    "SELECT i AS id, (i % 197)::real AS area, nullif(i % 7, 0)::real AS rooms, (i % 91)::real AS age "
    f"FROM generate_series(1, {ROWS}) AS i"
)


@pytest.fixture(scope="module", autouse=True)
def tables(cluster: Cluster, dbname: str) -> None:
    """A local table, and foreign ones over the same rows: plain, partitioned, and a view with scores."""
    if not (installed("--pkglibdir") / "postgres_fdw.so").exists():
        pytest.skip("this PostgreSQL has no postgres_fdw")
    model = (MODELS / "price.ubj").read_bytes()
    cluster.create_database(REMOTE, replace=True)
    with cluster.connect(REMOTE) as remote:
        remote.execute("CREATE EXTENSION pgboost")
        remote.execute("SELECT load_model('price', %s)", (model,))
        remote.execute(f"CREATE TABLE houses AS {HOUSES}")
        remote.execute("CREATE TABLE odd AS SELECT * FROM houses WHERE id % 2 = 1")
        remote.execute("CREATE TABLE even AS SELECT * FROM houses WHERE id % 2 = 0")
        remote.execute(
            f"CREATE VIEW scored AS SELECT id, {CALL.format('h')} AS score FROM houses AS h"
        )
        remote.execute("ANALYZE")
    with cluster.connect(dbname) as local:
        local.execute("SELECT load_model('price', %s)", (model,))
        local.execute(f"CREATE TABLE local_houses AS {HOUSES}")
        local.execute("CREATE EXTENSION postgres_fdw")
        local.execute(
            "CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw "
            f"OPTIONS (host '{cluster.host}', port '{cluster.port}', dbname '{REMOTE}', "
            "use_remote_estimate 'on')"
        )
        local.execute("CREATE USER MAPPING FOR PUBLIC SERVER other")
        columns = "(id integer, area real, rooms real, age real)"
        local.execute(f"CREATE FOREIGN TABLE houses {columns} SERVER other")
        local.execute("CREATE FOREIGN TABLE scored (id integer, score real) SERVER other")
        local.execute(f"CREATE TABLE parts {columns} PARTITION BY LIST ((id % 2))")
        for number, name in enumerate(("odd", "even")):
            local.execute(
                f"CREATE FOREIGN TABLE {name} PARTITION OF parts "
                f"FOR VALUES IN ({1 - number}) SERVER other"
            )


def plan(connection: Connection, query: str) -> str:
    lines = connection.execute("EXPLAIN (VERBOSE, COSTS OFF) " + query).fetchall()
    return "\n".join(line for (line,) in lines)


def rows(connection: Connection, query: str) -> list[tuple]:
    return connection.execute(query).fetchall()


@pytest.mark.parametrize("table", ["houses", "parts"])
@pytest.mark.parametrize("output", ["id, {}", "sum({})"])
def test_rows_of_a_foreign_table_are_predicted_in_batches(
    connection: Connection, table: str, output: str
) -> None:
    selected = output.format(CALL.format("h"))
    query = f"SELECT {selected} FROM {{}} AS h WHERE area > 20 ORDER BY 1"
    shown = plan(connection, query.format(table))
    assert "Custom Scan (BatchPredict)" in shown
    assert "Foreign Scan" in shown
    assert rows(connection, query.format(table)) == rows(connection, query.format("local_houses"))


def test_partitions_that_are_asked_at_once_stay_so(connection: Connection) -> None:
    """A batch on top of one would have it wait for the other."""
    connection.execute("ALTER SERVER other OPTIONS (ADD async_capable 'true')")
    query = f"SELECT id, {CALL.format('h')} FROM parts AS h"
    shown = plan(connection, query)
    assert shown.count("Async Foreign Scan") == 2
    expected = sorted(rows(connection, f"SELECT id, {CALL.format('h')} FROM local_houses AS h"))
    assert sorted(rows(connection, query)) == expected
    connection.execute("ALTER SERVER other OPTIONS (DROP async_capable)")


@pytest.mark.parametrize("table", ["houses", "parts"])
@pytest.mark.parametrize("call", [CALL, "predict('price', {})"])
def test_changed_rows(connection: Connection, table: str, call: str) -> None:
    """An UPDATE writes its local predictions to the other server."""
    with connection.transaction(force_rollback=True):
        connection.execute(f"UPDATE {table} AS h SET age = {call.format('h')} WHERE id <= 500")
        differing = (
            f"SELECT count(*) FROM {table} AS n JOIN local_houses AS h USING (id) WHERE id <= 500 "
            f"AND n.age IS DISTINCT FROM {CALL.format('h')}"
        )
        assert rows(connection, differing) == [(0,)]


def test_the_other_server_predicts_through_a_view(connection: Connection) -> None:
    shown = plan(connection, "SELECT sum(score), count(*) FROM scored WHERE id > 100")
    assert "Remote SQL: SELECT sum(score), count(*) FROM public.scored" in shown
    assert rows(connection, "SELECT * FROM scored ORDER BY id") == rows(
        connection, f"SELECT id, {CALL.format('h')} FROM local_houses AS h ORDER BY id"
    )
