"""A long scan and a long load end soon after a cancel, and the connection stays usable."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from psycopg import Connection, errors

from tests.connections import Connect, in_parallel, plan_of
from tests.extension.lifecycle.models import chains, grown, load, one, padded, uneven
from tests.state import TIMES

# Measured were some milliseconds; the rest is for a busy machine.
SOON = 0.5
# The error of a statement, by the function that ended it.
ENDS = {"pg_cancel_backend": errors.QueryCanceled, "pg_terminate_backend": errors.AdminShutdown}
SCAN = "SELECT count(predict('m', {})) FROM generate_series(1, 10000) AS x, generate_series(1, 10000) AS y"
FORMS = {
    "columns": ", ".join(["x"] * 10),
    "array": f"ARRAY[{', '.join(['x'] * 10)}]::real[]",
    "jsonb": "jsonb_build_object({})".format(", ".join(f"'f{i + 1}', x" for i in range(10))),
}


PREDICT = f"SELECT predict('m', {FORMS['columns']}) FROM (SELECT 1) AS v (x)"
FEATURES = ", ".join(f"x / 1e4 AS f{number}" for number in range(1, 11))
ROWS = "generate_series(1, 10000) AS x, generate_series(1, 10000) AS y"
BY_COLUMN = SCAN.format(FORMS["columns"]).replace(
    "'m'", "CASE WHEN y > x THEN 'm' ELSE 'other' END"
)
EVALUATIONS = [
    "evaluate_model('m', %s, 'y')",
    "evaluate_model('m', %s, 'y', slice_by => 'f1')",
    "compare_models('m', 'm', %s, 'y')",
    "partial_dependence('m', %s, 'f1')",
    "partial_dependence('m', $$SELECT * FROM held$$, 'f1', 'f2')",
    "permutation_importance('m', $$SELECT * FROM held$$, 'y', repeats => 10000)",
    "feature_drift('m', %s)",
    "set_baseline('m', %s)",
]
STATEMENTS = {
    **{f"a scan of {form}": SCAN.format(features) for form, features in FORMS.items()},
    "a scan with a model per row": BY_COLUMN,
    **{
        call: f"SELECT * FROM {call}".replace("%s", f"$$SELECT {FEATURES}, y FROM {ROWS}$$")
        for call in EVALUATIONS
    },
}


@pytest.fixture(scope="module", autouse=True)
def model(cluster, dbname: str) -> None:
    """Models that take some microseconds per row, one of them with a baseline, and rows."""
    with cluster.connect(dbname) as connection:
        for name in ("m", "other"):
            load(connection, name, grown(100, 6))
        few = f"SELECT {FEATURES} FROM generate_series(1, 100) AS x"
        connection.execute("SELECT set_baseline('m', %s)", (few,))
        rows = f"SELECT {FEATURES}, x AS y FROM generate_series(1, 20000) AS x"
        connection.execute(f"CREATE TABLE held AS {rows}")


def seconds_to_end(
    connection: Connection,
    admin: Connection,
    statement: str,
    *,
    by: str = "pg_cancel_backend",
    after: float = 0.3,
) -> float:
    """Ends a running statement by that function, with its error; returns the seconds that this took."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(connection.execute, statement)
        threading.Event().wait(after)
        assert running.running(), "the statement had ended before it was cancelled"
        begin = time.monotonic()
        admin.execute(f"SELECT {by}(%s)", (connection.info.backend_pid,))
        found = running.exception(timeout=30)
        seconds = time.monotonic() - begin
    assert isinstance(found, ENDS[by])
    return seconds


def times_out(connection: Connection, statement: str, milliseconds: int) -> None:
    """Executes the statement, which that timeout ends, in time."""
    connection.execute(f"SET statement_timeout = {milliseconds}")
    begin = time.monotonic()
    with pytest.raises(errors.QueryCanceled, match="statement timeout"):
        connection.execute(statement)
    assert milliseconds / 1000 <= time.monotonic() - begin < milliseconds / 1000 + SOON


