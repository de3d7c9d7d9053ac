"""A cluster on a small file system, which can be filled; mounting it needs root.

The server's log of changes lies elsewhere, as on real servers: where it finds no room, any PostgreSQL ends.
"""

import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

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
