"""Servers that run already are asked by the addresses that the environment names, and left as they were."""

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from bench import results
from bench.attached import Attached
from bench.hosts import ROOT
from bench.opening import on_this_machine
from bench.site import Site
from bench.systems import made
from bench.systems.description import described
from bench.workload import WORKLOADS
from cluster import stop

SAID = {
    "PGHOST": "postgres", "PGDATABASE": "flights", "PGUSER": "flights", "PGPASSWORD": "a 'b\\",
    "BENCH_PGBOUNCER": "pgbouncer:6432", "BENCH_SERVICE": "service:8000",
    "BASELINE_REDIS_URL": "redis://redis:6379/0", "FLIGHTS": "20000", "TREES": "50",
}  # fmt: skip
CELLS = [
    "postgres_direct/prepared/hot/5t/1c", "postgres_pgbouncer/simple/random/5t/20c",
    "python_tuned/http/batch/5t/5c",
]  # fmt: skip
MODELS = "SELECT name, version FROM pgboost_models ORDER BY name, version"


def test_the_environment_names_every_place_and_what_was_loaded() -> None:
    found = Attached.read(SAID)
    assert found.postgresql == ("postgres", 5432)
    assert found.pgbouncer == ("pgbouncer", 6432)
    assert found.password == SAID["PGPASSWORD"]
    asked = found.workload(WORKLOADS["attached"])
    assert (asked.rows, asked.keys) == (20_000, 10_000)
    assert {tree for one in asked.cells.values() for tree in one.trees} == {50}


@pytest.mark.parametrize("name", SAID)
def test_a_place_that_is_not_named_is_an_error(name: str) -> None:
    less = {key: value for key, value in SAID.items() if key != name}
    with pytest.raises(SystemExit, match=f"error: {name} is not set"):
        Attached.read(less)


@pytest.mark.parametrize(
    "wrong", [{"BENCH_SERVICE": "service"}, {"BENCH_PGBOUNCER": ":6432"}, {"TREES": "many"}]
)
def test_a_place_that_is_none_is_an_error(wrong: dict[str, str]) -> None:
    with pytest.raises(SystemExit, match="error: "):
        Attached.read(SAID | wrong)


def measured(site: Site, output: Path) -> results.Result:
    """What a run against the site's servers gives, which knows of them by the environment alone."""
    database = site.database
    systems = {name: made(described()[name], site) for name in WORKLOADS["attached"].systems}
    for system in systems.values():
        system.load()
        system.start(5)
    content = (site.model(5)).read_bytes().hex()
    database.execute(
        (f"GRANT EXECUTE ON FUNCTION drop_model, export_model TO {database.role}", ()),
        (f"SET ROLE {database.role}", ()),
        ("SELECT load_model('flights', decode(%s, 'hex'))", (content,)),
        ("SELECT drop_model('flights_5')", ()),
    )
    before = database.execute((MODELS, ()))
    (service,) = [system for name, system in systems.items() if name == "python_tuned"]
    known = database.environment() | {
        "BENCH_PGBOUNCER": "{}:{}".format(*systems["postgres_pgbouncer"].at),
        "BENCH_SERVICE": "{}:{}".format(*service.at),
        "BASELINE_REDIS_URL": service.redis_url, "FLIGHTS": str(site.workload.rows), "TREES": "5",
    }  # fmt: skip
    command = [sys.executable, "-m", "bench", "--workload", "attached", "--seconds", "1"]
    only = [word for cell in CELLS for word in ("--only", cell)]
    path = f"{Path(database.program('pgbench')).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [*command, *only, "--output", str(output)], cwd=ROOT, capture_output=True, text=True,
        check=False, env=os.environ | known | {"PATH": path},
    )  # fmt: skip
    for system in systems.values():
        system.stop()
    assert done.returncode == 0, done.stderr
    assert database.execute((MODELS, ())) == before
    (file,) = output.rglob("results.json")
    assert database.password not in file.read_text()
    return results.parse(file.read_text())


def test_what_runs_is_measured(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        workload = replace(WORKLOADS["quick"], rows=5_000, keys=200, workers=1)
        site = Site(workload, on_this_machine(directory=directory), directory)
        try:
            found = measured(site, tmp_path)
        finally:
            site.stop()
            stop(directory, delete=True)
    assert [cell.name for cell in found.cells if cell.runs] == CELLS
    for cell in found.cells:
        # Other machines' processes cannot be seen, so nothing is said of them.
        assert cell.runs[0].server is None
        assert cell.runs[0].generator.cpu_seconds > 0
