"""Without memory a load fails as any other statement, and the server goes on."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection

from tests.extension.lifecycle.models import constant, grown, load, named, one, value
from tests.state import TIMES
from tools.cluster import Cluster
from tools.cluster.server import bin_directory


def restart(spare: Cluster, limit_kb: int | str) -> None:
    """Restarts the server with a limit of each process's address space."""
    command = f"ulimit -v {limit_kb} && exec '{bin_directory()}/pg_ctl' restart -w -m fast"
    spare.place.run("bash", "-c", f"{command} -D '{spare.place.data}' -l '{spare.place.log}'")


def address_space_kb(connection: Connection) -> int:
    status = Path(f"/proc/{connection.info.backend_pid}/status").read_text()
    return int(re.search(r"VmPeak:\s+(\d+) kB", status)[1])


LOAD = "SELECT load_model('large', content) FROM file WHERE kind = %s"


@pytest.fixture(scope="module")
def sizes(spare: Cluster) -> Iterator[dict[str, tuple[int, int]]]:
    """The address space of a backend that predicts, and of one that has loaded a file of nodes or names."""
    contents = {"nodes": grown(620, 9), "names": named(65_536)}
    with spare.connect() as connection:
        load(connection, "m", constant(1))
        connection.execute("CREATE TABLE file (kind text, content bytea)")
        for content in contents.items():
            connection.execute("INSERT INTO file VALUES (%s, %s)", content)
    found = {}
    for kind in contents:
        restart(spare, "unlimited")
        with spare.connect() as predicting:
            value(predicting)
            least = address_space_kb(predicting)
            predicting.execute(LOAD, (kind,))
            found[kind] = least, address_space_kb(predicting)
            predicting.execute("SELECT drop_model('large')")
    yield found
    restart(spare, "unlimited")


# The peak is not the least that will do: at 0.88 of it a load came through once.
@pytest.mark.parametrize(
    ("kind", "part"),
    [("nodes", part) for part in (0.05, 0.15, 0.25, 0.35, 0.5, 0.65, 0.8)]
    + [("names", step / 40) for step in range(1, 32)],
)
def test_a_load_fails_and_the_connection_survives(
    spare: Cluster, sizes: dict[str, tuple[int, int]], kind: str, part: float
) -> None:
    """Names are small pieces of memory, which Rust takes without asking: a reserve is behind them.

    It is behind the reports of PostgreSQL's errors, too: without memory for a report the server restarts.
    """
    least, most = sizes[kind]
    assert kind == "names" or most - least > 50 * 1024
    restart(spare, least + int(part * (most - least)))
    with spare.connect() as connection:
        pid = connection.info.backend_pid
        for _ in range(TIMES if kind == "nodes" else 1):
            assert value(connection) == 1
            with pytest.raises(psycopg.Error) as raised:
                connection.execute(LOAD, (kind,))
            assert raised.value.sqlstate == "53200", raised.value
        assert value(connection) == 1
        assert connection.info.backend_pid == pid
        assert one(connection, "SELECT count(*) FROM pgboost_catalog.version") == 1


def test_a_load_succeeds_with_enough_memory(
    spare: Cluster, sizes: dict[str, tuple[int, int]]
) -> None:
    least, most = sizes["nodes"]
    restart(spare, most + (most - least))
    with spare.connect() as connection:
        assert one(connection, LOAD, ("nodes",)) == 1
