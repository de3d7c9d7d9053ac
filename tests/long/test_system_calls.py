"""What a backend asks of the kernel, by strace: files below the server's own directories, no network, and no
program but the trainer."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import psycopg
import pytest

from cluster import Cluster
from cluster.server import installed
from tests.lifecycle.models import grown, load, one
from tests.lifecycle.test_crash import ROW

# Files of the system that libraries read: OpenMP looks for processors, the C library for names and limits.
SYSTEM = ("/proc/", "/sys/", "/etc/", "/dev/", "/usr/lib", "/usr/share/zoneinfo", "/lib")
PATH = re.compile(r'(?:openat|open|creat)\((?:AT_FDCWD, )?"([^"]+)"')


def use_everything(connection: psycopg.Connection) -> None:
    load(connection, "m", grown(20, 6))
    one(connection, f"SELECT predict('m', {ROW})")
    one(connection, f"SELECT count(predict('m', {ROW})) FROM generate_series(1, 5000)")
    connection.execute("SELECT export_model('m'), model_info('m'), model_features('m')")
    query = "SELECT random() AS a, random() AS b, i AS y FROM generate_series(1, 500) AS i"
    connection.execute("SELECT * FROM train_model('t', %s, 'y', rounds => 3)", (query,))
    connection.execute("SELECT xgboost_predict('t', ARRAY[0.5, 0.5]::real[])")
    connection.execute("SELECT * FROM verify_model('t', %s)", (query,))
    connection.execute("SELECT * FROM pg_stat_progress_train_model")
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT load_model('../../etc/passwd', '{}')")
    connection.execute("SELECT drop_model('m')")


def traced(connection: psycopg.Connection, trace: Path) -> list[str]:
    """The system calls of the backend and its children while it does everything."""
    program = shutil.which("strace") or pytest.fail("no strace: apt-get install strace")
    calls = "open,openat,creat,connect,bind,execve,socket,unlink,unlinkat,rename"
    strace = subprocess.Popen(
        [program, "-f", "-e", f"trace={calls}", "-o", str(trace), "-p", str(connection.info.backend_pid)],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(1)
    use_everything(connection)
    connection.close()
    strace.wait(timeout=60)
    return trace.read_text().splitlines()


def test_nothing_outside_is_reached(cluster: Cluster, dbname: str, tmp_path: Path) -> None:
    with cluster.connect(dbname) as connection:
        lines = traced(connection, tmp_path / "trace")
    libraries = installed("--pkglibdir")
    own = (str(cluster.place.data), str(libraries), str(installed("--sharedir")), *SYSTEM)
    named = {found[1] for line in lines if (found := PATH.search(line)) and "= -1" not in line}
    # Relative ones are below the data directory, where a backend is. libxgboost finds OpenMP by "..".
    opened = {os.path.normpath(cluster.place.data / path) for path in named}
    assert not {path for path in opened if not path.startswith(own)}
    programs = {line.split('"')[1] for line in lines if "execve(" in line}
    assert programs == {str(libraries / "pgboost_train" / "pgboost_trainer")}
    assert not [line for line in lines if " connect(" in line or " bind(" in line]
    assert any("/pgboost/" in path for path in opened), "the trace shows no image"
