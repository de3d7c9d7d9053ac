"""A full disk is an error of the statement: existing models predict, and no unfinished file stays.

The cluster is on a small file system; mounting it needs root. The server's log of changes lies elsewhere, as
on real servers: where it finds no room, any PostgreSQL ends.
"""

import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.extension.lifecycle.conftest import unfinished
from tests.extension.lifecycle.models import constant, grown, load, value
from tests.state import TIMES
from tools.cluster import Cluster, start, stop

MEGABYTES = 400
SMALL = {
    "shared_buffers": "16MB",
    "max_wal_size": "64MB",
    "log_error_verbosity": "verbose",
    # With any, a checkpoint that finds no room for the places that they have reached ends PostgreSQL itself.
    "max_replication_slots": "0",
}


@contextmanager
def on_small_disk(port: int, added: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """Starts a cluster on a disk of 400 MB."""
    root = Path(tempfile.mkdtemp(prefix="pgboost-full-"))
    root.chmod(0o755)
    disk, log = root / "disk", root / "log"
    for directory in (disk, log):
        directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m,mode=755", "tmpfs", str(disk)]
    subprocess.run(mount, check=True)
    try:
        state, settings = disk / "state", {**SMALL, **(added or {})}
        running, _ = start(state, port, settings)
        stop(state)
        written = running.place.data / "pg_wal"
        shutil.move(written, log / "pg_wal")
        subprocess.run(["chown", "-R", "--reference", running.place.data, log], check=True)
        written.symlink_to(log / "pg_wal")
        running, _ = start(state, port, settings)
        yield running
    finally:
        stop(disk / "state")
        subprocess.run(["umount", str(disk)], check=True)
        shutil.rmtree(root)


def _allocated(file: int, left: int) -> bool:
    """Makes a file as long as there is room; the server may have taken some meanwhile."""
    free = os.fstatvfs(file)
    try:
        os.posix_fallocate(file, 0, max(4096, free.f_bavail * free.f_frsize - left))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False
    return True


@contextmanager
def filled(cluster: Cluster, left: int) -> Iterator[None]:
    """Fills the disk by a file up to `left` free bytes."""
    # PostgreSQL itself ends a connection that cannot write this file, which VACUUM FULL takes away.
    with cluster.connect():
        assert list(cluster.place.data.glob("base/*/pg_internal.init"))
    path = Path(cluster.place.home).parent / "filler"
    try:
        with path.open("wb") as file:
            while not _allocated(file.fileno(), left):
                pass
        yield
    finally:
        path.unlink()


PORT = 54340

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")


@pytest.fixture(scope="module")
def small_disk() -> Iterator[Cluster]:
    """A cluster on a small disk, with both extensions in its database postgres."""
    with on_small_disk(PORT) as running:
        with running.connect() as connection:
            connection.execute("CREATE EXTENSION pgboost_train CASCADE")
            load(connection, "m", constant(7))
            connection.execute(
                "CREATE TABLE rows AS SELECT random() AS a, random() AS b, i AS y "
                "FROM generate_series(1, 200000) AS i"
            )
        yield running


def refused(cluster: Cluster, statement: str, parameters: tuple = ()) -> str | None:
    """The SQLSTATE of a statement in a separate connection."""
    try:
        with cluster.connect() as connection:
            connection.execute(statement, parameters)
    except psycopg.Error as error:
        return error.sqlstate
    return None


@pytest.mark.parametrize("round_", range(TIMES))
def test_loads_fail_until_there_is_room(small_disk: Cluster, round_: int) -> None:
    content = grown(620, 9, seed=round_)
    states = set()
    for left in (0, 64 << 10, 1 << 20, 8 << 20, len(content) - (1 << 20), len(content) + (1 << 20)):
        with filled(small_disk, left):
            states.add(refused(small_disk, "SELECT load_model('large', %s)", (content,)))
            with small_disk.connect() as connection:
                assert value(connection) == 7
        refused(small_disk, "SELECT drop_model('large')")
        assert not unfinished(small_disk.place.data)
    assert states <= {None, "53100"} and "53100" in states, states
    with small_disk.connect() as connection:
        load(connection, "large", content)
        connection.execute("SELECT drop_model('large')")
        connection.execute("VACUUM FULL")


def test_an_image_that_cannot_be_written_is_made_in_memory(small_disk: Cluster) -> None:
    with small_disk.connect() as connection:
        load(connection, "medium", grown(300, 8))
        row = "ARRAY[0.1, 0.9, 0.3, 0.7, 0.5, 0.2, 0.8, 0.4, 0.6, 0.5]::real[]"
        query = f"SELECT predict('medium', {row})"
        expected = connection.execute(query).fetchone()
    for path in (small_disk.place.data / "pgboost").rglob("*.image"):
        path.unlink()
    with filled(small_disk, 0):
        with small_disk.connect() as connection:
            assert connection.execute(query).fetchone() == expected
        assert not unfinished(small_disk.place.data)
    with small_disk.connect() as connection:
        assert connection.execute(query).fetchone() == expected


@pytest.mark.parametrize("left", [0, 100 << 10, 2 << 20])
def test_a_training_fails_and_leaves_nothing(small_disk: Cluster, left: int) -> None:
    train = "SELECT * FROM train_model('trained', 'rows', 'y', rounds => 3)"
    with filled(small_disk, left):
        assert refused(small_disk, train) in ("53100", None if left else "53100")
    with small_disk.connect() as connection:
        connection.execute("SELECT * FROM pg_stat_progress_train_model")
        assert not unfinished(small_disk.place.data)
        connection.execute(train)
        connection.execute("SELECT drop_model('trained')")
