"""Under a load of everything at once, memory, files and descriptors stay as they were."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable

import psycopg
import pytest

from tests.extension.lifecycle.models import constant, grown, load, one
from tests.extension.lifecycle.test_crash import ROW
from tests.extension.lifecycle.test_memory import descriptors, private_kb
from tests.times import TIMES
from tools.cluster import Cluster

SECONDS = int(os.environ.get("PGBOOST_SOAK_SECONDS", 60 * TIMES))
# The memory of a backend that has done everything once.
WARM_UP = 0.25
MOST_GROWTH_KB = 2048

Work = Callable[[psycopg.Connection], object]


def predict(connection: psycopg.Connection) -> None:
    assert one(connection, "SELECT predict('c', 1)") in (1, 2)
    one(connection, f"SELECT predict('m', {ROW})")


def scan(connection: psycopg.Connection) -> None:
    one(connection, f"SELECT count(predict('m', {ROW})) FROM generate_series(1, 5000)")


def deploy(connection: psycopg.Connection) -> None:
    for version in (1, 2):
        connection.execute("SELECT deploy_model(%s)", (f"c@{version}",))


def load_and_drop(connection: psycopg.Connection) -> None:
    load(connection, "l", grown(20, 6))
    one(connection, f"SELECT predict('l', {ROW})")
    connection.execute("SELECT drop_model('l')")


def fail(connection: psycopg.Connection) -> None:
    for query in ("SELECT load_model('bad', '{\"learner\": {}}')", "SELECT predict('m', 1)"):
        with pytest.raises(psycopg.DataError):
            connection.execute(query)


def train(connection: psycopg.Connection) -> None:
    connection.execute("SELECT * FROM train_model('t', 'rows', 'y', rounds => 3)")
    connection.execute("SELECT drop_model('t')")


def cancelled_training(connection: psycopg.Connection) -> None:
    connection.execute("SET statement_timeout = '300ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("SELECT * FROM train_model('u', 'rows', 'y', rounds => 1000000)")


WORKERS: list[Work] = [
    predict,
    predict,
    scan,
    deploy,
    load_and_drop,
    fail,
    train,
    cancelled_training,
]


def taken(connections: list[psycopg.Connection]) -> list[tuple[int, int]]:
    """Each backend's memory and descriptors."""
    return [(private_kb(connection), most_descriptors(connection)) for connection in connections]


def most_descriptors(connection: psycopg.Connection) -> int:
    """The most within a second, in which trainings and loads open files and close them."""
    until, most = time.monotonic() + 1, 0
    while time.monotonic() < until:
        most = max(most, descriptors(connection))
        time.sleep(0.02)
    return most


@pytest.mark.usefixtures("internal_errors")
def test_everything_at_once(cluster: Cluster, dbname: str) -> None:
    with cluster.connect(dbname) as connection:
        load(connection, "m", grown(50, 6))
        load(connection, "c", constant(1))
        load(connection, "c", constant(2))
        connection.execute(
            "CREATE TABLE rows AS SELECT random() AS a, i AS y FROM generate_series(1, 2000) AS i"
        )
    done, counts, failures = threading.Event(), Counter(), []
    connections = [cluster.connect(dbname) for _ in WORKERS]

    def run(work: Work, connection: psycopg.Connection) -> None:
        try:
            while not done.is_set():
                work(connection)
                counts[work.__name__] += 1
        except BaseException as error:
            failures.append((work.__name__, error))
            done.set()

    threads = [
        threading.Thread(target=run, args=pair) for pair in zip(WORKERS, connections, strict=True)
    ]
    for thread in threads:
        thread.start()
    done.wait(SECONDS * WARM_UP)
    before = taken(connections)
    done.wait(SECONDS * (1 - WARM_UP))
    after = taken(connections)
    done.set()
    for thread in threads:
        thread.join()
    assert not failures, failures
    print(f"{SECONDS} s: {dict(counts)}; {before} before, {after} after")
    for work, (memory, files), (memory_now, files_now) in zip(WORKERS, before, after, strict=True):
        assert memory_now - memory < MOST_GROWTH_KB, work.__name__
        assert files_now <= files + 2, work.__name__
    _nothing_left(cluster, dbname)


def _nothing_left(cluster: Cluster, dbname: str) -> None:
    """A load sweeps unused images: at most one per version stays."""
    data, until = cluster.place.data, time.monotonic() + 30
    with cluster.connect(dbname) as connection:
        oid = one(connection, "SELECT oid FROM pg_database WHERE datname = current_database()")
        load(connection, "last", constant(3))
        versions = one(connection, "SELECT count(*) FROM pgboost_catalog.version")
        connection.execute("SELECT * FROM pg_stat_progress_train_model")
    while time.monotonic() < until:
        images = list((data / "pgboost" / str(oid)).glob("*.image"))
        if len(images) <= versions:
            break
        time.sleep(0.2)
    assert len(images) <= versions
    assert not list(data.glob("pg_stat_tmp/pgboost_train*"))
    assert not list(data.glob("base/pgsql_tmp/*"))
