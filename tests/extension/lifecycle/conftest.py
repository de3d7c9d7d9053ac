"""A second cluster, the images of a database, and PostgreSQL's client programs, such as pg_dump."""

import shutil
import subprocess
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


def folder_of(cluster: Cluster, connection: Connection) -> Path:
    """The folder of the images of the connection's database."""
    database = one(connection, "SELECT oid FROM pg_database WHERE datname = current_database()")
    return cluster.place.data / "pgboost" / str(database)


# Files that a statement makes in the data directory, and must not leave there.
UNFINISHED = ("pgboost/*/*.tmp", "pg_stat_tmp/pgboost_train*", "base/pgsql_tmp/*")


def unfinished(data: Path) -> list[Path]:
    """Files that a statement began and did not end."""
    return [path for pattern in UNFINISHED for path in data.glob(pattern)]


def mapped(connection: Connection) -> dict[str, int]:
    """The image files that the connection's backend has mapped, and their bytes."""
    sizes: dict[str, int] = {}
    for line in Path(f"/proc/{connection.info.backend_pid}/maps").read_text().splitlines():
        if ".image" in line:
            first, end = (int(address, 16) for address in line.split()[0].split("-"))
            path = line.split(maxsplit=5)[5]
            sizes[path] = sizes.get(path, 0) + end - first
    return sizes


@pytest.fixture
def folder(cluster: Cluster, connection: Connection) -> Path:
    """The folder of the module's database, without any models in it."""
    drop_all(connection)
    directory = folder_of(cluster, connection)
    shutil.rmtree(directory, ignore_errors=True)
    return directory


def run(cluster: Cluster, database: str, *command: str | Path, stdin: bytes = b"") -> bytes:
    """Runs a client program; a complaint on its standard error fails the test."""
    done = subprocess.run(
        [bin_directory() / command[0], *command[1:]],
        env=cluster.environment(database), input=stdin, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert not done.stderr, done.stderr.decode()
    return done.stdout


def psql(cluster: Cluster, database: str, *arguments: str | Path, stdin: bytes | str = b"") -> None:
    """Runs a script, which an error ends."""
    silent = ("-q", "-X", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null")
    script = stdin.encode() if isinstance(stdin, str) else stdin
    run(cluster, database, "psql", *silent, *arguments, stdin=script)


def restored(cluster: Cluster, source: str, database: str) -> str:
    """The name of a new database with a plain dump of another one."""
    cluster.create_database(database, replace=True)
    psql(cluster, database, stdin=run(cluster, source, "pg_dump"))
    return database


SECTIONS = ("pre-data", "data", "post-data")
# How an archive is restored: the options of each run of pg_restore. A plain dump is a script.
WAYS: dict[str, list[list[str]]] = {
    "plain": [],
    "archive": [[]],
    "two jobs": [["--jobs=2"]],
    "sections": [["--jobs=2", f"--section={section}"] for section in SECTIONS],
}


def moved(cluster: Cluster, source: str, way: str, folder: Path) -> str:
    """The name of a new database with a dump of another one, restored in one of the WAYS."""
    target = "moved"
    if way == "plain":
        return restored(cluster, source, target)
    cluster.create_database(target, replace=True)
    archive = folder / "archive"
    run(cluster, source, "pg_dump", "--format=custom", "--file", archive)
    for options in WAYS[way]:
        run(cluster, target, "pg_restore", *options, "-d", target, archive)
    return target
