"""A call of predict_pinned keeps its meaning for ever, whatever other sessions do meanwhile.

Objects of every kind with a call keep a pin, committed or not yet, if their owners may predict.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest
from psycopg import Connection, errors

from tests.connections import Connect, in_parallel, plan_of
from tests.extension.lifecycle.models import constant, drop_all, grown, load, one
from tools.cluster import Cluster

SECONDS = 20
GRANTEE, STRANGER = MAKERS = ("pin_grantee", "pin_stranger")


@pytest.fixture(scope="module", autouse=True)
def roles(cluster: Cluster, dbname: str) -> Iterator[None]:
    with cluster.connect(dbname) as connection:
        for maker in MAKERS:
            connection.execute(f"CREATE ROLE {maker} LOGIN")
    yield
    with cluster.connect(dbname) as connection:
        for maker in MAKERS:
            connection.execute(f"DROP OWNED BY {maker} CASCADE; DROP ROLE {maker}")


@pytest.fixture(autouse=True)
def model(connection: Connection) -> str:
    """The model m, whose first free version is pinned; its reference."""
    for maker in MAKERS:
        connection.execute(f"DROP SCHEMA IF EXISTS {maker} CASCADE")
    connection.execute("DROP TABLE IF EXISTS t")
    drop_all(connection)
    reference = f"m@{load(connection, 'm', constant(1))}"
    connection.execute("SELECT pin_model(%s)", (reference,))
    connection.execute("CREATE TABLE t AS SELECT i::real AS a FROM generate_series(1, 100) AS i")
    return reference


def index(model: str, table: str = "t") -> str:
    return f"CREATE INDEX by_score ON {table} (predict_pinned('{model}', a))"


UNPIN = "SELECT unpin_model(%s)"


def unpin(session: Connection, model: str) -> None:
    session.execute(UNPIN, (model,))


def test_unpinning_waits_for_an_index_that_is_made(
    connect: Connect, connection: Connection, blocked: Callable, model: str
) -> None:
    """Of rows; of an empty table it is one of EXPRESSIONS."""
    maker = connect(autocommit=False)
    maker.execute(index(model))
    unpinned = blocked(connection, UNPIN, (model,))
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
        unpin(owner, model)


@pytest.mark.parametrize("drop", [False, True])
def test_an_index_waits_for_unpinning(
    connect: Connect, connection: Connection, blocked: Callable, model: str, drop: bool
) -> None:
    owner = connect(autocommit=False)
    unpin(owner, model)
    if drop:
        owner.execute("SELECT drop_model('m')")
    made = blocked(connection, index(model))
    owner.commit()
    with pytest.raises((errors.ObjectNotInPrerequisiteState, errors.UndefinedObject)):
        made.result(SECONDS)
    assert one(connection, "SELECT count(*) FROM pg_class WHERE relname = 'by_score'") == 0


def test_an_index_is_made_if_the_pin_stays(
    connect: Connect, connection: Connection, blocked: Callable, model: str
) -> None:
    owner = connect(autocommit=False)
    unpin(owner, model)
    made = blocked(connection, index(model))
    owner.rollback()
    made.result(SECONDS)
    with pytest.raises(errors.ObjectInUse):
        unpin(owner, model)


def test_unpinning_waits_for_a_statement_that_predicts(
    connect: Connect, connection: Connection, blocked: Callable, model: str
) -> None:
    """By a plan that was made before the transaction."""
    reader = connect(autocommit=False)
    reader.execute("SET plan_cache_mode = force_generic_plan")
    reader.execute("PREPARE p(text) AS SELECT count(predict_pinned($1, a)) FROM t")
    for _ in range(2):
        assert one(reader, f"EXECUTE p('{model}')") == 100
        unpinned = blocked(connection, UNPIN, (model,))
        reader.commit()
        unpinned.result(SECONDS)
        connection.execute("SELECT pin_model(%s)", (model,))


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


def test_an_index_never_answers_for_other_bytes(connect: Connect) -> None:
    """Two sessions make indexes while a third changes the models."""
    end = time.monotonic() + 6
    with ThreadPoolExecutor() as pool:
        makers = [pool.submit(make_indexes, connect(), f"t{number}", end) for number in range(2)]
        changer = pool.submit(change_models, connect(), end)
        results = [future.result(3 * SECONDS) for future in (*makers, changer)]
    assert [wrong for _, wrong in results] == [[], [], []]
    assert sum(made for made, _ in results[:2]) > 20 and results[2][0] > 5, results


CALL = "predict_pinned('{model}', a)"

# Each is made in its own schema, which has a table t (a real) and is first on the search path. Those of
# EXPRESSIONS hold a call; PostgreSQL plans some of them when they are made, and others not.
EXPRESSIONS = {
    "index": f"CREATE INDEX made ON t (({CALL}))",
    "partial index": f"CREATE INDEX made ON t (a) WHERE {CALL} > 0",
    "exclusion": f"ALTER TABLE t ADD CONSTRAINT made EXCLUDE USING btree (({CALL}) WITH =)",
    "default": "ALTER TABLE t ALTER a SET DEFAULT predict_pinned('{model}', 1)",
    "generated column": f"CREATE TABLE made (a real, b real GENERATED ALWAYS AS ({CALL}) STORED)",
    "check": f"ALTER TABLE t ADD CONSTRAINT made CHECK ({CALL} > 0)",
    "check not valid": f"ALTER TABLE t ADD CONSTRAINT made CHECK ({CALL} > 0) NOT VALID",
    "domain check": "CREATE DOMAIN made AS real CHECK (predict_pinned('{model}', VALUE) > 0)",
    "domain default": "CREATE DOMAIN made AS real DEFAULT predict_pinned('{model}', 1)",
    "view": f"CREATE VIEW made AS SELECT {CALL} FROM t",
    "replaced view": f"CREATE OR REPLACE VIEW v AS SELECT {CALL} AS b FROM t",
    "recursive view": f"CREATE RECURSIVE VIEW made (n) AS SELECT {CALL} FROM t UNION SELECT n FROM made",
    "materialized view": f"CREATE MATERIALIZED VIEW made AS SELECT {CALL} FROM t",
    "view without data": f"CREATE MATERIALIZED VIEW made AS SELECT {CALL} FROM t WITH NO DATA",
    "rule": f"CREATE RULE made AS ON INSERT TO t WHERE {CALL.replace('a)', 'NEW.a)')} > 0 DO INSTEAD NOTHING",
    "rule action": "CREATE RULE made AS ON DELETE TO t DO ALSO SELECT predict_pinned('{model}', OLD.a)",
    "policy": f"CREATE POLICY made ON t USING ({CALL} > 0)",
    "policy of writes": f"CREATE POLICY made ON t WITH CHECK ({CALL} > 0)",
    "trigger": "CREATE TRIGGER made BEFORE UPDATE ON t FOR EACH ROW "
    "WHEN (predict_pinned('{model}', NEW.a) > 0) EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "statistics": f"CREATE STATISTICS made ON ({CALL}) FROM t",
    "partition key": f"CREATE TABLE made (a real) PARTITION BY LIST (({CALL}))",
    "function": "CREATE FUNCTION made(a real) RETURNS real LANGUAGE sql RETURN " + CALL,
    "atomic function": "CREATE FUNCTION made() RETURNS real LANGUAGE sql BEGIN ATOMIC "
    f"SELECT 1; SELECT max({CALL}) FROM t; END",
    "argument": "CREATE FUNCTION made(a real DEFAULT predict_pinned('{model}', 1)) RETURNS real "
    "LANGUAGE sql RETURN a",
    "procedure": f"CREATE PROCEDURE made() LANGUAGE sql BEGIN ATOMIC INSERT INTO t SELECT {CALL} FROM t; END",
    "constant of parts": "CREATE VIEW made AS SELECT predict_pinned('{model}' || '', a) FROM t",
}
# These name the function, and hold no call that could predict with the version.
NAMES = {
    "operator": 'CREATE OPERATOR @@@ (LEFTARG = text, RIGHTARG = "any", FUNCTION = predict_pinned)',
    "operator in a view": 'CREATE OPERATOR @@@ (LEFTARG = text, RIGHTARG = "any", FUNCTION = predict_pinned);'
    " CREATE VIEW made AS SELECT '{model}'::text OPERATOR(@@@) a FROM t",
    "final function": "CREATE AGGREGATE made(real) (SFUNC = kept, STYPE = text, FINALFUNC = predict_pinned, "
    "FINALFUNC_EXTRA)",
    "text of a function": "CREATE FUNCTION made() RETURNS real LANGUAGE sql "
    "AS $$ SELECT predict_pinned('{model}', 1) $$",
    "column as the name": "CREATE VIEW made AS SELECT predict_pinned(NULL, a) FROM t",
    "another version": f"CREATE VIEW made AS SELECT {CALL.replace('{model}', 'other@1')} FROM t",
}


@pytest.fixture
def open_as(connect: Connect, connection: Connection, model: str) -> Callable[..., Connection]:
    """Opens a connection of one of the makers, of which the grantee may predict with the model."""
    connection.execute(f"SELECT grant_model('m', '{GRANTEE}')")
    for maker in MAKERS:
        connection.execute(
            f"CREATE SCHEMA {maker} AUTHORIZATION {maker}; SET ROLE {maker};"
            f"CREATE TABLE {maker}.t (a real); CREATE VIEW {maker}.v AS SELECT a AS b FROM {maker}.t;"
            f"CREATE FUNCTION {maker}.kept(text, real) RETURNS text LANGUAGE sql AS 'SELECT $1';"
            "RESET ROLE"
        )

    def opened(maker: str, **known: bool) -> Connection:
        session = connect(maker, **known)
        session.execute(f"SET search_path = {maker}, public")
        return session

    return opened


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_unpinning_waits_for_an_open_transaction_and_then_sees_its_object(
    connection: Connection, open_as: Callable, blocked: Callable, model: str, kind: str
) -> None:
    maker = open_as(GRANTEE, autocommit=False)
    maker.execute(EXPRESSIONS[kind].format(model=model))
    unpinned = blocked(connection, UNPIN, (model,))
    maker.commit()
    with pytest.raises(errors.ObjectInUse, match="depends on it"):
        unpinned.result(SECONDS)
    with pytest.raises(errors.ObjectInUse, match="depends on it"):
        unpin(connection, model)


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_unpinning_waits_for_a_maker_without_a_deadlock(
    connection: Connection, open_as: Callable, blocked: Callable, model: str, end: str
) -> None:
    """The maker uses its object and the version meanwhile."""
    maker = open_as(GRANTEE, autocommit=False)
    maker.execute(EXPRESSIONS["view"].format(model=model))
    unpinned = blocked(connection, UNPIN, (model,))
    assert maker.execute("SELECT * FROM made").fetchall() == []
    assert one(maker, f"SELECT predict_pinned('{model}', 1)") == 1
    maker.execute(end)
    with nullcontext() if end == "ROLLBACK" else pytest.raises(errors.ObjectInUse):
        unpinned.result(SECONDS)


def test_a_prepared_transaction_is_waited_for_until_a_timeout_or_a_cancel(
    connect: Connect, connection: Connection, open_as: Callable, blocked: Callable, model: str
) -> None:
    maker, owner = open_as(GRANTEE, autocommit=False), connect()
    maker.execute(EXPRESSIONS["view"].format(model=model))
    maker.execute("PREPARE TRANSACTION 'made'")
    maker.rollback()
    try:
        owner.execute("SET lock_timeout = '100ms'")
        with pytest.raises(errors.LockNotAvailable):
            unpin(owner, model)
        owner.execute("RESET lock_timeout")
        unpinned = blocked(owner, UNPIN, (model,))
        owner.cancel()
        with pytest.raises(errors.QueryCanceled):
            unpinned.result(SECONDS)
    finally:
        connection.execute("ROLLBACK PREPARED 'made'")
    unpin(owner, model)


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("kind", [*EXPRESSIONS, *NAMES])
def test_a_stranger_keeps_no_pin_by_any_object(
    connection: Connection, open_as: Callable, model: str, kind: str, committed: bool
) -> None:
    stranger = open_as(STRANGER, autocommit=committed)
    stranger.execute((EXPRESSIONS | NAMES)[kind].format(model=model))
    # Planning the call takes no lock for it either.
    stranger.execute(f"EXPLAIN SELECT {CALL} FROM t".format(model=model))
    connection.execute("SET lock_timeout = '5s'")
    connection.execute("SELECT unpin_model(%s), drop_model('m')", (model,))


@pytest.mark.parametrize("kind", NAMES)
def test_objects_without_a_call_keep_no_pin(
    connection: Connection, open_as: Callable, model: str, kind: str
) -> None:
    """An operator or an aggregate cannot predict with it either."""
    load(connection, "other", constant(2))
    connection.execute(f"SELECT grant_model('other', '{GRANTEE}')")
    grantee = open_as(GRANTEE)
    grantee.execute(NAMES[kind].format(model=model))
    if kind == "operator in a view":
        grantee.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(errors.FeatureNotSupported, match="constant"):
            grantee.execute("SELECT * FROM made")
    unpin(connection, model)


def test_an_operator_class_keeps_no_pin(connection: Connection, model: str) -> None:
    """Even a superuser's; and a cast by the function is refused."""
    connection.execute(
        "CREATE OPERATOR CLASS made FOR TYPE text USING gist AS "
        'FUNCTION 1 (text, text) predict_pinned(text, "any")'
    )
    with pytest.raises(errors.InvalidObjectDefinition):
        connection.execute('CREATE CAST (text AS real) WITH FUNCTION predict_pinned(text, "any")')
    unpin(connection, model)
    connection.execute("DROP OPERATOR CLASS made USING gist")


@pytest.mark.parametrize("allowed", [True, False])
def test_an_object_counts_by_who_owns_it_now(
    connection: Connection, open_as: Callable, model: str, allowed: bool
) -> None:
    """Neither its creator counts, nor its owner's privileges when it was created."""
    open_as(STRANGER if allowed else GRANTEE).execute(EXPRESSIONS["view"].format(model=model))
    if allowed:
        connection.execute(f"ALTER VIEW {STRANGER}.made OWNER TO {GRANTEE}")
        with pytest.raises(errors.ObjectInUse, match=rf"{STRANGER}\.made"):
            unpin(connection, model)
    else:
        connection.execute(f"SELECT revoke_model('m', '{GRANTEE}')")
        unpin(connection, model)
