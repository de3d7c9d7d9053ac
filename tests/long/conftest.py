"""These tests take minutes and are not part of make test: make test-long TIMES=10.

Counts and seconds grow with TIMES. Each database has both extensions; a server of the module's own
is that of tests/lifecycle.
"""

import psycopg
import pytest

from cluster import Cluster
from tests.lifecycle.conftest import spare

__all__ = ["dbname", "internal_errors", "spare"]


@pytest.fixture(scope="module")
def dbname(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    """The module's own database, made anew, with both extensions in it."""
    name = request.module.__name__.rpartition(".")[2]
    cluster.create_database(name, replace=True)
    with cluster.connect(name) as connection:
        connection.execute("CREATE EXTENSION pgboost_train CASCADE")
    return name


@pytest.fixture
def internal_errors(cluster: Cluster):
    """Fails the test that made the server log an internal error or a crash, or start anew."""
    with cluster.connect() as connection:
        started = _started(connection)
        connection.execute("ALTER SYSTEM SET log_error_verbosity = verbose")
        connection.execute("SELECT pg_reload_conf()")
    begin = cluster.place.log.stat().st_size
    yield
    with cluster.place.log.open(errors="replace") as log:
        log.seek(begin)
        lines = log.read().splitlines()
    bad = [line for line in lines if any(sign in line for sign in SIGNS)]
    with cluster.connect() as connection:
        assert _started(connection) == started
        connection.execute("ALTER SYSTEM RESET log_error_verbosity")
        connection.execute("SELECT pg_reload_conf()")
    assert not bad, bad[:20]


SIGNS = ("ERROR:  XX", "PANIC:", "terminated by signal", "FATAL:  XX")


def _started(connection: psycopg.Connection) -> object:
    return connection.execute("SELECT pg_postmaster_start_time()").fetchone()
