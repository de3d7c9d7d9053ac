"""Scores that triggers keep (`maintain_scores`): through dumps, cancels and other sessions."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection, errors

from tests.connections import Connect
from tests.extension.lifecycle.conftest import moved
from tests.extension.lifecycle.models import constant, drop_all, grown, load, one
from tools.cluster import Cluster

SCORES = "SELECT array_agg((id, score, score_version)::text ORDER BY id) FROM scored"
BEHIND = "SELECT rows_behind FROM pgboost_scores"


@pytest.fixture(autouse=True)
def scored(connection: Connection) -> Iterator[None]:
    """A table of 5,000 rows whose scores are kept, and two versions; the first is deployed."""
    connection.execute("DROP TABLE IF EXISTS scored")
    drop_all(connection)
    load(connection, "m", constant(1))
    load(connection, "m", constant(2))
    connection.execute("SELECT deploy_model('m@1')")
    connection.execute("CREATE TABLE scored (id integer PRIMARY KEY, f1 real)")
    connection.execute("SELECT maintain_scores('scored', 'm')")
    connection.execute("INSERT INTO scored SELECT i, i FROM generate_series(1, 5000) AS i")
    yield
    connection.execute("DROP TABLE IF EXISTS scored")


@pytest.mark.parametrize("way", ["plain", "archive"])
def test_a_dump_brings_scores_and_triggers(
    cluster: Cluster, connection: Connection, dbname: str, tmp_path: Path, way: str
) -> None:
    """Rows keep the scores of their version: restoring computes none."""
    connection.execute("UPDATE scored SET f1 = 0 WHERE id = 1")
    connection.execute("SELECT deploy_model('m@2')")
    connection.execute("INSERT INTO scored VALUES (0, 1)")
    with cluster.connect(moved(cluster, dbname, way, tmp_path)) as copy:
        assert one(copy, SCORES) == one(connection, SCORES)
        assert one(copy, BEHIND) == one(connection, BEHIND) == 5000
        copy.execute("INSERT INTO scored VALUES (-1, 1)")
        assert one(copy, "SELECT score FROM scored WHERE id = -1") == 2
        copy.execute("CALL refresh_scores('scored', 700)")
        assert one(copy, BEHIND) == 0
        with pytest.raises(errors.ObjectInUse):
            copy.execute("SELECT drop_model('m')")


def test_a_stopped_refresh_is_resumed(connection: Connection, connect: Connect) -> None:
    """Committed batches stay, and the next refresh does the rest."""
    connection.execute("SELECT deploy_model('m@2')")
    stopped = connect()
    stopped.execute(
        "CREATE OR REPLACE FUNCTION stop_at() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN IF NEW.id = 3000 THEN RAISE EXCEPTION SQLSTATE '57014'; END IF; RETURN NEW; END $$;"
        "CREATE TRIGGER stop_at BEFORE UPDATE ON scored FOR EACH ROW EXECUTE FUNCTION stop_at()"
    )
    with pytest.raises(errors.QueryCanceled):
        stopped.execute("CALL refresh_scores('scored', 500)")
    stopped.execute("DROP TRIGGER stop_at ON scored")
    assert 1000 <= one(connection, BEHIND) <= 4000
    connection.execute("CALL refresh_scores('scored', 500)")
    assert one(connection, BEHIND) == 0
    made = "SELECT count(*) FROM scored WHERE score = 2 AND score_version = 2"
    assert one(connection, made) == 5000


def test_a_refresh_warns_once_per_column(connection: Connection) -> None:
    """Each of its batches is a statement, and each partition a table."""
    connection.execute(
        "CREATE TABLE halves (f1 real) PARTITION BY RANGE (f1);"
        "CREATE TABLE low PARTITION OF halves FOR VALUES FROM (0) TO (2500);"
        "CREATE TABLE high PARTITION OF halves FOR VALUES FROM (2500) TO (5001);"
        "SELECT maintain_scores('halves', 'm');"
        "SELECT maintain_scores('halves', 'm', score_column => 'margin', version_column => 'of_margin',"
        " output => 'predict_margin');"
        "INSERT INTO halves SELECT f1 FROM scored"
    )
    load_version = "SELECT load_model('m', %s, feature_names => '{f1,f9}', allow_change => true)"
    connection.execute(load_version, (grown(3, 3, 2, 1),))
    heard: list[str] = []
    connection.add_notice_handler(lambda notice: heard.append(notice.message_primary or ""))
    for _ in range(2):
        heard.clear()
        connection.execute("CALL refresh_scores('halves', 500)")
        columns = [message.split('"')[1] for message in heard]
        assert sorted(columns) == ["margin", "score"], heard
    heard.clear()
    connection.execute("UPDATE halves SET f1 = f1")
    assert len(heard) == 2
    connection.execute("DROP TABLE halves")


@pytest.mark.parametrize(
    "begin",
    [
        "BEGIN",
        "CREATE OR REPLACE FUNCTION refresh() RETURNS void"
        " LANGUAGE plpgsql AS $$ BEGIN CALL refresh_scores('scored'); END $$",
    ],
)
def test_a_refresh_in_a_transaction_block_says_so(connection: Connection, begin: str) -> None:
    """Also if there is nothing to do."""
    connection.execute(begin)
    call = "CALL refresh_scores('scored')" if begin == "BEGIN" else "SELECT refresh()"
    with pytest.raises(
        errors.ActiveSqlTransaction, match="cannot run inside a transaction"
    ) as found:
        connection.execute(call)
    assert "It commits after each batch" in (found.value.diag.message_hint or "")
    connection.execute("ROLLBACK")
    connection.execute("CALL refresh_scores('scored')")
    connection.execute("DO $$ BEGIN CALL refresh_scores('scored'); END $$")


def test_a_deployment_during_a_statement_counts_for_the_next(
    connection: Connection, connect: Connect
) -> None:
    writer = connect()
    writer.execute("PREPARE written AS INSERT INTO scored VALUES ($1, 0) RETURNING score_version")
    versions = []
    for number, version in enumerate((1, 2, 1, 2)):
        connection.execute("SELECT deploy_model(%s)", (f"m@{version}",))
        versions.append(one(writer, f"EXECUTE written({-number})"))
    assert versions == [1, 2, 1, 2]
    writer.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    connection.execute("SELECT deploy_model('m@1')")
    assert one(writer, "EXECUTE written(-9)") == 2
    writer.execute("ROLLBACK")


def test_a_score_is_the_prediction_of_its_version_after_any_changes(
    connection: Connection,
) -> None:
    """Of versions that read different features."""
    draw = random.Random(5)
    for seed, features in enumerate(("{f1,f2}", "{f2,f3}", "{f3,f1}")):
        load_version = "SELECT load_model('n', %s, feature_names => %s, allow_change => true)"
        connection.execute(load_version, (grown(3, 3, 2, seed), features))
    connection.execute("CREATE TEMPORARY TABLE any_row (id serial, f1 real, f2 real, f3 real)")
    connection.execute("SELECT maintain_scores('any_row', 'n')")
    changes = [
        "INSERT INTO any_row (f1, f2, f3) SELECT random(), random(), random() FROM generate_series(1, 3)",
        *(f"UPDATE any_row SET {name} = random() WHERE id % 3 = 0" for name in ("f1", "f2", "f3")),
        "UPDATE any_row SET score_version = NULL WHERE id % 5 = 0",
        "UPDATE any_row SET score = 1 - score WHERE id % 4 = 0",
        *(f"SELECT deploy_model('n@{number}', allow_change => true)" for number in (1, 2, 3)),
        "CALL refresh_scores('any_row')",
    ]
    for change in draw.choices(changes, [3, 2, 2, 2, 1, 1, 2, 2, 2, 0.3], k=150):
        connection.execute(change)
        wrong = "score IS DISTINCT FROM predict('n@' || score_version, r)"
        query = f"SELECT count(*) FROM any_row AS r WHERE {wrong}"
        assert one(connection, query) == 0, change
    connection.execute("DROP TABLE any_row")


def test_a_drop_waits_for_scores_of_open_transactions(
    connection: Connection, connect: Connect
) -> None:
    connection.execute("DROP TABLE scored")
    owner, other = connect(), connect()
    other.execute("CREATE TABLE scored (id integer PRIMARY KEY, f1 real)")
    other.execute("BEGIN; SELECT maintain_scores('scored', 'm')")
    owner.execute("SET lock_timeout = 100")
    with pytest.raises(errors.LockNotAvailable):
        owner.execute("SELECT drop_model('m')")
    other.execute("COMMIT")
    with pytest.raises(errors.ObjectInUse):
        owner.execute("SELECT drop_model('m')")


def test_a_large_table_is_refreshed(connection: Connection) -> None:
    """Of more pages than fit into an integer, times the rows of a batch."""
    connection.execute(
        "UPDATE pg_class SET relpages = 300000, reltuples = 3e7 WHERE oid = 'scored'::regclass"
    )
    connection.execute("SELECT deploy_model('m@2')")
    connection.execute("CALL refresh_scores('scored')")
    assert one(connection, BEHIND) == 0


def test_triggers_of_the_table_find_what_they_name(connection: Connection) -> None:
    """A refresh runs them by the caller's search path, also those at the end of each of its transactions."""
    connection.execute("SELECT deploy_model('m@2')")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS audit (id integer);"
        "CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN INSERT INTO audit VALUES (NEW.id); RETURN NEW; END $$;"
        "CREATE TRIGGER note BEFORE UPDATE ON scored FOR EACH ROW EXECUTE FUNCTION note();"
        "CREATE CONSTRAINT TRIGGER later AFTER UPDATE ON scored DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION note()"
    )
    connection.execute("CALL refresh_scores('scored', 700)")
    assert one(connection, BEHIND) == 0
    assert one(connection, "SELECT count(*) FROM audit") == 10000


