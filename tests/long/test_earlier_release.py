"""The SQL objects of each release, and the SQL tests that it had, work with the present library.

What a server has between a new package and ALTER EXTENSION UPDATE. The tests are taken from the history of
this repository, as they were when the release was made. What their output shows otherwise than it did then
is in releases/<release>.diff, line by line, and nothing else may differ; to accept new differences, run this
with PGBOOST_ACCEPT=1, then read the diff.
"""

import os
import subprocess
from pathlib import Path

import pytest

from cluster import Cluster
from cluster.server import bin_directory
from tests.packaging.releases import RELEASES
from tests.test_sql_regression import pg_regress

ROOT = Path(__file__).resolve().parents[2]
ACCEPTED = Path(__file__).resolve().parent / "releases"
LAST_COMMITS = {"0.1.0": "2977f0a250c2faca67dd46f58b6a829df9044d24^"}
VERSION = "version"


def laid_out(release: str, place: Path) -> list[str]:
    """Puts the release's tests into a directory; returns their names, what must run first at the front."""
    archive = ["git", "-C", ROOT, "archive", LAST_COMMITS[release], "tests/sql"]
    done = subprocess.run(archive, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no history: {done.stderr.decode().strip()}")
    subprocess.run(["tar", "-x", "-C", place], input=done.stdout, check=True)
    tests = place / "tests"
    create = f"CREATE EXTENSION pgboost VERSION '{release}';\n"
    for target in (tests / "sql" / f"{VERSION}.sql", tests / "sql/expected" / f"{VERSION}.out"):
        target.write_text(create)
    (tests / "expected").symlink_to("sql/expected")
    # Golden models are read by their path from here.
    (place / "extension").symlink_to(ROOT / "extension")
    first = [VERSION, "setup"]
    return first + sorted({path.stem for path in tests.glob("sql/*.sql")} - set(first))


def run(name: str, place: Path, cluster: Cluster, release: str) -> list[str]:
    """The lines that differ from what the file gave then."""
    database = f"earlier_{name}"
    output = place / "out" / name
    output.mkdir(parents=True)
    tests = dict.fromkeys((VERSION, "setup", name))
    done = subprocess.run(
        [
            pg_regress(), f"--inputdir={place / 'tests'}", f"--outputdir={output}",
            f"--bindir={bin_directory()}", f"--host={cluster.host}", f"--port={cluster.port}",
            "--user=postgres", f"--dbname={database}", *tests,
        ],
        cwd=place / "tests", env=cluster.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return []
    differences = output / "regression.diffs"
    assert differences.exists(), done.stdout + done.stderr
    lines = differences.read_text().splitlines()
    return [line for line in lines if line[:1] in "+-" and line[:4] not in ("+++ ", "--- ")]


@pytest.mark.parametrize("release", RELEASES)
def test_its_own_tests_pass(release: str, cluster: Cluster, tmp_path: Path) -> None:
    found = []
    for name in laid_out(release, tmp_path):
        different = run(name, tmp_path, cluster, release)
        found += [f"== {name}", *different] if different else []
    accepted = ACCEPTED / f"{release}.diff"
    if os.environ.get("PGBOOST_ACCEPT") == "1":
        accepted.parent.mkdir(exist_ok=True)
        accepted.write_text("".join(f"{line}\n" for line in found))
    assert found == accepted.read_text().splitlines()
