"""A Citus cluster of a coordinator and two workers, each a separate PostgreSQL on this machine.

The nodes reach each other by their sockets, so that no password is needed. What a test does to a
node is undone by the test, or done to a separate database.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from psycopg import Connection, sql

from tests.connections import Connect, closed_after
from tools.cluster import Cluster, start, stop
from tools.cluster.server import installed

STATE = Path(__file__).resolve().parents[3] / ".test-citus"
PREFERRED_PORT = 54360
SETTINGS = {
    "shared_preload_libraries": "citus",
    "citus.node_conninfo": "sslmode=disable",
    "wal_level": "logical",
    "max_prepared_transactions": "50",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "jit": "off",
}
MODELS = Path(__file__).resolve().parents[1] / "sql" / "models"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs Citus where the PostgreSQL of PG_CONFIG does not have it."""
    if (installed("--sharedir") / "extension" / "citus.control").exists():
        return
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="Citus is not installed: make test-citus"))


@pytest.fixture(scope="session")
def servers() -> Iterator[list[Cluster]]:
    """The coordinator, two workers, and a server that is not a node yet."""
    started: list[Cluster] = []
    states = [STATE / f"node{number}" for number in range(4)]
    try:
        for number, state in enumerate(states):
            stop(state, delete=True)
            running, _ = start(state, PREFERRED_PORT + number, SETTINGS)
            with running.connect() as connection:
                # By which a node reaches itself.
                local = sql.SQL("ALTER SYSTEM SET citus.local_hostname = {}").format(running.host)
                connection.execute(local)
                connection.execute("SELECT pg_reload_conf()")
            started.append(running)
        yield started
    finally:
        for state in states:
            stop(state, delete=os.environ.get("PGBOOST_TEST_KEEP") != "1")


def address(node: Cluster) -> tuple[str, int]:
    """The name and port under which the other nodes know it."""
    return node.host, node.port


@dataclass(frozen=True)
class Nodes:
    """A database on all nodes, with the extensions."""

    dbname: str
    coordinator: Cluster
    workers: list[Cluster]
    spare: Cluster

    def each(self, query: str) -> list[list[tuple]]:
        """The rows of a query on each node separately."""
        answers = []
        for node in (self.coordinator, *self.workers):
            with node.connect(self.dbname) as connection:
                answers.append(connection.execute(query).fetchall())
        return answers


@pytest.fixture(scope="module")
def nodes(servers: list[Cluster], request: pytest.FixtureRequest) -> Iterator[Nodes]:
    """A Citus cluster whose nodes share their models, in new databases for the module."""
    dbname = request.module.__name__.rpartition(".")[2]
    coordinator, *workers, spare = servers
    for node in servers:
        node.create_database(dbname, replace=True)
        with node.connect(dbname) as connection:
            connection.execute("CREATE EXTENSION citus")
    with coordinator.connect(dbname) as connection:
        connection.execute("SELECT citus_set_coordinator_host(%s, %s)", address(coordinator))
        for worker in workers:
            connection.execute("SELECT citus_add_node(%s, %s)", address(worker))
        connection.execute("CREATE EXTENSION pgboost_citus CASCADE")
        connection.execute("SELECT pgboost_sync_nodes()")
    yield Nodes(dbname, coordinator, workers, spare)


@pytest.fixture
def connect(nodes: Nodes) -> Iterator[Connect]:
    """Opens connections, `connect(node=..., user=...)`, to the coordinator unless told otherwise."""

    def connected(
        node: Cluster = nodes.coordinator, user: str = "postgres", autocommit: bool = True
    ) -> Connection:
        return node.connect(nodes.dbname, user, autocommit)

    with closed_after(connected) as connect:
        yield connect


@pytest.fixture
def connection(connect: Connect) -> Connection:
    """A superuser's connection to the coordinator."""
    return connect()


def file_of(name: str) -> bytes:
    """One of the model files of the SQL regression tests."""
    return (MODELS / f"{name}.ubj").read_bytes()
