"""What a fresh connection pays for its first prediction: time, and memory of its own.

The model is large, and another connection has loaded it and predicted with it: what
is measured is a backend that finds the shared image there. Time is that of the
statement; connecting is not counted. Memory is what the kernel counts as private
to the backend's process, clean and dirty.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from cluster import Cluster

FLOOR = "SELECT 1"


@dataclass(frozen=True)
class First:
    """Medians over fresh connections: seconds of the first statement, private bytes after it."""

    seconds: float
    private: float


def _private_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    kilobytes = [int(line.split()[1]) for line in lines if line.startswith("Private_")]
    return sum(kilobytes) * 1024


def _first_statement(cluster: Cluster, dbname: str, statement: str) -> tuple[float, int]:
    with cluster.connect(dbname) as connection:
        began = time.perf_counter()
        connection.execute(statement).fetchall()
        took = time.perf_counter() - began
        return took, _private_bytes(connection.info.backend_pid)


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def first_statements(
    cluster: Cluster, dbname: str, prediction: str, connections: int
) -> dict[str, First]:
    """The first statement of fresh connections, `SELECT 1` and the prediction in turn."""
    runs: dict[str, list[tuple[float, int]]] = {FLOOR: [], prediction: []}
    with cluster.connect(dbname) as other:
        other.execute(prediction).fetchall()
        for _ in tqdm(range(connections), unit=" connections", leave=False, disable=None):
            for statement, measured in runs.items():
                measured.append(_first_statement(cluster, dbname, statement))
    return {
        statement: First(*(_median([run[i] for run in measured]) for i in (0, 1)))
        for statement, measured in runs.items()
    }
