"""In a control group whose memory ends, the kernel kills the training's process, not the server.

As root, on a kernel with version 1 of control groups, whose memory controller is at MEMORY.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from tests.connections import running_since
from tests.extension.lifecycle.models import constant, load, value
from tests.state import TIMES
from tools.cluster import Cluster

MEMORY = Path("/sys/fs/cgroup/memory")
LIMIT = 400 << 20
# A matrix of a gigabyte, and little that the backend itself must keep.
LARGE = "SELECT i AS a, sin(i) AS b, i % 4000 AS y FROM generate_series(1, 60000) AS i"
PARAMS = '{"objective": "multi:softprob", "num_class": 4000, "max_depth": 2}'
SMALL = "SELECT i AS a, i AS y FROM generate_series(1, 100) AS i"

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not (MEMORY / "memory.limit_in_bytes").exists(),
    reason="needs root and version 1 of control groups",
)


@pytest.fixture
def limited(spare: Cluster) -> Iterator[Cluster]:
    """The server in a separate control group, with what it starts from now on."""
    group = MEMORY / f"pgboost-test-{os.getpid()}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(str(LIMIT))
    postmaster = int((spare.place.data / "postmaster.pid").read_text().split()[0])
    (group / "cgroup.procs").write_text(str(postmaster))
    yield spare
    for pid in (group / "cgroup.procs").read_text().split():
        # Some end meanwhile.
        with suppress(ProcessLookupError):
            (MEMORY / "cgroup.procs").write_text(pid)
    group.rmdir()


def killed(group: Cluster) -> str | None:
    with group.connect() as connection:
        train = "SELECT * FROM train_model('large', %s, 'y', %s, rounds => 1)"
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(train, (LARGE, PARAMS))
        # The same connection goes on.
        assert value(connection) == 1
        connection.execute("SELECT * FROM train_model('small', %s, 'y', rounds => 1)", (SMALL,))
    return caught.value.sqlstate


def test_the_server_outlives_a_training(limited: Cluster) -> None:
    with limited.connect() as connection:
        connection.execute("CREATE EXTENSION pgboost_train")
        load(connection, "m", constant(1))
        started = running_since(connection)
    for _ in range(2 * TIMES):
        assert killed(limited) == "53200"
    with limited.connect() as connection:
        assert running_since(connection) == started
        assert value(connection) == 1
