"""Shared fixtures: a second cluster, and the folder of a database's images."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection

import tests.state
from tests.extension.lifecycle.models import drop_all, one
from tools.cluster import Cluster, start, stop
from tools.cluster.server import bin_directory

STATE = tests.state.STATE / "spare"
PREFERRED_PORT = 54331 + tests.state.PORTS


@pytest.fixture(scope="module")
def spare() -> Iterator[Cluster]:
    """A separate cluster for the module, with the extension in its database postgres."""
    stop(STATE, delete=True)
    running, _ = start(STATE, PREFERRED_PORT)
    with running.connect() as connection:
        connection.execute("CREATE EXTENSION pgboost")
    yield running
    stop(STATE, delete=True)


def restart(cluster: Cluster, environment: tuple[str, ...] = (), **settings: str | int) -> None:
    """Restarts a server with these variables, and settings in its configuration; an empty one is reset."""
    if settings:
        with cluster.connect() as admin:
            for name, value in settings.items():
                change = f"SET {name} = '{value}'" if value else f"RESET {name}"
                admin.execute(f"ALTER SYSTEM {change}")
    place = cluster.place
    command = [bin_directory() / "pg_ctl", "restart", "-D", place.data, "-l", place.log]
    place.run("env", *environment, *command, "-m", "fast", "-w")


@pytest.fixture
def folder(cluster: Cluster, connection: Connection) -> Iterator[Path]:
    """The folder of the module's database, without any models in it."""
    drop_all(connection)
    database = one(connection, "SELECT oid FROM pg_database WHERE datname = current_database()")
    directory = cluster.place.data / "pgboost" / str(database)
    if directory.exists():
        shutil.rmtree(directory)
    yield directory
