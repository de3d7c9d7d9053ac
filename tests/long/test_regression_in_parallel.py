"""SQL files run beside themselves, and all of them at once: each output is as if the file had been alone.

All databases share their roles, so that a file that makes roles runs once at a time, and no two files
make the same.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cluster import Cluster
from tests.test_sql_regression import NAMES, SQL, WORK, run
from tests.times import TIMES

BESIDE = 15
ROUNDS = max(1, TIMES // 10)
MAKE_ROLES = [name for name in NAMES if "CREATE ROLE" in (SQL / f"{name}.sql").read_text()]

pytestmark = pytest.mark.usefixtures("internal_errors")


def run_at_once(cluster: Cluster, runs: Iterable[tuple[str, Path]]) -> None:
    """Runs files at once, each into its own output and a database of that name, ROUNDS times."""
    runs = list(runs)
    with ThreadPoolExecutor(len(runs)) as pool:
        for _ in range(ROUNDS):
            ends = pool.map(lambda file: run(file[0], cluster, {}, file[1]), runs)
            differences = {name: end for (name, _), end in zip(runs, ends, strict=True) if end}
            if differences:
                pytest.fail(f"files give other output: {differences}", pytrace=False)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in MAKE_ROLES])
def test_a_file_beside_itself(name: str, cluster: Cluster) -> None:
    run_at_once(cluster, ((name, WORK / "out" / f"{name}_{number}") for number in range(BESIDE)))


def test_all_files_at_once(cluster: Cluster) -> None:
    run_at_once(cluster, ((name, WORK / "out" / f"{name}_beside") for name in NAMES))
