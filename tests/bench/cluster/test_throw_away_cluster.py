"""A throw-away cluster is found again, moves where it must, leaves nothing behind, and has a command."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.bench.conftest import reachable
from tools.cluster import Cluster, start, stop
from tools.cluster.paths import LONGEST_SOCKET_PATH, RECORD, Place

ROOT = Path(__file__).resolve().parents[3]
PREFERRED_PORT = 54340


@pytest.fixture
def state() -> Iterator[Path]:
    """A state directory whose cluster, if any, is deleted after the test."""
    with reachable("state") as directory:
        yield directory / "state"


def answer(cluster: Cluster) -> int:
    with cluster.connect() as connection:
        return connection.execute("SELECT 42").fetchone()[0]


@pytest.fixture
def running(state: Path) -> Cluster:
    """A running cluster."""
    return start(state, PREFERRED_PORT)[0]


def test_it_starts_once_keeps_its_data_and_is_deleted_whole(state: Path) -> None:
    first, started = start(state, PREFERRED_PORT)
    assert started
    assert first.create_database("kept")
    assert start(state, PREFERRED_PORT) == (first, False)
    home = Path(first.place.home)
    assert home.is_relative_to(state)
    assert [stop(state), stop(state)] == [True, False]
    after, started = start(state, PREFERRED_PORT)
    assert started
    assert not after.create_database("kept")
    assert stop(state, delete=True)
    assert not home.exists() and list(state.iterdir()) == []
    with pytest.raises(psycopg.OperationalError):
        after.connect()


def test_a_taken_port_is_left_alone(state: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cluster, _ = start(state, port)
        assert cluster.port != port
        assert answer(cluster) == 42
    # The port of a stopped one may be taken, too.
    stop(state)
    with socket.create_server(("127.0.0.1", cluster.port)):
        moved, _ = start(state, PREFERRED_PORT)
        assert moved.port != cluster.port
        assert answer(moved) == 42


@pytest.mark.parametrize(
    ("name", "mode", "inside"),
    [
        # A socket's path is short, a blank does no harm, and the cluster's user must enter the directory.
        ("deep" * 30, 0o755, False),
        ("a b", 0o755, True),
        ("closed", 0o700, os.geteuid() != 0),
    ],
)
def test_files_lie_elsewhere_only_where_they_must(name: str, mode: int, inside: bool) -> None:
    with reachable(f"{name}/state") as parent:
        directory = parent / name
        directory.mkdir(mode=mode)
        cluster, _ = start(directory / "state", PREFERRED_PORT)
        assert Path(cluster.place.home).is_relative_to(directory) == inside
        assert len(os.fsencode(cluster.host)) < LONGEST_SOCKET_PATH
        assert answer(cluster) == 42
        assert start(directory / "state", PREFERRED_PORT)[0] == cluster
        assert directory.stat().st_mode & 0o777 == mode


def test_it_is_closed_to_others(running: Cluster) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(host="127.0.0.1", port=running.port, user="postgres", dbname="postgres")
    assert Path(running.host).stat().st_mode & 0o077 == 0


def test_programs_reach_the_database_through_the_environment(running: Cluster) -> None:
    done = subprocess.run(
        ["psql", "-XAtc", "SELECT current_user || ' ' || current_database()"],
        env=running.environment("template1"), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "postgres template1\n"


def test_a_copied_repository_leaves_the_original_cluster_alone(
    state: Path, running: Cluster
) -> None:
    copy = state.with_name("copy")
    copy.mkdir()
    shutil.copy(state / RECORD, copy)
    assert not stop(copy, delete=True)
    assert answer(running) == 42


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tools.cluster", *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_it_is_started_with_settings_and_for_a_network(state: Path) -> None:
    for _ in range(2):
        done = run(
            "start", state, f"--port={PREFERRED_PORT}", "--set=work_mem=8MB",
            "--set=listen_addresses=127.0.0.1, ::1", "--allow=192.0.2.0/24",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        cluster = Cluster(Place(**json.loads(done.stdout)))
        with cluster.connect() as connection:
            assert connection.execute("SHOW work_mem").fetchone() == ("8MB",)
            assert connection.execute("SHOW listen_addresses").fetchone() == ("127.0.0.1, ::1",)
            # Once, however often it is started.
            query = "SELECT auth_method FROM pg_hba_file_rules WHERE address = '192.0.2.0'"
            assert connection.execute(query).fetchall() == [("scram-sha-256",)]
        assert run("stop", state).stdout == f"{state}: stopped\n"
    assert run("stop", state).stdout == f"{state}: no cluster was running\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set=work_mem",), "no name=value: work_mem"),
        (("another",), "start takes one directory"),
        (("--set=no_such_setting=1",), 'unrecognized configuration parameter "no_such_setting"'),
    ],
)
def test_a_failed_start_is_reported(state: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run("start", state, *arguments)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr
