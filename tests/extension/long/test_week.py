"""A stranger's week: a primary, a standby and a PgBouncer under statements of every kind.

Meanwhile backends and postmasters are killed, the disk is full, statements are cancelled, standbys are
promoted, and the clock jumps; every answer is that of models kept outside (`answers`). Then the clock is
right, and nothing is disturbed for a while, in which memory and descriptors stay as they were, and in the
end nothing is left on the disk.

It takes an hour with PGBOOST_TIMES=10; PGBOOST_WEEK_SECONDS is its length.
"""

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psycopg
import pytest

from tests.conftest import SETTINGS
from tests.connections import until
from tests.extension.lifecycle.conftest import PREFERRED_PORT, unfinished
from tests.extension.lifecycle.models import constant, load, one
from tests.extension.lifecycle.test_crash import connect_after_recovery
from tests.extension.lifecycle.test_memory import descriptors, private_kb
from tests.extension.lifecycle.test_standby import replayed
from tests.extension.long.answers import GUEST, NAMES, SHAPES, Answers
from tests.extension.long.pooler import Pooler
from tests.extension.long.test_clock import JUMPS, LIBRARY, WITHIN_A_SECOND, Clock
from tests.extension.long.test_full_disk import SMALL, filled, on_small_disk
from tests.extension.long.week import (
    CHECKPOINT_FAILED,
    CONCURRENTLY,
    Canceller,
    Functions,
    Keeper,
    Pins,
    Reader,
    Roles,
    Scores,
    Trainer,
    Week,
    Worker,
    Writer,
)
from tests.state import TIMES
from tools.cluster import Cluster
from tools.cluster.server import follow, launch, promote, stop_server

SECONDS = int(os.environ.get("PGBOOST_WEEK_SECONDS", 360 * TIMES))
SEED = int(os.environ.get("PGBOOST_SEED", "1"))
# The part of the time without disturbances, at the end.
QUIET = 0.3
MODELS = ["a", "b", "c", "scored"]
READERS = {("primary", "postgres"): 8, ("primary", GUEST): 4, ("pool", "postgres"): 6, ("pool", GUEST): 4,
           ("standby", "postgres"): 5, ("standby", GUEST): 3}  # fmt: skip
MOST_GROWTH_KB = 4096
WAIT_SECONDS = 60
ADDED = {
    **SMALL, **SETTINGS, "listen_addresses": "", "hot_standby_feedback": "on", "shared_buffers": "64MB",
    # There are no slots.
    "wal_keep_size": "512MB", "wal_retrieve_retry_interval": "500ms",
    # Commits are on the standby, where they may be visible at once.
    "synchronous_commit": "remote_apply", "pgboost_train.max_threads": "1",
}  # fmt: skip

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root"),
    pytest.mark.skipif(LIBRARY is None, reason="needs libfaketime"),
]


