"""Two connections that change the same model wait for each other, and no change is lost."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg import Connection, errors

from tests.connections import Connect, waits
from tests.extension.lifecycle.models import call, constant, drop_all, load, one, value


@pytest.fixture(autouse=True)
def clean(connection: Connection) -> None:
    drop_all(connection)


def second(
    admin: Connection, later: Connection, work: Callable[[], Any], end: Callable[[], None]
) -> Future:
    """Does the work of the later connection, and ends the first one once it waits."""
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(work)
        waits(admin, later)
        end()
        result.exception(timeout=10)
    return result


# Loads before, the change of the first connection, its end, the change of the second, and the version or the
# error that this one gets; then the answers by reference.
MEETINGS = {
    "two loads": ([1], 2, "commit", 3, 3, {"m": 3, "m@2": 2, "m@3": 3}),
    "two first loads": ([], 1, "commit", 2, 2, {"m": 2, "m@1": 1}),
    "a first load after one that rolled back": ([], 1, "rollback", 2, 1, {"m": 2}),
    "a drop of a version that is being deployed": (
        [1, 2], "deploy_model('m@1')", "commit", "drop_model('m@1')", errors.ObjectInUse, {"m": 1},
    ),
    "a deploy of a version that is being dropped": (
        [1, 2], "drop_model('m@1')", "commit", "deploy_model('m@1')", errors.UndefinedObject, {"m": 2},
    ),
    "a load into a model that is being dropped": ([1], "drop_model('m')", "commit", 9, 1, {"m": 9}),
}  # fmt: skip


@pytest.mark.parametrize("meeting", MEETINGS)
def test_the_second_change_waits_for_the_first(connect: Connect, meeting: str) -> None:
    before, earlier, end, later, expected, answers = MEETINGS[meeting]
    admin, first, other = connect(), connect(autocommit=False), connect()
    for content in before:
        load(admin, "m", constant(content))
    call(first, earlier)
    result = second(admin, other, lambda: call(other, later), getattr(first, end))
    if isinstance(expected, int):
        assert result.result() == expected
    else:
        assert isinstance(result.exception(), expected)
    assert {reference: value(admin, reference) for reference in answers} == answers


def test_whoever_loads_first_owns_the_model(connect: Connect) -> None:
    admin, a, b = connect(), connect(autocommit=False), connect()
    admin.execute("CREATE ROLE lifecycle_second")
    try:
        admin.execute("GRANT EXECUTE ON FUNCTION load_model TO lifecycle_second")
        b.execute("SET ROLE lifecycle_second")
        load(a, "m", constant(1))
        result = second(admin, b, lambda: load(b, "m", constant(2)), a.commit)
        assert isinstance(result.exception(), errors.InsufficientPrivilege)
        assert value(admin) == 1
        assert one(admin, "SELECT count(*) FROM pgboost_models") == 1
    finally:
        b.close()
        admin.execute("DROP OWNED BY lifecycle_second; DROP ROLE lifecycle_second")


def test_a_late_writer_of_repeatable_read_gets_a_serialization_failure(connect: Connect) -> None:
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


def test_a_failed_load_stores_nothing(connection: Connection) -> None:
    with pytest.raises(errors.InvalidBinaryRepresentation):
        load(connection, "m", constant(1)[:-20])
    assert one(connection, "SELECT count(*) FROM pgboost_catalog.model") == 0
    assert one(connection, "SELECT count(*) FROM pgboost_catalog.version") == 0
    assert one(connection, "SELECT count(*) FROM pgboost_catalog.privilege") == 0
    assert load(connection, "m", constant(1)) == 1


SET_OWNER = "SELECT set_model_owner('m', 'postgres')"


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
        (SET_OWNER, SET_OWNER, None),
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
    result = second(admin, b, lambda: b.execute(later, arguments), a.commit)
    failed = result.exception()
    assert (failed.sqlstate if failed else None) == raised, failed
    if raised == "42710":
        assert str(failed).startswith('model "n" already exists')
    admin.execute("SELECT unpin_model('m@1') WHERE %s", ("pin" in later,))


def test_concurrent_first_loads_have_one_meaning(connect: Connect) -> None:
    admin, a, b = connect(), connect(autocommit=False), connect()
    load(a, "m", constant(1))
    binary = constant(2).replace(b"reg:squarederror", b"binary:logistic")
    result = second(admin, b, lambda: load(b, "m", binary), a.commit)
    assert isinstance(result.exception(), errors.ObjectNotInPrerequisiteState)
    assert value(admin) == 1
