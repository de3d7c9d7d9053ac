"""Connections that change or read a model meanwhile: no change is lost, and no answer is stale."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg import Connection, errors

from tests.connections import Connect
from tests.extension.lifecycle.models import constant, drop_all, load, one, value
from tests.state import TIMES


@pytest.fixture(autouse=True)
def clean(connection: Connection) -> None:
    drop_all(connection)


ARGUMENTS = {
    "file": constant(2),
    "binary": constant(2).replace(b"reg:squarederror", b"binary:logistic"),
    "rows": "SELECT 1 AS f1",
}
SET_OWNER = "set_model_owner('m', 'postgres')"
# Loads of m before, the change of the first connection, its end, the change of the second, and the version or
# the error's SQLSTATE that this one gets; then the answers by reference.
MEETINGS = {
    "two loads": ([1], 2, "commit", 3, 3, {"m": 3, "m@2": 2, "m@3": 3}),
    "two first loads": ([], 1, "commit", 2, 2, {"m": 2, "m@1": 1}),
    "a first load after one that rolled back": ([], 1, "rollback", 2, 1, {"m": 2}),
    "first loads of two meanings": ([], 1, "commit", "load_model('m', %(binary)s)", "55000", {"m": 1}),
    "a drop of a version that is being deployed": (
        [1, 2], "deploy_model('m@1')", "commit", "drop_model('m@1')", "55006", {"m": 1},
    ),
    "a deploy of a version that is being dropped": (
        [1, 2], "drop_model('m@1')", "commit", "deploy_model('m@1')", "42704", {"m": 2},
    ),
    "a load into a model that is being dropped": ([1], "drop_model('m')", "commit", 9, 1, {"m": 9}),
} | {
    f"{first} and {later}": ([1, 1], first, "commit", later, raised, {})
    for first, later, raised in (
        ("load_model('n', %(file)s)", "rename_model('m', 'n')", "42710"),
        ("rename_model('o', 'n')", "rename_model('m', 'n')", "42710"),
        ("rename_model('m', 'p')", "rename_model('m', 'n')", "42704"),
        ("rename_model('o', 'n')", "load_model('n', %(file)s)", None),
        ("set_alias('m@1', 'live')", "set_alias('m@2', 'live')", None),
        ("pin_model('o@1')", "pin_model('o@1')", None),
        ("grant_model('m', 'public')", "grant_model('m', 'public')", None),
        ("revoke_model('m', 'public')", "grant_model('m', 'public')", None),
        (SET_OWNER, SET_OWNER, None),
        ("set_baseline('m', %(rows)s)", "set_baseline('m', %(rows)s)", None),
    )
}  # fmt: skip


def change(connection: Connection, what: int | str) -> Any:
    """Loads the model m that answers a number, or calls a function."""
    if isinstance(what, int):
        return load(connection, "m", constant(what))
    return connection.execute(f"SELECT {what}", ARGUMENTS if "%" in what else None)


@pytest.mark.parametrize("meeting", MEETINGS)
def test_the_second_change_waits_for_the_first(
    connect: Connect, blocked: Callable, meeting: str
) -> None:
    before, earlier, end, later, expected, answers = MEETINGS[meeting]
    admin, first, other = connect(), connect(autocommit=False), connect()
    load(admin, "o", constant(1))
    for content in before:
        change(admin, content)
    change(first, earlier)
    result = blocked(other, lambda: change(other, later))
    getattr(first, end)()
    failed = result.exception(timeout=10)
    if isinstance(expected, int):
        assert result.result() == expected
    else:
        assert (failed.sqlstate if failed else None) == expected, failed
    if expected == "42710":
        assert str(failed).startswith('model "n" already exists')
    assert {reference: value(admin, reference) for reference in answers} == answers


def test_whoever_loads_first_owns_the_model(connect: Connect, blocked: Callable) -> None:
    admin, a, b = connect(), connect(autocommit=False), connect("second", new=True)
    admin.execute("GRANT EXECUTE ON FUNCTION load_model TO second")
    load(a, "m", constant(1))
    result = blocked(b, lambda: load(b, "m", constant(2)))
    a.commit()
    assert isinstance(result.exception(timeout=10), errors.InsufficientPrivilege)
    assert value(admin) == 1
    assert one(admin, "SELECT count(*) FROM pgboost_models") == 1


def test_a_late_writer_of_repeatable_read_gets_a_serialization_failure(connect: Connect) -> None:
    admin, late = connect(), connect(autocommit=False)
    load(admin, "m", constant(1))
    late.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    assert value(late) == 1
    load(admin, "m", constant(2))
    with pytest.raises(errors.SerializationFailure):
        load(late, "m", constant(3))
    late.rollback()
    assert load(late, "m", constant(3)) == 3


def test_readers_do_not_wait_for_writers(connect: Connect) -> None:
    reader, writer = connect(), connect(autocommit=False)
    load(reader, "m", constant(1))
    load(writer, "m", constant(2))
    writer.execute("SELECT drop_model('m')")
    reader.execute("SET lock_timeout = '100ms'")
    assert value(reader) == 1
    assert one(connect(), "SELECT predict('m', 1)") == 1


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
