"""The server's system calls while it runs every SQL test and more, by strace: it opens its own files
and a few of the system, writes below its data directory alone, uses no network, and starts no program but
the trainer. Attempts that fail count as well.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.extension.lifecycle.models import grown, load, one
from tests.extension.lifecycle.test_crash import ROW
from tests.extension.test_sql_regression import NAMES, run
from tools.cluster import Cluster
from tools.cluster.server import installed

# The loader's cache, and what Rust and OpenMP ask for the number of processors; the trainer closes its
# backend's descriptors, and lets the system end it first.
SYSTEM = re.compile(
    r"/etc/ld\.so\.cache|/dev/(?:null|urandom|shm/PostgreSQL\.\d+)|/usr/share/zoneinfo(?:/.*)?"
    r"|/proc/self/(?:cgroup|fd|maps|mountinfo|oom_score_adj)|/sys/devices/system/cpu/.*|/sys/fs/cgroup/.*"
    r"|(?:/usr)?/lib(?:64)?/.*lib[^/]+\.so[.\d]*"
)
WRITABLE = re.compile(r"/dev/null|/dev/shm/PostgreSQL\.\d+|/proc/self/oom_score_adj")
CHANGES = {
    "creat", "link", "linkat", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "rmdir", "symlink",
    "symlinkat", "truncate", "unlink", "unlinkat",
}  # fmt: skip
NETWORK = {"socket", "connect", "bind", "listen"}
CALLS = CHANGES | NETWORK | {"open", "openat", "openat2", "execve", "execveat"}
LINE = re.compile(r"\d+ +(\w+)\((.*)")


def use_everything(connection: psycopg.Connection) -> None:
    load(connection, "m", grown(20, 6))
    one(connection, f"SELECT predict('m', {ROW})")
    one(connection, f"SELECT count(predict('m', {ROW})) FROM generate_series(1, 5000)")
    connection.execute("SELECT export_model('m'), model_info('m'), model_features('m')")
    query = "SELECT random() AS a, random() AS b, i AS y FROM generate_series(1, 500) AS i"
    connection.execute("SELECT * FROM train_model('t', %s, 'y', rounds => 3)", (query,))
    connection.execute("SELECT xgboost_predict('t', ARRAY[0.5, 0.5]::real[])")
    connection.execute("SELECT * FROM verify_model('t', %s)", (query,))
    connection.execute(
        "SELECT * FROM cross_validate_model(%s, 'y', folds => 2, rounds => 2)", (query,)
    )
    search = '{"eta": [0.1, 0.2]}'
    connection.execute(
        "SELECT * FROM tune_model(%s, 'y', %s, eval_fraction => 0.2, rounds => 2)", (query, search)
    )
    connection.execute("SELECT * FROM pg_stat_progress_train_model")
    for name in ("../../etc/passwd", "file:///etc/passwd", "http://127.0.0.1/m"):
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT load_model(%s, '{}')", (name,))
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT * FROM train_model('u', %s, 'y')", (name,))
    connection.execute("SELECT drop_model('m')")


@contextmanager
def traced(server: Cluster, trace: Path) -> Iterator[None]:
    """Writes down the calls of every process that the server starts meanwhile."""
    program = shutil.which("strace") or pytest.fail("no strace: apt-get install strace")
    postmaster = (server.place.data / "postmaster.pid").read_text().split()[0]
    strace = subprocess.Popen(
        [
            program, "-f", "-s", "4096", "-e", "signal=none", "-e", f"trace={','.join(sorted(CALLS))}",
            "-o", str(trace), "-p", postmaster,
        ],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(1)
    yield
    strace.send_signal(signal.SIGINT)
    strace.wait(timeout=60)


def calls(trace: Path, data: Path) -> list[tuple[str, str, list[str]]]:
    """Each call with its arguments, and its paths; relative ones are below the data directory."""
    found = []
    for line in trace.read_text(errors="replace").splitlines():
        if call := LINE.match(line):
            paths = re.findall(r'"([^"]*)"', call[2])
            found.append((call[1], call[2], [os.path.normpath(data / path) for path in paths]))
    return found


def test_nothing_outside_is_reached(spare: Cluster, tmp_path: Path) -> None:
    data, libraries = spare.place.data, installed("--pkglibdir")
    own = (f"{data}/", f"{libraries}/", f"{installed('--sharedir')}/")
    with traced(spare, tmp_path / "trace"):
        for name in NAMES:
            assert run(name, spare, {}, tmp_path / name) is None
        with spare.connect() as connection:
            connection.execute("CREATE EXTENSION pgboost_train")
            use_everything(connection)
    found = calls(tmp_path / "trace", data)
    assert not [call for call in found if call[0] in NETWORK]
    programs = {paths[0] for name, _, paths in found if name.startswith("execve")}
    assert programs == {str(libraries / "pgboost_train" / "pgboost_trainer")}
    named = {path for name, _, paths in found if not name.startswith("execve") for path in paths}
    outside = {path for path in named if not path.startswith(own)}
    assert not {path for path in outside if not SYSTEM.fullmatch(path)}
    changed = {
        path for name, arguments, paths in found for path in paths
        if name in CHANGES or re.search(r"O_WRONLY|O_RDWR|O_CREAT", arguments)
    }  # fmt: skip
    written = {path for path in changed if not path.startswith(f"{data}/")}
    assert not {path for path in written if not WRITABLE.fullmatch(path)}
    assert any("/pgboost/" in path for path in changed), "the trace shows no image"
    print(f"{len(found)} calls, {len(named)} paths, {len(outside)} of them outside")
