"""A freed name, or the number of a dropped role, gives no access to the former model."""

from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg import Connection, errors

from tests.connections import Connect
from tests.extension.lifecycle.conftest import PREFERRED_PORT, STATE
from tests.extension.lifecycle.models import constant, drop_all, load, one
from tools.cluster import Cluster, start
from tools.cluster.server import bin_directory

OWNERS, LOADERS = 3, 4
ROLES = ("owner", "loader", "grantee")
# All that reads a model, of one feature f1. A table t has that column and y.
READS = {
    "predict": "SELECT predict('pv', 1)",
    "predict@1": "SELECT predict('pv@1', 1)",
    "predict@alias": "SELECT predict('pv@best', 1)",
    "predict_pinned": "SELECT predict_pinned('pv@1', 1)",
    "predict_array": "SELECT predict_array('pv', 1)",
    "predict_margin": "SELECT predict_margin('pv', 1)",
    "predict_leaf": "SELECT predict_leaf('pv', 1)",
    "predict_from": "SELECT predict_from('pv', 0, 1)",
    "predict of rows": "SELECT predict('pv', f1) FROM t",
    "predict_contribs": "SELECT predict_contribs('pv', 1)",
    "predict_interactions": "SELECT predict_interactions('pv', 1)",
    "explain_prediction": "SELECT e.* FROM t, explain_prediction('pv', t) AS e",
    "mean_abs_contribs": "SELECT mean_abs_contribs(predict_contribs('pv', f1)) FROM t",
    "model_info": "SELECT model_info('pv')",
    "model_features": "SELECT * FROM model_features('pv')",
    "feature_importance": "SELECT * FROM feature_importance('pv', 'weight')",
    "feature_baseline": "SELECT * FROM feature_baseline('pv')",
    "feature_drift": "SELECT * FROM feature_drift('pv', 't')",
    "evaluate_model": "SELECT * FROM evaluate_model('pv', 't', 'y')",
    "compare_models": "SELECT * FROM compare_models('pv', 'pv', 't', 'y')",
    "export_model": "SELECT export_model('pv')",
    "xgboost_predict": "SELECT xgboost_predict('pv', '{1}')",
    "verify_model": "SELECT * FROM verify_model('pv', 't')",
    "continue_from": "SELECT * FROM train_model('new', 't', 'y', rounds => 1, continue_from => 'pv')",
    "create_predict_function": "SELECT create_predict_function('pv', 'of_pv')",
    "rename_model": "SELECT rename_model('pv', 'stolen')",
    "grant_model": "SELECT grant_model('pv', 'loader')",
    "set_model_owner": "SELECT set_model_owner('pv', 'loader')",
}
# They write, or are evaluated when they are planned.
NOT_BY_CURSOR = ("continue_from", "create_predict_function", "predict_pinned")
VIEWS = ("pgboost_models", "pgboost_aliases", "pgboost_deployments", "pg_stat_pgboost")
HOW_FREED = ("SELECT rename_model('pv', 'pv_2026')", "SELECT drop_model('pv')")


