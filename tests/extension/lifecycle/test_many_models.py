"""A change costs a backend with thousands of open models no more than one with few."""

import statistics
import time

from psycopg import Connection

from tests.connections import Connect
from tests.extension.lifecycle.image_files import mapped
from tests.extension.lifecycle.models import constant, load, one, value

OPEN = 2_000
MAX_IMAGES = 16_384
# Linear costs made it 30 times and more; the rest is noise.
MAX_RATIO = 4


def copies(connection: Connection, count: int) -> None:
    """Models c1, c2 and so on, each with a separate image, made of the model m."""
    copied = "DELETE FROM {} WHERE model IN (SELECT id FROM pgboost_catalog.model WHERE name ~ '^c[0-9]')"
    for table in ("pgboost_catalog.version", "pgboost_catalog.file_part"):
        connection.execute(copied.format(table))
    connection.execute("DELETE FROM pgboost_catalog.model WHERE name ~ '^c[0-9]'")
    connection.execute(
        "INSERT INTO pgboost_catalog.model (name, deployed, last_version)"
        " SELECT 'c' || i, 1, 1 FROM generate_series(1, %s) AS i",
        (count,),
    )
    pairs = (
        " JOIN pgboost_catalog.model AS m ON m.id = model AND m.name = 'm',"
        " pgboost_catalog.model AS c WHERE version = 1 AND c.name ~ '^c[0-9]'"
    )
    connection.execute(
        "INSERT INTO pgboost_catalog.version (model, version, size, digest, feature_names, format,"
        " objective, task, link, real_input, array_categories, features, outputs, trees, rounds,"
        " used_rounds, depth, attributes, loaded_by)"
        " SELECT c.id, 1, size, digest, ARRAY['x' || c.name], format, objective,"
        " task, link, real_input, array_categories, features, outputs, trees, rounds, used_rounds,"
        " depth, attributes, loaded_by"
        f" FROM pgboost_catalog.version{pairs}"
    )
    connection.execute(
        "INSERT INTO pgboost_catalog.file_part SELECT c.id, 1, start, bytes"
        f" FROM pgboost_catalog.file_part{pairs}"
    )


def predict_all(connection: Connection, count: int) -> int:
    return one(
        connection, "SELECT count(predict('c' || i, 1)) FROM generate_series(1, %s) AS i", (count,)
    )


def test_the_first_prediction_after_a_deploy_looks_at_one_model_only(connect: Connect) -> None:
    writer, many, few = connect(), connect(), connect()
    load(writer, "m", constant(1))
    load(writer, "m", constant(2))
    copies(writer, OPEN)
    assert predict_all(many, OPEN) == OPEN
    assert len(mapped(many)) == OPEN
    seconds: dict[Connection, list[float]] = {many: [], few: []}
    for turn in range(60):
        version = turn % 2 + 1
        writer.execute("SELECT deploy_model(%s)", (f"m@{version}",))
        for reader, taken in seconds.items():
            begin = time.perf_counter()
            assert value(reader) == version
            taken.append(time.perf_counter() - begin)
    ratio = statistics.median(seconds[many]) / statistics.median(seconds[few])
    assert ratio < MAX_RATIO


def test_images_of_dropped_models_are_let_go_all_the_same(connect: Connect) -> None:
    writer, reader = connect(), connect()
    load(writer, "m", constant(1))
    copies(writer, 100)
    predict_all(reader, 100)
    before = len(mapped(reader))
    for index in range(1, 51):
        writer.execute("SELECT drop_model(%s)", (f"c{index}",))
    one(reader, "SELECT count(predict('c' || i, 1)) FROM generate_series(51, 100) AS i")
    assert len(mapped(reader)) == before - 50


def test_open_images_are_bounded_by_number(connect: Connect) -> None:
    writer, reader = connect(), connect()
    load(writer, "m", constant(1))
    count = MAX_IMAGES + 500
    copies(writer, count)
    assert predict_all(reader, count) == count
    value(reader)
    assert len(mapped(reader)) <= MAX_IMAGES
    assert value(reader, "c1") == value(reader, f"c{count}") == 1
