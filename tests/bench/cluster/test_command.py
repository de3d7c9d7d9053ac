"""A program starts a cluster by a command, which prints its place."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.cluster import Cluster, stop
from tools.cluster.paths import Place

ROOT = Path(__file__).resolve().parents[3]
PREFERRED_PORT = 54345


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tools.cluster", *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def state() -> Iterator[Path]:
    """A state directory that the cluster's user can enter."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory
        stop(directory, delete=True)


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
