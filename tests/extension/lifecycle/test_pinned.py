"""A call of predict_pinned keeps its meaning for ever, whatever other sessions do meanwhile."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from psycopg import Connection, errors

from tests.connections import Connect, in_parallel, plan_of, waits
from tests.extension.lifecycle.models import constant, drop_all, grown, load, one

SECONDS = 20


@pytest.fixture(autouse=True)
def model(connection: Connection) -> str:
    """The model m, whose first free version is pinned; its reference."""
    connection.execute("DROP TABLE IF EXISTS t")
    drop_all(connection)
    reference = f"m@{load(connection, 'm', constant(1))}"
    connection.execute("SELECT pin_model(%s)", (reference,))
    connection.execute("CREATE TABLE t AS SELECT i::real AS a FROM generate_series(1, 100) AS i")
    return reference


def index(model: str, table: str = "t") -> str:
    return f"CREATE INDEX by_score ON {table} (predict_pinned('{model}', a))"


@pytest.fixture
def beside() -> "Callable[[Callable[[], object]], Future]":
    """Runs something in a thread."""
    with ThreadPoolExecutor() as pool:
        yield pool.submit


def test_unpinning_waits_for_an_index_that_is_made(
    connect: Connect, connection: Connection, beside: Callable, model: str
) -> None:
    """Of rows; test_pinned_dependents.py makes one of an empty table."""
    maker, owner = connect(autocommit=False), connect()
    maker.execute(index(model))
    unpinned = beside(owner.execute, "SELECT unpin_model(%s)", (model,))
    waits(connection, owner)
    maker.commit()
    with pytest.raises(errors.ObjectInUse, match="by_score"):
        unpinned.result(SECONDS)


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_an_old_snapshot_hides_no_index(
    connect: Connect, connection: Connection, model: str, level: str
) -> None:
    owner = connect(autocommit=False)
    owner.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
    one(owner, "SELECT count(*) FROM t")
    connection.execute(index(model))
    with pytest.raises(errors.ObjectInUse, match="by_score"):
        owner.execute("SELECT unpin_model(%s)", (model,))


@pytest.mark.parametrize("drop", [False, True])
def test_an_index_waits_for_unpinning(
    connect: Connect, connection: Connection, beside: Callable, model: str, drop: bool
) -> None:
    maker, owner = connect(), connect(autocommit=False)
    owner.execute("SELECT unpin_model(%s)", (model,))
    if drop:
        owner.execute("SELECT drop_model('m')")
    made = beside(maker.execute, index(model))
    waits(connection, maker)
    owner.commit()
    with pytest.raises((errors.ObjectNotInPrerequisiteState, errors.UndefinedObject)):
        made.result(SECONDS)
    assert one(connection, "SELECT count(*) FROM pg_class WHERE relname = 'by_score'") == 0


def test_an_index_is_made_if_the_pin_stays(
    connect: Connect, connection: Connection, beside: Callable, model: str
) -> None:
    maker, owner = connect(), connect(autocommit=False)
    owner.execute("SELECT unpin_model(%s)", (model,))
    made = beside(maker.execute, index(model))
    waits(connection, maker)
    owner.rollback()
    made.result(SECONDS)
    with pytest.raises(errors.ObjectInUse):
        owner.execute("SELECT unpin_model(%s)", (model,))


def test_unpinning_waits_for_a_statement_that_predicts(
    connect: Connect, connection: Connection, beside: Callable, model: str
) -> None:
    """By a plan that was made before the transaction."""
    reader, owner = connect(autocommit=False), connect()
    reader.execute("SET plan_cache_mode = force_generic_plan")
    reader.execute("PREPARE p(text) AS SELECT count(predict_pinned($1, a)) FROM t")
    for _ in range(2):
        assert one(reader, f"EXECUTE p('{model}')") == 100
        unpinned = beside(owner.execute, "SELECT unpin_model(%s)", (model,))
        waits(connection, owner)
        reader.commit()
        unpinned.result(SECONDS)
        owner.execute("SELECT pin_model(%s)", (model,))


def test_predict_takes_no_lock(connect: Connect, connection: Connection, model: str) -> None:
    reader = connect(autocommit=False)
    query = "SELECT predict(%s, a), {} FROM t WHERE a = 1"
    locks = f"SELECT count(*) FROM pg_locks WHERE pid = {reader.info.backend_pid} AND locktype = 'object'"
    reader.execute(query.format("1"), (model,))
    assert one(connection, locks) == 0
    reader.execute(query.format(f"predict_pinned('{model}', a)"), (model,))
    assert one(connection, locks) > 0


def test_transactions_that_only_read_and_parallel_workers_predict(
    connection: Connection, model: str
) -> None:
    connection.execute("INSERT INTO t SELECT i FROM generate_series(101, 20000) AS i")
    connection.execute("ALTER TABLE t SET (parallel_workers = 2)")
    in_parallel(connection)
    query = f"SELECT count(*) FROM t WHERE predict_pinned('{model}', a) = 1"
    assert "Gather" in plan_of(connection, query)
    with connection.transaction():
        connection.execute("SET TRANSACTION READ ONLY")
        assert one(connection, query) == 20_000
    connection.execute("SET max_parallel_maintenance_workers = 2")
    connection.execute(index(model))
    connection.execute("SET enable_seqscan = off")
    assert one(connection, query) == 20_000


def test_a_number_is_not_given_again_to_an_old_snapshot(
    connect: Connect, connection: Connection, model: str
) -> None:
    """It sees neither the model nor that its number was pinned."""
    loader = connect(autocommit=False)
    loader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    one(loader, "SELECT count(*) FROM t")
    version = load(connection, "fresh", constant(1))
    connection.execute("SELECT pin_model(%s)", (f"fresh@{version}",))
    connection.execute("SELECT unpin_model(%s), drop_model('fresh')", (f"fresh@{version}",))
    assert load(loader, "fresh", constant(2)) == version + 1


ROWS = {
    "table": "SELECT predict_pinned('{}', t) FROM t",
    "row": "SELECT predict_pinned('{}', ROW(a)) FROM t",
    "type": "SELECT predict_pinned('{}', ROW(a)::pair) FROM t",
    "domain": "SELECT predict_pinned('{}', ROW(a)::pair_domain) FROM t",
    "null": "SELECT predict_pinned('{}', NULL::pair)",
    "subquery": "SELECT predict_pinned('{}', s) FROM (SELECT a AS f1 FROM t) AS s",
    "index": "CREATE INDEX ON t (predict_pinned('{}', t))",
    "generated column": "CREATE TEMP TABLE g (a real, b real GENERATED ALWAYS AS "
    "(predict_pinned('{}', ROW(a)::pair)) STORED); INSERT INTO g SELECT a FROM t",
    "expression of a domain": "SELECT 1::checked",
}


@pytest.mark.parametrize("rows", [1, 300])
@pytest.mark.parametrize("kind", ROWS)
def test_rows_are_refused(connection: Connection, model: str, kind: str, rows: int) -> None:
    """Since their columns can be renamed; for one row and in batches."""
    connection.execute(
        "DROP DOMAIN IF EXISTS checked; DROP TYPE IF EXISTS pair CASCADE;"
        "CREATE TYPE pair AS (f1 real); CREATE DOMAIN pair_domain AS pair;"
        f"CREATE DOMAIN checked AS real CHECK (predict_pinned('{model}', ROW(VALUE)::pair) > 0)"
    )
    connection.execute("TRUNCATE t")
    connection.execute("INSERT INTO t SELECT i FROM generate_series(1, %s) AS i", (rows,))
    with pytest.raises(errors.DatatypeMismatch, match="row of type") as refused:
        connection.execute(ROWS[kind].format(model)).fetchall()
    assert "columns" in refused.value.diag.message_hint
    connection.execute("DROP DOMAIN checked")


def test_columns_arrays_and_jsonb_are_taken(connection: Connection, model: str) -> None:
    for features in ("a", "ARRAY[a]", "jsonb_build_object('f1', a, 'other', 1)"):
        assert one(connection, f"SELECT sum(predict_pinned('{model}', {features})) FROM t") == 100


@pytest.mark.parametrize(
    "setting",
    [
        ("pgboost.unknown_category", "missing"), ("pgboost.kernel", "portable"),
        ("pgboost.enable_batch", "off"), ("TimeZone", "Asia/Tokyo"), ("DateStyle", "German, DMY"),
        ("extra_float_digits", "-15"), ("IntervalStyle", "sql_standard"), ("lc_numeric", "C"),
        ("bytea_output", "escape"),
    ],
)  # fmt: skip
def test_no_setting_changes_a_number(connection: Connection, setting: tuple[str, str]) -> None:
    """The reading of every type depends on no setting."""
    version = load(connection, "settings", grown(40, 5))
    connection.execute(f"SELECT pin_model('settings@{version}')")
    query = (
        f"SELECT array_agg(float4send(predict_pinned('settings@{version}', i / 200.0, (i / 300.0)::real, "
        "mod(i, 2) = 0, "
        "'2026-01-01'::date + i, timestamp '1970-01-01' + i * interval '0.1 s', "
        "timestamptz '1970-01-01 00:00+00' + i * interval '0.1 s', i::int2, i::int8, i::numeric / 300, NULL"
        "))) FROM generate_series(1, 200) AS i"
    )
    before = one(connection, query)
    connection.execute("SELECT set_config(%s, %s, false)", setting)
    assert len(set(before)) > 5
    assert one(connection, query) == before


def test_categories_are_compared_by_their_bytes(connection: Connection) -> None:
    """Whatever the collation and the type."""
    try:
        connection.execute(
            "CREATE COLLATION IF NOT EXISTS caseless (provider = icu, locale = 'und-u-ks-level2', "
            "deterministic = false); CREATE DOMAIN caseless_text AS text COLLATE caseless"
        )
    except errors.FeatureNotSupported:
        pytest.skip("needs a PostgreSQL with ICU")
    load = 'SELECT load_model(\'words\', %s, categories => \'{"f1": ["x", "y"]}\')'
    version = one(connection, load, (constant(3),))
    connection.execute(f"SELECT pin_model('words@{version}')")
    for form in ("'{}'::text", "'{}' COLLATE caseless", "'{}'::caseless_text", "'{}'::char(3)"):
        query = f"SELECT predict_pinned('words@{version}', {form})"
        assert one(connection, query.format("x")) == 3
        with pytest.raises(errors.InvalidTextRepresentation, match='"X"') as unknown:
            connection.execute(query.format("X"))
        assert "no setting" in unknown.value.diag.message_hint


def make_indexes(session: Connection, table: str, end: float) -> tuple[int, list]:
    """Makes and drops indexes of pinned versions; returns their number and the wrong answers."""
    made, wrong = 0, []
    session.execute(f"CREATE TABLE {table} AS SELECT * FROM t")
    session.execute("SET enable_seqscan = off")
    pinned = (
        "SELECT name || '@' || version FROM pgboost_models WHERE pinned ORDER BY random() LIMIT 1"
    )
    while time.monotonic() < end:
        found = session.execute(pinned).fetchone()
        if found is None:
            continue
        (model,) = found
        try:
            session.execute(index(model, table).replace("by_score", f"by_{table}"))
        except (errors.ObjectNotInPrerequisiteState, errors.UndefinedObject):
            continue
        # The index has answers; the pin stays, so the model has one too.
        score = f"predict_pinned('{model}', a)"
        by_index = one(session, f"SELECT {score} FROM {table} ORDER BY {score} LIMIT 1")
        by_model = one(session, "SELECT predict(%s, 1)", (model,))
        if by_index != by_model:
            wrong.append((model, by_index, by_model))
        made += 1
        session.execute(f"DROP INDEX by_{table}")
    session.execute(f"DROP TABLE {table}")
    return made, wrong


def change_models(session: Connection, end: float) -> tuple[int, list]:
    """Loads models that answer differently, pins, unpins and drops them, which waits for indexes."""
    dropped, value, numbers = 0, 10, []
    while time.monotonic() < end:
        value += 1
        version = load(session, "m2", constant(value))
        numbers.append(version)
        session.execute("SELECT pin_model(%s)", (f"m2@{version}",))
        time.sleep(0.005)
        while one(session, "SELECT count(*) FROM pgboost_models WHERE name = 'm2'"):
            try:
                session.execute("SELECT unpin_model(%s), drop_model('m2')", (f"m2@{version}",))
                dropped += 1
            except errors.ObjectInUse:
                time.sleep(0.002)
    return dropped, [] if len(set(numbers)) == len(numbers) else [numbers]


def test_an_index_never_answers_for_other_bytes(connect: Connect, beside: Callable) -> None:
    """Two sessions make indexes while a third changes the models."""
    end = time.monotonic() + 6
    makers = [beside(make_indexes, connect(), f"t{number}", end) for number in range(2)]
    changer = beside(change_models, connect(), end)
    results = [future.result(3 * SECONDS) for future in (*makers, changer)]
    assert [wrong for _, wrong in results] == [[], [], []]
    assert sum(made for made, _ in results[:2]) > 20 and results[2][0] > 5, results
