"""The image of a model: one file for all connections, as long as a version uses it.

The file is below the data directory, in pgboost/<oid of the database>. One check of it serves all connections
while the server runs and the file stays as it is. A damaged image is made again where that is possible; where
it is not, each connection makes its own.
"""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from psycopg import errors

from tests.connections import Connect, until
from tests.extension.lifecycle.conftest import folder_of, mapped
from tests.extension.lifecycle.models import ROW, constant, drop_all, grown, load, one, value
from tools.cluster import Cluster

PREDICT = f"SELECT predict('m', {ROW})"
RECORD = ".checked"
# How many images were made since the folder was last swept, and where the registry's table of versions is.
NOTES = ("made", "table")
# Images younger than this may belong to another session's open transaction, so a sweep spares them.
OLD = 7200
Damage = Callable[[Cluster, Path], None]


def images(folder: Path) -> list[Path]:
    """All files but the records of checks, which come a while after their images, and notes."""
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in found if path.suffix != RECORD and path.name not in NOTES]


def image(folder: Path) -> Path:
    """The only image."""
    (found,) = images(folder)
    assert found.suffix == ".image"
    return found


def record(folder: Path) -> Path:
    """The path of the one image's record of its check."""
    return image(folder).with_suffix(RECORD)


def identity(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def as_server(cluster: Cluster, path: Path, content: bytes) -> None:
    """Writes a file that belongs to the server's user, as every file in its directory."""
    path.write_bytes(content)
    if cluster.place.user:
        shutil.chown(path, cluster.place.user, cluster.place.user)


def test_loading_writes_it_and_other_connections_only_map_it(
    connect: Connect, folder: Path
) -> None:
    assert load(connect(), "m", grown(50, 6)) == 1
    made, expected = identity(image(folder)), one(connect(), PREDICT)
    for _ in range(3):
        reader = connect()
        assert not mapped(reader)
        assert one(reader, PREDICT) == expected
        assert list(mapped(reader)) == [str(image(folder))]
    assert identity(image(folder)) == made
    assert image(folder).stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_dropped_models_image_is_removed_after_commit(connect: Connect, folder: Path) -> None:
    writer, other = connect(autocommit=False), connect()
    for number in (1, 2):
        load(writer, "m", constant(number))
    writer.commit()
    for dropped, end, left in (
        ("m@1", "ROLLBACK", 2), ("m", "ROLLBACK", 2), ("m", "ROLLBACK PREPARED 'drop'", 2),
        ("m@1", "COMMIT", 1), ("m", "COMMIT", 0),
    ):  # fmt: skip
        before = images(folder)
        writer.execute("SELECT drop_model(%s)", (dropped,))
        if "PREPARED" in end:
            writer.execute("PREPARE TRANSACTION 'drop'")
        assert images(folder) == before
        (other if "PREPARED" in end else writer).execute(end)
        assert len(images(folder)) == left


def test_an_image_that_another_version_uses_stays(connect: Connect, folder: Path) -> None:
    writer = connect()
    for name in ("a", "b", "b"):
        load(writer, name, constant(1))
    path = image(folder)
    for dropped in ("a", "b@1"):
        writer.execute("SELECT drop_model(%s)", (dropped,))
        assert image(folder) == path
    assert value(writer, "b") == 1
    writer.execute("SELECT drop_model('b')")
    assert images(folder) == []


def test_a_reader_keeps_a_removed_image(connect: Connect, folder: Path) -> None:
    reader, writer = connect(autocommit=False), connect()
    load(writer, "m", constant(1))
    with reader.cursor("c") as cursor:
        cursor.itersize = 1
        cursor.execute("SELECT predict('m', 1) FROM generate_series(1, 5)")
        assert cursor.fetchone() == (1,)
        writer.execute("SELECT drop_model('m')")
        assert images(folder) == []
        assert cursor.fetchall() == [(1,)] * 4


def test_a_load_that_rolls_back_leaves_nothing(connect: Connect, folder: Path) -> None:
    """However it rolls back, and however often; a later load writes the image, which is still open, again."""
    writer, ended = connect(autocommit=False), connect(autocommit=False)
    for number in range(20):
        load(writer, "m", constant(number))
        assert len(images(folder)) == 1
        writer.rollback()
        assert images(folder) == []
    with pytest.raises(errors.DivisionByZero):
        query = "SELECT load_model('m', %s), 1 / (1 - x) FROM (SELECT 1 AS x) AS r"
        writer.execute(query, (constant(1),))
    writer.rollback()
    assert images(folder) == []
    load(ended, "m", constant(1))
    ended.close()
    until(lambda: images(folder), [])
    load(writer, "m", constant(19))
    writer.commit()
    made = identity(image(folder))
    load(writer, "same", constant(19))
    writer.rollback()
    assert identity(image(folder)) == made


def test_a_load_in_a_subtransaction_that_rolls_back_leaves_nothing(
    connect: Connect, folder: Path
) -> None:
    writer = connect(autocommit=False)
    with writer.transaction():
        load(writer, "kept", constant(1))
        for number in range(2, 22):
            with writer.transaction(force_rollback=True), writer.transaction():
                load(writer, "m", constant(number))
        assert len(images(folder)) == 1
        with writer.transaction(), writer.transaction():
            load(writer, "also kept", constant(50))
    writer.commit()
    assert len(images(folder)) == 2
    assert value(connect(), "kept") == 1
    assert value(connect(), "also kept") == 50
    with writer.transaction(), writer.transaction(force_rollback=True):
        writer.execute("SELECT drop_model('kept')")
    assert len(images(folder)) == 2


def test_files_of_dead_backends_are_removed(
    cluster: Cluster, connect: Connect, folder: Path
) -> None:
    """Removes images and unfinished files of dead backends, and no other files."""
    writer = connect()
    load(writer, "kept", constant(1))
    kept = image(folder)
    orphan = kept.with_name("0" * 40 + kept.name[40:])
    unfinished, stranger = orphan.with_suffix(".12345.tmp"), folder / "README"
    for path in (orphan, unfinished, stranger):
        as_server(cluster, path, b"x")
    load(writer, "now", constant(3))
    # They may belong to a session that has not committed yet, or that is writing.
    assert orphan.exists() and unfinished.exists()
    long_ago = time.time() - OLD
    for path in (orphan, unfinished, stranger, kept):
        os.utime(path, (long_ago, long_ago))
    load(writer, "later", constant(4))
    assert not orphan.exists() and not unfinished.exists()
    assert kept.exists() and stranger.exists()
    assert value(connect(), "kept") == 1


def with_a_model(cluster: Cluster, name: str) -> Path:
    """Makes a database whose model answers 5; returns the folder of its images."""
    cluster.create_database(name, replace=True)
    with cluster.connect(name) as connection:
        connection.execute("CREATE EXTENSION pgboost")
        load(connection, "m", constant(5))
        return folder_of(cluster, connection)


def test_images_of_dropped_databases_and_extensions_are_swept(
    cluster: Cluster, connect: Connect, folder: Path
) -> None:
    """By the next load in any other database; those of existing extensions stay."""
    names = ("image_gone", "image_dropped", "image_kept", "image_written_anew")
    gone, dropped, kept, anew = folders = [with_a_model(cluster, name) for name in names]
    assert [len(images(path)) for path in folders] == [1] * 4
    connect().execute("DROP DATABASE image_gone")
    connect(dbname="image_dropped").execute("DROP EXTENSION pgboost")
    connect(dbname="image_written_anew").execute("VACUUM FULL pgboost_catalog.version")
    load(connect(), "m", constant(6))
    assert not gone.exists()
    assert [len(images(path)) for path in (folder, dropped, kept)] == [1, 0, 1]
    for _ in range(2):
        assert value(connect(dbname="image_written_anew")) == 5
        load(connect(), "m", constant(7))
    assert len(images(anew)) == 1


def test_a_copied_database_makes_its_own(cluster: Cluster, connect: Connect, folder: Path) -> None:
    load(connect(), "m", constant(1))
    with_a_model(cluster, "image_template")
    cluster.create_database("image_copy", replace=True, template="image_template")
    assert value(connect(dbname="image_copy")) == 5
    assert value(connect()) == 1


def test_features_are_listed_from_it(connect: Connect) -> None:
    """Without reading the model's file again, as an importance of features must."""
    reader = connect(autocommit=False)
    load(connect(), "m", grown(20, 6))
    scans = (
        "SELECT coalesce(seq_scan, 0) + coalesce(idx_scan, 0) FROM pg_stat_xact_all_tables"
        " WHERE relid = 'pgboost_catalog.file_part'::regclass"
    )
    for query, reads in (("model_features('m')", False), ("feature_importance('m')", True)):
        before = one(reader, scans)
        assert one(reader, f"SELECT count(*) FROM {query}") == 10
        assert (one(reader, scans) > before) is reads, query


def flipped(content: bytes, first: int = 0, place: int | None = None, bit: int = 0x10) -> bytes:
    """The content with a bit flipped in each of its parts from `first` on, or at one place."""
    each = range(first, len(content), max(1, len(content) // 20))
    changed = bytearray(content)
    for at in each if place is None else [place]:
        changed[at] ^= bit
    return bytes(changed)


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
    "unreadable": lambda _, path: path.chmod(0),
    "deleted": lambda _, path: path.unlink(),
    "the folder deleted": lambda _, path: shutil.rmtree(path.parent),
    # Renamed before, as a backend may be writing there.
    "all folders deleted": lambda _, path: shutil.rmtree(
        path.parent.parent.rename(path.parent.parent.with_name("deleted"))
    ),
}
AFTER_A_CHECK = ["each part flipped", "cut by a bit", "with its old time", "another file"]


def checked(connect: Connect, folder: Path) -> float:
    """Loads a model and predicts until the check is recorded; gives the prediction."""
    load(connect(), "m", grown(50, 6))

    def is_recorded() -> bool:
        # An image that was changed just now is not yet recorded as checked.
        time.sleep(0.1)
        reader = connect()
        one(reader, PREDICT)
        reader.close()
        return record(folder).exists()

    until(is_recorded)
    return one(connect(), PREDICT)


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
        one(writer, "SELECT load_model('m', %s, rounds => 9)", (grown(50, 6),))
        expected = one(writer, PREDICT)
        writer.close()
    good = image(folder).read_bytes()
    DAMAGES[damage](cluster, image(folder))
    assert one(connect(), PREDICT) == expected
    assert image(folder).read_bytes() == good
    assert image(folder).stat().st_mode & 0o777 == 0o600
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


def of_an_earlier_run(content: bytes) -> bytes:
    run, rest = content.split(b" ", 1)
    return b"%d %s" % (int(run) - 1, rest)


@pytest.mark.parametrize(
    "change",
    [lambda _: b"", lambda _: bytes(64), lambda _: os.urandom(64), of_an_earlier_run],
    ids=["empty", "zeros", "random", "of an earlier run of the server"],
)
def test_another_record_does_not_count_and_is_made_again(
    cluster: Cluster, connect: Connect, folder: Path, change: Callable[[bytes], bytes]
) -> None:
    expected = checked(connect, folder)
    good = record(folder).read_bytes()
    as_server(cluster, record(folder), change(good))
    assert one(connect(), PREDICT) == expected
    assert record(folder).read_bytes() == good


def test_a_record_goes_with_its_image(connect: Connect, folder: Path) -> None:
    checked(connect, folder)
    old = time.time() - OLD
    for path in folder.iterdir():
        os.utime(path, (old, old))
    connection = connect()
    drop_all(connection)
    load(connection, "other", grown(2, 2))
    assert not list(folder.glob("*.checked"))
    assert len(images(folder)) == 1


def test_where_it_cannot_be_written_each_connection_makes_its_own(
    cluster: Cluster, connect: Connect, folder: Path
) -> None:
    writer = connect()
    load(writer, "m", grown(50, 6))
    expected = one(writer, PREDICT)
    image(folder).unlink()
    folder.chmod(0o500)
    try:
        for reader in [connect()] * 2 + [connect()] * 2:
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


def test_a_folder_in_place_of_the_file(connect: Connect, folder: Path) -> None:
    load(connect(), "m", constant(1))
    path = image(folder)
    path.unlink()
    path.mkdir()
    assert value(connect()) == value(connect()) == 1
