"""kill -9 in the middle of anything loses no committed model and leaves no torn one.

While the victim works, another session commits one version after another: what it was told is committed must
be there afterwards, and at most one other version, whose commit was under way.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from tests.connections import until
from tests.extension.lifecycle.models import constant, grown, load, one, value
from tests.extension.lifecycle.test_crash import ROW, connect_after_recovery, kill_during
from tests.extension.train.running import trainers
from tests.state import TIMES
from tools.cluster import Cluster
from tools.cluster.server import launch

KILLS = 6 * TIMES
POSTMASTERS = max(5, 2 * TIMES)
# Each takes longer than the wait before a kill.
VICTIMS = {
    "load": "SELECT load_model('l', content), pg_sleep(30) FROM file",
    "train": "SELECT * FROM train_model('t', 'rows', 'y', rounds => 100000)",
    "batch": f"SELECT count(predict('m', {ROW})) FROM generate_series(1, 100000000)",
    "deploy": "DO $$ BEGIN LOOP PERFORM deploy_model('m@' || v) FROM generate_series(1, 2) v; "
    "END LOOP; END $$",
    "image": "DO $$ BEGIN LOOP PERFORM load_model('i', content) FROM file; "
    f"PERFORM predict('i', {ROW}); PERFORM drop_model('i'); END LOOP; END $$",
}  # fmt: skip
MOST_SECONDS = 2.5
# A waiting process, an idle backend or a training, ends with the postmaster within this time.
GRACE_SECONDS = 5


@pytest.fixture(scope="module")
def prepared(spare: Cluster) -> Cluster:
    """Two versions of a model with their answers, a large file, and rows to train on."""
    with spare.connect() as connection:
        connection.execute("CREATE EXTENSION pgboost_train")
        connection.execute("SET synchronous_commit = on")
        connection.execute("CREATE TABLE answer (version integer, value real)")
        for version in (1, 2):
            load(connection, "m", grown(30, 6, seed=version))
            connection.execute(
                f"INSERT INTO answer VALUES ({version}, predict('m@{version}', {ROW}))"
            )
        connection.execute("CREATE TABLE file (content bytea)")
        connection.execute("INSERT INTO file VALUES (%s)", (grown(620, 9),))
        connection.execute(
            "CREATE TABLE rows AS SELECT random() AS a, i AS y FROM generate_series(1, 50000) AS i"
        )
    return spare


class Commits(threading.Thread):
    """Loads and so deploys constants, 1, 2 and so on, until the server ends the connection."""

    def __init__(self, server: Cluster) -> None:
        super().__init__()
        self.connection = server.connect()
        self.connection.execute("SET synchronous_commit = on")
        self.acknowledged = 0
        self.start()

    def run(self) -> None:
        with suppress(psycopg.OperationalError):
            while True:
                self.acknowledged = load(self.connection, "c", constant(self.acknowledged + 1))

    def check(self, connection: psycopg.Connection) -> None:
        """All that was acknowledged is there, and the last version answers."""
        self.join()
        versions = "SELECT array_agg(version ORDER BY version) FROM pgboost_models WHERE name = 'c'"
        found = one(connection, versions) or []
        assert found == list(range(1, len(found) + 1))
        assert len(found) - self.acknowledged in (0, 1)
        for version in found[-3:]:
            assert value(connection, f"c@{version}") == version
        if found:
            assert value(connection, "c") == found[-1]
            connection.execute("SELECT drop_model('c')")


def check(connection: psycopg.Connection, committed: int) -> None:
    """Committed models are complete and predict as before, and there are no others."""
    last = "SELECT value FROM answer ORDER BY version DESC LIMIT 1"
    assert one(connection, f"SELECT predict('m', {ROW})") == one(connection, last)
    names = connection.execute("SELECT name, count(*) FROM pgboost_models GROUP BY 1 ORDER BY 1")
    assert names.fetchall() == [("m", 2 + committed)]
    for version, answer in connection.execute("SELECT * FROM answer").fetchall():
        assert one(connection, f"SELECT predict('m@{version}', {ROW})") == answer
    torn = """SELECT count(*) FROM (
        SELECT digest IS DISTINCT FROM sha256(string_agg(bytes, '' ORDER BY start)) AS torn
        FROM pgboost_catalog.version JOIN pgboost_catalog.file_part USING (model, version)
        GROUP BY model, version, digest) AS v
        WHERE torn"""
    assert one(connection, torn) == 0


def commit_another(connection: psycopg.Connection, seed: int) -> None:
    """Commits one more version, which no kill after it may lose."""
    connection.execute("SET synchronous_commit = on")
    version = load(connection, "m", grown(20, 6, seed=seed))
    connection.execute(f"INSERT INTO answer VALUES ({version}, predict('m@{version}', {ROW}))")


def test_kills(prepared: Cluster) -> None:
    generator, acknowledged = random.Random(TIMES), 0
    for number in range(KILLS):
        victim = list(VICTIMS.values())[number % len(VICTIMS)]
        commits = Commits(prepared)
        kill_during(prepared, victim, generator.uniform(0.02, MOST_SECONDS))
        with connect_after_recovery(prepared) as connection:
            commits.check(connection)
            acknowledged += commits.acknowledged
            check(connection, number)
            commit_another(connection, 100 + number)
    print(f"{KILLS} kills, {acknowledged} commits meanwhile")
    assert acknowledged > KILLS
    until(trainers, [], 10)
    assert not list(prepared.place.data.glob("base/pgsql_tmp/*"))


def alive(pids: Collection[int]) -> set[int]:
    """The processes that have not ended after `GRACE_SECONDS`."""
    deadline = time.monotonic() + GRACE_SECONDS
    while (
        left := {pid for pid in pids if Path(f"/proc/{pid}").exists()}
    ) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def kill_postmaster_during(server: Cluster, query: str, after: float) -> set[int]:
    """Kills the postmaster during a query; returns the processes that did not end by themselves.

    PostgreSQL's own rule is that a backend sees the postmaster's end where it waits, so that one that
    computes is for the administrator to kill before the server can start again.
    """
    postmaster = int((server.place.data / "postmaster.pid").read_text().split()[0])
    with ThreadPoolExecutor(1) as pool:
        victim, idle = server.connect(), server.connect()
        running = pool.submit(victim.execute, query)
        time.sleep(after)
        assert not running.done()
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        trainer = trainers(victim.info.backend_pid)
        os.kill(postmaster, signal.SIGKILL)
        left = alive([postmaster, *map(int, children), *trainer])
        assert left <= {victim.info.backend_pid}
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert isinstance(running.exception(), psycopg.OperationalError)
        assert not alive([*left, *trainer])
        idle.close()
    return left


def test_kills_of_the_postmaster(prepared: Cluster) -> None:
    with prepared.connect() as connection:
        committed = one(connection, "SELECT count(*) - 2 FROM answer")
    generator = random.Random(TIMES)
    for number in range(POSTMASTERS):
        name, query = list(VICTIMS.items())[number % len(VICTIMS)]
        commits = Commits(prepared)
        left = kill_postmaster_during(prepared, query, generator.uniform(0.02, MOST_SECONDS))
        assert not left or name != "train"
        # As after a power failure, which may leave a file that was renamed and not yet written.
        for path in list(prepared.place.data.glob("pgboost/*/*.image"))[:: number + 1]:
            os.truncate(path, 100)
        launch(prepared.place, {})
        with prepared.connect() as connection:
            commits.check(connection)
            check(connection, committed + number)
            commit_another(connection, 1000 + number)
    assert not list(prepared.place.data.glob("base/pgsql_tmp/*"))
