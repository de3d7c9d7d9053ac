"""The SQL regression gives the same output twice at once, and with settings that change how a statement runs.

All databases share their roles: each copy of a file makes roles with separate names, and no two files make
the same. On a PostgreSQL built with --enable-cassert also with every cache thrown away at each chance, which
takes two hours of a processor: PGBOOST_DISCARD_CACHES=1.
"""

import os
import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.extension.test_sql_regression import NAMES, SHOW_BATCHES, SQL, WORK, run
from tests.state import TIMES
from tools.cluster import Cluster

BESIDE = 15
ROUNDS = max(1, TIMES // 10)
# The prefix of the roles.
ROLE = b"regress_"


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


@pytest.mark.usefixtures("internal_errors")
@pytest.mark.parametrize("name", NAMES)
def test_a_file_beside_itself(name: str, cluster: Cluster, directories: list[Path]) -> None:
    outputs = [WORK / "out" / f"{name}_{number}" for number in range(BESIDE)]
    run_at_once(cluster, ((name, *each) for each in zip(outputs, directories, strict=True)))


@pytest.mark.usefixtures("internal_errors")
def test_all_files_at_once(cluster: Cluster) -> None:
    run_at_once(cluster, ((name, WORK / "out" / f"{name}_beside", None) for name in NAMES))


SHOW_PLANS_OR_SETTINGS = (*SHOW_BATCHES, "predict_places")
# Each worker warns by itself of a setting that no kernel has.
WARN_IN_WORKERS = ("kernels",)
# Rows of a batch that a change overtakes are predicted again one by one, and counted again.
COUNT_ROWS = ("statistics",)


def options(cluster: Cluster) -> dict[str, str]:
    with cluster.connect() as connection:
        major = connection.info.server_version // 10_000
    # PostgreSQL 16 renamed it.
    forced = "debug_parallel_query" if major >= 16 else "force_parallel_mode"
    found = {
        "parallel": f"-c {forced}=regress",
        "jit": "-c jit=on -c jit_above_cost=0 -c jit_inline_above_cost=0 -c jit_optimize_above_cost=0",
        "generic": "-c plan_cache_mode=force_generic_plan",
    }
    if os.environ.get("PGBOOST_DISCARD_CACHES") == "1":
        found["discard"] = "-c debug_discard_caches=1"
    return found


@pytest.mark.parametrize("setting", ["parallel", "jit", "generic", "discard"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in SHOW_PLANS_OR_SETTINGS])
def test_output_is_the_same(name: str, setting: str, cluster: Cluster) -> None:
    chosen = options(cluster).get(setting)
    if chosen is None:
        pytest.skip("needs a PostgreSQL with assertions and PGBOOST_DISCARD_CACHES=1")
    if setting == "parallel" and name in WARN_IN_WORKERS:
        pytest.skip("workers repeat a warning")
    if setting == "discard" and name in COUNT_ROWS:
        pytest.skip("rows are counted again")
    output = WORK / "out" / f"{name}_{setting}"
    difference = run(name, cluster, {"PGOPTIONS": chosen}, output)
    if difference:
        pytest.fail(f"{name}.sql gives other output with {chosen}:\n{difference}", pytrace=False)


def test_assertions_are_compiled_in_where_caches_are_discarded(cluster: Cluster) -> None:
    if os.environ.get("PGBOOST_DISCARD_CACHES") == "1":
        with cluster.connect() as connection:
            assert connection.execute("SHOW debug_assertions").fetchone() == ("on",)
