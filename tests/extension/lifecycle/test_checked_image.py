"""One check of an image serves all connections while the server runs and the file stays as it is."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.connections import Connect
from tests.extension.lifecycle.image_files import (
    as_server,
    flipped,
    identity,
    image,
    images,
    record,
)
from tests.extension.lifecycle.models import drop_all, grown, load, one
from tools.cluster import Cluster

ROW = "ARRAY[0.1, 0.9, 0.3, 0.7, 0.5, 0.2, 0.8, 0.4, 0.6, NULL]::real[]"
PREDICT = f"SELECT predict('m', {ROW})"
# An image that was changed just now is not yet recorded as checked.
SECONDS = 10


def checked(connect: Connect, folder: Path) -> float:
    """Loads a model and predicts until the check is recorded; gives the prediction."""
    load(connect(), "m", grown(50, 6))
    deadline = time.monotonic() + SECONDS
    while True:
        connection = connect()
        expected = one(connection, PREDICT)
        connection.close()
        if record(folder).exists():
            return expected
        assert time.monotonic() < deadline, "no check was recorded"
        time.sleep(0.1)


def in_place(cluster: Cluster, path: Path) -> None:
    as_server(cluster, path, flipped(path.read_bytes(), first=64))


def in_place_with_its_old_time(cluster: Cluster, path: Path) -> None:
    before = path.stat()
    as_server(cluster, path, flipped(path.read_bytes(), first=64))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def by_another_file(cluster: Cluster, path: Path) -> None:
    other = path.with_suffix(".other")
    as_server(cluster, other, flipped(path.read_bytes(), first=64))
    shutil.copystat(path, other)
    other.rename(path)


def by_a_shorter_one(cluster: Cluster, path: Path) -> None:
    as_server(cluster, path, path.read_bytes()[:-64])


def test_a_connection_that_finds_the_record_writes_nothing(connect: Connect, folder: Path) -> None:
    expected = checked(connect, folder)
    before = identity(image(folder)), identity(record(folder))
    assert one(connect(), PREDICT) == expected
    assert (identity(image(folder)), identity(record(folder))) == before
    assert record(folder).stat().st_mode & 0o777 == 0o600


def test_the_first_connection_after_a_load_checks_for_all_others(
    connect: Connect, folder: Path
) -> None:
    load(connect(), "m", grown(50, 6))
    time.sleep(0.1)
    one(connect(), PREDICT)
    before = identity(record(folder))
    one(connect(), PREDICT)
    assert identity(record(folder)) == before


@pytest.mark.parametrize(
    "damage", [in_place, in_place_with_its_old_time, by_another_file, by_a_shorter_one]
)
def test_damage_after_the_check_is_found(
    cluster: Cluster, connect: Connect, folder: Path, damage: Callable[[Cluster, Path], None]
) -> None:
    expected = checked(connect, folder)
    good = image(folder).read_bytes()
    damage(cluster, image(folder))
    assert one(connect(), PREDICT) == expected
    assert image(folder).read_bytes() == good


def test_a_record_of_another_run_of_the_server_does_not_count(
    cluster: Cluster, connect: Connect, folder: Path
) -> None:
    expected = checked(connect, folder)
    run, rest = record(folder).read_bytes().split(b" ", 1)
    as_server(cluster, record(folder), b"%d %s" % (int(run) - 1, rest))
    assert one(connect(), PREDICT) == expected
    assert record(folder).read_bytes() == run + b" " + rest


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 64, os.urandom(64)], ids=["empty", "zeros", "random"]
)
def test_a_damaged_record_is_made_again(
    cluster: Cluster, connect: Connect, folder: Path, content: bytes
) -> None:
    expected = checked(connect, folder)
    good = record(folder).read_bytes()
    as_server(cluster, record(folder), content)
    assert one(connect(), PREDICT) == expected
    assert record(folder).read_bytes() == good


def test_a_record_goes_with_its_image(connect: Connect, folder: Path) -> None:
    checked(connect, folder)
    old = time.time() - 7200
    for path in folder.iterdir():
        os.utime(path, (old, old))
    connection = connect()
    drop_all(connection)
    load(connection, "other", grown(2, 2))
    assert not list(folder.glob("*.checked"))
    assert len(images(folder)) == 1
