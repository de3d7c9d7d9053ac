"""However a run in namespaces ends, nothing of it stays: by itself, by a signal, or by the next run."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import processes
from bench.split import split
from bench.topology import BadTopology
from tests.bench.test_split import ROOT, existing, said
from tests.bench.test_split import pytestmark as needs_namespaces
from tests.connections import until

# Not in that module, whose namespaces exist until its end.
pytestmark = needs_namespaces

SERVERS = ("postgres", "redis-server", "gunicorn")
HOLD = """
import sys
from pathlib import Path
from bench.split import split
with split(Path(sys.argv[1])) as topology:
    command = [topology.server.python, "-c", "import time; time.sleep(600)"]
    service = topology.server.start(command, Path(sys.argv[1], "log"))
    carriers = [process.pid for process in topology.links.processes()]
    print(service.pid, *carriers, flush=True)
    sys.stdin.read()
"""


def test_remains_of_a_killed_run_are_removed_by_the_next(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        server, *carriers = map(int, run.stdout.readline().split())
        run.kill()
    # The delay line and the servers end with the run, the namespaces do not.
    until(lambda: not processes.tree([server, *carriers]))
    assert existing()
    with split(tmp_path) as topology:
        assert topology.server.run(["echo", "there"]) == "there\n"
    assert existing() == []


@contextmanager
def _measuring(output: Path, moment: str) -> Iterator[subprocess.Popen[str]]:
    """Starts a run over a delayed link in a separate process group, and waits for this output."""
    cells = [
        f"{system}/random/25t/20c/0.25ms"
        for system in ("postgres_direct/simple", "python_tuned/http")
    ]
    # In a script's background, where these tests may run, some signals are ignored.
    command = [
        "env", "--default-signal=INT,HUP,TERM",
        sys.executable, "-m", "bench", "--workload", "split", "--rows", "20000",
        "--output", str(output), *(word for cell in cells for word in ("--only", cell)),
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as run:  # fmt: skip
        for line in run.stdout:
            if moment in line:
                break
        yield run


def _links() -> set[str]:
    """The network devices of this machine itself."""
    return {link["ifname"] for link in json.loads(said("ip", "-json", "link"))}


def _command_line(pid: int) -> str:
    # A load generator may have ended by now.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


@pytest.mark.parametrize(
    ("moment", "signum"),
    [
        ("compare its answers", signal.SIGTERM),
        ("compare its answers", signal.SIGHUP),
        # A load generator runs.
        (" left] ", signal.SIGINT),
    ],
)
def test_a_run_that_is_ended_takes_everything_along(
    tmp_path: Path, moment: str, signum: int
) -> None:
    before = _links()
    with _measuring(tmp_path, moment) as run:
        inside = {
            int(pid) for one in existing() for pid in said("ip", "netns", "pids", one).split()
        }
        started = {*processes.tree([run.pid])} - {run.pid} | inside
        told = " ".join(_command_line(pid) for pid in started)
        assert [server for server in SERVERS if server not in told] == []
        # A terminal tells the whole group, and somebody impatient tells it twice.
        for _ in range(2):
            os.killpg(run.pid, signum)
            time.sleep(0.2)
        _, errors = run.communicate(timeout=300)
    assert run.returncode == 1
    assert errors.strip().splitlines()[-1].startswith("interrupted: no results")
    until(lambda: not processes.tree(started))
    assert existing() == []
    assert _links() == before
    assert [*tmp_path.rglob("results.json")] == []


def test_without_root_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    with pytest.raises(BadTopology, match="needs root"), split(tmp_path):
        pytest.fail("it was opened")
