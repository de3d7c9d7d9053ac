"""Connections that train one after another: no thread of one blocks another."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection

from tests.times import TIMES
from tools.cluster import Cluster, start, stop

SOURCE = "SELECT i AS a, sin(i) AS b, i % 17 AS y FROM generate_series(1, 2000) AS i"
CONNECTIONS = 100 * TIMES
TRAIN = "SELECT value FROM train_model('m', %s, 'y', %s, rounds => 3, allow_change => true)"


@pytest.fixture(scope="module", params=["", "pgboost_train, pgboost"], ids=["loaded", "preloaded"])
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Cluster]:
    """A server whose postmaster has both libraries, or neither."""
    state = tmp_path_factory.mktemp("threads") / "server"
    running, _ = start(state, 54339, {"shared_preload_libraries": request.param})
    with running.connect() as connection:
        connection.execute("CREATE EXTENSION pgboost_train CASCADE")
    yield running
    stop(state, delete=True)


@pytest.mark.parametrize("threads", [1, 4])
def test_hundreds_of_connections(server: Cluster, threads: int) -> None:
    values = set()
    postmaster = (server.place.data / "postmaster.pid").read_text().split()[0]
    for _ in range(CONNECTIONS):
        with server.connect() as connection:
            connection.execute("SET statement_timeout = '60s'")
            rows = connection.execute(TRAIN, (SOURCE, f'{{"nthread": {threads}}}')).fetchall()
            values.add(rows[0])
            assert connection.execute("SHOW pgboost_train.max_threads").fetchone() == ("0",)
    assert len(values) == 1
    assert len(list(Path(f"/proc/{postmaster}/task").iterdir())) == 1


def test_the_postmaster_has_no_libxgboost(server: Cluster) -> None:
    """OpenMP does not survive a fork."""
    with server.connect() as connection:
        preloaded = connection.execute("SHOW shared_preload_libraries").fetchone()[0]
    postmaster = (server.place.data / "postmaster.pid").read_text().split()[0]
    maps = Path(f"/proc/{postmaster}/maps").read_text()
    assert ("pgboost_train.so" in maps) == bool(preloaded)
    assert "libxgboost" not in maps and "libgomp" not in maps


def test_loading_the_library_starts_no_thread(connection: Connection) -> None:
    connection.execute("LOAD 'pgboost_train'")
    assert _threads(connection) == 1
    maps = Path(f"/proc/{connection.info.backend_pid}/maps")
    assert "libxgboost" not in maps.read_text()


def _threads(connection: Connection) -> int:
    return len(list(Path(f"/proc/{connection.info.backend_pid}/task").iterdir()))
