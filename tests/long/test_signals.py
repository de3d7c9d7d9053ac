"""A storm of PostgreSQL's own signals in the middle of training and scanning disturbs neither."""

import os
import signal
import threading
from collections import Counter

import psycopg
import pytest

from cluster import Cluster
from tests.lifecycle.models import grown, load, one
from tests.lifecycle.test_crash import ROW
from tests.times import TIMES

SECONDS = 3 * TIMES
PAUSE = 0.001
WORK = {
    "train": """SELECT count(*) FROM train_model('t', 'rows', 'y', '{"nthread": 4}', rounds => 30)""",
    "scan": f"SELECT count(predict('m', {ROW})) FROM generate_series(1, 200000)",
}


@pytest.fixture(scope="module", autouse=True)
def rows(cluster: Cluster, dbname: str) -> None:
    with cluster.connect(dbname) as connection:
        load(connection, "m", grown(100, 6))
        connection.execute(
            "CREATE TABLE rows AS SELECT random() AS a, random() AS b, i AS y "
            "FROM generate_series(1, 20000) AS i"
        )


@pytest.mark.parametrize("work", WORK)
@pytest.mark.usefixtures("internal_errors")
def test_a_storm(connection: psycopg.Connection, work: str) -> None:
    backend, done, sent = connection.info.backend_pid, threading.Event(), Counter()

    def storm() -> None:
        while not done.wait(PAUSE):
            # Messages between backends, timeouts, and the latch.
            for number in (signal.SIGUSR1, signal.SIGALRM, signal.SIGURG):
                os.kill(backend, number)
                sent[number] += 1

    thread = threading.Thread(target=storm)
    timer = threading.Timer(SECONDS, done.set)
    # A timeout that is set and reached again and again is one more source of SIGALRM.
    connection.execute("SET statement_timeout = '60s'; SET deadlock_timeout = '1ms'")
    thread.start()
    timer.start()
    times = 0
    while not done.is_set():
        one(connection, WORK[work])
        times += 1
    thread.join()
    assert one(connection, "SELECT pg_backend_pid()") == backend
    assert min(sent.values()) > 10 * SECONDS
    print(f"{work}: {times} times, {sum(sent.values())} signals")
