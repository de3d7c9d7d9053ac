"""Parallel workers score as the leader does: every row the same bits, whatever the plan."""

from pathlib import Path

import pytest
from psycopg import Connection, errors

from tests.connections import Connect, in_parallel
from tests.extension.lifecycle.models import constant, grown, load, one
from tests.state import TIMES

ROWS = 40_000 * TIMES
MODELS = Path(__file__).resolve().parents[1] / "sql" / "models"
COLUMNS = ", ".join(f"random()::real AS f{i + 1}" for i in range(10))
BY_COLUMN = ", ".join(f"f{i + 1}" for i in range(10))
FORMS = {
    "columns": BY_COLUMN,
    "array": f"ARRAY[{BY_COLUMN}]",
    "row": "points",
    "jsonb": "to_jsonb(points)",
}


@pytest.fixture(scope="module", autouse=True)
def points(cluster, dbname: str) -> None:
    """A table of random rows, some values missing, and a model of a hundred trees."""
    with cluster.connect(dbname) as connection:
        load(connection, "m", grown(100, 6))
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            f"CREATE TABLE points AS SELECT i AS id, {COLUMNS} FROM generate_series(1, {ROWS}) AS i"
        )
        connection.execute("UPDATE points SET f3 = NULL WHERE id % 7 = 0")
        # However many are allowed per query, whatever the table's size says.
        connection.execute("ALTER TABLE points SET (parallel_workers = 8)")
        connection.execute("VACUUM ANALYZE points")


def with_workers(connection: Connection, workers: int = 2) -> Connection:
    """The connection, whose plans have that many workers, and no work of the leader."""
    in_parallel(connection)
    connection.execute(f"SET max_parallel_workers_per_gather = {workers}")
    connection.execute("SET parallel_leader_participation = off")
    return connection


@pytest.fixture
def serial(connect: Connect) -> Connection:
    """A connection without workers."""
    connection = connect()
    connection.execute("SET max_parallel_workers_per_gather = 0")
    return connection


def node_with(connection: Connection, query: str, key: str) -> dict:
    """The first node from the top of a plan that ran which has the key, else the last."""
    plan = one(connection, f"EXPLAIN (ANALYZE, FORMAT JSON) {query}")[0]["Plan"]
    while key not in plan and "Plans" in plan:
        plan = plan["Plans"][0]
    return plan


def workers_launched(connection: Connection, query: str) -> int:
    return node_with(connection, query, "Workers Launched").get("Workers Launched", 0)


@pytest.mark.parametrize("workers", [2, 8])
@pytest.mark.parametrize("form", FORMS)
def test_every_row_is_equal(connect: Connect, serial: Connection, form: str, workers: int) -> None:
    query = f"SELECT id, float4send(predict('m', {FORMS[form]})) AS bits FROM points"
    parallel = with_workers(connect(), workers)
    assert workers_launched(serial, query) == 0
    assert workers_launched(parallel, query) == workers
    expected = serial.execute(query + " ORDER BY id").fetchall()
    assert len(expected) == ROWS
    assert len({bits for _, bits in expected}) > ROWS / 2
    assert sorted(parallel.execute(query).fetchall()) == expected


@pytest.mark.parametrize(
    "query",
    [
        *[
            f"SELECT id, {function}('m', {BY_COLUMN}) FROM points WHERE id <= 5000"
            for function in ("predict_array", "predict_margin", "predict_leaf", "predict_contribs")
        ],
        f"SELECT mean_abs_contribs(predict_contribs('m', {BY_COLUMN})) FROM points WHERE id <= 3000",
        f"SELECT sum(predict('m', {BY_COLUMN})::numeric) FROM points",
        f"SELECT count(*) FROM points WHERE predict('m', {BY_COLUMN}) > 50",
    ],
)
def test_functions_and_conditions_run_in_workers(
    connect: Connect, serial: Connection, query: str
) -> None:
    parallel = with_workers(connect())
    assert workers_launched(parallel, query) == 2
    expected = sorted(serial.execute(query).fetchall())
    assert sorted(parallel.execute(query).fetchall()) == expected
    assert "count" not in query or 0 < expected[0][0] < ROWS


