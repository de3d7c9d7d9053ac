"""Cancel, timeout, terminate and rollback; progress as another connection sees it."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection, errors

from tests.connections import Connect, running_since, until
from tests.extension.train.conftest import Raises
from tests.extension.train.running import (
    ALLOWANCE,
    ENDLESS,
    FOREST,
    LONG_ROUND,
    PATIENCE,
    TRAIN,
    Running,
    gone,
    seen,
    trainer_of,
    trainers,
)
from tools.cluster import start, stop
from tools.cluster.server import bin_directory

# A second of reading, and then minutes of rounds.
LONG = (
    "SELECT i AS a, sin(i) AS b, cos(i) AS c, (i % 1000) AS y FROM generate_series(1, 200000) AS i"
)
PARAMS = '{"max_depth": 10}'
KIND = "SELECT * FROM {}, rounds => 100000)"
FILES = "SELECT count(*) FROM pg_ls_dir('pg_stat_tmp') AS f WHERE f LIKE 'pgboost_train%'"


@pytest.fixture
def untouched(connection: Connection) -> Iterator[None]:
    """After the test, there is no model, no progress, no file, and the server is the same."""
    started = running_since(connection)
    yield
    for query in ("pgboost_models WHERE name = 'long'", "pg_stat_progress_train_model"):
        assert connection.execute(f"SELECT count(*) FROM {query}").fetchone() == (0,)

    def files_of_progress() -> int:
        connection.execute("SELECT * FROM pgboost_catalog.progress_records()")
        return connection.execute(FILES).fetchone()[0]

    until(files_of_progress, 0, PATIENCE)
    (temporary,) = connection.execute("SELECT count(*) FROM pg_ls_tmpdir()").fetchone()
    assert temporary == 0
    assert running_since(connection) == started


def end(connection: Connection, running: Running, how: str) -> None:
    """Ends a training by `pg_HOW_backend`, at once; after a cancel its connection goes on."""
    before = time.monotonic()
    connection.execute(f"SELECT pg_{how}_backend(%s)", (running.pid,))
    assert running.ended() == {"cancel": "57014", "terminate": "57P01"}[how]
    assert time.monotonic() - before < ALLOWANCE
    if how == "cancel":
        assert running.connection.execute("SELECT xgboost_version()").fetchone()
    else:
        assert gone(running.pid)


@pytest.mark.parametrize("how", ["cancel", "terminate"])
def test_progress_is_seen_while_rows_are_read(
    connection: Connection, connect: Connect, untouched: None, how: str
) -> None:
    running = Running(connect(), ENDLESS)
    first = seen(connection, running.pid, "reading rows")
    row = seen(connection, running.pid, "reading rows", rows=first[1] + 1)
    assert row[5:] == ("long", connection.info.dbname, "postgres")
    end(connection, running, how)


@pytest.mark.parametrize("how", ["cancel", "terminate"])
def test_rounds_end_at_once(
    connection: Connection, connect: Connect, untouched: None, how: str
) -> None:
    running = Running(connect(), LONG)
    assert seen(connection, running.pid, "training", rounds=3)[3] == 100000
    end(connection, running, how)


@pytest.mark.parametrize(("statement", "phase", "how"), [
    (TRAIN, "training", "cancel"),
    (TRAIN, "training", "terminate"),
    (KIND.format("cross_validate_model(%s, 'y', %s, folds => 2"), "training", "cancel"),
    (KIND.format("tune_model(%s, 'y', '{\"eta\": [0.1, 0.2]}', %s, eval_fraction => 0.1"), "trial 1 of 2",
        "cancel"),
    (KIND.format("train_model('long', %s, 'y', %s, continue_from => 'before'"), "training", "cancel"),
])  # fmt: skip
@pytest.mark.usefixtures("untouched")
def test_a_round_ends_at_once(
    connection: Connection, connect: Connect, statement: str, phase: str, how: str
) -> None:
    if "before" in statement:
        small = LONG_ROUND.replace("200000", "1000")
        connection.execute("SELECT train_model('before', %s, 'y', rounds => 2)", (small,))
    running = Running(connect(), LONG_ROUND, FOREST, statement)
    trainer = trainer_of(connection, running.pid, phase)
    row = seen(connection, running.pid, phase)
    assert row[5] == ("long" if "'long'" in statement else None)
    end(connection, running, how)
    assert gone(trainer)


def test_it_holds_back_vacuum_and_locks_its_source_for_reading_alone(
    connection: Connection, connect: Connect, untouched: None
) -> None:
    """As docs/operations.md says."""
    connection.execute(f"CREATE TABLE held AS {LONG_ROUND}")
    running = Running(connect(), "held", FOREST)
    seen(connection, running.pid, "training")
    held_back = "SELECT backend_xmin IS NOT NULL FROM pg_stat_activity WHERE pid = %s"
    assert connection.execute(held_back, (running.pid,)).fetchone() == (True,)
    locks = "SELECT DISTINCT mode FROM pg_locks WHERE pid = %s AND relation = 'held'::regclass"
    assert connection.execute(locks, (running.pid,)).fetchall() == [("AccessShareLock",)]
    connection.execute("INSERT INTO held SELECT * FROM held LIMIT 1")
    running.connection.cancel()
    assert running.ended() == "57014"
    connection.execute("DROP TABLE held")


def test_fast_shutdown_and_crash_act_in_a_round(tmp_path: Path) -> None:
    state = tmp_path / "ended"
    running, _ = start(state, 54336)
    try:
        with running.connect() as connection:
            # The cluster commits without waiting for the log; a crash would lose the extension.
            connection.execute("SET synchronous_commit = on")
            connection.execute("CREATE EXTENSION pgboost_train CASCADE")
        for how in ("crash", "fast"):
            with running.connect() as watcher:
                training = Running(running.connect(), LONG_ROUND, FOREST)
                trainer = trainer_of(watcher, training.pid)
                before = time.monotonic()
                if how == "crash":
                    running.place.run("kill", "-9", str(training.pid))
                    assert training.ended() is None
                else:
                    pg_ctl = bin_directory() / "pg_ctl"
                    running.place.run(pg_ctl, "stop", "-D", running.place.data, "-m", "fast")
                    assert time.monotonic() - before < ALLOWANCE
                    assert training.ended() == "57P01"
            assert gone(trainer)
            running, _ = start(state, 54336)
    finally:
        stop(state, delete=True)


@pytest.mark.parametrize(("milliseconds", "source", "params"), [
    *((milliseconds, LONG, PARAMS) for milliseconds in (150, 350, 550, 750, 1250)),
    (1500, LONG_ROUND, FOREST),
])  # fmt: skip
@pytest.mark.usefixtures("untouched")
def test_timeout_acts_in_every_phase(
    connect: Connect, milliseconds: int, source: str, params: str
) -> None:
    other = connect()
    other.execute(f"SET statement_timeout = {milliseconds}")
    before = time.monotonic()
    with pytest.raises(errors.QueryCanceled):
        other.execute(TRAIN, (source, params))
    assert time.monotonic() - before < milliseconds / 1000 + ALLOWANCE
    assert trainers(other.info.backend_pid) == []
    other.execute("SET statement_timeout = 0")
    other.execute(
        "SELECT train_model('short', 'SELECT i AS a, i AS y FROM generate_series(1, 100) i', 'y')"
    )


def test_users_see_their_own_trainings_and_monitors_all(
    connection: Connection, connect: Connect, untouched: None
) -> None:
    watcher = connect("watcher", new=True)
    running = Running(connect(), ENDLESS)
    seen(connection, running.pid, "reading rows")
    count = "SELECT count(*) FROM pg_stat_progress_train_model"
    assert watcher.execute(count).fetchone() == (0,)
    connection.execute("GRANT pg_monitor TO watcher")
    assert watcher.execute(count).fetchone() == (1,)
    running.connection.cancel()
    assert running.ended() == "57014"


def test_rollback_leaves_no_model(connect: Connect, untouched: None) -> None:
    small = "SELECT i AS a, i AS y FROM generate_series(1, 100) AS i"
    with connect(autocommit=False) as other:
        other.execute("SELECT train_model('long', %s, 'y', rounds => 2)", (small,))
        assert other.execute("SELECT predict('long', 5) > 0").fetchone() == (True,)
        other.rollback()
        other.execute("SAVEPOINT s")
        other.execute("SELECT train_model('long', %s, 'y', rounds => 2)", (small,))
        other.execute("ROLLBACK TO s")
        with pytest.raises(errors.UndefinedObject):
            other.execute("SELECT predict('long', 5)")
        other.rollback()


def test_errors_inside_the_query_end_the_training(
    connection: Connection, raises: Raises, untouched: None
) -> None:
    query = "SELECT i AS a, 1 / (5000 - i) AS y FROM generate_series(1, 10000) AS i"
    raises("22012", TRAIN, (query, PARAMS))
    with connection.transaction(), pytest.raises(errors.ConfigurationLimitExceeded):
        connection.execute("SET LOCAL temp_file_limit = '1MB'")
        connection.execute(TRAIN, (LONG, PARAMS))


def test_read_only_transactions_train_nothing(raises: Raises, connect: Connect) -> None:
    other = connect()
    other.execute("SET default_transaction_read_only = on")
    raises("25006", TRAIN, (ENDLESS, PARAMS), on=other)
