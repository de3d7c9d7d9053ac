"""One session waits at a critical place of its work while another changes the model."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.connections import waits
from tests.extension.lifecycle.models import constant, load, one, value
from tests.extension.long.faulty import server
from tools.cluster import Cluster

__all__ = ["server"]


@pytest.fixture
def three(server: Cluster) -> Iterator[tuple[psycopg.Connection, ...]]:
    """An administrator, a session that will wait, and another; and a model k whose version 1 answers 1."""
    with server.connect() as admin, server.connect() as waiting, server.connect() as other:
        load(admin, "k", constant(1))
        yield admin, waiting, other
        admin.execute("SELECT drop_model(name) FROM pgboost_models WHERE name = 'k' LIMIT 1")


def meanwhile(
    three: tuple[psycopg.Connection, ...], place: str, statement: str, then: Callable[[], object]
) -> object:
    """Runs a change while the statement waits at the place; returns the statement's answer."""
    admin, waiting, _ = three
    waiting.execute("SET fault.kind = 'wait'")
    waiting.execute(f"SET fault.place = '{place}'")
    admin.execute("SELECT pg_advisory_lock(1)")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(one, waiting, statement)
        try:
            waits(admin, waiting)
            then()
        finally:
            admin.execute("SELECT pg_advisory_unlock(1)")
        answer.exception(timeout=30)
    waiting.execute("RESET fault.place")
    return answer.result()


@pytest.mark.parametrize("place", ["registry: opened", "image: opened"])
@pytest.mark.parametrize("change", ["deploy", "drop"])
def test_a_model_changes_while_it_is_looked_up(three, place: str, change: str) -> None:
    """The statement gives the answer of a version that was right while it ran, the next one that of today."""
    _, waiting, other = three
    load(other, "k", constant(2))
    other.execute("SELECT deploy_model('k@1')")
    changes = {"deploy": "SELECT deploy_model('k@2')", "drop": "SELECT drop_model('k')"}
    try:
        answer = meanwhile(
            three, place, "SELECT predict('k', 1)", lambda: other.execute(changes[change])
        )
        assert answer in ({1, 2} if change == "deploy" else {1})
    except psycopg.errors.UndefinedObject:
        assert change == "drop"
    waiting.execute("RESET fault.place")
    if change == "deploy":
        assert value(waiting, "k") == value(other, "k") == 2
    else:
        for connection in (waiting, other):
            with pytest.raises(psycopg.errors.UndefinedObject):
                value(connection, "k")


@pytest.mark.parametrize("place", ["load: stored", "load: part stored", "image: not renamed"])
def test_a_load_in_the_middle_hides_nothing_and_shows_nothing(three, place: str) -> None:
    admin, waiting, other = three

    def look() -> None:
        assert value(other, "k") == 1
        with pytest.raises(psycopg.errors.UndefinedObject):
            value(other, "k@2")

    content = constant(7).decode()
    assert meanwhile(three, place, f"SELECT load_model('k', '{content}')", look) == 2
    assert value(other, "k") == value(waiting, "k") == value(admin, "k@2") == 7


def test_two_sessions_write_the_same_image(three) -> None:
    """One waits before it renames its file, when the other's is already there."""
    admin, _, other = three
    content = constant(8).decode()

    def statement(name: str) -> str:
        return f"SELECT load_model('{name}', '{content}')"

    meanwhile(three, "image: not renamed", statement("w"), lambda: one(other, statement("o")))
    for connection in three:
        assert value(connection, "w") == value(connection, "o") == 8
    admin.execute("SELECT drop_model('w'), drop_model('o')")
