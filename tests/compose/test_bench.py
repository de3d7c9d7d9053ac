"""`docker compose run --rm bench` measures the containers that run, and leaves them as they were."""

from pathlib import Path

from bench import results
from bench.workload import WORKLOADS
from tests.compose.stack import FLIGHTS, Stack

# Cells of each system and each load generator, a second each; the answers are compared in full.
CELLS = [
    "postgres_direct/simple/hot/25t/5c",
    "postgres_direct/prepared/random/25t/20c",
    "postgres_pgbouncer/*/hot/25t/5c",
    "python_tuned/http/hot/25t/5c",
    "python_tuned/http/batch/25t/5c",
]
MODELS = "SELECT name, version FROM pgboost_models ORDER BY name, version"


def test_the_quick_table(stack: Stack, tmp_path: Path) -> None:
    with stack.connect("POSTGRES_PORT") as connection:
        before = connection.execute(MODELS).fetchall()
    # The container writes as a user of its own.
    tmp_path.chmod(0o777)
    only = [word for cell in CELLS for word in ("--only", cell)]
    volume = ("--volume", f"{tmp_path}:/results")
    said = stack.compose("run", "--rm", "-T", *volume, "bench", "--seconds", "1", *only)
    assert "answers equal XGBoost's to the bit" in said
    # A column for what cannot be seen from this container.
    assert "server MB" not in said
    (path,) = tmp_path.glob("*-attached/*/results.json")
    result = results.parse(path.read_text())
    assert result.workload["rows"] == FLIGHTS
    assert {cell.system for cell in result.cells} == {*WORKLOADS["attached"].systems}
    assert {*result.checked[0].compared} >= {
        "postgres_direct, prepared",
        "postgres_pgbouncer, simple",
        "python_tuned, one",
    }
    for cell in result.cells:
        assert (len(cell.runs) == 1) != bool(cell.skipped)
        for run in cell.runs:
            assert run.requests > 0
            # Other containers' processes cannot be seen, so nothing is said of them.
            assert run.server is None
            assert run.generator.cpu_seconds > 0
    skipped = {cell.name for cell in result.cells if cell.skipped}
    assert skipped == {"postgres_pgbouncer/prepared/hot/25t/5c"}
    assert stack.password not in path.read_text()
    with stack.connect("POSTGRES_PORT") as connection:
        assert connection.execute(MODELS).fetchall() == before
