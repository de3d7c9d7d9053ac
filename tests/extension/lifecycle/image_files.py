"""The image files of a database, as the server's data directory has them."""

import shutil
from pathlib import Path

from psycopg import Connection

from tools.cluster import Cluster

RECORD = ".checked"
# How many images were made since the folder was last swept, and where the registry's table of versions is.
NOTES = ("made", "table")


def images(folder: Path) -> list[Path]:
    """All files but the records of checks, which come a while after their images, and notes."""
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in found if path.suffix != RECORD and path.name not in NOTES]


def record(folder: Path) -> Path:
    """The path of the one image's record of its check."""
    return image(folder).with_suffix(RECORD)


def image(folder: Path) -> Path:
    """The only image."""
    found = images(folder)
    assert len(found) == 1, found
    assert found[0].suffix == ".image"
    return found[0]


def as_server(cluster: Cluster, path: Path, content: bytes) -> None:
    """Writes a file that belongs to the server's user, as every file in its directory."""
    path.write_bytes(content)
    if cluster.place.user:
        shutil.chown(path, cluster.place.user, cluster.place.user)


def flipped(content: bytes, first: int = 0, place: int | None = None, bit: int = 0x10) -> bytes:
    """The content with a bit flipped in each of its parts from `first` on, or at one place."""
    each = range(first, len(content), max(1, len(content) // 20))
    changed = bytearray(content)
    for at in each if place is None else [place]:
        changed[at] ^= bit
    return bytes(changed)


def mapped(connection: Connection) -> list[str]:
    """The image files that the connection's backend has mapped."""
    maps = Path(f"/proc/{connection.info.backend_pid}/maps").read_text()
    return [line.split(maxsplit=5)[5] for line in maps.splitlines() if ".image" in line]


def identity(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size