def reset_statement_timeout(connection: Connection) -> None:
    """Resets the timeout, which may end this statement too if the machine stands still for as long."""
    while True:
        with suppress(errors.QueryCanceled):
            connection.execute("RESET statement_timeout")
            return


def is_cancelled(connection: Connection, statement: str, milliseconds: int) -> bool:
    """Returns whether that timeout ended the statement, which it must do in time; rolls the statement back.

    A statement that does not look for a cancel is late each time, a machine that stands still is once.
    """
    for _ in range(3):
        late = _seconds_late(connection, statement, milliseconds)
        if late is None or late < SOON:
            return late is not None
    pytest.fail(f"{statement} ended {late:.3f} s after its timeout, and too late twice before")


def _seconds_late(connection: Connection, statement: str, milliseconds: int) -> float | None:
    """Returns the seconds from the timeout to the cancel, or None if the statement ended before."""
    connection.execute("BEGIN")
    connection.execute(f"SET LOCAL statement_timeout = {milliseconds}")
    begin = time.monotonic()
    try:
        connection.execute(statement)
    except errors.QueryCanceled:
        late = time.monotonic() - begin - milliseconds / 1000
    else:
        late = None
        # Where the machine stands still for as long, the timeout ends what comes next.
        with suppress(errors.QueryCanceled):
            connection.execute("SET LOCAL statement_timeout = 0")
    connection.execute("ROLLBACK")
    return late


@pytest.mark.parametrize(
    ("name", "end"),
    [
        *((name, "pg_cancel_backend") for name in STATEMENTS),
        ("a scan of columns", "pg_terminate_backend"),
    ],
)
def test_a_statement_ends_soon(connect: Connect, name: str, end: str) -> None:
    connection, admin = connect(), connect()
    assert seconds_to_end(connection, admin, STATEMENTS[name], by=end) < SOON
    assert one(connection if end == "pg_cancel_backend" else admin, PREDICT)


def test_scans_predict_in_batches(connection: Connection) -> None:
    assert all(
        "BatchPredict" in plan_of(connection, STATEMENTS[f"a scan of {form}"]) for form in FORMS
    )
    assert "by column" in plan_of(connection, BY_COLUMN)


@pytest.mark.parametrize("work_mem", ["64kB", "1GB"])
@pytest.mark.parametrize(
    "call", ["auc(s::real, c)", "auc(s, c, s)", "rmse(s, c)", "accuracy(s, s)", "logloss(s, c)"]
)
def test_an_aggregate_of_metrics_is_cancelled(
    connection: Connection, call: str, work_mem: str
) -> None:
    """While it reads rows, and while it sorts them."""
    connection.execute(f"SET work_mem = '{work_mem}'")
    rows = "generate_series(1, 500) AS x, generate_series(1, 1000) AS y"
    score = "(x * 1000 + y) * 7919::bigint % 1011000 / 1011000.0::float8"
    scores = f"SELECT {score} AS s, y % 2 AS c FROM {rows}"
    statement = f"SELECT {call} FROM ({scores}) AS s"
    begin = time.monotonic()
    connection.execute(statement)
    milliseconds = (time.monotonic() - begin) * 1000
    shares = (0.2, 0.5, 0.7, 0.8, 0.9)
    found = [is_cancelled(connection, statement, int(milliseconds * share)) for share in shares]
    assert any(found)
    assert one(connection, "SELECT count(*) FROM pg_ls_tmpdir()") == 0
    assert one(connection, PREDICT)


