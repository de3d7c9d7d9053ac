"""An image is never the truth: whatever happens to the file, predictions stay right.

It is made again where that is possible; where it is not, each connection makes its own.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.connections import Connect
from tests.extension.lifecycle.image_files import as_server, identity, image, images
from tests.extension.lifecycle.models import constant, grown, load, one, value
from tools.cluster import Cluster

ROW = "ARRAY[0.1, 0.9, 0.3, 0.7, 0.5, 0.2, 0.8, 0.4, 0.6, NULL]::real[]"


def flip_each_part(cluster: Cluster, path: Path) -> None:
    content = bytearray(path.read_bytes())
    for place in range(0, len(content), max(1, len(content) // 20)):
        content[place] ^= 0x10
    as_server(cluster, path, bytes(content))


def flip_one_bit(cluster: Cluster, path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    as_server(cluster, path, bytes(content))


def flip_the_last_bit(cluster: Cluster, path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    as_server(cluster, path, bytes(content))


def cut_in_half(cluster: Cluster, path: Path) -> None:
    as_server(cluster, path, path.read_bytes()[: path.stat().st_size // 2])


def cut_after_the_header(cluster: Cluster, path: Path) -> None:
    as_server(cluster, path, path.read_bytes()[:64])


def cut_to_nothing(cluster: Cluster, path: Path) -> None:
    as_server(cluster, path, b"")


def lengthen(cluster: Cluster, path: Path) -> None:
    as_server(cluster, path, path.read_bytes() + bytes(64))


def fill_with_zeros(cluster: Cluster, path: Path) -> None:
    as_server(cluster, path, bytes(path.stat().st_size))


def fill_with_noise(cluster: Cluster, path: Path) -> None:
    as_server(cluster, path, os.urandom(path.stat().st_size))


def delete(cluster: Cluster, path: Path) -> None:
    path.unlink()


def delete_the_folder(cluster: Cluster, path: Path) -> None:
    shutil.rmtree(path.parent)


def delete_all_folders(cluster: Cluster, path: Path) -> None:
    shutil.rmtree(path.parent.parent)


@pytest.mark.parametrize(
    "damage",
    [
        flip_each_part, flip_one_bit, flip_the_last_bit, cut_in_half, cut_after_the_header,
        cut_to_nothing, lengthen, fill_with_zeros, fill_with_noise, delete, delete_the_folder,
        delete_all_folders,
    ],
)  # fmt: skip
def test_a_damaged_image_is_made_again(
    cluster: Cluster, connect: Connect, folder: Path, damage: Callable[[Cluster, Path], None]
) -> None:
    writer = connect()
    load(writer, "m", grown(50, 6))
    expected = one(writer, f"SELECT predict('m', {ROW})")
    writer.close()
    good = image(folder).read_bytes()
    damage(cluster, image(folder))
    assert one(connect(), f"SELECT predict('m', {ROW})") == expected
    assert image(folder).read_bytes() == good
    made = identity(image(folder))
    assert one(connect(), f"SELECT predict('m', {ROW})") == expected
    assert identity(image(folder)) == made


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
    expected = one(writer, f"SELECT predict('m', {ROW})")
    image(folder).unlink()
    folder.chmod(0o500)
    try:
        for _ in range(2):
            reader = connect()
            assert one(reader, f"SELECT predict('m', {ROW})") == expected
            assert one(reader, f"SELECT predict('m', {ROW})") == expected
        load(connect(), "n", constant(2))
        assert value(connect(), "n") == 2
        assert images(folder) == []
    finally:
        folder.chmod(0o700)
    log = cluster.place.log.read_text(errors="replace")
    assert 'could not write the image of model "m@1"' in log
    assert one(connect(), f"SELECT predict('m', {ROW})") == expected
    assert len(images(folder)) == 1


def test_where_a_file_is_in_the_folders_place(
    cluster: Cluster, connect: Connect, folder: Path
) -> None:
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


def test_a_folder_in_the_files_place(cluster: Cluster, connect: Connect, folder: Path) -> None:
    load(connect(), "m", constant(1))
    path = image(folder)
    path.unlink()
    path.mkdir()
    assert value(connect()) == 1
    assert value(connect()) == 1
