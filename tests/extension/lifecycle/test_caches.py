"""A backend's cache of models: its bounds, the cost of a change, and what it needs of PostgreSQL's caches."""

import pytest
from psycopg import Connection

from tests.connections import Connect
from tests.extension.lifecycle.conftest import mapped
from tests.extension.lifecycle.models import ROW, constant, drop_all, grown, load, one, value

OPEN = 300
MAX_IMAGES = 16_384
BOUND = 1024 * 1024


def copies(connection: Connection, count: int) -> None:
    """Models c1, c2 and so on, each with a separate image, made of the model m."""
    made = "model IN (SELECT id FROM pgboost_catalog.model WHERE name ~ '^c[0-9]')"
    for table in ("version", "file_part"):
        connection.execute(f"DELETE FROM pgboost_catalog.{table} WHERE {made}")
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
    copied = (
        "size, digest, format, objective, task, link, real_input, array_categories, features, outputs, trees,"
        " rounds, used_rounds, depth, attributes, loaded_by"
    )
    connection.execute(
        f"INSERT INTO pgboost_catalog.version (model, version, feature_names, {copied})"
        f" SELECT c.id, 1, ARRAY['x' || c.name], {copied} FROM pgboost_catalog.version{pairs}"
    )
    connection.execute(
        "INSERT INTO pgboost_catalog.file_part SELECT c.id, 1, start, bytes"
        f" FROM pgboost_catalog.file_part{pairs}"
    )


def predict_all(connection: Connection, count: int, first: int = 1) -> int:
    numbers = f"generate_series({first}, {count}) AS i"
    return one(connection, f"SELECT count(predict('c' || i, 1)) FROM {numbers}")


def test_the_first_prediction_after_a_deploy_looks_at_one_model_only(connect: Connect) -> None:
    writer, many, few = connect(), connect(), connect()
    load(writer, "m", constant(1))
    load(writer, "m", constant(2))
    copies(writer, OPEN)
    assert predict_all(many, OPEN) == len(mapped(many)) == OPEN
    read = (
        "SELECT sum(seq_tup_read + idx_scan + idx_tup_fetch) FROM pg_stat_xact_all_tables"
        " WHERE schemaname = 'pgboost_catalog'"
    )
    for version in (1, 2, 1):
        writer.execute("SELECT deploy_model(%s)", (f"m@{version}",))
        found = []
        for reader in (many, few):
            with reader.transaction():
                before = one(reader, read)
                assert value(reader) == version
                found.append(one(reader, read) - before)
        assert found[0] == found[1] > 0


def test_images_of_dropped_models_are_let_go_all_the_same(connect: Connect) -> None:
    writer, reader = connect(), connect()
    load(writer, "m", constant(1))
    copies(writer, 100)
    predict_all(reader, 100)
    before = len(mapped(reader))
    for index in range(1, 51):
        writer.execute("SELECT drop_model(%s)", (f"c{index}",))
    predict_all(reader, 100, first=51)
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


def answer(connection: Connection, model: str) -> float:
    return one(connection, f"SELECT predict('{model}', {ROW})")


def test_different_models_stay_within_the_bound(connect: Connect) -> None:
    """Many more models than fit are used in turn: few stay mapped, and every answer is right."""
    writer, reader = connect(), connect()
    models = [f"bound {index}" for index in range(30)]
    for index, model in enumerate(models):
        load(writer, model, grown(25, 7, seed=100 + index))
    expected = [answer(writer, model) for model in models]
    assert len(set(expected)) == len(models)
    reader.execute("SET pgboost.cache_size = '1MB'")
    for _ in range(3):
        for model, right in zip(models, expected, strict=True):
            assert answer(reader, model) == right
            assert sum(mapped(reader).values()) <= BOUND, model
    assert len(mapped(reader)) > 1, "the models are too large for this test"
    # Within one statement all of them are in use; after it they are let go.
    all_of = f"array_agg(predict('bound ' || i, {ROW}) ORDER BY i)"
    assert one(reader, f"SELECT {all_of} FROM generate_series(0, 29) AS i") == expected
    answer(reader, models[0])
    assert sum(mapped(reader).values()) <= BOUND
    # With room for all, all stay.
    reader.execute("SET pgboost.cache_size = '256MB'")
    assert [answer(reader, model) for model in models] == expected
    assert len(mapped(reader)) == len(models)


def test_the_model_used_least_recently_is_let_go(connect: Connect) -> None:
    writer, reader = connect(), connect()
    models = [f"turn {index}" for index in range(30)]
    for index, model in enumerate(models):
        load(writer, model, grown(25, 7, seed=200 + index))
    reader.execute("SET pgboost.cache_size = '1MB'")
    answer(reader, models[0])
    [first] = mapped(reader)
    for model in models[1:]:
        answer(reader, model)
        answer(reader, models[0])
        assert first in mapped(reader), model
    for model in models[1:]:
        answer(reader, model)
    assert first not in mapped(reader)


def test_models_above_the_bound_still_predict_and_do_not_add_up(connect: Connect) -> None:
    writer, reader = connect(), connect()
    models = [f"large {index}" for index in range(4)]
    for index, model in enumerate(models):
        load(writer, model, grown(150, 9, seed=index))
    expected = [answer(writer, model) for model in models]
    reader.execute("SET pgboost.cache_size = '1MB'")
    answer(reader, models[0])
    largest = sum(mapped(reader).values())
    for _ in range(3):
        assert [answer(reader, model) for model in models] == expected
    assert largest == 0 or largest > BOUND
    assert sum(mapped(reader).values()) <= largest


@pytest.fixture
def homes(connection: Connection) -> None:
    """Rows of a domain, whose base type is looked up in the catalogs, for a PostgreSQL with assertions."""
    if connection.execute("SHOW debug_assertions").fetchone() != ("on",):
        pytest.skip("needs a PostgreSQL with assertions: make test-assertions")
    drop_all(connection)
    load(connection, "m", grown(3, 2, features=2))
    connection.execute(
        "DROP TABLE IF EXISTS homes; DROP DOMAIN IF EXISTS area; CREATE DOMAIN area AS real;"
        "CREATE TABLE homes AS SELECT (n / 7.0)::area AS f1, n / 3.0 AS f2 FROM generate_series(1, 3) AS n"
    )


@pytest.mark.usefixtures("homes")
@pytest.mark.parametrize("batch", ["on", "off"])
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT predict('m', homes) FROM homes ORDER BY f1",
        "SELECT predict('m', ROW(f1, f2)) FROM homes ORDER BY f1",
        "SELECT predict('m', f1, f2) FROM homes ORDER BY f1",
        "SELECT feature, value FROM homes, explain_prediction('m', homes) ORDER BY f1, feature",
    ],
)
def test_a_statement_ends_while_caches_are_discarded(
    connection: Connection, statement: str, batch: str
) -> None:
    """With the same result. tests/extension/long/test_regression_runs.py runs whole SQL files so."""
    connection.execute(f"SET pgboost.enable_batch = {batch}")
    expected = connection.execute(statement).fetchall()
    assert len(expected) >= 3
    connection.execute("SET statement_timeout = '60s'")
    connection.execute("SET debug_discard_caches = 1")
    assert connection.execute(statement).fetchall() == expected