def test_a_large_group_of_a_ranking_is_cancelled(connection: Connection) -> None:
    """While it is sorted, which takes a second for the most rows, and while its gains are added."""
    ranking = json.loads(grown(1, 1, features=1))
    ranking["learner"]["objective"] = {"name": "rank:ndcg", "lambdarank_param": {}}
    load(connection, "ranking", json.dumps(ranking).encode())
    connection.execute("SET work_mem = '1GB'")
    numbers = f"generate_series(1, {min(500_000 * TIMES**2, 20_000_000)}) AS x"
    rows = f"SELECT x / 5e6 AS f1, x * 7919::bigint % 31 AS y, 1 AS g FROM {numbers}"
    statement = f"SELECT evaluate_model('ranking', $${rows}$$, 'y', qid => 'g')"
    begin = time.monotonic()
    connection.execute(statement)
    milliseconds = (time.monotonic() - begin) * 1000
    shares = (0.5, 0.7, 0.8, 0.85, 0.9, 0.95)
    found = [is_cancelled(connection, statement, int(milliseconds * share)) for share in shares]
    assert any(found)
    assert one(connection, PREDICT)


@pytest.mark.parametrize("function", ["predict", "predict_contribs", "predict_interactions"])
def test_a_scan_ends_at_the_statement_timeout(connect: Connect, function: str) -> None:
    """The next statement does not get half-filled buffers."""
    connection = connect()
    times_out(connection, SCAN.format(FORMS["columns"]).replace("predict", function), 200)
    # To make the tables takes as long where the machine does other work.
    reset_statement_timeout(connection)
    query = f"SELECT {function}('m', {FORMS['array']}) FROM (SELECT 0.5) AS v (x)"
    assert one(connection, query) == one(connect(), query)


@pytest.fixture(scope="module")
def wide(cluster, dbname: str) -> str:
    """A query for the interactions of a model of 11,000 features: half a gigabyte of numbers for a row."""
    with cluster.connect(dbname) as connection:
        load(connection, "wide", grown(1, 1, features=11_000))
    row = "array_fill(0.5::real, ARRAY[11000])"
    return f"SELECT array_length(predict_interactions('wide', {row}), 2)"


def test_interactions_of_a_wide_model_are_cancelled(connection: Connection, wide: str) -> None:
    """While the array is made, while the matrix is computed, and while it is written."""
    begin = time.monotonic()
    assert one(connection, wide) == 11_001
    whole = 1000 * (time.monotonic() - begin)
    parts = range(1, 6)
    assert sum(is_cancelled(connection, wide, round(whole * part / 6)) for part in parts) >= 2


@pytest.fixture(scope="module")
def explained(cluster, dbname: str) -> None:
    """Models by which an explanation takes milliseconds: of many trees, and of deep ones."""
    with cluster.connect(dbname) as connection:
        load(connection, "many trees", grown(500, 8, features=30))
        load(connection, "deep trees", uneven(8, 4000, 50))


@pytest.mark.parametrize("model", ["many trees", "deep trees"])
@pytest.mark.parametrize("function", ["predict_contribs", "predict_interactions"])
def test_explaining_by_a_large_model_is_cancelled(
    connection: Connection, explained: None, function: str, model: str
) -> None:
    """Work is counted, not rows or trees."""
    row = "array_fill(0.5::real, ARRAY[30])"
    assert one(connection, f"SELECT predict('{model}', {row})")
    # LLVM compiles for longer than that, and does not look.
    connection.execute("SET jit = off")
    query = f"SELECT count({function}('{model}', {row})) FROM {ROWS}"
    for milliseconds in (20, 30, 60, 100, 150, 400):
        assert is_cancelled(connection, query, milliseconds)


def test_parallel_workers_are_cancelled(connect: Connect) -> None:
    connection, admin = connect(), connect()
    admin.execute("CREATE TABLE rows AS SELECT x::real FROM generate_series(1, 200000) AS x")
    admin.execute("ANALYZE rows")
    in_parallel(connection)
    scan = f"SELECT count(predict('m', {FORMS['columns']})) FROM rows, generate_series(1, 1000)"
    assert "Workers Planned" in plan_of(connection, scan)
    assert seconds_to_end(connection, admin, scan) < SOON
    workers = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'"
    assert one(admin, workers) == 0


