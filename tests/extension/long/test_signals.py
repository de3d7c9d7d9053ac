"""A storm of PostgreSQL's own signals in the middle of training and scanning disturbs neither.

They go to the backend alone. A cancel goes to its process group, of which the trainer, whose threads know
nothing of PostgreSQL, is none.
"""

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable

import psycopg
import pytest

from tests.extension.lifecycle.models import grown, load, one
from tests.extension.lifecycle.test_cancel import reset_statement_timeout
from tests.extension.lifecycle.test_crash import ROW
from tests.extension.train.running import trainers
from tests.state import TIMES
from tools.cluster import Cluster

SECONDS = 3 * TIMES
PAUSE = 0.001
PER_SECOND = 1000
WORK = {
    "train": """SELECT count(*) FROM train_model('t', 'rows', 'y', '{"nthread": 4}', rounds => 30)""",
    "scan": f"SELECT count(predict('m', {ROW})) FROM rows, generate_series(1, 10)",
}


@pytest.fixture(scope="module", autouse=True)
def rows(cluster: Cluster, dbname: str) -> None:
    with cluster.connect(dbname) as connection:
        load(connection, "m", grown(100, 6))
        connection.execute(
            "CREATE TABLE rows AS SELECT random() AS a, random() AS b, i AS y "
            "FROM generate_series(1, 20000) AS i"
        )


def storm(backend: int, sent: Counter, done: threading.Event) -> None:
    """Messages between backends, timeouts, and the latch."""
    while not done.wait(PAUSE):
        for number in (signal.SIGUSR1, signal.SIGALRM, signal.SIGURG):
            os.kill(backend, number)
            sent[number] += 1


def keep_waiting(connection: psycopg.Connection, done: threading.Event) -> None:
    """Locks the table again and again for longer than the other's deadlock_timeout."""
    while not done.wait(0.1):
        with connection.transaction():
            connection.execute("LOCK TABLE rows IN ACCESS EXCLUSIVE MODE")
            connection.execute("SELECT pg_sleep(0.02)")


def out_of_time(connection: psycopg.Connection, query: str) -> None:
    connection.execute("SET statement_timeout = '10ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute(query)
    reset_statement_timeout(connection)


@pytest.mark.parametrize("work", WORK)
@pytest.mark.usefixtures("internal_errors")
def test_a_storm(
    connect: Callable[..., psycopg.Connection], connection: psycopg.Connection, work: str
) -> None:
    backend, done, sent = connection.info.backend_pid, threading.Event(), Counter()
    groups, times = set(), 0
    threads = [
        threading.Thread(target=storm, args=(backend, sent, done)),
        threading.Thread(target=keep_waiting, args=(connect(), done)),
        threading.Thread(target=lambda: groups.update(seen_groups(backend, done))),
        threading.Timer(SECONDS, done.set),
    ]
    connection.execute("SET deadlock_timeout = '1ms'")
    for thread in threads:
        thread.start()
    while not done.is_set():
        one(connection, WORK[work])
        out_of_time(connection, WORK[work])
        times += 1
    for thread in threads:
        thread.join()
    assert one(connection, "SELECT pg_backend_pid()") == backend
    assert backend not in groups and bool(groups) == (work == "train")
    print(f"{work}: {times} times, {sum(sent.values())} signals")
    assert times > 1
    assert sum(sent.values()) > PER_SECOND * SECONDS


def seen_groups(backend: int, done: threading.Event) -> set[int]:
    """The process groups of the trainers that are seen meanwhile."""
    found = set()
    while not done.wait(0.05):
        for trainer in trainers(backend):
            try:
                found.add(os.getpgid(trainer))
            except ProcessLookupError:
                continue
    return found
