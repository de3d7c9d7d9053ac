"""A prepared load or drop takes effect when any connection commits it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection, errors

from tests.extension.lifecycle.conftest import restart
from tests.extension.lifecycle.models import constant, load, one, value
from tools.cluster import Cluster


@pytest.fixture(scope="module", autouse=True)
def allowed(spare: Cluster) -> None:
    """Prepared transactions are off unless the server is told otherwise when it starts."""
    restart(spare, max_prepared_transactions=5)


@pytest.fixture
def pair(spare: Cluster) -> Iterator[tuple[Connection, Connection]]:
    """One that writes and one that reads; version 1 of m answers 1."""
    with spare.connect() as writer, spare.connect() as reader:
        load(writer, "m", constant(1))
        assert value(reader) == 1
        yield writer, reader
        writer.execute("SELECT drop_model('m') FROM pgboost_catalog.model WHERE name = 'm'")


Pair = tuple[Connection, Connection]


def prepare(writer: Connection, call: str, content: bytes = b"") -> None:
    writer.execute("BEGIN")
    writer.execute(f"SELECT {call}", (content,) if content else None)
    writer.execute("PREPARE TRANSACTION 'change'")


def test_a_prepared_load_is_seen_once_it_is_committed(pair: Pair) -> None:
    writer, reader = pair
    prepare(writer, "load_model('m', %s)", constant(2))
    assert (value(reader), value(writer)) == (1, 1)
    reader.execute("COMMIT PREPARED 'change'")
    assert (value(reader), value(writer)) == (2, 2)


def test_a_prepared_load_that_is_rolled_back_is_never_seen(pair: Pair) -> None:
    writer, reader = pair
    prepare(writer, "load_model('m', %s)", constant(2))
    assert value(reader) == 1
    reader.execute("ROLLBACK PREPARED 'change'")
    assert (value(reader), value(writer)) == (1, 1)
    with pytest.raises(errors.UndefinedObject):
        value(reader, "m@2")


def test_a_prepared_drop_leaves_the_image_until_it_is_committed(pair: Pair, spare: Cluster) -> None:
    writer, reader = pair
    database = one(reader, "SELECT oid FROM pg_database WHERE datname = current_database()")
    folder = Path(spare.place.data, "pgboost", str(database))
    prepare(writer, "drop_model('m')")
    assert len(list(folder.glob("*.image"))) >= 1
    assert (value(reader), value(writer)) == (1, 1)
    reader.execute("ROLLBACK PREPARED 'change'")
    assert value(reader) == 1
    prepare(writer, "drop_model('m')")
    reader.execute("COMMIT PREPARED 'change'")
    for connection in pair:
        with pytest.raises(errors.UndefinedObject):
            value(connection)
