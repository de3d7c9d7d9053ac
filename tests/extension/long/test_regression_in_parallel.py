"""Copies of one SQL file run at once, and so do all files: each output is as if the file ran alone.

All databases share their roles: each copy of a file makes roles with separate names, and no two
files make the same.
"""

import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.extension.test_sql_regression import NAMES, SQL, WORK, run
from tests.times import TIMES
from tools.cluster import Cluster

BESIDE = 15
ROUNDS = max(1, TIMES // 10)
# The prefix of the roles.
ROLE = b"regress_"

pytestmark = pytest.mark.usefixtures("internal_errors")


@pytest.fixture(scope="module")
def directories() -> list[Path]:
    """The files once per run, with separate role names, as long and in the same order as before."""
    shutil.rmtree(WORK / "beside", ignore_errors=True)
    made = [WORK / "beside" / str(number) for number in range(BESIDE)]
    folders = {"sql": SQL.glob("*.sql"), "expected": (SQL / "expected").glob("*.out")}
    for folder, files in folders.items():
        for directory in made:
            (directory / folder).mkdir(parents=True)
        for file in files:
            for number, directory in enumerate(made):
                content = file.read_bytes().replace(ROLE, b"regr%03d_" % number)
                (directory / folder / file.name).write_bytes(content)
    for directory in made:
        (directory / "sql" / "models").symlink_to(SQL / "models")
    # Some files take golden models, by their way from tests/extension/sql.
    (WORK / "extension").symlink_to(SQL.parents[2] / "extension")
    return made


def run_at_once(cluster: Cluster, runs: Iterable[tuple[str, Path, Path | None]]) -> None:
    """Runs files at once, each into its own output and a database of that name, ROUNDS times."""
    runs = list(runs)
    with ThreadPoolExecutor(len(runs)) as pool:
        for _ in range(ROUNDS):
            ends = pool.map(lambda file: run(file[0], cluster, {}, *file[1:]), runs)
            outputs = (output.name for _, output, _ in runs)
            differences = {name: end for name, end in zip(outputs, ends, strict=True) if end}
            if differences:
                pytest.fail(f"files give other output: {differences}", pytrace=False)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_beside_itself(name: str, cluster: Cluster, directories: list[Path]) -> None:
    outputs = [WORK / "out" / f"{name}_{number}" for number in range(BESIDE)]
    run_at_once(cluster, ((name, *each) for each in zip(outputs, directories, strict=True)))


def test_all_files_at_once(cluster: Cluster) -> None:
    run_at_once(cluster, ((name, WORK / "out" / f"{name}_beside", None) for name in NAMES))
