"""Connections see a change with their first statement after its commit, and not before."""

from contextlib import suppress

import psycopg
import pytest
from psycopg import Connection, errors

from tests.connections import Connect, until
from tests.extension.lifecycle.models import call, constant, drop_all, load, one, value


@pytest.fixture(autouse=True)
def model(connection: Connection) -> None:
    """Version 1 of m answers 1; each test finds it so."""
    drop_all(connection)
    load(connection, "m", constant(1))


BEFORE = {"m": 1, "m@1": 1, "m@2": None, "late": None}
# Changes of a transaction, each a load of a model that answers the number or a call; then the answers.
CHANGES = {
    "a load": ([2], BEFORE | {"m": 2, "m@2": 2}),
    "a deploy": ([2, "deploy_model('m@1')"], BEFORE | {"m@2": 2}),
    "a drop": (["drop_model('m')"], dict.fromkeys(BEFORE)),
    "a new name": (["rename_model('m', 'late')"], dict.fromkeys(BEFORE) | {"late": 1}),
    "other bytes by the same name and number": (
        ["drop_model('m')", 7], BEFORE | {"m": 7, "m@1": 7},
    ),
}  # fmt: skip


def answers(session: Connection) -> dict[str, float | None]:
    """The answer of each reference, None of one that does not exist."""
    found: dict[str, float | None] = dict.fromkeys(BEFORE)
    for reference in found:
        with suppress(errors.UndefinedObject), session.transaction():
            found[reference] = value(session, reference)
    return found


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK", "COMMIT PREPARED", "ROLLBACK PREPARED"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_from_its_commit_on(connect: Connect, change: str, end: str) -> None:
    """A prepared one by any connection."""
    reader, writer = connect(), connect(autocommit=False)
    steps, after = CHANGES[change]
    assert answers(reader) == BEFORE
    for step in steps:
        call(writer, step)
    assert answers(writer) == after
    assert answers(reader) == BEFORE
    if end.endswith("PREPARED"):
        writer.execute("PREPARE TRANSACTION 'change'")
        assert answers(reader) == answers(writer) == BEFORE
        reader.execute(f"{end} 'change'")
    else:
        writer.execute(end)
    expected = after if end.startswith("COMMIT") else BEFORE
    assert answers(reader) == answers(writer) == expected


@pytest.mark.parametrize("first", ["SELECT 1", "SELECT predict('m', 1)"])
@pytest.mark.parametrize("level", ["REPEATABLE_READ", "SERIALIZABLE"])
def test_a_repeatable_read_keeps_its_version_until_it_ends(
    connect: Connect, level: str, first: str
) -> None:
    """Its snapshot is from before the load, whether it has cached the version or not."""
    reader, other, writer = connect(autocommit=False), connect(), connect()
    reader.isolation_level = psycopg.IsolationLevel[level]
    assert one(reader, first) == 1
    load(writer, "m", constant(2))
    assert value(reader) == 1
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


@pytest.mark.parametrize("level", ["REPEATABLE_READ", "SERIALIZABLE"])
def test_what_an_old_snapshot_sees_is_not_remembered(connect: Connect, level: str) -> None:
    """The next snapshot sees the change, after which nothing else was committed."""
    reader, writer = connect(autocommit=False), connect()
    reader.isolation_level = psycopg.IsolationLevel[level]
    assert one(reader, "SELECT 1") == 1
    load(writer, "m", constant(2))
    assert value(reader) == 1
    reader.rollback()
    assert value(reader) == 2


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
        until(lambda: one(writer, locked) > 0)
        load(writer, "m", constant(2))
    answers = [row[0] for row in reader.execute("SELECT value FROM seen ORDER BY i")]
    assert value(reader) == 2
    assert answers[0] == 1
    assert answers[-1] in (1, 2) and answers == sorted(answers)
    assert len(answers) < 100, "the loop never saw the new version"


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