@pytest.mark.parametrize("milliseconds", [20, 100])
def test_a_load_is_cancelled_and_stores_nothing(connection: Connection, milliseconds: int) -> None:
    connection.execute("CREATE TEMP TABLE file (content bytea)")
    connection.execute("INSERT INTO file VALUES (%s)", (grown(620, 9),))
    assert is_cancelled(connection, "SELECT load_model('large', content) FROM file", milliseconds)
    assert one(connection, "SELECT count(*) FROM pgboost_catalog.model WHERE name = 'large'") == 0
    without = "WHERE model NOT IN (SELECT id FROM pgboost_catalog.model)"
    for table in ("version", "file_part", "privilege"):
        assert one(connection, f"SELECT count(*) FROM pgboost_catalog.{table} {without}") == 0
    assert one(connection, "SELECT load_model('large', content) FROM file") == 1
    connection.execute("SELECT drop_model('large')")


@pytest.fixture(scope="module")
def deep(cluster, dbname: str) -> float:
    """Deep, up to half the largest model that can be loaded, and its file; the seconds it took."""
    with cluster.connect(dbname) as connection:
        connection.execute("CREATE TABLE deep (content bytea)")
        connection.execute("INSERT INTO deep VALUES (%s)", (chains(min(800 * TIMES, 8000), 512),))
        begin = time.monotonic()
        connection.execute("SELECT load_model('deep', content) FROM deep")
        return time.monotonic() - begin


@pytest.mark.parametrize("kernel", ["auto", "portable"])
def test_a_batch_by_a_deep_model_ends_at_the_timeout(
    connection: Connection, deep: float, kernel: str
) -> None:
    """Fewer rows are handed to the engine at once than for an ordinary model."""
    connection.execute(f"SET pgboost.kernel = '{kernel}'")
    one(connection, f"SELECT predict('deep', {FORMS['columns']}) FROM (SELECT 1) AS v (x)")
    times_out(connection, SCAN.format(FORMS["columns"]).replace("'m'", "'deep'"), 600)


def test_each_part_of_a_load_ends_at_the_timeout(connection: Connection, deep: float) -> None:
    """While it parses, compiles, stores the row or writes the image's file."""
    for part in range(1, 5):
        timeout = round(1000 * deep * part / 5)
        is_cancelled(connection, "SELECT load_model('other', content) FROM deep", timeout)


@pytest.fixture(scope="module")
def largest(cluster, dbname: str) -> None:
    """A large file, up to one near the limit, of which little is a model, and a model made of it."""
    with cluster.connect(dbname) as connection:
        connection.execute("CREATE TABLE largest (content bytea)")
        connection.execute("ALTER TABLE largest ALTER content SET STORAGE EXTERNAL")
        content = padded(chains(10, 6), min(100 * TIMES, 250) << 20)
        connection.execute("INSERT INTO largest VALUES (%b)", (content,))
        connection.execute("SELECT load_model('largest', content) FROM largest")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT load_model('other', content) FROM largest",
        "SELECT octet_length(export_model('largest'))",
        "SELECT drop_model('largest')",
    ],
    ids=["load", "export", "drop"],
)
def test_statements_on_the_largest_file_are_cancelled(
    connection: Connection, largest: None, query: str
) -> None:
    timeouts = (20, 50, 100, 200, 400, 800, 1200)
    assert sum(is_cancelled(connection, query, timeout) for timeout in timeouts)
    whole = "SELECT sha256(export_model('largest')) = sha256(content) FROM largest"
    assert one(connection, whole)


def test_a_model_file_is_stored_as_it_is(connection: Connection) -> None:
    """PostgreSQL takes longer to compress a file than to store it, and cannot be interrupted."""
    stored = "every(pg_column_size(bytes) >= octet_length(bytes))"
    assert one(connection, f"SELECT {stored} FROM pgboost_catalog.file_part")
