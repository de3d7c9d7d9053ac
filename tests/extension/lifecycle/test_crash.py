"""The kill of a backend loses no model, and leaves no torn one."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection

from tests.connections import until
from tests.extension.lifecycle.conftest import restart
from tests.extension.lifecycle.models import ROW, constant, grown, load, one, value
from tools.cluster import Cluster

RECOVERY_SECONDS = 30
SHUTDOWN_SECONDS = 5
SCAN = f"SELECT count(predict('m', {ROW})) FROM generate_series(1, 100000000)"


def until_it_fails(connection: Connection) -> None:
    """Returns once the server has ended the connection, as it does with all after a crash."""
    deadline = time.monotonic() + RECOVERY_SECONDS
    with suppress(psycopg.OperationalError):
        while time.monotonic() < deadline:
            one(connection, "SELECT 1")
            time.sleep(0.005)
        pytest.fail("the server goes on as if nothing had happened")


def connect_after_recovery(spare: Cluster) -> Connection:
    return until(spare.connect, seconds=RECOVERY_SECONDS)


def kill_during(spare: Cluster, query: str, after: float) -> None:
    """Kills a backend this time after its query began, and waits until the server has noticed."""
    with closing(spare.connect()) as witness, closing(spare.connect()) as victim:
        killer = threading.Timer(after, os.kill, (victim.info.backend_pid, signal.SIGKILL))
        killer.start()
        with pytest.raises(psycopg.OperationalError):
            victim.execute(query)
        until_it_fails(witness)


@pytest.fixture(scope="module")
def content() -> bytes:
    """A model that takes about a second to load."""
    return grown(620, 9)


@pytest.fixture(scope="module")
def load_seconds(spare: Cluster, content: bytes) -> float:
    """The seconds of a load on this machine. Stores the model m, its answer and the large model's file."""
    with spare.connect() as connection:
        load(connection, "m", grown(30, 6))
        connection.execute(f"CREATE TABLE answer AS SELECT predict('m', {ROW}) AS value")
        connection.execute("CREATE TABLE file (content bytea)")
        connection.execute("INSERT INTO file VALUES (%s)", (content,))
        begin = time.monotonic()
        connection.execute("SELECT load_model('large', content) FROM file")
        seconds = time.monotonic() - begin
        connection.execute("SELECT drop_model('large')")
        connection.execute("CHECKPOINT")
    return seconds


@pytest.mark.parametrize("part", [0.02, 0.1, 0.2, 0.35, 0.5, 0.65])
def test_a_load_that_is_killed_stores_nothing(
    spare: Cluster, load_seconds: float, part: float
) -> None:
    # A machine that has become faster meanwhile has the load done before the kill, not committed.
    query = "SELECT load_model('large', content), pg_sleep(60) FROM file"
    kill_during(spare, query, part * load_seconds)
    with connect_after_recovery(spare) as afterwards:
        assert one(afterwards, f"SELECT predict('m', {ROW}) = value FROM answer")
        names = afterwards.execute("SELECT name, version FROM pgboost_models ORDER BY 1, 2")
        assert names.fetchall() == [("m", 1)]
        digest = """SELECT digest = sha256(bytes)
            FROM pgboost_catalog.version JOIN pgboost_catalog.file_part USING (model, version)"""
        assert one(afterwards, digest)


def test_commits_survive_a_crash_and_images_are_checked(
    spare: Cluster, load_seconds: float, content: bytes
) -> None:
    """Of a scan; the model whose loads were killed loads as well."""
    with spare.connect() as connection:
        connection.execute("SET synchronous_commit = on")
        for number in range(5):
            load(connection, "c", constant(number))
        connection.execute("SELECT deploy_model('c@3')")
    kill_during(spare, SCAN, 0.2)
    # As after a power failure, which may leave a file that was renamed and not yet written.
    for path in Path(spare.place.data, "pgboost").glob("*/*.image"):
        os.truncate(path, 100)
    with connect_after_recovery(spare) as connection:
        assert value(connection, "c") == 2
        assert [value(connection, f"c@{version}") for version in range(1, 6)] == [0, 1, 2, 3, 4]
        assert one(connection, f"SELECT predict('m', {ROW}) = value FROM answer")
        assert load(connection, "large", content) == 1
        expected = one(connection, f"SELECT predict('large', {ROW})")
    with spare.connect() as another:
        assert one(another, f"SELECT predict('large', {ROW})") == expected
        assert bytes(one(another, "SELECT export_model('large')")) == content
        another.execute("SELECT drop_model('large')")


def test_a_fast_shutdown_does_not_wait_for_a_scan(spare: Cluster, load_seconds: float) -> None:
    scanning = spare.connect()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(scanning.execute, SCAN)
        threading.Event().wait(0.2)
        assert running.running()
        begin = time.monotonic()
        restart(spare)
        assert time.monotonic() - begin < SHUTDOWN_SECONDS
        assert isinstance(running.exception(), psycopg.OperationalError)
    with spare.connect() as connection:
        assert one(connection, f"SELECT predict('m', {ROW}) = value FROM answer")
