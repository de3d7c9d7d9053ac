"""Runs tests/extension/sql/*.sql through PostgreSQL's own pg_regress, each in a fresh database.

A file's output must equal tests/extension/sql/expected/<name>.out to the letter; the
difference is shown when it does not. A file setup.sql, where there is one, runs
first in each database. Files that do not show plans must give the same without
predictions in batches, which is tested as well. To accept new output: make
test-sql-accept, then read the diff.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.state import STATE
from tools.cluster import Cluster
from tools.cluster.server import bin_directory, installed

SQL = Path(__file__).resolve().parent / "sql"
WORK = STATE / "regress"
SETUP = "setup"
NAMES = sorted(path.stem for path in SQL.glob("*.sql") if path.stem != SETUP)
# These show plans, in which a batch is a separate node, or all settings.
SHOW_BATCHES = ("batch", "planner", "predict_functions", "settings")
BATCHES_OFF = {"PGOPTIONS": "-c pgboost.enable_batch=off"}


def pg_regress() -> Path:
    """PostgreSQL's runner, which Debian ships with the client programs."""
    return installed("--pgxs").parents[2] / "src/test/regress/pg_regress"


def laid_out_for_pg_regress() -> Path:
    """pg_regress wants sql and expected side by side: below --inputdir until PostgreSQL 15,
    in the current directory from 16."""
    WORK.mkdir(parents=True, exist_ok=True)
    for name, target in (("sql", SQL), ("expected", SQL / "expected")):
        link = WORK / name
        if not link.is_symlink():
            link.symlink_to(target)
    return WORK


def test_each_file_has_an_expected_output_and_each_output_a_file() -> None:
    expected = {path.stem for path in (SQL / "expected").glob("*.out")}
    assert NAMES
    assert expected == {path.stem for path in SQL.glob("*.sql")}


def run(
    name: str,
    cluster: Cluster,
    variables: Mapping[str, str],
    output: Path,
    directory: Path | None = None,
) -> str | None:
    """Runs a file in a database named for the output; gives the difference to the expected output."""
    directory = directory or laid_out_for_pg_regress()
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    tests = [SETUP, name] if (SQL / f"{SETUP}.sql").exists() else [name]
    done = subprocess.run(
        [
            pg_regress(), f"--inputdir={directory}",
            f"--outputdir={output}", f"--bindir={bin_directory()}", f"--host={cluster.host}",
            f"--port={cluster.port}", "--user=postgres", f"--dbname=sql_{output.name}",
            "--load-extension=pgboost", *tests,
        ],
        cwd=directory, env=cluster.environment() | dict(variables), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return None
    differences = output / "regression.diffs"
    difference = differences.read_text() if differences.exists() else ""
    # Without an expected output pg_regress stops, and there is no difference.
    return difference or done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_output_is_as_expected(name: str, cluster: Cluster) -> None:
    output = WORK / "out" / name
    difference = run(name, cluster, {}, output)
    if difference and os.environ.get("PGBOOST_ACCEPT") == "1":
        shutil.copy(output / "results" / f"{name}.out", SQL / "expected" / f"{name}.out")
    if difference:
        pytest.fail(f"{name}.sql gives other output:\n{difference}", pytrace=False)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SHOW_BATCHES])
def test_output_is_the_same_without_batches(name: str, cluster: Cluster) -> None:
    difference = run(name, cluster, BATCHES_OFF, WORK / "out" / f"{name}_without_batches")
    if difference:
        pytest.fail(f"{name}.sql gives other output without:\n{difference}", pytrace=False)
