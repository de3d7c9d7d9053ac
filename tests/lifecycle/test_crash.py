"""A backend that is killed takes no model with it, and leaves no torn one."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from cluster import Cluster
from tests.lifecycle.models import constant, grown, load, one, value

ROW = "ARRAY[0.1, 0.9, 0.3, 0.7, 0.5, 0.2, 0.8, 0.4, 0.6, 0.5]::real[]"
RECOVERY_SECONDS = 30


def connect_after_recovery(spare: Cluster) -> psycopg.Connection:
    deadline = time.monotonic() + RECOVERY_SECONDS
    while True:
        try:
            connection = spare.connect()
            one(connection, "SELECT 1")
            return connection
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def kill_during(
    connection: psycopg.Connection, query: str, parameters: tuple, after: float
) -> bool:
    """Kills the connection's backend so long after the query began; whether it was still running."""
    pid = connection.info.backend_pid
    killer = threading.Timer(after, os.kill, (pid, signal.SIGKILL))
    killer.start()
    with suppress(psycopg.OperationalError):
        connection.execute(query, parameters)
        killer.cancel()
        return False
    killer.join()
    return True


@pytest.fixture(scope="module")
def content() -> Iterator[bytes]:
    """A model that takes about a second to load."""
    yield grown(620, 9)


@pytest.mark.parametrize("after", [0.02, 0.1, 0.2, 0.3, 0.45, 0.6])
def test_a_load_that_is_killed_stores_nothing(spare: Cluster, content: bytes, after: float) -> None:
    with connect_after_recovery(spare) as before:
        if one(before, "SELECT count(*) FROM pgboost_models WHERE name = 'm'") == 0:
            load(before, "m", grown(30, 6))
            before.execute("CREATE TABLE answer AS SELECT predict('m', " + ROW + ") AS value")
            before.execute("CREATE TABLE file (content bytea)")
            before.execute("INSERT INTO file VALUES (%s)", (content,))
            before.execute("CHECKPOINT")
    victim = spare.connect()
    assert kill_during(victim, "SELECT load_model('large', content) FROM file", (), after)
    with connect_after_recovery(spare) as afterwards:
        assert one(afterwards, f"SELECT predict('m', {ROW}) = value FROM answer")
        names = afterwards.execute("SELECT name, version FROM pgboost_models ORDER BY 1, 2")
        assert names.fetchall() == [("m", 1)]
        digest = "SELECT digest = sha256(bytes) FROM pgboost_version"
        assert one(afterwards, digest)


def test_after_the_crashes_the_same_model_loads(spare: Cluster, content: bytes) -> None:
    with connect_after_recovery(spare) as connection:
        assert load(connection, "large", content) == 1
        expected = one(connection, f"SELECT predict('large', {ROW})")
    with spare.connect() as another:
        assert one(another, f"SELECT predict('large', {ROW})") == expected
        assert bytes(one(another, "SELECT export_model('large')")) == content
        another.execute("SELECT drop_model('large')")


def test_what_was_committed_survives_a_crash_and_images_are_checked(spare: Cluster) -> None:
    with connect_after_recovery(spare) as connection:
        connection.execute("SET synchronous_commit = on")
        for number in range(5):
            load(connection, "c", constant(number))
        connection.execute("SELECT deploy_model('c', 3)")
    victim = spare.connect()
    os.kill(victim.info.backend_pid, signal.SIGKILL)
    # As after a power failure, which may leave a file that was renamed and not yet written.
    for path in Path(spare.place.data, "pgboost").glob("*/*.image"):
        os.truncate(path, 100)
    with connect_after_recovery(spare) as connection:
        assert value(connection, "c") == 2
        assert [value(connection, f"c@{version}") for version in range(1, 6)] == [0, 1, 2, 3, 4]
        assert one(connection, f"SELECT predict('m', {ROW}) = value FROM answer")


def test_a_scan_that_is_killed_hurts_nobody_elses_models(spare: Cluster) -> None:
    victim = spare.connect()
    scan = f"SELECT count(predict('m', {ROW})) FROM generate_series(1, 100000000)"
    assert kill_during(victim, scan, (), 0.2)
    with connect_after_recovery(spare) as connection:
        assert one(connection, f"SELECT predict('m', {ROW}) = value FROM answer")
