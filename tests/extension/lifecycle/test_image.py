"""The image of a model: one file for all connections, as long as a version uses it.

The file is below the data directory, in pgboost/<oid of the database>.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from psycopg import errors

from tests.connections import Connect
from tests.extension.lifecycle.image_files import as_server, identity, image, images, mapped
from tests.extension.lifecycle.models import ROW, constant, grown, load, one, value
from tools.cluster import Cluster

# Images younger than this may belong to another session's open transaction, so a sweep spares them.
OLD = 7200


def test_loading_writes_it_and_other_connections_only_map_it(
    connect: Connect, folder: Path
) -> None:
    assert load(connect(), "m", grown(50, 6)) == 1
    made = identity(image(folder))
    expected = one(connect(), f"SELECT predict('m', {ROW})")
    for _ in range(3):
        reader = connect()
        assert mapped(reader) == []
        assert one(reader, f"SELECT predict('m', {ROW})") == expected
        assert mapped(reader) == [str(image(folder))]
    assert identity(image(folder)) == made


def test_it_is_readable_for_the_server_alone(connect: Connect, folder: Path) -> None:
    load(connect(), "m", constant(1))
    assert image(folder).stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_dropped_models_image_is_removed_after_commit(connect: Connect, folder: Path) -> None:
    writer = connect(autocommit=False)
    load(writer, "m", constant(1))
    load(writer, "m", constant(2))
    writer.commit()
    before = images(folder)
    assert len(before) == 2
    writer.execute("SELECT drop_model('m@1')")
    assert images(folder) == before
    writer.rollback()
    assert images(folder) == before
    writer.execute("SELECT drop_model('m')")
    assert images(folder) == before
    writer.rollback()
    assert images(folder) == before
    writer.execute("SELECT drop_model('m@1')")
    writer.commit()
    assert len(images(folder)) == 1
    writer.execute("SELECT drop_model('m')")
    writer.commit()
    assert images(folder) == []


def test_an_image_that_another_version_uses_stays(connect: Connect, folder: Path) -> None:
    writer = connect()
    for name in ("a", "b", "b"):
        load(writer, name, constant(1))
    path = image(folder)
    writer.execute("SELECT drop_model('a')")
    writer.execute("SELECT drop_model('b@1')")
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
    """However it rolls back, and however often."""
    writer = connect(autocommit=False)
    for number in range(20):
        load(writer, "m", constant(number))
        assert len(images(folder)) == 1
        writer.rollback()
        assert images(folder) == []
    with pytest.raises(errors.DivisionByZero):
        writer.execute(
            "SELECT load_model('m', %s), 1 / (1 - x) FROM (SELECT 1 AS x) AS r", (constant(1),)
        )
    writer.rollback()
    assert images(folder) == []
    ended = connect(autocommit=False)
    load(ended, "m", constant(1))
    ended.close()
    wait_for(lambda: images(folder) == [])


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
    writer.execute("SAVEPOINT s")
    writer.execute("SELECT drop_model('kept')")
    writer.execute("ROLLBACK TO s")
    writer.commit()
    assert len(images(folder)) == 2, "the drop was rolled back"


def test_a_rolled_back_second_load_keeps_the_image(connect: Connect, folder: Path) -> None:
    load(connect(), "m", constant(1))
    made = identity(image(folder))
    writer = connect(autocommit=False)
    load(writer, "same", constant(1))
    writer.rollback()
    assert identity(image(folder)) == made


def test_a_load_after_one_that_rolled_back_writes_the_image(connect: Connect, folder: Path) -> None:
    """Although the connection still has the image open."""
    writer = connect(autocommit=False)
    load(writer, "m", constant(1))
    writer.rollback()
    load(writer, "m", constant(1))
    writer.commit()
    assert image(folder)


def test_files_of_dead_backends_are_removed(
    cluster: Cluster, connect: Connect, folder: Path
) -> None:
    """Removes images and unfinished files of dead backends, and no other files."""
    writer = connect()
    load(writer, "kept", constant(1))
    kept = image(folder)
    orphan = kept.with_name("0" * 40 + kept.name[40:])
    unfinished = orphan.with_suffix(".12345.tmp")
    stranger = folder / "README"
    for path in (orphan, unfinished, stranger):
        as_server(cluster, path, b"x")
    load(writer, "now", constant(3))
    assert orphan.exists(), "it may belong to a session that has not committed yet"
    assert unfinished.exists(), "a session may be writing it"
    long_ago = time.time() - OLD
    for path in (orphan, unfinished, stranger, kept):
        os.utime(path, (long_ago, long_ago))
    load(writer, "later", constant(4))
    assert not orphan.exists()
    assert not unfinished.exists()
    assert kept.exists()
    assert stranger.exists()
    assert value(connect(), "kept") == 1


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_folder_of_a_dropped_database_is_swept(
    cluster: Cluster, connect: Connect, folder: Path
) -> None:
    cluster.create_database("image_short_lived", replace=True)
    with cluster.connect("image_short_lived") as other:
        other.execute("CREATE EXTENSION pgboost")
        load(other, "m", constant(1))
        database = one(other, "SELECT oid FROM pg_database WHERE datname = current_database()")
    left = folder.parent / str(database)
    assert len(images(left)) == 1
    admin = connect()
    admin.execute("DROP DATABASE image_short_lived")
    load(admin, "m", constant(1))
    assert not left.exists()
    assert len(images(folder)) == 1


def test_the_images_of_a_dropped_extension_are_swept(
    cluster: Cluster, connect: Connect, folder: Path
) -> None:
    """The next load in any other database removes them; those of existing extensions stay."""
    folders = {}
    for name in ("image_dropped", "image_kept", "image_written_anew"):
        cluster.create_database(name, replace=True)
        with cluster.connect(name) as other:
            other.execute("CREATE EXTENSION pgboost")
            load(other, "m", constant(5))
            database = one(other, "SELECT oid FROM pg_database WHERE datname = current_database()")
        folders[name] = folder.parent / str(database)
    with cluster.connect("image_dropped") as other:
        other.execute("DROP EXTENSION pgboost")
    with cluster.connect("image_written_anew") as other:
        other.execute("VACUUM FULL pgboost_catalog.version")
    load(connect(), "m", constant(6))
    assert images(folders["image_dropped"]) == []
    assert len(images(folders["image_kept"])) == 1
    for _ in range(2):
        with cluster.connect("image_written_anew") as other:
            assert value(other) == 5
        load(connect(), "m", constant(7))
    assert len(images(folders["image_written_anew"])) == 1


def test_a_copied_database_makes_its_own(cluster: Cluster, connect: Connect, folder: Path) -> None:
    load(connect(), "m", constant(1))
    cluster.create_database("image_template", replace=True)
    with cluster.connect("image_template") as template:
        template.execute("CREATE EXTENSION pgboost")
        load(template, "m", constant(5))
    admin = connect()
    admin.execute("CREATE DATABASE image_copy TEMPLATE image_template")
    try:
        with cluster.connect("image_copy") as copy:
            assert value(copy) == 5
        assert value(connect()) == 1
    finally:
        admin.execute("DROP DATABASE image_copy")


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