class Servers:
    """The primaries one after another, and their disturbances."""

    def __init__(self, first: Cluster, homes: Path, clock: Clock) -> None:
        self.all, self.homes, self.clock, self.numbers = [first], homes, clock, count()
        self.week: Week | None = None

    @property
    def primary(self) -> Cluster:
        return self.week.primary

    @contextmanager
    def admin(self) -> Iterator[psycopg.Connection]:
        with connect_after_recovery(self.primary) as connection:
            connection.execute("SET application_name = 'admin'; SET synchronous_commit = local")
            yield connection

    def add_standby(self) -> None:
        """Makes a standby, without which no change is committed any more."""
        standby = follow(
            self.primary, self.homes / f"standby_{next(self.numbers)}", ADDED, "--no-slot"
        )
        self.all.append(standby)
        with self.admin() as admin, standby.connect() as replica:
            admin.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            admin.execute("SELECT pg_reload_conf()")
            self.until_synchronous(admin)
            # A commit that had not seen the setting.
            time.sleep(1)
            replayed(admin, replica)
        self.week.standby = standby

    def until_synchronous(self, admin: psycopg.Connection) -> None:
        query = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        until(lambda: one(admin, query), seconds=WAIT_SECONDS)

    def kill_backend(self, generator: random.Random) -> None:
        with self.admin() as admin:
            pids = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
            victims = [pid for (pid,) in admin.execute(pids) if pid != admin.info.backend_pid]
            with suppress(ProcessLookupError):
                os.kill(generator.choice(victims), signal.SIGKILL)

    def kill_primary(self) -> None:
        """Kills the postmaster, and those of its processes that do not end."""
        data = self.primary.place.data
        postmaster = int((data / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)
        deadline = time.monotonic() + WAIT_SECONDS
        # A server does not start while the number of the former one is in use.
        while (left := running_in(data)) or Path(f"/proc/{postmaster}").exists():
            assert time.monotonic() < deadline, left
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)

    def kill_postmaster(self, _: random.Random) -> None:
        self.kill_primary()
        launch(self.primary.place, ADDED)

    def promote(self, _: random.Random) -> None:
        with self.admin() as admin:
            self.until_synchronous(admin)
        standby, week = self.week.standby, self.week
        self.kill_primary()
        week.standby = None
        promote(standby)
        week.primary = standby
        week.pooler.point_at(standby)
        for former in self.all[1:-1]:
            check_log(former)
            shutil.rmtree(former.place.home, ignore_errors=True)
        del self.all[1:-1]
        self.add_standby()

    def jump(self, generator: random.Random) -> None:
        """Sets the clock of all servers, until it jumps again."""
        self.clock.jump(generator.choice((-1, 1)) * generator.choice(JUMPS))

    def fill(self, generator: random.Random) -> None:
        """Fills the disk of the first primary, which alone has a small one."""
        if self.primary is self.all[0]:
            connect_after_recovery(self.primary).close()
            with filled(self.primary, generator.choice((0, 64 << 10, 1 << 20))):
                time.sleep(1)


def running_in(data: Path) -> list[int]:
    """The processes of a data directory."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            found += [int(link.parent.name)] * (link.readlink() == data)
    return found


def check_log(server: Cluster) -> None:
    """No error was an internal one, but for PostgreSQL's own."""
    lines = server.place.log.read_text(errors="replace").splitlines()
    internal = [line for line in lines if "ERROR:  XX" in line]
    assert not [line for line in internal if not line.endswith((CHECKPOINT_FAILED, CONCURRENTLY))]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    homes = Path(tempfile.mkdtemp(prefix="pgboost-week-"))
    homes.chmod(0o755)
    clock = Clock(homes / "clock")
    with clock.is_that_of_servers(WITHIN_A_SECOND), on_small_disk(PREFERRED_PORT, ADDED) as first:
        found = Servers(first, homes, clock)
        yield found
        if found.week:
            found.week.pooler.stop()
        for server in found.all[1:]:
            stop_server(server, "immediate")
    shutil.rmtree(homes)


def workers(week: Week) -> list[Worker]:
    seeds = iter(range(SEED * 1000, SEED * 1000 + 1000))
    writers = [
        Writer(week, next(seeds), week.ledgers[name], drops=name != "scored") for name in MODELS
    ]
    readers = [
        Reader(week, next(seeds), place, user)
        for (place, user), count in READERS.items()
        for _ in range(count)
    ]
    single = [kind(week, next(seeds)) for kind in (Trainer, Pins, Roles, Keeper, Canceller)]
    of_scored = [kind(week, next(seeds), week.ledgers["scored"]) for kind in (Scores, Functions)]
    return [*writers, *readers, *single, *of_scored]


def prepare(servers: Servers) -> Week:
    """The tables, the roles, and a version of the model whose scores are kept."""
    answers = Answers.trained()
    settings = {"default_pool_size": 4, "server_login_retry": 1}
    pooler = Pooler(servers.all[0], "postgres", ("postgres", GUEST), "transaction", settings)
    week = servers.week = Week(servers.all[0], pooler, answers, MODELS)
    with servers.admin() as admin:
        admin.execute("CREATE EXTENSION pgboost_train CASCADE")
        admin.execute(f"CREATE ROLE {GUEST} LOGIN")
        answers.store(admin)
        admin.execute(f"GRANT SELECT ON rows TO {GUEST}")
        admin.execute("CREATE TABLE pinned_rows AS SELECT * FROM rows")
        admin.execute("CREATE TABLE progress (model text PRIMARY KEY, number integer)")
        for name in MODELS:
            admin.execute("INSERT INTO progress VALUES (%s, 0)", (name,))
        state = week.ledgers["scored"].states[0]
        load(admin, "scored", answers.files[0])
        state.load("postgres", "scored", 0, deploy=True)
        week.ledgers["scored"].begin(state)
        week.ledgers["scored"].settle(state)
        columns = ", ".join(f"{name} real" for name in NAMES)
        admin.execute(f"CREATE TABLE scored (id serial PRIMARY KEY, row integer, {columns})")
        admin.execute("SELECT maintain_scores('scored', 'scored')")
    servers.add_standby()
    return week


