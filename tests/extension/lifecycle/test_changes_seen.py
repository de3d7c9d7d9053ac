"""Connections see a change with their first statement after its commit, and not before."""

import time
from contextlib import suppress

import psycopg
import pytest
from psycopg import Connection, errors

from tests.connections import Connect
from tests.extension.lifecycle.models import call, constant, drop_all, load, one, value


@pytest.fixture(autouse=True)
def model(connection: Connection) -> None:
    """Version 1 of m answers 1; each test finds it so."""
    drop_all(connection)
    load(connection, "m", constant(1))


# Changes of a transaction, each a load of a model that answers the number or a call; then the answers.
CHANGES = {
    "a load": ([2], {"m": 2, "m@1": 1, "m@2": 2}),
    "a drop": (["drop_model('m')"], {"m": None, "m@1": None, "m@2": None}),
    "other bytes by the same name and number": (
        ["drop_model('m')", 7], {"m": 7, "m@1": 7, "m@2": None},
    ),
}  # fmt: skip
BEFORE = {"m": 1, "m@1": 1, "m@2": None}


def answers(session: Connection) -> dict[str, float | None]:
    """The answer of each reference, None of one that does not exist."""
    found: dict[str, float | None] = dict.fromkeys(BEFORE)
    for reference in found:
        with suppress(errors.UndefinedObject), session.transaction():
            found[reference] = value(session, reference)
    return found


