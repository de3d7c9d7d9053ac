"""SQL files run beside themselves, fifteen at a time: each output is as if it had been alone.

Files that make roles, which all databases share, are left out.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from cluster import Cluster
from tests.test_sql_regression import NAMES, SQL, WORK, run
from tests.times import TIMES

BESIDE = 15
ROUNDS = max(1, TIMES // 10)
ALONE = [name for name in NAMES if "CREATE ROLE" in (SQL / f"{name}.sql").read_text()]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ALONE])
@pytest.mark.usefixtures("internal_errors")
def test_output_is_as_expected(name: str, cluster: Cluster) -> None:
    outputs = [WORK / "out" / f"{name}_{number}" for number in range(BESIDE)]
    with ThreadPoolExecutor(BESIDE) as pool:
        for _ in range(ROUNDS):
            differences = set(pool.map(lambda output: run(name, cluster, {}, output), outputs))
            if differences != {None}:
                pytest.fail(f"{name}.sql gives other output: {differences}", pytrace=False)