@pytest.mark.parametrize(
    "call", ["predict('m@best', ", "predict_pinned('m@1', ", "of_m(", "predict(model, "]
)
def test_aliases_pins_and_models_by_column_are_known_in_workers(
    connect: Connect, serial: Connection, call: str
) -> None:
    serial.execute("SELECT set_alias('m@1', 'best'), pin_model('m@1')")
    serial.execute("SELECT create_predict_function('m', 'of_m', replace => true)")
    model = f"CASE WHEN id > {ROWS // 2} THEN 'm' ELSE 'm@best' END AS model"
    query = (
        f"SELECT id, float4send({{}}{BY_COLUMN})) AS bits FROM (SELECT *, {model} FROM points) AS p"
    )
    parallel = with_workers(connect())
    assert workers_launched(parallel, query.format(call)) == 2
    expected = serial.execute(query.format("predict('m', ") + " ORDER BY id").fetchall()
    assert sorted(parallel.execute(query.format(call)).fetchall()) == expected


def test_predictions_of_workers_are_counted(connect: Connect) -> None:
    connection = with_workers(connect())
    connection.execute("SET pgboost.track_predictions = on")
    query = f"SELECT count(predict('m', {BY_COLUMN})) FROM points"
    counted = "SELECT rows FROM pg_stat_pgboost WHERE name = 'm'"
    before = one(connection, counted)
    assert one(connection, query) == ROWS
    assert one(connection, counted) == before + ROWS
    batch = node_with(connection, query, "Batched Rows")
    assert batch["Batched Rows"] == ROWS
    assert batch["Prediction Time"] > 0


def test_an_error_in_a_worker_reaches_the_client(connect: Connect) -> None:
    connection = with_workers(connect())
    with pytest.raises(errors.DataException, match="expects 10 features, not 9"):
        connection.execute(f"SELECT sum(predict('m', {BY_COLUMN.rpartition(',')[0]})) FROM points")
    assert one(connection, f"SELECT count(predict('m', {BY_COLUMN})) FROM points") == ROWS


def test_workers_see_uncommitted_loads_of_the_transaction(connect: Connect) -> None:
    connection = connect(autocommit=False)
    load(connection, "new", constant(3))
    with_workers(connection)
    query = "SELECT sum(predict('new', f1)) FROM points"
    assert workers_launched(connection, query) == 2
    assert one(connection, query) == 3 * ROWS
    connection.rollback()
    with pytest.raises(errors.UndefinedObject):
        one(connection, query)


def test_workers_have_the_rights_of_the_current_role(connect: Connect) -> None:
    connection = connect(autocommit=False)
    connection.execute("CREATE ROLE parallel_user; GRANT SELECT ON points TO parallel_user")
    with_workers(connection)
    query = f"SELECT sum(predict('m', {BY_COLUMN})) FROM points"
    connection.execute("SET LOCAL ROLE parallel_user; SAVEPOINT s")
    with pytest.raises(errors.InsufficientPrivilege):
        one(connection, query)
    connection.execute("ROLLBACK TO s; RESET ROLE")
    connection.execute("SELECT grant_model('m', 'parallel_user'); SET LOCAL ROLE parallel_user")
    assert workers_launched(connection, query) == 2
    connection.rollback()


def test_settings_reach_the_workers(connection: Connection) -> None:
    load(connection, "tickets", (MODELS / "tickets.ubj").read_bytes())
    with_workers(connection)
    query = "SELECT count(predict('tickets', 'no day', 10, f1)) FROM points"
    assert workers_launched(connection, query.replace("no day", "mon")) == 2
    with pytest.raises(errors.InvalidTextRepresentation, match="parallel worker"):
        one(connection, query)
    connection.execute("SET pgboost.unknown_category = 'missing'")
    assert workers_launched(connection, query) == 2
    assert one(connection, query) == ROWS
