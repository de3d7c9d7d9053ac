"""Jumps of the server's clock, by seconds or by years, have no effect.

libfaketime gives servers another time of day. Files keep the kernel's times, and the clock that only goes
forward is left alone, as when an administrator sets the time.
"""

import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.extension.lifecycle.conftest import unfinished
from tests.extension.lifecycle.models import constant, grown, load, one, value
from tests.state import TIMES
from tools.cluster import Cluster, start, stop

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
# The seconds of jumps, back or forth.
JUMPS = (2, 3600, 86400, 400 * 86400)
# libfaketime reads the file at every look at the clock.
AT_ONCE = {"FAKETIME_NO_CACHE": "1"}
# It reads the file once a second: to open a file allocates, and PostgreSQL's timeouts look at the clock in a
# signal's handler, which may have interrupted an allocation.
WITHIN_A_SECOND = {"FAKETIME_CACHE_DURATION": "0"}


class Clock:
    """The distance of the servers' time of day from the right one."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.jump(0)

    def jump(self, seconds: int) -> None:
        """Sets the clock this number of seconds from the right time."""
        # Written to another file and renamed: the server never reads half a line.
        written = self.file.with_suffix(".new")
        written.write_text(f"{seconds:+d}\n")
        written.chmod(0o644)
        written.rename(self.file)

    @contextmanager
    def is_that_of_servers(self, reads: Mapping[str, str]) -> Iterator[None]:
        """Gives the clock to programs that are started meanwhile."""
        faked = {
            "LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1", **reads,
        }  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            for name, text in faked.items():
                patch.setenv(name, text)
            yield


COUNT = 40 * TIMES
STATE = Path(__file__).resolve().parents[3] / ".test" / "clock"
PREFERRED_PORT = 54341
ROWS = "SELECT i AS a, i % 7 AS y FROM generate_series(1, 500) AS i"

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="needs libfaketime")


@pytest.fixture(scope="module")
def clock() -> Iterator[Clock]:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Clock(Path(directory, "clock"))


@pytest.fixture(scope="module")
def server(clock: Clock) -> Iterator[Cluster]:
    stop(STATE, delete=True)
    with clock.is_that_of_servers(AT_ONCE):
        running, _ = start(STATE, PREFERRED_PORT, {"pgboost.track_predictions": "on"})
    with running.connect() as connection:
        connection.execute("CREATE EXTENSION pgboost_train CASCADE")
        for answer in (1, 2):
            load(connection, "m", constant(answer))
    yield running
    clock.jump(0)
    stop(STATE, delete=True)


def read(connection: psycopg.Connection) -> None:
    assert value(connection) in (1, 2)
    assert one(connection, "SELECT bool_and(total_time BETWEEN 0 AND 600000) FROM pg_stat_pgboost")


def deploy(connection: psycopg.Connection) -> None:
    for version in (1, 2):
        connection.execute("SELECT deploy_model(%s)", (f"m@{version}",))
        assert value(connection) == version


def load_and_drop(connection: psycopg.Connection) -> None:
    name = f"l{connection.info.backend_pid}"
    load(connection, name, grown(20, 5, seed=random.randrange(1000)))
    predicted = "SELECT predict(%s, array_fill(0.5::real, ARRAY[10])) IS NOT NULL"
    assert one(connection, predicted, (name,))
    connection.execute("SELECT drop_model(%s)", (name,))


def train(connection: psycopg.Connection) -> None:
    # Rounds and metrics are counted, whatever the time of day does meanwhile.
    rounds = "SELECT count(*) FROM train_model('t', %s, 'y', rounds => 30, eval_fraction => 0.2)"
    assert one(connection, rounds, (ROWS,)) >= 1


class Loop(threading.Thread):
    """Repeats a step in one connection until it is stopped, and keeps the errors."""

    def __init__(self, server: Cluster, work: Callable[[psycopg.Connection], None]) -> None:
        super().__init__(daemon=True)
        self.server, self.work = server, work
        self.stopped = threading.Event()
        self.error: BaseException | None = None
        self.done = 0
        self.start()

    def run(self) -> None:
        """Repeats the work."""
        try:
            with self.server.connect() as connection:
                while not self.stopped.is_set():
                    self.work(connection)
                    self.done += 1
        except (psycopg.Error, AssertionError) as error:
            self.error = error


def far_from_now(server: Cluster) -> float:
    with server.connect() as connection:
        return float(one(connection, "SELECT extract(epoch FROM clock_timestamp())")) - time.time()


def test_the_servers_clock_is_another(server: Cluster, clock: Clock) -> None:
    for seconds in (-86400, 400 * 86400, 0):
        clock.jump(seconds)
        assert abs(far_from_now(server) - seconds) < 60


def test_nothing_notices(server: Cluster, clock: Clock) -> None:
    generator = random.Random(1)
    loops = [Loop(server, work) for work in (read, deploy, load_and_drop, load_and_drop, train)]
    for _ in range(COUNT):
        clock.jump(generator.choice((-1, 1)) * generator.choice(JUMPS))
        time.sleep(generator.uniform(0.05, 0.4))
    for loop in loops:
        loop.stopped.set()
    for loop in loops:
        loop.join(60)
        assert not loop.is_alive()
        assert loop.error is None, (loop.work.__name__, loop.error)
        assert loop.done > 0, loop.work.__name__
    print(f"{COUNT} jumps,", ", ".join(f"{loop.done} times {loop.work.__name__}" for loop in loops))
    clock.jump(0)
    assert not unfinished(server.place.data)
    with server.connect() as connection:
        deploy(connection)