def test_temporary_tables_of_other_sessions_are_not_counted(
    connection: Connection, connect: Connect
) -> None:
    other = connect()
    other.execute("CREATE TEMPORARY TABLE scratch (f1 real)")
    other.execute("SELECT maintain_scores('scratch', 'm')")
    other.execute("INSERT INTO scratch VALUES (1); UPDATE scratch SET f1 = 2")
    counts = "SELECT array_agg(rows_behind ORDER BY rows_behind) FROM pgboost_scores"
    assert one(connection, counts) == [0, None]
    assert one(other, counts) == [0, 0]
    other.execute("DROP TABLE scratch")


def test_planted_objects_are_not_used(connection: Connection, connect: Connect) -> None:
    """Operators and functions that another role has put first on the search path."""
    connection.execute("SELECT deploy_model('m@2')")
    connection.execute("CREATE SCHEMA planted; CREATE TABLE planted.pg_trigger (tgrelid oid)")
    body = "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$"
    for planted in ("integer", "bigint", "name", "oid", "text"):
        both = f"({planted}, {planted})"
        connection.execute(f"CREATE FUNCTION planted.wrong{both} RETURNS boolean {body}")
        for operator in ("=", "<", ">="):
            types = f"LEFTARG = {planted}, RIGHTARG = {planted}, FUNCTION = planted.wrong"
            connection.execute(f"CREATE OPERATOR planted.{operator} ({types})")
    connection.execute(f"CREATE FUNCTION planted.pg_relation_size(regclass) RETURNS bigint {body}")
    connection.execute(
        f"CREATE FUNCTION planted.set_config(text, text, boolean) RETURNS text {body}"
    )
    try:
        user = connect()
        user.execute("SET search_path = planted, public, pg_catalog")
        with pytest.raises(errors.RaiseException):
            user.execute("SELECT 1 = 1")
        user.execute("CALL refresh_scores('scored', 900)")
        assert one(user, "SELECT rows_behind FROM pgboost_scores") == 0
        user.execute("INSERT INTO scored VALUES (-1, 1); UPDATE scored SET f1 = 9")
        user.execute("SELECT drop_scores('scored'), maintain_scores('scored', 'm')")
        assert one(user, "SHOW search_path") == "planted, public, pg_catalog"
    finally:
        connection.execute("DROP SCHEMA planted CASCADE")
