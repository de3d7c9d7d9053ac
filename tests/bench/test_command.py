"""`bench/run` says what is wrong in one line, and leaves no server behind when it is ended."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench import processes
from tests.connections import until

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str | Path, module: str = "bench") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_cells_are_listed() -> None:
    listed = run("--workload", "quick", "--list").stdout.splitlines()
    assert "postgres_pgbouncer/prepared/random/25t/20c" in listed
    assert "asgi/http/rank_100/25t/20c" in listed
    last = listed.pop()
    assert last.startswith(f"# {len(listed)} cells, at most ")
    assert int(last.split()[-2]) < 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "nothing"), "error: no cell has such a name: see --list"),
        (("--seconds", "0"), "--seconds, --repetitions and --rows must be at least 1"),
    ],
)
def test_invalid_arguments_are_reported(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.returncode != 0
    assert done.stderr.strip() == message


@pytest.mark.parametrize(
    ("module", "arguments", "message"),
    [
        ("bench", ["--workload", "nothing"], "bench/run: error: argument --workload"),
        ("bench.functions", ["--rows"], "error: unrecognized arguments: --rows"),
        ("tests.extension.formats", ["--rows"], "error: unrecognized arguments: --rows"),
        ("python_baseline", ["tuned", "--model", "nothing"], "error: no file nothing"),
    ],
)
def test_nothing_runs_with_invalid_arguments(
    module: str, arguments: list[str], message: str
) -> None:
    done = run(*arguments, module=module)
    assert done.returncode != 0
    assert message in done.stderr


def test_a_run_that_is_ended_takes_its_servers_along(tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "bench", "--workload", "quick", "--rows", "20000",
        "--only", "asgi/http/random", "--output", str(tmp_path),
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if "compare its answers" in line:
                break
        started = [pid for pid in processes.tree([process.pid]) if pid != process.pid]
        assert len(started) >= 3
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    assert errors.strip().splitlines()[-1] == "interrupted: no results"
    until(lambda: processes.tree(started), [], 10)
    assert [*tmp_path.iterdir()] == []
