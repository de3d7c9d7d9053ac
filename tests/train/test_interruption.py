"""Cancel, timeout, terminate and rollback; progress as another connection sees it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

# Some seconds of reading, and then minutes of rounds.
LONG = (
    "SELECT i AS a, sin(i) AS b, cos(i) AS c, (i % 1000) AS y FROM generate_series(1, 400000) AS i"
)
# A set-returning function among the columns gives its rows one by one.
ENDLESS = "SELECT i AS a, i AS y FROM (SELECT generate_series(1, 10000000000) AS i) AS s"
TRAIN = "SELECT * FROM train_model('long', %s, 'y', '{\"max_depth\": 10}', rounds => 100000)"
FILES = "SELECT count(*) FROM pg_ls_dir('pg_stat_tmp') AS f WHERE f LIKE 'pgboost_train%'"
PATIENCE = 60


class Running:
    """A training in a thread of its own."""

    def __init__(self, connection: psycopg.Connection, source: str) -> None:
        self.connection = connection
        self.pid = connection.info.backend_pid
        self.error: psycopg.Error | None = None
        self.thread = threading.Thread(target=self._run, args=(source,), daemon=True)
        self.thread.start()

    def _run(self, source: str) -> None:
        try:
            self.connection.execute(TRAIN, (source,))
        except psycopg.Error as error:
            self.error = error

    def ended(self) -> str | None:
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "the training goes on"
        assert self.error is not None
        return self.error.sqlstate


@contextmanager
def _seen(watcher: psycopg.Connection, pid: int, phase: str, rounds: int = 0) -> Iterator[Any]:
    """Waits until the training is seen in the phase."""
    until = time.monotonic() + PATIENCE
    while True:
        row = watcher.execute(
            "SELECT phase, rows_read, round, rounds, metric, model, datname, usename "
            "FROM pg_stat_progress_train_model WHERE pid = %s", (pid,)
        ).fetchone()  # fmt: skip
        if row and row[0] == phase and row[2] >= rounds:
            yield row
            return
        assert time.monotonic() < until, f"never seen in that phase: {row}"
        time.sleep(0.02)


@pytest.fixture
def untouched(connection: psycopg.Connection) -> Iterator[None]:
    """After the test, there is no model, no progress, no file, and the server is the same."""
    started = connection.execute("SELECT pg_postmaster_start_time()").fetchone()
    yield
    models = connection.execute(
        "SELECT count(*) FROM pgboost_models WHERE name = 'long'"
    ).fetchone()
    assert models == (0,)
    assert connection.execute("SELECT count(*) FROM pg_stat_progress_train_model").fetchone() == (
        0,
    )
    until = time.monotonic() + PATIENCE
    while connection.execute(FILES).fetchone() != (0,):
        assert time.monotonic() < until, "a file of progress is left"
        connection.execute("SELECT * FROM pgboost_progress_records()")
        time.sleep(0.02)
    (temporary,) = connection.execute("SELECT count(*) FROM pg_ls_tmpdir()").fetchone()
    assert temporary == 0
    assert connection.execute("SELECT pg_postmaster_start_time()").fetchone() == started


def test_progress_is_seen_while_rows_are_read(
    connection: psycopg.Connection, connect: Callable[..., Any], untouched: None
) -> None:
    running = Running(connect(), ENDLESS)
    with _seen(connection, running.pid, "reading rows") as row:
        first = row[1]
    time.sleep(0.5)
    with _seen(connection, running.pid, "reading rows") as row:
        assert row[1] > first
        assert row[5:] == ("long", connection.info.dbname, "postgres")
    running.connection.cancel()
    assert running.ended() == "57014"
    assert running.connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("end", ["cancel", "terminate"])
def test_rounds_end_at_once(
    connection: psycopg.Connection, connect: Callable[..., Any], untouched: None, end: str
) -> None:
    running = Running(connect(), LONG)
    with _seen(connection, running.pid, "training", rounds=3) as row:
        assert row[3] == 100000
    before = time.monotonic()
    connection.execute(f"SELECT pg_{end}_backend(%s)", (running.pid,))
    state = running.ended()
    assert time.monotonic() - before < 5
    assert state == {"cancel": "57014", "terminate": "57P01"}[end]
    if end == "cancel":
        assert running.connection.execute("SELECT xgboost_version()").fetchone()
    while connection.execute(
        "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND %s = 'terminate'", (running.pid, end)
    ).fetchone():
        time.sleep(0.05)


def test_terminate_while_rows_are_read(
    connection: psycopg.Connection, connect: Callable[..., Any], untouched: None
) -> None:
    running = Running(connect(), ENDLESS)
    with _seen(connection, running.pid, "reading rows"):
        pass
    connection.execute("SELECT pg_terminate_backend(%s, 10000)", (running.pid,))
    assert running.ended() == "57P01"


@pytest.mark.parametrize("milliseconds", [300, 700, 1100, 1500, 2500])
def test_timeout_acts_in_every_phase(
    connection: psycopg.Connection, connect: Callable[..., Any], untouched: None, milliseconds: int
) -> None:
    other = connect()
    other.execute(f"SET statement_timeout = {milliseconds}")
    before = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        other.execute(TRAIN, (LONG,))
    assert time.monotonic() - before < milliseconds / 1000 + 5
    other.execute("SET statement_timeout = 0")
    other.execute(
        "SELECT train_model('short', 'SELECT i AS a, i AS y FROM generate_series(1, 100) i', 'y')"
    )


def test_users_see_their_own_trainings(
    connection: psycopg.Connection, connect: Callable[..., Any], untouched: None
) -> None:
    connection.execute("DROP ROLE IF EXISTS watcher; CREATE ROLE watcher LOGIN")
    running = Running(connect(), ENDLESS)
    with _seen(connection, running.pid, "reading rows"):
        pass
    watcher = connect(user="watcher")
    count = "SELECT count(*) FROM pg_stat_progress_train_model"
    assert watcher.execute(count).fetchone() == (0,)
    connection.execute("GRANT pg_read_all_stats TO watcher")
    assert watcher.execute(count).fetchone() == (1,)
    running.connection.cancel()
    assert running.ended() == "57014"
    watcher.close()
    connection.execute("DROP ROLE watcher")


def test_rollback_leaves_no_model(
    connection: psycopg.Connection, connect: Callable[..., Any], untouched: None
) -> None:
    small = "SELECT i AS a, i AS y FROM generate_series(1, 100) AS i"
    with connect(autocommit=False) as other:
        other.execute("SELECT train_model('long', %s, 'y', rounds => 2)", (small,))
        assert other.execute("SELECT predict('long', 5) > 0").fetchone() == (True,)
        other.rollback()
        other.execute("SAVEPOINT s")
        other.execute("SELECT train_model('long', %s, 'y', rounds => 2)", (small,))
        other.execute("ROLLBACK TO s")
        with pytest.raises(psycopg.errors.UndefinedObject):
            other.execute("SELECT predict('long', 5)")
        other.rollback()


def test_errors_inside_the_query_end_the_training(
    connection: psycopg.Connection, raises: Callable[..., Any], untouched: None
) -> None:
    query = "SELECT i AS a, 1 / (5000 - i) AS y FROM generate_series(1, 10000) AS i"
    raises("22012", TRAIN, (query,))
    with connection.transaction(), pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
        connection.execute("SET LOCAL temp_file_limit = '1MB'")
        connection.execute(TRAIN, (LONG,))


def test_read_only_transactions_train_nothing(
    raises: Callable[..., Any], connect: Callable[..., Any]
) -> None:
    other = connect()
    other.execute("SET default_transaction_read_only = on")
    raises("25006", TRAIN, (ENDLESS,), on=other)
