"""Predictions stay right whatever happens to the file of an image, also after it was checked.

One check of an image serves all connections while the server runs and the file stays as it is. A damaged
image is made again where that is possible; where it is not, each connection makes its own.
"""

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
from tests.extension.lifecycle.models import ROW, constant, drop_all, grown, load, one, value
from tools.cluster import Cluster

PREDICT = f"SELECT predict('m', {ROW})"
# An image that was changed just now is not yet recorded as checked.
SECONDS = 10
Damage = Callable[[Cluster, Path], None]


def written(change: Callable[[bytes], bytes]) -> Damage:
    """Changes the content in place."""
    return lambda cluster, path: as_server(cluster, path, change(path.read_bytes()))


def with_its_old_time(cluster: Cluster, path: Path) -> None:
    before = path.stat()
    as_server(cluster, path, flipped(path.read_bytes(), first=64))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def by_another_file(cluster: Cluster, path: Path) -> None:
    other = path.with_suffix(".other")
    as_server(cluster, other, flipped(path.read_bytes(), first=64))
    shutil.copystat(path, other)
    other.rename(path)


DAMAGES: dict[str, Damage] = {
    "each part flipped": written(flipped),
    "a bit flipped": written(lambda content: flipped(content, place=len(content) // 2, bit=1)),
    "the last bit flipped": written(
        lambda content: flipped(content, place=len(content) - 1, bit=1)
    ),
    "cut by a bit": written(lambda content: content[:-64]),
    "cut in half": written(lambda content: content[: len(content) // 2]),
    "cut after the header": written(lambda content: content[:64]),
    "cut to nothing": written(lambda _: b""),
    "longer": written(lambda content: content + bytes(64)),
    "zeros": written(lambda content: bytes(len(content))),
    "noise": written(lambda content: os.urandom(len(content))),
    "with its old time": with_its_old_time,
    "another file": by_another_file,
    "deleted": lambda _, path: path.unlink(),
    "the folder deleted": lambda _, path: shutil.rmtree(path.parent),
    "all folders deleted": lambda _, path: shutil.rmtree(path.parent.parent),
}
AFTER_A_CHECK = ["each part flipped", "cut by a bit", "with its old time", "another file"]


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


@pytest.mark.parametrize(
    ("damage", "is_checked"),
    [(name, False) for name in DAMAGES] + [(name, True) for name in AFTER_A_CHECK],
)
def test_a_damaged_image_is_made_again(
    cluster: Cluster, connect: Connect, folder: Path, damage: str, is_checked: bool
) -> None:
    if is_checked:
        expected = checked(connect, folder)
    else:
        writer = connect()
        load(writer, "m", grown(50, 6))
        expected = one(writer, PREDICT)
        writer.close()
    good = image(folder).read_bytes()
    DAMAGES[damage](cluster, image(folder))
    assert one(connect(), PREDICT) == expected
    assert image(folder).read_bytes() == good
    made = identity(image(folder))
    assert one(connect(), PREDICT) == expected
    assert identity(image(folder)) == made


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


def test_where_it_cannot_be_read_it_is_replaced(connect: Connect, folder: Path) -> None:
    load(connect(), "m", constant(1))
    image(folder).chmod(0)
    assert value(connect()) == 1
    assert image(folder).stat().st_mode & 0o777 == 0o600


def test_where_it_cannot_be_written_each_connection_makes_its_own(
    cluster: Cluster, connect: Connect, folder: Path
) -> None:
    writer = connect()
    load(writer, "m", grown(50, 6))
    expected = one(writer, PREDICT)
    image(folder).unlink()
    folder.chmod(0o500)
    try:
        for _ in range(2):
            reader = connect()
            assert one(reader, PREDICT) == expected
            assert one(reader, PREDICT) == expected
        load(connect(), "n", constant(2))
        assert value(connect(), "n") == 2
        assert images(folder) == []
    finally:
        folder.chmod(0o700)
    log = cluster.place.log.read_text(errors="replace")
    assert 'could not write the image of model "m@1"' in log
    assert one(connect(), PREDICT) == expected
    assert len(images(folder)) == 1


def test_a_file_in_place_of_the_folder(cluster: Cluster, connect: Connect, folder: Path) -> None:
    load(connect(), "m", constant(1))
    shutil.rmtree(folder)
    as_server(cluster, folder, b"in the way")
    try:
        assert value(connect()) == 1
        assert load(connect(), "m", constant(2)) == 2
        assert value(connect()) == 2
    finally:
        folder.unlink()
    assert value(connect()) == 2
    assert len(images(folder)) == 1


def test_a_folder_in_place_of_the_file(cluster: Cluster, connect: Connect, folder: Path) -> None:
    load(connect(), "m", constant(1))
    path = image(folder)
    path.unlink()
    path.mkdir()
    assert value(connect()) == 1
    assert value(connect()) == 1
