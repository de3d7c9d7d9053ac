"""However a run in namespaces ends, nothing of it stays: by itself, by a signal, or by the next run."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import processes
from bench.split import split
from bench.split.namespaces import existing, processes_in
from tests.bench.test_split import pytestmark as needs_namespaces

ROOT = Path(__file__).resolve().parents[2]

pytestmark = needs_namespaces


def _until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not done() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert done()


HOLD = """
import sys
from pathlib import Path
from bench.split import split
with split(Path(sys.argv[1])) as topology:
    command = [topology.server.python, "-c", "import time; time.sleep(600)"]
    service = topology.server.start("waits", command, Path(sys.argv[1], "log"))
    carriers = [process.pid for process in topology.links.processes()]
    print(service.pid, *carriers, flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_run_has_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        server, *carriers = map(int, run.stdout.readline().split())
        run.kill()
    # What carried the packets ends with the run; the server does not.
    _until(lambda: not any(processes.began(pid) for pid in carriers))
    assert processes.began(server)
    assert existing()
    with split(tmp_path) as topology:
        assert not processes.began(server)
        assert processes_in(existing()) == []
        assert topology.server.run(["echo", "there"]) == "there\n"
    assert existing() == []


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_ended_takes_everything_along(tmp_path: Path, signum: int) -> None:
    command = [
        sys.executable, "-m", "bench", "--topology", "split", "--workload", "quick",
        "--rows", "20000", "--only", "python_tuned/http/hot", "--output", str(tmp_path),
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        for line in run.stdout:
            if "compare its answers" in line:
                break
        started = [pid for pid in processes.tree([run.pid]) if pid != run.pid]
        assert len(started) >= 3
        run.send_signal(signum)
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 1
    assert errors.strip().splitlines()[-1] == "interrupted: no results"
    _until(lambda: processes.tree(started) == [])
    assert existing() == []
    assert [*tmp_path.iterdir()] == []


def test_without_root_it_says_so(tmp_path: Path) -> None:
    program = (
        "import os, sys; os.setuid(65534)\n"
        "from pathlib import Path; from bench.topology import BadTopology, opened\n"
        "try:\n    opened('split', Path(sys.argv[1])).__enter__()\n"
        "except BadTopology as error:\n    print(error)"
    )
    # What must be imported is imported as root, who can enter the repository.
    first = "import bench.split, bench.topology\n"
    done = subprocess.run(
        [sys.executable, "-c", first + program, str(tmp_path)], cwd=ROOT, capture_output=True,
        text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert "needs root" in done.stdout
