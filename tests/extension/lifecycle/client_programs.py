"""PostgreSQL's client programs, such as pg_dump, on a cluster of the tests."""

import subprocess
from pathlib import Path

from tools.cluster import Cluster
from tools.cluster.server import bin_directory


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
