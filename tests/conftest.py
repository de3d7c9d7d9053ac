"""A cluster for the whole run, and a fresh database with the extension for each test module.

The cluster lies in .test/ and is recreated for every run, so that nothing of
an earlier one can help a test to pass. Set PGBOOST_TEST_KEEP=1 to keep it.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.connections import Connect, Notice, closed_after, running_since, waits
from tests.state import PORTS, STATE
from tools.cluster import Cluster, start, stop

# Tests run in as many processes as there are cores: teams of threads in each wait for one another, spinning.
# LightGBM's classes ask for a thread per core, whatever their default number.
for limit in ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT"):
    os.environ.setdefault(limit, "1")
PREFERRED_PORT = 54330 + PORTS
# Room for eight parallel workers in addition to the server's own, and for prepared transactions. A
# subscription starts one worker per interval, which is 5 s by default.
SETTINGS = {
    "max_worker_processes": "16", "max_prepared_transactions": "5", "wal_retrieve_retry_interval": "100ms",
}  # fmt: skip


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The running cluster of this run."""
    stop(STATE, delete=True)
    running, _ = start(STATE, PREFERRED_PORT, SETTINGS)
    yield running
    stop(STATE, delete=os.environ.get("PGBOOST_TEST_KEEP") != "1")


@pytest.fixture(scope="module", autouse=True)
def no_role_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Drops the roles that a module leaves in the cluster, where another module may create its own."""
    items = (item for item in request.session.items if item.path == request.path)
    if not any("cluster" in item.fixturenames for item in items):
        yield
        return
    cluster = request.getfixturevalue("cluster")
    yield
    with cluster.connect() as superuser:
        left = "SELECT quote_ident(rolname) FROM pg_roles WHERE oid >= 16384"
        if not (roles := ", ".join(role for (role,) in superuser.execute(left))):
            return
        databases = superuser.execute("SELECT datname FROM pg_database WHERE datallowconn")
        for (database,) in databases.fetchall():
            with cluster.connect(database) as inside:
                inside.execute(f"REASSIGN OWNED BY {roles} TO CURRENT_USER; DROP OWNED BY {roles}")
        superuser.execute(f"DROP ROLE {roles}")


@pytest.fixture(scope="session")
def template(cluster: Cluster) -> str:
    """A database with the extension, which takes longer to create than to copy."""
    name = "with_extension"
    cluster.create_database(name)
    with cluster.connect(name) as connection:
        connection.execute("CREATE EXTENSION pgboost")
    return name


@pytest.fixture(scope="module")
def dbname(cluster: Cluster, template: str, request: pytest.FixtureRequest) -> str:
    """The module's own database, newly created, with the extension in it."""
    name = request.module.__name__.rpartition(".")[2]
    cluster.create_database(name, replace=True, template=template)
    return name


@pytest.fixture
def connect(cluster: Cluster, dbname: str) -> Iterator[Connect]:
    """Opens connections, `connect(user=..., dbname=...)`, that are closed after the test.

    They commit each statement by themselves unless told `autocommit=False`. A `new` user is a role that is
    created, and dropped after the test with what it owns in the module's database.
    """
    database, created = dbname, []

    def connected(
        user: str = "postgres", dbname: str = database, autocommit: bool = True, new: bool = False
    ) -> psycopg.Connection:
        if new:
            with cluster.connect(database) as superuser:
                superuser.execute(f"CREATE ROLE {user} LOGIN")
            created.append(user)
        return cluster.connect(dbname, user, autocommit)

    with closed_after(connected) as connect:
        yield connect
    if created:
        with cluster.connect(database) as superuser:
            query = "SELECT rolname FROM pg_roles WHERE rolname = ANY(%s)"
            for (role,) in superuser.execute(query, (created,)).fetchall():
                superuser.execute(f"DROP OWNED BY {role} CASCADE; DROP ROLE {role}")


@pytest.fixture
def connection(connect: Connect) -> psycopg.Connection:
    """A superuser's connection to the module's database."""
    return connect()


@pytest.fixture
def blocked(connect: Connect) -> Iterator[Callable[..., Future]]:
    """Runs a session's statement, or a function, in a thread; returns once the session waits for a lock."""
    observer, pool = connect(), ThreadPoolExecutor()

    def run(session: psycopg.Connection, work: str | Callable[[], Any], *arguments: Any) -> Future:
        ended = (
            pool.submit(work) if callable(work) else pool.submit(session.execute, work, *arguments)
        )
        waits(observer, session)
        return ended

    yield run
    # What still waits ends with its connection.
    pool.shutdown(wait=False)


@pytest.fixture
def notices(connection: psycopg.Connection) -> list[Notice]:
    """The notices of that connection, as they come."""
    found: list[Notice] = []

    def keep(said: psycopg.errors.Diagnostic) -> None:
        texts = (said.severity, said.message_primary, said.message_detail, said.message_hint)
        found.append(Notice(*texts))

    connection.add_notice_handler(keep)
    return found


@pytest.fixture(scope="module")
def module_connection(cluster: Cluster, dbname: str) -> Iterator[psycopg.Connection]:
    """A superuser's connection to the module's database, for what is done around each test."""
    with cluster.connect(dbname) as connection:
        yield connection


@pytest.fixture
def own_models(module_connection: psycopg.Connection) -> Iterator[None]:
    """Drops the test's models, since none takes the place of one of another kind."""
    names = "SELECT DISTINCT name FROM pgboost_models"
    before = module_connection.execute(names).fetchall()
    yield
    for name in set(module_connection.execute(names).fetchall()).difference(before):
        module_connection.execute("SELECT drop_model(%s)", name)


@pytest.fixture
def logged(cluster: Cluster) -> Iterator[Callable[[], list[str]]]:
    """Returns the lines logged during the test, with SQLSTATEs; the test fails if the server crashed."""
    with cluster.connect() as connection:
        started = running_since(connection)
        connection.execute("ALTER SYSTEM SET log_error_verbosity = verbose")
        connection.execute("SELECT pg_reload_conf()")
    begin = cluster.place.log.stat().st_size

    def lines() -> list[str]:
        with cluster.place.log.open(errors="replace") as log:
            log.seek(begin)
            return log.read().splitlines()

    yield lines
    with cluster.connect() as connection:
        assert running_since(connection) == started
        connection.execute("ALTER SYSTEM RESET log_error_verbosity")
        connection.execute("SELECT pg_reload_conf()")
    assert not [line for line in lines() if "PANIC:" in line or "terminated by signal" in line]


@pytest.fixture
def internal_errors(logged: Callable[[], list[str]]) -> Iterator[None]:
    """Fails the test that made the server log an internal error."""
    yield
    bad = [line for line in logged() if ":  XX" in line]
    assert not bad, bad[:20]
