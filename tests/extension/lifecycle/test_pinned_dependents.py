"""Objects of every kind with a call keep a pin, committed or not yet, if their owners may predict."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg import Connection, errors

from tests.connections import Connect, waits
from tests.extension.lifecycle.models import constant, drop_all, load, one
from tools.cluster import Cluster

SECONDS = 20
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


@pytest.fixture
def model(connection: Connection) -> str:
    """The model m, whose first free version is pinned and granted; its reference."""
    for maker in MAKERS:
        connection.execute(f"DROP SCHEMA IF EXISTS {maker} CASCADE")
    drop_all(connection)
    reference = f"m@{load(connection, 'm', constant(1))}"
    connection.execute(f"SELECT pin_model(%s), grant_model('m', '{GRANTEE}')", (reference,))
    for maker in MAKERS:
        connection.execute(
            f"CREATE SCHEMA {maker} AUTHORIZATION {maker}; SET ROLE {maker};"
            f"CREATE TABLE {maker}.t (a real); CREATE VIEW {maker}.v AS SELECT a AS b FROM {maker}.t;"
            f"CREATE FUNCTION {maker}.kept(text, real) RETURNS text LANGUAGE sql AS 'SELECT $1';"
            "RESET ROLE"
        )
    return reference


@pytest.fixture
def open_as(connect: Connect) -> Callable[..., Connection]:
    def opened(maker: str, **known: bool) -> Connection:
        session = connect(maker, **known)
        session.execute(f"SET search_path = {maker}, public")
        return session

    return opened


def unpin(session: Connection, model: str) -> None:
    session.execute("SELECT unpin_model(%s)", (model,))


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_unpinning_waits_for_an_open_transaction_and_then_sees_its_object(
    connect: Connect, connection: Connection, open_as: Callable, model: str, kind: str
) -> None:
    maker, owner = open_as(GRANTEE, autocommit=False), connect()
    maker.execute(EXPRESSIONS[kind].format(model=model))
    with ThreadPoolExecutor() as pool:
        unpinned = pool.submit(unpin, owner, model)
        waits(connection, owner)
        maker.commit()
        with pytest.raises(errors.ObjectInUse, match="depends on it"):
            unpinned.result(SECONDS)
    with pytest.raises(errors.ObjectInUse, match="depends on it"):
        unpin(connection, model)


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_unpinning_waits_for_a_maker_without_a_deadlock(
    connect: Connect, connection: Connection, open_as: Callable, model: str, end: str
) -> None:
    """The maker uses its object and the version meanwhile."""
    maker, owner = open_as(GRANTEE, autocommit=False), connect()
    maker.execute(EXPRESSIONS["view"].format(model=model))
    with ThreadPoolExecutor() as pool:
        unpinned = pool.submit(unpin, owner, model)
        waits(connection, owner)
        assert maker.execute("SELECT * FROM made").fetchall() == []
        assert one(maker, f"SELECT predict_pinned('{model}', 1)") == 1
        maker.execute(end)
        if end == "ROLLBACK":
            unpinned.result(SECONDS)
        else:
            with pytest.raises(errors.ObjectInUse):
                unpinned.result(SECONDS)


def test_a_prepared_transaction_is_waited_for_until_a_timeout_or_a_cancel(
    connect: Connect, connection: Connection, open_as: Callable, model: str
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
        with ThreadPoolExecutor() as pool:
            unpinned = pool.submit(unpin, owner, model)
            waits(connection, owner)
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
        "CREATE OPERATOR CLASS pin_grantee.made FOR TYPE text USING gist AS "
        'FUNCTION 1 (text, text) predict_pinned(text, "any")'
    )
    with pytest.raises(errors.InvalidObjectDefinition):
        connection.execute('CREATE CAST (text AS real) WITH FUNCTION predict_pinned(text, "any")')
    unpin(connection, model)


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
