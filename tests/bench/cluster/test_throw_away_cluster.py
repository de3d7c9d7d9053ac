"""A throw-away cluster is found again, moves where it must, and leaves nothing behind."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tools.cluster import Cluster, start, stop
from tools.cluster.paths import LONGEST_SOCKET_PATH, RECORD

PREFERRED_PORT = 54340


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A directory that every user can enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


@pytest.fixture
def state(reachable: Path) -> Iterator[Path]:
    """A state directory whose cluster, if any, is deleted after the test."""
    directory = reachable / "state"
    yield directory
    stop(directory, delete=True)


def answer(cluster: Cluster) -> int:
    with cluster.connect() as connection:
        return connection.execute("SELECT 42").fetchone()[0]


def test_it_starts_once_and_keeps_its_data(state: Path) -> None:
    first, started = start(state, PREFERRED_PORT)
    assert started
    assert first.create_database("kept")
    again, started = start(state, PREFERRED_PORT)
    assert not started
    assert again == first
    assert Path(first.place.home).is_relative_to(state)
    assert stop(state)
    assert not stop(state)
    after, started = start(state, PREFERRED_PORT)
    assert started
    assert not after.create_database("kept")


def test_deleting_leaves_no_files_and_no_server(state: Path) -> None:
    cluster, _ = start(state, PREFERRED_PORT)
    home = Path(cluster.place.home)
    assert stop(state, delete=True)
    assert not home.exists()
    assert list(state.iterdir()) == []
    with pytest.raises(psycopg.OperationalError):
        cluster.connect()


def test_a_taken_port_is_left_alone(state: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cluster, _ = start(state, port)
        assert cluster.port != port
        assert answer(cluster) == 42


def test_a_stopped_cluster_whose_port_was_taken_starts_on_another(state: Path) -> None:
    cluster, _ = start(state, PREFERRED_PORT)
    stop(state)
    with socket.create_server(("127.0.0.1", cluster.port)):
        moved, _ = start(state, PREFERRED_PORT)
        assert moved.port != cluster.port
        assert answer(moved) == 42


def test_a_long_path_gets_a_socket_elsewhere(reachable: Path) -> None:
    directory = reachable / ("deep" * 30)
    try:
        cluster, _ = start(directory, PREFERRED_PORT)
        assert not Path(cluster.place.home).is_relative_to(directory)
        assert len(os.fsencode(cluster.host)) < LONGEST_SOCKET_PATH
        assert answer(cluster) == 42
        assert start(directory, PREFERRED_PORT)[0] == cluster
    finally:
        stop(directory, delete=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the cluster to another user")
def test_a_directory_that_the_user_cannot_enter_is_not_used(reachable: Path) -> None:
    closed = reachable / "closed"
    closed.mkdir(mode=0o700)
    try:
        cluster, _ = start(closed / "state", PREFERRED_PORT)
        assert not Path(cluster.place.home).is_relative_to(closed)
        assert answer(cluster) == 42
        assert closed.stat().st_mode & 0o777 == 0o700
    finally:
        stop(closed / "state", delete=True)


def test_over_tcp_it_wants_a_password(state: Path) -> None:
    cluster, _ = start(state, PREFERRED_PORT)
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(host="127.0.0.1", port=cluster.port, user="postgres", dbname="postgres")


def test_the_socket_is_closed_to_others(state: Path) -> None:
    cluster, _ = start(state, PREFERRED_PORT)
    assert Path(cluster.host).stat().st_mode & 0o077 == 0


def test_a_blank_in_the_path_does_no_harm(reachable: Path) -> None:
    directory = reachable / "a b"
    try:
        cluster, _ = start(directory, PREFERRED_PORT)
        assert " " in cluster.host
        assert answer(cluster) == 42
    finally:
        stop(directory, delete=True)


def test_programs_reach_the_database_through_the_environment(state: Path) -> None:
    cluster, _ = start(state, PREFERRED_PORT)
    done = subprocess.run(
        ["psql", "-XAtc", "SELECT current_user || ' ' || current_database()"],
        env=cluster.environment("template1"), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "postgres template1\n"


def test_a_copied_repository_leaves_the_original_cluster_alone(state: Path) -> None:
    cluster, _ = start(state, PREFERRED_PORT)
    copy = state.with_name("copy")
    copy.mkdir()
    shutil.copy(state / RECORD, copy)
    assert not stop(copy, delete=True)
    assert answer(cluster) == 42
