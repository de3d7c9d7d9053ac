"""Predictions stay right whatever happens to the file of an image.

It is made again where that is possible; where it is not, each connection makes its own.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.connections import Connect
from tests.extension.lifecycle.image_files import as_server, flipped, identity, image, images
from tests.extension.lifecycle.models import constant, grown, load, one, value
from tools.cluster import Cluster

ROW = "ARRAY[0.1, 0.9, 0.3, 0.7, 0.5, 0.2, 0.8, 0.4, 0.6, NULL]::real[]"


# The damaged content of a file.
CONTENTS: dict[str, Callable[[bytes], bytes]] = {
    "each part flipped": flipped,
    "a bit flipped": lambda content: flipped(content, place=len(content) // 2, bit=1),
    "the last bit flipped": lambda content: flipped(content, place=len(content) - 1, bit=1),
    "cut in half": lambda content: content[: len(content) // 2],
    "cut after the header": lambda content: content[:64],
    "cut to nothing": lambda _: b"",
    "longer": lambda content: content + bytes(64),
    "zeros": lambda content: bytes(len(content)),
    "noise": lambda content: os.urandom(len(content)),
}
REMOVALS: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "the folder deleted": lambda path: shutil.rmtree(path.parent),
    "all folders deleted": lambda path: shutil.rmtree(path.parent.parent),
}


@pytest.mark.parametrize("damage", [*CONTENTS, *REMOVALS])
def test_a_damaged_image_is_made_again(
    cluster: Cluster, connect: Connect, folder: Path, damage: str
) -> None:
    writer = connect()
    load(writer, "m", grown(50, 6))
    expected = one(writer, f"SELECT predict('m', {ROW})")
    writer.close()
    good = image(folder).read_bytes()
    if damage in CONTENTS:
        as_server(cluster, image(folder), CONTENTS[damage](good))
    else:
        REMOVALS[damage](image(folder))
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
