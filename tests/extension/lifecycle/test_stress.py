"""No answer is stale while many connections read and one deploys versions in turn."""

import threading
import time
from dataclasses import dataclass, field

import pytest
from psycopg import Connection

from tests.connections import Connect
from tests.extension.lifecycle.models import constant, load
from tests.times import TIMES

DEPLOYS = 200 * TIMES
READERS = 4 if TIMES == 1 else 32
READER_SECONDS = 10


@dataclass
class Deploys:
    """The progress of deploys. Number n deploys version 1 + n % 2, which answers that."""

    started: int = 0
    acknowledged: int = 0
    done: bool = False
    failures: list[str] = field(default_factory=list)
    strict: int = 0
    answers: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, before: int, answers: list[float], reader: str) -> None:
        """`before` deploys were acknowledged before the statement; by now more may have begun."""
        possible = {1 + number % 2 for number in range(before, self.started + 1)}
        with self.lock:
            self.strict += len(possible) == 1
            self.answers += len(answers)
        if len(set(answers)) != 1 or answers[0] not in possible:
            self.failures.append(f"{reader}: {set(answers)} after deploy {before}, not {possible}")


def read(connection: Connection, query: str, deploys: Deploys) -> None:
    """A thread that ends with an error fails its test (pyproject.toml)."""
    while not deploys.done:
        before = deploys.acknowledged
        answers = [row[0] for row in connection.execute(query)]
        deploys.check(before, answers, query)


def deploy(connection: Connection, deploys: Deploys) -> None:
    """Deploys in turn, each time until some reader had only one right answer to give."""
    pause = threading.Event()
    try:
        for number in range(1, DEPLOYS + 1):
            deploys.started = number
            connection.execute("SELECT deploy_model(%s)", (f"m@{1 + number % 2}",))
            deploys.acknowledged = number
            strict, deadline = deploys.strict, time.monotonic() + READER_SECONDS
            while deploys.strict == strict and time.monotonic() < deadline:
                pause.wait(0.002)
    finally:
        deploys.done = True


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("SELECT predict('m', 1)", id="one row"),
        pytest.param("SELECT predict('m', x) FROM generate_series(1, 500) AS x", id="scan"),
        pytest.param("EXECUTE p", id="prepared"),
    ],
)
@pytest.mark.usefixtures("internal_errors")
def test_no_answer_is_stale(connect: Connect, query: str) -> None:
    writer = connect()
    load(writer, "m", constant(1))
    load(writer, "m", constant(2))
    writer.execute("SELECT deploy_model('m@1')")
    deploys = Deploys()
    threads = [threading.Thread(target=deploy, args=(writer, deploys))]
    for _ in range(READERS):
        connection = connect()
        connection.execute("PREPARE p AS SELECT predict('m', 1)")
        threads.append(threading.Thread(target=read, args=(connection, query, deploys)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.execute("SELECT drop_model('m')")
    print(f"{READERS} readers, {deploys.acknowledged} deploys, {deploys.answers} predictions")
    assert deploys.acknowledged == DEPLOYS
    assert not deploys.failures, deploys.failures[:5]
    assert deploys.strict >= DEPLOYS


def test_no_version_is_missed_while_it_is_replaced_and_dropped(connect: Connect) -> None:
    """A commit is visible to snapshots before its invalidation is sent."""
    writer, done = connect(), threading.Event()
    known = load(writer, "m", constant(1))
    writer.execute(
        "CREATE TABLE rows AS SELECT i::real AS f1, 1 AS y FROM generate_series(1, 20) AS i"
    )

    def evaluate(reader: Connection) -> None:
        while not done.is_set():
            reader.execute("SELECT * FROM evaluate_model('m', 'SELECT * FROM rows', 'y')")

    threads = [threading.Thread(target=evaluate, args=(connect(),)) for _ in range(READERS)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(2 * DEPLOYS):
            with writer.transaction():
                new = load(writer, "m", constant(1))
                writer.execute("SELECT deploy_model(%s)", (f"m@{new}",))
                writer.execute("SELECT drop_model(%s)", (f"m@{known}",))
            known = new
            # Until readers have the version in their caches.
            time.sleep(0.01)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    writer.execute("DROP TABLE rows")
    writer.execute("SELECT drop_model('m')")