@pytest.fixture(scope="module", autouse=True)
def everything(cluster: Cluster, dbname: str) -> Iterator[None]:
    with cluster.connect(dbname) as admin:
        admin.execute("CREATE EXTENSION pgboost_train")
        admin.execute("GRANT CREATE ON SCHEMA public TO public")
        admin.execute("CREATE TABLE t AS SELECT i AS f1, i AS y FROM generate_series(1, 9) AS i")
        for role in ROLES:
            admin.execute(f"CREATE ROLE {role} LOGIN; GRANT ALL ON t TO {role}")
            admin.execute(f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO {role}")
    yield
    with cluster.connect(dbname) as admin:
        drop_all(admin)
        for role in ROLES:
            admin.execute(f"DROP OWNED BY {role} CASCADE; DROP ROLE {role}")


@pytest.fixture(autouse=True)
def owned(connection: Connection, connect: Connect) -> Connection:
    """The owner of `pv`, which nobody else may use. The loader may do all but that."""
    connection.execute("UPDATE pgboost_catalog.version SET pinned = false")
    connection.execute("DELETE FROM pgboost_catalog.pinned")
    drop_all(connection)
    owner = connect("owner")
    load(owner, "pv", constant(OWNERS))
    owner.execute("SELECT set_alias('pv', 'best'), set_baseline('pv', 't')")
    return owner


def freed_and_taken(owner: Connection, loader: Connection, how: str) -> None:
    owner.execute(how)
    load(loader, "pv", constant(LOADERS))
    loader.execute("SELECT set_alias('pv', 'best'), set_baseline('pv', 't')")


@pytest.mark.parametrize("how", HOW_FREED)
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_an_older_snapshot_reads_nothing_of_the_former_model(
    connect: Connect, owned: Connection, level: str, how: str
) -> None:
    old = connect("loader")
    old.execute(f"BEGIN ISOLATION LEVEL {level}; SELECT 1")
    freed_and_taken(owned, connect("loader"), how)
    for name, query in READS.items():
        old.execute("SAVEPOINT s")
        with pytest.raises(psycopg.Error) as raised:
            old.execute(query).fetchall()
        assert isinstance(raised.value, errors.InsufficientPrivilege), (name, raised.value)
        old.execute("ROLLBACK TO s")
    for view in VIEWS:
        assert old.execute(f"SELECT * FROM {view}").fetchall() == []
    old.execute("COMMIT")
    assert one(old, "SELECT predict('pv', 1)") == LOADERS


@pytest.mark.parametrize("how", HOW_FREED)
@pytest.mark.parametrize("name", [n for n in READS if n not in NOT_BY_CURSOR])
def test_an_open_cursor_reads_nothing_of_the_former_model(
    connect: Connect, owned: Connection, name: str, how: str
) -> None:
    old = connect("loader")
    old.execute(f"BEGIN; DECLARE c CURSOR FOR {READS[name]}")
    freed_and_taken(owned, connect("loader"), how)
    with pytest.raises(errors.InsufficientPrivilege):
        old.execute("FETCH ALL FROM c").fetchall()


@pytest.mark.parametrize("how", HOW_FREED)
@pytest.mark.parametrize("name", ["predict", "model_info", "export_model", "feature_baseline"])
def test_a_slow_statement_reads_nothing_of_the_former_model(
    connect: Connect, owned: Connection, blocked: Callable, name: str, how: str
) -> None:
    """It begins before the name is taken, and comes to the model after that."""
    gate, slow = connect(), connect("loader")
    gate.execute("SELECT pg_advisory_lock(7)")
    call = READS[name].removeprefix("SELECT ").removeprefix("* FROM ")
    query = f"WITH w AS MATERIALIZED (SELECT pg_advisory_lock_shared(7)) SELECT {call} FROM w"
    ended = blocked(slow, query)
    freed_and_taken(owned, connect("loader"), how)
    gate.execute("SELECT pg_advisory_unlock(7)")
    with pytest.raises(errors.InsufficientPrivilege):
        ended.result()


def test_swapped_names_carry_no_privilege_over(connect: Connect, owned: Connection) -> None:
    """A role that was granted `green` alone never predicts with the former `blue`."""
    for name, value in (("blue", 1), ("green", 2)):
        load(owned, name, constant(value))
    owned.execute("SELECT grant_model('green', 'grantee')")
    old, new = connect("grantee"), connect("grantee")
    old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    for before, after in (("blue", "tmp"), ("green", "blue"), ("tmp", "green")):
        owned.execute("SELECT rename_model(%s, %s)", (before, after))
    assert one(old, "SELECT predict('green', 1)") == 2
    assert one(new, "SELECT predict('blue', 1)") == 2
    for connection, denied in ((new, "green"), (old, "blue")):
        with pytest.raises(errors.InsufficientPrivilege):
            one(connection, f"SELECT predict('{denied}', 1)")


def test_a_privilege_given_since_counts_for_an_older_snapshot(
    connect: Connect, owned: Connection
) -> None:
    old = connect("grantee")
    old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    owned.execute("SELECT grant_model('pv', 'grantee'), rename_model('pv', 'renamed')")
    assert one(old, "SELECT predict('pv', 1)") == OWNERS
    assert one(old, "SELECT count(*) FROM pgboost_models") == 1


@pytest.mark.parametrize("how", HOW_FREED)
def test_counters_stay_with_the_model(
    connect: Connect, connection: Connection, owned: Connection, how: str
) -> None:
    connection.execute("GRANT SET ON PARAMETER pgboost.track_predictions TO owner")
    owned.execute("SET pgboost.track_predictions = on")
    owned.execute("SELECT predict('pv', i) FROM generate_series(1, 2000) AS i")
    counted = "SELECT name, rows FROM pg_stat_pgboost WHERE rows > 0 OR last_used IS NOT NULL"
    assert owned.execute(counted).fetchall() == [("pv", 2000)]
    loader = connect("loader")
    freed_and_taken(owned, loader, how)
    assert loader.execute(counted).fetchall() == []
    assert owned.execute(counted).fetchall() == ([("pv_2026", 2000)] if "rename" in how else [])


def test_counters_of_a_load_that_rolled_back_are_nobodys(
    connection: Connection, owned: Connection
) -> None:
    connection.execute("SET pgboost.track_predictions = on; BEGIN")
    load(connection, "pv", constant(9))
    connection.execute("SELECT predict('pv@2', 1)")
    connection.execute("ROLLBACK")
    load(owned, "pv", constant(5))
    assert one(owned, "SELECT sum(rows) FROM pg_stat_pgboost") == 0


CREATE = "SELECT create_predict_function('pv', 'of_pv')"
CHANGES = ("SELECT rename_model('pv', 'other')", "SELECT drop_model('pv')")
ORDERS = [pair for change in CHANGES for pair in ((CREATE, change), (change, CREATE))]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ"])
def test_a_function_of_a_model_is_made_or_the_model_changed(
    connect: Connect, owned: Connection, blocked: Callable, order: tuple[str, str], level: str
) -> None:
    """In two open transactions: whichever comes first, no function is left without its model."""
    before, after = order
    connection, one_first, other = connect(), owned, connect("owner")
    other.execute(f"BEGIN ISOLATION LEVEL {level}; SELECT 1")
    one_first.execute("BEGIN")
    one_first.execute(before)
    ended = blocked(other, f"{after}; COMMIT")
    one_first.execute("COMMIT")
    failed = ended.exception()
    functions = "SELECT count(*) FROM pg_proc WHERE proname = 'of_pv'"
    models = "SELECT count(*) FROM pgboost_models WHERE name = 'pv'"
    noted = "SELECT count(*) FROM pgboost_catalog.function"
    found = tuple(one(connection, query) for query in (models, functions, noted))
    dropped_after = before == CREATE and "drop" in after and level == "READ COMMITTED"
    if after == CREATE:
        assert found == (0, 0, 0)
    else:
        assert found == ((0, 0, 0) if dropped_after else (1, 1, 1))
    expected = (
        errors.SerializationFailure
        if level == "REPEATABLE READ"
        else errors.UndefinedObject
        if after == CREATE
        else errors.ObjectInUse
    )
    assert dropped_after or isinstance(failed, expected)
    other.execute("ROLLBACK")
    connection.execute("DROP FUNCTION IF EXISTS of_pv")


@pytest.mark.parametrize("gone", ["drop_model('pv@2')", "drop_alias('pv@next')"])
def test_a_function_of_a_version_that_goes_meanwhile_is_not_made(
    connect: Connect, connection: Connection, owned: Connection, blocked: Callable, gone: str
) -> None:
    load(owned, "pv", constant(8))
    owned.execute("SELECT deploy_model('pv@1')")
    if "alias" in gone:
        owned.execute("SELECT set_alias('pv@2', 'next')")
    other = connect("owner")
    reference = "pv@next" if "alias" in gone else "pv@2"
    owned.execute("BEGIN")
    owned.execute(f"SELECT {gone}")
    create = f"SELECT create_predict_function('{reference}', 'of_pv')"
    ended = blocked(other, create)
    owned.execute("COMMIT")
    with pytest.raises(errors.UndefinedObject):
        ended.result()
    assert one(connection, "SELECT to_regproc('of_pv') IS NULL")


def test_a_role_that_a_model_names_cannot_be_dropped(
    connect: Connect, connection: Connection, owned: Connection
) -> None:
    """Until its last privilege goes, or DROP OWNED BY takes all of them away."""
    connect("named", new=True)
    for way in ("SELECT revoke_model('pv', 'named')", "DROP OWNED BY named"):
        owned.execute("SELECT grant_model('pv', 'named'), grant_model('pv', 'named', 'inspect')")
        owned.execute("SELECT revoke_model('pv', 'named', 'inspect')")
        with pytest.raises(errors.DependentObjectsStillExist) as raised:
            connection.execute("DROP ROLE named")
        said = raised.value.diag.message_detail
        assert said == "privileges for type pgboost_catalog.model_privileges"
        connection.execute("BEGIN")
        connection.execute(way)
        connection.execute("DROP ROLE named; ROLLBACK")
        owned.execute("SELECT revoke_model('pv', 'named')")


def test_privileges_removed_by_drop_owned_stay_removed(
    connect: Connect, connection: Connection, owned: Connection
) -> None:
    """Not with the next privilege that the role gets, and not in a session that has predicted."""
    grantee = connect("grantee")
    owned.execute("SELECT grant_model('pv', 'grantee')")
    assert one(grantee, "SELECT predict('pv', 1)") == OWNERS
    execute = "SELECT array_agg(oid::regprocedure::text) FROM pg_proc WHERE proname = 'load_model'"
    (loads,) = one(connection, execute)
    connection.execute("DROP OWNED BY grantee")
    connection.execute(f"GRANT EXECUTE ON FUNCTION {loads} TO grantee; GRANT ALL ON t TO grantee")
    load(grantee, "mine", constant(1))
    rows = "SELECT count(*) FROM pgboost_catalog.privilege WHERE role::text = 'grantee'"
    assert one(connection, f"{rows} AND privilege = 'predict'") == 0
    assert one(grantee, "SELECT predict('mine', 1)") == 1
    with pytest.raises(errors.InsufficientPrivilege):
        one(grantee, "SELECT predict('pv', 1)")
    connection.execute("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO grantee")


@pytest.mark.parametrize(
    ("first", "able"),
    [
        ("SELECT grant_model('pv', 'former')", {"former": "pv", "latter": "other"}),
        ("DROP OWNED BY former", {"latter": "other"}),
    ],
)
def test_a_role_is_named_while_another_is_named_or_loses_all(
    connect: Connect, owned: Connection, blocked: Callable, first: str, able: dict[str, str]
) -> None:
    """Both change one row of pg_type: the second waits, and does not report a concurrent update."""
    users = {role: connect(role, new=True) for role in ("former", "latter")}
    if "former" not in able:
        owned.execute("SELECT grant_model('pv', 'former')")
    changing, loader = connect(), connect("loader")
    load(loader, "other", constant(LOADERS))
    changing.execute(f"BEGIN; {first}")
    ended = blocked(loader, "SELECT grant_model('other', 'latter')")
    changing.execute("COMMIT")
    ended.result()
    for role, model in able.items():
        assert one(users[role], f"SELECT predict('{model}', 1)") in (OWNERS, LOADERS)


def test_a_role_that_gets_a_privilege_while_it_loses_another_keeps_it(
    connect: Connect, owned: Connection
) -> None:
    """The session that removes its last visible row does not see the new one yet."""
    user, loader = connect("regained", new=True), connect("loader")
    load(loader, "other", constant(LOADERS))
    owned.execute("SELECT grant_model('pv', 'regained')")
    loader.execute("BEGIN; SELECT grant_model('other', 'regained')")
    owned.execute("SELECT revoke_model('pv', 'regained')")
    loader.execute("COMMIT")
    assert one(user, "SELECT predict('other', 1)") == LOADERS


def test_a_row_unseen_by_an_old_snapshot_stays_without_effect(
    connect: Connect, connection: Connection, owned: Connection
) -> None:
    """A row without effect that a transaction cannot delete fails it, instead of getting effect again."""
    lost, other = connect("lost", new=True), connect("loader")
    load(other, "other", constant(1))
    other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    owned.execute("SELECT grant_model('pv', 'lost')")
    connection.execute("DROP OWNED BY lost")
    with pytest.raises(errors.SerializationFailure):
        other.execute("SELECT grant_model('other', 'lost')")
    other.execute("ROLLBACK; SELECT grant_model('other', 'lost')")
    with pytest.raises(errors.InsufficientPrivilege):
        one(lost, "SELECT predict('pv', 1)")


def restart_with_next_oid(spare: Cluster, oid: int) -> None:
    data = spare.place.data
    spare.place.run(bin_directory() / "pg_ctl", "stop", "-D", data, "-m", "fast", "-w")
    spare.place.run(bin_directory() / "pg_resetwal", "-o", str(oid), "-D", data)
    start(STATE, PREFERRED_PORT)


def role_with_number(admin: Connection, number: int) -> str:
    """A new role; the server takes some numbers when it starts."""
    for name in (f"later{i}" for i in range(20)):
        admin.execute(f"CREATE ROLE {name}")
        if one(admin, "SELECT %s::regrole::oid", (name,)) == number:
            return name
    pytest.fail(f"no role got the number {number}")


def test_a_dropped_roles_number_passes_nothing_on(spare: Cluster) -> None:
    """To a later role with that number: neither as owner, nor as grantee, nor when it is named again."""
    with spare.connect() as admin:
        for name in ("granted", "owned"):
            load(admin, name, constant(OWNERS))
        admin.execute("CREATE ROLE gone")
        admin.execute("SELECT grant_model('granted', 'gone'), set_model_owner('owned', 'gone')")
        number = one(admin, "SELECT 'gone'::regrole::oid")
        admin.execute("DROP OWNED BY gone; DROP ROLE gone")
        # Else its row is still there, and its number is skipped.
        admin.execute("VACUUM pg_authid")
    restart_with_next_oid(spare, number - 10)
    with spare.connect() as admin:
        later = role_with_number(admin, number)
        for _ in range(2):
            admin.execute(f"SET ROLE {later}")
            for name in ("granted", "owned"):
                with pytest.raises(errors.InsufficientPrivilege):
                    one(admin, f"SELECT predict('{name}', 1)")
                with pytest.raises(errors.InsufficientPrivilege):
                    one(admin, f"SELECT model_info('{name}')")
            assert one(admin, "SELECT count(*) FROM pgboost_models WHERE name <> 'third'") == 0
            admin.execute("RESET ROLE")
            load(admin, "third", constant(1))
            admin.execute("SELECT grant_model('third', %s)", (later,))
        admin.execute(f"SET ROLE {later}")
        assert one(admin, "SELECT predict('third', 1)") == 1
