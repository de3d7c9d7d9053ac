"""These tests take minutes and are not part of make test: make test-long TIMES=10.

Counts and seconds grow with TIMES. Each database has both extensions; a server of the module's own
is that of tests/lifecycle.
"""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from cluster import Cluster
from tests.lifecycle.conftest import spare
from tests.train.conftest import dbname

__all__ = ["dbname", "internal_errors", "logged", "spare"]


@pytest.fixture
def logged(cluster: Cluster) -> Iterator[Callable[[], list[str]]]:
    """What the server has logged during the test, with SQLSTATEs; the test fails if it crashed."""
    with cluster.connect() as connection:
        started = _started(connection)
        connection.execute("ALTER SYSTEM SET log_error_verbosity = verbose")
        connection.execute("SELECT pg_reload_conf()")
    begin = cluster.place.log.stat().st_size

    def lines() -> list[str]:
        with cluster.place.log.open(errors="replace") as log:
            log.seek(begin)
            return log.read().splitlines()

    yield lines
    with cluster.connect() as connection:
        assert _started(connection) == started
        connection.execute("ALTER SYSTEM RESET log_error_verbosity")
        connection.execute("SELECT pg_reload_conf()")
    assert not [line for line in lines() if "PANIC:" in line or "terminated by signal" in line]


@pytest.fixture
def internal_errors(logged: Callable[[], list[str]]) -> Iterator[None]:
    """Fails the test that made the server log an internal error."""
    yield
    bad = [line for line in logged() if ":  XX" in line]
    assert not bad, bad[:20]


def _started(connection: psycopg.Connection) -> object:
    return connection.execute("SELECT pg_postmaster_start_time()").fetchone()