def disturb(servers: Servers, seconds: float) -> dict[str, int]:
    """Disturbs the servers for a while: the disk first, while it is the small one's."""
    generator, begin, done = random.Random(SEED), time.monotonic(), {}
    kill, jump = servers.kill_backend, servers.jump
    first = [servers.fill, kill, jump, servers.fill, servers.kill_postmaster, jump]
    later = [servers.promote, jump, kill, kill, jump, servers.kill_postmaster]
    pause = min(15.0, seconds / 10)
    number = 0
    while (passed := time.monotonic() - begin) < seconds and not servers.week.failures:
        kinds = first if passed < seconds * 0.4 else later
        kind: Callable[[random.Random], None] = kinds[number % len(kinds)]
        kind(generator)
        done[kind.__name__] = done.get(kind.__name__, 0) + 1
        number += 1
        servers.week.done.wait(generator.uniform(0.5, 1.5) * pause)
    servers.clock.jump(0)
    return done


def taken(connections: list[psycopg.Connection]) -> dict[int, tuple[int, int]]:
    """The memory and the descriptors of backends, at the least of some looks."""
    found: dict[int, tuple[int, int]] = {}
    for _ in range(5):
        for connection in connections:
            with suppress(OSError, psycopg.Error):
                pid = connection.info.backend_pid
                now = private_kb(connection), descriptors(connection)
                found[pid] = tuple(map(min, zip(now, found.get(pid, now), strict=True)))
        time.sleep(0.2)
    return found


def direct(all_: list[Worker]) -> list[psycopg.Connection]:
    """The connections whose backends are their own, but for those that train."""
    kinds = (Reader, Writer, Scores, Pins)
    of = [w.connection for w in all_ if isinstance(w, kinds) and w.place != "pool"]
    return [connection for connection in of if connection is not None]


def nothing_left(week: Week) -> None:
    """A load sweeps unused images, a minute after a crash: at most one per version stays."""
    data, deadline = week.primary.place.data, time.monotonic() + 2 * WAIT_SECONDS
    with week.primary.connect() as connection:
        oid = one(connection, "SELECT oid FROM pg_database WHERE datname = current_database()")
        while True:
            load(connection, "last", constant(3))
            versions = one(connection, "SELECT count(*) FROM pgboost_catalog.version")
            images = list((data / "pgboost" / str(oid)).glob("*.image"))
            if len(images) <= versions:
                break
            assert time.monotonic() < deadline, (len(images), versions)
            time.sleep(2)
        connection.execute("SELECT * FROM pg_stat_progress_train_model")
    assert not unfinished(data)


def test_every_answer_is_right(servers: Servers) -> None:
    week = prepare(servers)
    all_ = workers(week)
    try:
        for worker in all_:
            worker.start()
        disturbed = disturb(servers, SECONDS * (1 - QUIET))
        week.done.wait(SECONDS * QUIET / 3)
        before = taken(direct(all_))
        week.done.wait(SECONDS * QUIET * 2 / 3)
        after = taken(direct(all_))
    finally:
        week.done.set()
        for worker in all_:
            worker.join(WAIT_SECONDS)
    print(f"{SECONDS} s: {disturbed}; {dict(week.counts)}")
    assert not week.failures, "\n".join(week.failures)
    same = before.keys() & after.keys()
    growth = {pid: after[pid][0] - before[pid][0] for pid in same}
    print(f"{len(same)} connections grew by {max(growth.values())} kB at most")
    assert len(same) > len(direct(all_)) // 2
    assert max(growth.values()) < MOST_GROWTH_KB, growth
    assert all(after[pid][1] <= before[pid][1] + 2 for pid in same), (before, after)
    nothing_left(week)
    for server in servers.all:
        check_log(server)
    done = week.counts
    assert {type(worker).__name__ for worker in all_} <= done.keys()
    assert {f"{place}: {shape}" for place, _ in READERS for shape in SHAPES} <= done.keys()
