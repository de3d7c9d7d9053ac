"""The dbt package, by dbt itself: a project that predicts, and tests that pass and that fail on drift."""

import json
import shutil
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.extension.batch.tables import create
from tools.cluster.server import Cluster

ROOT = Path(__file__).resolve().parents[3]
LOCKED = ROOT / "tools" / "toolchain" / "dbt.txt"
PLACE = ROOT / ".build" / "dbt"
Build = Callable[..., dict[str, str]]


@pytest.fixture(scope="module")
def dbt() -> Path:
    """dbt, in a virtual environment of its versions."""
    program, known = PLACE / "bin" / "dbt", PLACE / "locked.txt"
    if not (program.exists() and known.exists() and known.read_text() == LOCKED.read_text()):
        shutil.rmtree(PLACE, ignore_errors=True)
        venv.create(PLACE, with_pip=True)
        pip = [PLACE / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "--no-deps", "-r", LOCKED], check=True)
        shutil.copy(LOCKED, known)
    return program


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project next to the package."""
    place = tmp_path_factory.mktemp("dbt")
    shutil.copytree(ROOT / "integrations" / "dbt", place / "integrations" / "dbt")
    return shutil.copytree(
        Path(__file__).with_name("dbt"), place / "tests" / "integrations" / "dbt"
    )


@pytest.fixture(scope="module")
def build(cluster: Cluster, dbname: str, dbt: Path, project: Path) -> Build:
    """Runs `dbt build` in a database with the project's tables and models; returns each node's status."""
    with cluster.connect(dbname) as connection:
        create(connection)
        connection.execute("SELECT set_baseline('price', 'homes')")
    environment = cluster.environment(dbname) | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [dbt, "--quiet", "--no-use-colors", *arguments, "--project-dir", project]
        command += ["--profiles-dir", project]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def built(*arguments: str) -> dict[str, str]:
        told = run("build", *arguments)
        results = project / "target" / "run_results.json"
        assert results.exists(), told.stdout + told.stderr
        nodes = json.loads(results.read_text())["results"]
        return {node["unique_id"].split(".")[2]: node["status"] for node in nodes}

    told = run("deps")
    assert told.returncode == 0, told.stdout + told.stderr
    return built


def test_a_project_predicts_and_is_tested(cluster: Cluster, dbname: str, build: Build) -> None:
    built = build()
    assert len(built) == 6 and set(built.values()) == {"success", "pass"}, built
    with cluster.connect(dbname) as connection:
        differing = connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE by_name IS DISTINCT FROM expected"
            " OR by_position IS DISTINCT FROM expected OR margin[1] IS DISTINCT FROM expected)"
            " FROM (SELECT *, predict('price', area, rooms, age) AS expected FROM scored) AS s"
        ).fetchone()
    assert differing == (1000, 0)
    drifted = build("--vars", "{shift: 40}")
    failed = sorted(name for name, status in drifted.items() if status not in ("success", "pass"))
    assert [name.partition("_newer")[0] for name in failed if "drift" in name] == [
        "pgboost_no_drift"
    ]
    assert all(drifted[name] == "fail" for name in failed), drifted
