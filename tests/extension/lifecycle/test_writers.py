"""Two connections that change the same model wait for each other, and neither's work is lost."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg import errors

from tests.extension.lifecycle.models import constant, drop_all, load, one, value

Connect = Callable[..., psycopg.Connection]


@pytest.fixture(autouse=True)
def clean(connection: psycopg.Connection) -> None:
    drop_all(connection)


def waits(admin: psycopg.Connection, waiting: psycopg.Connection) -> None:
    """Returns once the connection waits for a lock."""
    query = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s"
    pause = threading.Event()
    for _ in range(500):
        if one(admin, query, (waiting.info.backend_pid,)):
            return
        pause.wait(0.01)
    pytest.fail("the second connection does not wait for the first")


def second(
    first: psycopg.Connection,
    admin: psycopg.Connection,
    waiting: psycopg.Connection,
    work: Callable[[], Any],
    end: Callable[[], None],
) -> Future:
    """Does the work in the waiting connection, and ends the first once it waits."""
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(work)
        waits(admin, waiting)
        end()
        result.exception(timeout=10)
    return result


def test_two_loads_give_two_versions(connect: Connect) -> None:
    admin, a, b = connect(), connect(autocommit=False), connect()
    load(admin, "m", constant(1))
    assert load(a, "m", constant(2)) == 2
    result = second(a, admin, b, lambda: load(b, "m", constant(3)), a.commit)
    assert result.result() == 3
    assert (value(admin), value(admin, "m@2"), value(admin, "m@3")) == (3, 2, 3)


def test_two_first_loads_give_two_versions(connect: Connect) -> None:
    admin, a, b = connect(), connect(autocommit=False), connect()
    assert load(a, "m", constant(1)) == 1
    result = second(a, admin, b, lambda: load(b, "m", constant(2)), a.commit)
    assert result.result() == 2
    assert (value(admin), value(admin, "m@1")) == (2, 1)


def test_a_first_load_after_one_that_rolled_back_is_the_first(connect: Connect) -> None:
    admin, a, b = connect(), connect(autocommit=False), connect()
    load(a, "m", constant(1))
    result = second(a, admin, b, lambda: load(b, "m", constant(2)), a.rollback)
    assert result.result() == 1
    assert value(admin) == 2


def test_whoever_loads_first_owns_the_model(connect: Connect) -> None:
    admin, a, b = connect(), connect(autocommit=False), connect()
    admin.execute("CREATE ROLE lifecycle_second")
    try:
        admin.execute("GRANT EXECUTE ON FUNCTION load_model TO lifecycle_second")
        b.execute("SET ROLE lifecycle_second")
        load(a, "m", constant(1))
        result = second(a, admin, b, lambda: load(b, "m", constant(2)), a.commit)
        assert isinstance(result.exception(), errors.InsufficientPrivilege)
        assert value(admin) == 1
        assert one(admin, "SELECT count(*) FROM pgboost_models") == 1
    finally:
        b.close()
        admin.execute("DROP OWNED BY lifecycle_second; DROP ROLE lifecycle_second")


def test_a_version_cannot_be_dropped_while_it_is_being_deployed(connect: Connect) -> None:
    admin, a, b = connect(), connect(autocommit=False), connect()
    load(admin, "m", constant(1))
    load(admin, "m", constant(2))
    a.execute("SELECT deploy_model('m@1')")
    drop = "SELECT drop_model('m@1')"
    result = second(a, admin, b, lambda: b.execute(drop), a.commit)
    assert isinstance(result.exception(), errors.ObjectInUse)
    assert value(admin) == 1


def test_a_version_cannot_be_deployed_while_it_is_being_dropped(connect: Connect) -> None:
    admin, a, b = connect(), connect(autocommit=False), connect()
    load(admin, "m", constant(1))
    load(admin, "m", constant(2))
    a.execute("SELECT drop_model('m@1')")
    deploy = "SELECT deploy_model('m@1')"
    result = second(a, admin, b, lambda: b.execute(deploy), a.commit)
    assert isinstance(result.exception(), errors.UndefinedObject)
    assert value(admin) == 2


def test_a_load_into_a_model_that_is_being_dropped_makes_it_anew(connect: Connect) -> None:
    admin, a, b = connect(), connect(autocommit=False), connect()
    load(admin, "m", constant(1))
    a.execute("SELECT drop_model('m')")
    result = second(a, admin, b, lambda: load(b, "m", constant(9)), a.commit)
    assert result.result() == 1
    assert value(admin) == 9


def test_a_repeatable_read_that_comes_too_late_is_told_to_try_again(connect: Connect) -> None:
    admin, late = connect(), connect(autocommit=False)
    load(admin, "m", constant(1))
    late.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    assert value(late) == 1
    load(admin, "m", constant(2))
    with pytest.raises(errors.SerializationFailure):
        load(late, "m", constant(3))
    late.rollback()
    assert load(late, "m", constant(3)) == 3


def test_readers_do_not_wait_for_writers(connect: Connect) -> None:
    reader, writer = connect(), connect(autocommit=False)
    load(reader, "m", constant(1))
    load(writer, "m", constant(2))
    writer.execute("SELECT drop_model('m')")
    reader.execute("SET lock_timeout = '100ms'")
    assert value(reader) == 1
    assert one(connect(), "SELECT predict('m', 1)") == 1


def test_a_failed_load_stores_nothing(connect: Connect) -> None:
    connection = connect()
    with pytest.raises(errors.InvalidBinaryRepresentation):
        load(connection, "m", constant(1)[:-20])
    assert one(connection, "SELECT count(*) FROM pgboost_catalog.model") == 0
    assert one(connection, "SELECT count(*) FROM pgboost_catalog.version") == 0
    assert one(connection, "SELECT count(*) FROM pgboost_catalog.privilege") == 0
    assert load(connection, "m", constant(1)) == 1


# Statements of which one waits for the other, and the second's end once the first has committed.
@pytest.mark.parametrize(
    ("first", "later", "raised"),
    [
        ("SELECT load_model('n', %(file)s)", "SELECT rename_model('m', 'n')", "42710"),
        ("SELECT rename_model('o', 'n')", "SELECT rename_model('m', 'n')", "42710"),
        ("SELECT rename_model('m', 'p')", "SELECT rename_model('m', 'n')", "42704"),
        ("SELECT rename_model('o', 'n')", "SELECT load_model('n', %(file)s)", None),
        ("SELECT set_alias('m@1', 'live')", "SELECT set_alias('m@2', 'live')", None),
        ("SELECT pin_model('m@1')", "SELECT pin_model('m@1')", None),
        ("SELECT grant_model('m', 'public')", "SELECT grant_model('m', 'public')", None),
        ("SELECT revoke_model('m', 'public')", "SELECT grant_model('m', 'public')", None),
        (
            "SELECT set_model_owner('m', 'postgres')",
            "SELECT set_model_owner('m', 'postgres')",
            None,
        ),
        ("SELECT set_baseline('m', %(rows)s)", "SELECT set_baseline('m', %(rows)s)", None),
    ],
)
def test_two_writers_end_as_one_after_the_other(
    connect: Connect, first: str, later: str, raised: str | None
) -> None:
    admin, a, b = connect(), connect(autocommit=False), connect()
    for name in ("m", "m", "o"):
        load(admin, name, constant(1))
    arguments = {"file": constant(2), "rows": "SELECT 1 AS f1"}
    a.execute(first, arguments)
    result = second(a, admin, b, lambda: b.execute(later, arguments), a.commit)
    failed = result.exception()
    assert (failed.sqlstate if failed else None) == raised, failed
    if raised == "42710":
        assert str(failed).startswith('model "n" already exists')
    admin.execute("SELECT unpin_model('m@1') WHERE %s", ("pin" in later,))


def test_a_first_load_that_comes_second_means_what_the_first_does(connect: Connect) -> None:
    admin, a, b = connect(), connect(autocommit=False), connect()
    load(a, "m", constant(1))
    binary = constant(2).replace(b"reg:squarederror", b"binary:logistic")
    result = second(a, admin, b, lambda: load(b, "m", binary), a.commit)
    assert isinstance(result.exception(), errors.ObjectNotInPrerequisiteState)
    assert value(admin) == 1