@pytest.mark.parametrize("end", ["commit", "rollback"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_from_its_commit_on(connect: Connect, change: str, end: str) -> None:
    reader, writer = connect(), connect(autocommit=False)
    steps, after = CHANGES[change]
    assert answers(reader) == BEFORE
    for step in steps:
        call(writer, step)
    assert answers(writer) == after
    assert answers(reader) == BEFORE
    getattr(writer, end)()
    expected = after if end == "commit" else BEFORE
    assert answers(reader) == answers(writer) == expected


def test_deploy_is_seen_at_once_by_every_connection(connect: Connect) -> None:
    readers, writer = [connect() for _ in range(5)], connect()
    load(writer, "m", constant(2))
    for version in (1, 2, 1, 1, 2):
        writer.execute("SELECT deploy_model(%s)", (f"m@{version}",))
        assert [value(reader) for reader in readers] == [version] * 5


def test_a_model_that_did_not_exist_is_found_once_it_does(connect: Connect) -> None:
    reader, writer = connect(), connect()
    with pytest.raises(errors.UndefinedObject):
        value(reader, "late")
    load(writer, "late", constant(3))
    assert value(reader, "late") == 3


def test_an_open_transaction_sees_commits_between_its_statements(connect: Connect) -> None:
    reader, writer = connect(autocommit=False), connect()
    assert value(reader) == 1
    load(writer, "m", constant(2))
    assert value(reader) == 2
    reader.rollback()
    assert value(reader) == 2


@pytest.mark.parametrize("level", ["REPEATABLE_READ", "SERIALIZABLE"])
def test_a_repeatable_read_keeps_its_version_until_it_ends(connect: Connect, level: str) -> None:
    reader, other, writer = connect(autocommit=False), connect(), connect()
    reader.isolation_level = psycopg.IsolationLevel[level]
    assert one(reader, "SELECT 1") == 1
    load(writer, "m", constant(2))
    assert value(reader) == 1  # its snapshot is from before, although it had cached nothing
    assert value(other) == 2
    writer.execute("SELECT deploy_model('m@1'), drop_model('m@2')")
    load(writer, "m", constant(3))
    writer.execute("SELECT drop_model('m')")
    load(writer, "m", constant(4))
    assert value(reader) == 1
    with pytest.raises(errors.UndefinedObject):
        value(reader, "m@2")
    reader.rollback()
    assert value(reader) == 4


def test_versions_of_a_repeatable_read_do_not_leak_into_later_statements(connect: Connect) -> None:
    reader, writer = connect(autocommit=False), connect()
    reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    assert value(reader) == 1
    load(writer, "m", constant(2))
    for _ in range(10):
        assert value(reader) == 1
    reader.commit()
    assert value(reader) == 2
    reader.commit()


def test_a_cursor_keeps_the_version_of_its_snapshot(connect: Connect) -> None:
    reader, writer = connect(autocommit=False), connect()
    with reader.cursor("c") as cursor:
        cursor.itersize = 1
        cursor.execute("SELECT predict('m', 1) FROM generate_series(1, 10)")
        assert cursor.fetchone() == (1,)
        load(writer, "m", constant(2))
        assert value(reader) == 2
        assert cursor.fetchmany(3) == [(1,)] * 3
        writer.execute("SELECT drop_model('m')")
        with pytest.raises(errors.UndefinedObject), reader.transaction():
            value(reader)
        assert cursor.fetchmany(3) == [(1,)] * 3
    with pytest.raises(errors.UndefinedObject):
        value(reader)


def test_a_statement_that_runs_meanwhile_gives_one_version(connect: Connect) -> None:
    reader, writer = connect(autocommit=False), connect()
    scan = "SELECT predict('m', 1), pg_sleep(0.002) FROM generate_series(1, 200)"
    with reader.cursor("c") as cursor:
        cursor.itersize = 20
        cursor.execute(scan)
        answers = set()
        for index, (answer, _) in enumerate(cursor):
            answers.add(answer)
            if index == 50:
                load(writer, "m", constant(2))
    assert answers == {1}


def test_prepared_statements_and_functions_follow(connect: Connect) -> None:
    reader, writer = connect(), connect()
    reader.execute("SET plan_cache_mode = force_generic_plan")
    reader.execute("PREPARE p AS SELECT predict('m', 1)")
    reader.execute(
        "CREATE FUNCTION pg_temp.f() RETURNS real LANGUAGE plpgsql STABLE "
        "AS 'BEGIN RETURN predict(''m'', 1); END'"
    )
    for version in range(1, 5):
        if version > 1:
            load(writer, "m", constant(version))
        assert one(reader, "EXECUTE p") == version
        assert one(reader, "SELECT pg_temp.f()") == version


def test_a_loop_in_plpgsql_sees_commits_of_others(connect: Connect) -> None:
    reader, writer = connect(), connect()
    reader.execute("CREATE TABLE IF NOT EXISTS seen (i serial, value real)")
    loop = """
        DO $$ BEGIN
            FOR i IN 1..100 LOOP
                INSERT INTO seen (value) VALUES (predict('m', 1));
                PERFORM pg_advisory_xact_lock(1);
                EXIT WHEN predict('m', 1) = 2;
                PERFORM pg_sleep(0.02);
            END LOOP;
        END $$"""
    with reader.pipeline():
        reader.execute(loop)
        locked = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
        until = time.monotonic() + 10
        while one(writer, locked) == 0:
            assert time.monotonic() < until, "the loop has not begun"
        load(writer, "m", constant(2))
    answers = [row[0] for row in reader.execute("SELECT value FROM seen ORDER BY i")]
    assert value(reader) == 2
    assert answers[0] == 1
    assert answers[-1] in (1, 2) and answers == sorted(answers)
    assert len(answers) < 100, "the loop never saw the new version"


def test_changes_by_replication_are_seen(connect: Connect) -> None:
    """Logical replication applies changes with this setting, under which triggers rest."""
    reader, writer = connect(), connect()
    load(writer, "m", constant(2))
    assert value(reader) == 2
    writer.execute("SET session_replication_role = replica")
    writer.execute("UPDATE pgboost_catalog.model SET deployed = 1 WHERE name = 'm'")
    assert value(reader) == 1


def test_changes_before_the_extension_is_first_used_are_seen(connect: Connect) -> None:
    """A connection that has not called a function of the extension does not receive invalidations for it."""
    reader, writer = connect(), connect()
    assert one(reader, "SELECT 1") == 1
    load(writer, "m", constant(2))
    assert value(reader) == 2
    load(writer, "m", constant(3))
    assert value(reader) == 3


def test_many_models_and_names_that_are_made_up(connect: Connect) -> None:
    """A backend forgets names beyond a number; its answers stay right."""
    reader, writer = connect(), connect()
    for index in range(20):
        load(writer, f"model {index}", constant(index))
    for index in range(1500):
        with pytest.raises(errors.UndefinedObject):
            value(reader, f"no such {index}")
    for index in range(2500):
        assert value(reader, f"model {index % 20}{'@1' if index % 3 else ''}") == index % 20
    writer.execute("SELECT drop_model('model 3')")
    with pytest.raises(errors.UndefinedObject):
        value(reader, "model 3")


def test_the_tables_may_be_rewritten(connect: Connect) -> None:
    reader, writer = connect(), connect()
    assert value(reader) == 1
    for command in (
        "VACUUM FULL pgboost_catalog.version", "VACUUM FULL pgboost_catalog.model",
        "REINDEX TABLE pgboost_catalog.version",
        "REINDEX TABLE pgboost_catalog.privilege", "CLUSTER pgboost_catalog.model USING model_pkey",
        "ANALYZE pgboost_catalog.version",
    ):  # fmt: skip
        writer.execute(command)
        assert value(reader) == 1
    load(writer, "m", constant(2))
    assert value(reader) == 2
