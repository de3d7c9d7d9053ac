"""With shared_preload_libraries and without: the same answers, and no thread in the postmaster."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from tests.extension.lifecycle.models import constant, grown, load, one, value
from tests.times import TIMES
from tools.cluster import Cluster
from tools.cluster.server import bin_directory

ROW = "ARRAY[0.1, 0.9, 0.3, 0.7, 0.5, 0.2, 0.8, 0.4, 0.6, 0.5]::real[]"
CONNECTIONS = 200 * TIMES


def restart(spare: Cluster, **environment: str) -> None:
    """Restarts the server with its configuration files in this environment."""
    command = [bin_directory() / "pg_ctl", "restart", "-D", spare.place.data, "-l", spare.place.log]
    variables = [f"{name}={text}" for name, text in environment.items()]
    spare.place.run("env", *variables, *command, "-m", "fast", "-w")


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
    with spare.connect() as connection:
        connection.execute("ALTER SYSTEM SET shared_preload_libraries = 'pgboost'")
    restart(spare)
    yield spare
    with spare.connect() as connection:
        connection.execute("ALTER SYSTEM RESET shared_preload_libraries")
    restart(spare)


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
    with preloaded.connect() as connection:
        connection.execute("ALTER SYSTEM SET pgboost.cache_size = '7MB'")
        connection.execute("ALTER SYSTEM SET pgboost.unknown_category = 'missing'")
        connection.execute("SELECT pg_reload_conf()")
    try:
        restart(preloaded)
        with preloaded.connect() as connection:
            assert one(connection, "SHOW pgboost.cache_size") == "7MB"
            assert one(connection, "SHOW pgboost.unknown_category") == "missing"
            assert value(connection) == 1
    finally:
        with preloaded.connect() as connection:
            connection.execute("ALTER SYSTEM RESET pgboost.cache_size")
            connection.execute("ALTER SYSTEM RESET pgboost.unknown_category")


@pytest.mark.parametrize("preload", ["", "pgboost"])
def test_no_backtrace_reaches_a_client(spare: Cluster, expected: float, preload: str) -> None:
    """Whatever the server's environment sets for Rust programs."""
    if preload:
        with spare.connect() as connection:
            connection.execute(f"ALTER SYSTEM SET shared_preload_libraries = '{preload}'")
    restart(spare, RUST_BACKTRACE="full", RUST_LIB_BACKTRACE="1")
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
        with spare.connect() as connection:
            connection.execute("ALTER SYSTEM RESET shared_preload_libraries")
        restart(spare)


def predict_once_per_connection(server: Cluster, expected: float) -> None:
    for _ in range(CONNECTIONS):
        with server.connect() as connection:
            assert one(connection, f"SELECT predict('grown', {ROW})") == expected


def test_hundreds_of_connections_one_after_another(spare: Cluster, expected: float) -> None:
    predict_once_per_connection(spare, expected)


def test_hundreds_of_connections_to_a_preloaded_server(preloaded: Cluster, expected: float) -> None:
    predict_once_per_connection(preloaded, expected)
    assert threads(postmaster(preloaded)) == 1
