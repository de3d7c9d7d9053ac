"""With shared_preload_libraries and without: the same answers, and no thread in the postmaster."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from tests.extension.lifecycle.conftest import restart
from tests.extension.lifecycle.models import ROW, constant, grown, load, one, value
from tests.state import TIMES
from tools.cluster import Cluster

CONNECTIONS = 200 * TIMES


@pytest.fixture(scope="module")
def expected(spare: Cluster) -> float:
    """The answer of the model grown without any preloading."""
    with spare.connect() as connection:
        assert one(connection, "SHOW shared_preload_libraries") == ""
        load(connection, "grown", grown(50, 6))
        load(connection, "m", constant(1))
        return one(connection, f"SELECT predict('grown', {ROW})")


@pytest.fixture
def preloaded(spare: Cluster, expected: float) -> Iterator[Cluster]:
    """The spare cluster with the library in its postmaster."""
    restart(spare, shared_preload_libraries="pgboost")
    yield spare
    restart(spare, shared_preload_libraries="")


def postmaster(spare: Cluster) -> int:
    return int(Path(spare.place.data, "postmaster.pid").read_text().splitlines()[0])


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def test_it_predicts_without_preloading(spare: Cluster, expected: float) -> None:
    assert ".so" in Path(f"/proc/{postmaster(spare)}/maps").read_text()
    assert "pgboost" not in Path(f"/proc/{postmaster(spare)}/maps").read_text()
    with spare.connect() as connection:
        assert one(connection, f"SELECT predict('grown', {ROW})") == expected
        assert threads(connection.info.backend_pid) == 1


def test_it_predicts_when_preloaded(preloaded: Cluster, expected: float) -> None:
    assert "pgboost.so" in Path(f"/proc/{postmaster(preloaded)}/maps").read_text()
    assert threads(postmaster(preloaded)) == 1
    with preloaded.connect() as first, preloaded.connect() as second:
        assert one(first, f"SELECT predict('grown', {ROW})") == expected
        assert threads(first.info.backend_pid) == 1
        assert value(second) == 1
        load(first, "m", constant(2))
        assert value(second) == 2
        first.execute("SELECT deploy_model('m@1')")
        assert value(second) == 1
    assert threads(postmaster(preloaded)) == 1


def test_settings_of_the_configuration_hold(preloaded: Cluster) -> None:
    settings = {"pgboost.cache_size": "7MB", "pgboost.unknown_category": "missing"}
    try:
        restart(preloaded, **settings)
        with preloaded.connect() as connection:
            assert {name: one(connection, f"SHOW {name}") for name in settings} == settings
            assert value(connection) == 1
    finally:
        with preloaded.connect() as connection:
            for name in settings:
                connection.execute(f"ALTER SYSTEM RESET {name}")


@pytest.mark.parametrize("preload", ["", "pgboost"])
def test_no_backtrace_reaches_a_client(spare: Cluster, expected: float, preload: str) -> None:
    """Whatever the server's environment sets for Rust programs."""
    variables = ("RUST_BACKTRACE=full", "RUST_LIB_BACKTRACE=1")
    restart(spare, variables, shared_preload_libraries=preload)
    try:
        with spare.connect() as connection:
            connection.execute("CREATE TEMP TABLE environment (backtrace text)")
            connection.execute("COPY environment FROM PROGRAM 'echo $RUST_BACKTRACE'")
            assert preload or one(connection, "SELECT backtrace FROM environment") == "full"
            check = "ALTER TABLE pgboost_catalog.version ADD CONSTRAINT never CHECK (version < 0) NOT VALID"
            connection.execute(check)
            with pytest.raises(errors.CheckViolation) as raised:
                load(connection, "never", constant(1))
            assert "Failing row" in raised.value.diag.message_detail
            failures: list[psycopg.Error] = [raised.value]
            for query in (
                "SELECT predict('nosuch', 1)", "SELECT load_model('m', 'no model')",
                "SELECT grant_model('m', 'nobody')", "SELECT model_info('nosuch')",
                "SELECT predict('m', '{}'::jsonb)",
            ):  # fmt: skip
                with pytest.raises(psycopg.Error) as raised:
                    connection.execute(query)
                failures.append(raised.value)
            for failure in failures:
                told = f"{failure.diag.message_detail} {failure.diag.context}"
                assert "panic" not in told and ".rs" not in told, told
            connection.execute("ALTER TABLE pgboost_catalog.version DROP CONSTRAINT never")
    finally:
        restart(spare, shared_preload_libraries="")


@pytest.mark.parametrize("server", ["spare", "preloaded"])
def test_hundreds_of_connections_one_after_another(
    request: pytest.FixtureRequest, expected: float, server: str
) -> None:
    running = request.getfixturevalue(server)
    for _ in range(CONNECTIONS):
        with running.connect() as connection:
            assert one(connection, f"SELECT predict('grown', {ROW})") == expected
    assert threads(postmaster(running)) == 1
