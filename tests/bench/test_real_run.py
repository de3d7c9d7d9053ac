"""Every system is measured by its real servers, for a second each, and its answers are equal.

The figures mean nothing here; what is tested is that each system can be installed, started,
loaded, checked, run and stopped, and that nothing is left running.
"""

import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from itertools import product
from pathlib import Path

import pytest

from bench import processes, results, training
from bench.__main__ import FIGURES, show
from bench.generators.python_client import CLIENTS
from bench.harness import Harness
from bench.requests import RANKINGS, REQUESTS
from bench.site import Site
from bench.systems.description import described
from bench.topology import on_this_machine
from bench.workload import WORKLOADS, Set

KEYS = 200
SYSTEMS = described()
SERVICES = [name for name, one in SYSTEMS.items() if one.side == "service"]
ONE_OF_EACH_KIND = ("postgres_direct", "asgi")
FURTHER = ("asgi_memory", "fastapi_plain", "axum", "axum_redis")
PREDICTIONS = ("batch", "given", "fresh", "tenants", "rank_ids", *RANKINGS)
RATE = 100
WORKLOAD = replace(
    WORKLOADS["quick"], name="test", seconds=1, seconds_at_a_rate=1, warm_up_seconds=1, keys=KEYS,
    keys_one_at_a_time=KEYS, rows=5_000, training_rounds=3,
    cells={
        "all": Set(("random",), (2,), (5,), systems=("*",)),
        "requests": Set((*REQUESTS,), (2,), (5,), systems=ONE_OF_EACH_KIND),
        "further": Set(PREDICTIONS, (2,), (5,), systems=FURTHER),
        "programs": Set(("random", "given"), (2,), (5,)),
        "rates": Set(("random",), (2,), (5,), rates=(RATE,), plain=True, systems=ONE_OF_EACH_KIND),
        # A further model, which is asked for less than the first.
        "trees": Set(("random",), (2,), (6,), plain=True, systems=ONE_OF_EACH_KIND),
    },
)  # fmt: skip


@pytest.fixture(scope="module")
def result(state: Path, tmp_path_factory: pytest.TempPathFactory) -> results.Result:
    site, logs = Site(WORKLOAD, on_this_machine(state), state), tmp_path_factory.mktemp("output")
    cells = WORKLOAD.cells_of(SYSTEMS)
    before = _servers()
    measured = Harness(site, cells, logs).run()
    results.write(logs / "results.json", measured)
    for cell in measured.cells:
        for run in cell.runs:
            assert (logs / run.log).read_text()
    assert _servers() == before
    return measured


def _servers() -> set[int]:
    """Stores and poolers among this process's children; other modules' tests may have some running."""
    return {
        pid
        for pid in processes.tree([os.getpid()])
        if _command(pid).startswith(("redis-server", "pgbouncer"))
    }


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text() if Path(f"/proc/{pid}").exists() else ""


def test_all_answers_of_all_systems_are_compared(result: results.Result) -> None:
    ways = {
        "postgres_direct": (" simple", " prepared"),
        "postgres_pgbouncer": (" simple",),
        "postgres_libxgboost": (" simple", " prepared"),
        **dict.fromkeys(SERVICES, ("",)),
    }

    def all_of(systems: Iterable[str], names: Iterable[str]) -> dict[str, int]:
        every = product(systems, names)
        return {f"{one}, {name}{way}": KEYS for one, name in every for way in ways[one]}

    checked, further = result.checked
    assert further.compared == all_of(ONE_OF_EACH_KIND, ("random", "batch"))
    compared = all_of(ways, ("random", "batch"))
    compared |= all_of((*ONE_OF_EACH_KIND, *FURTHER), PREDICTIONS)
    # PgBouncer of 1.21 and later is asked by prepared statements too.
    assert compared.items() <= checked.compared.items()
    assert {*checked.compared.values()} == {KEYS}


def test_every_cell_is_measured_or_has_a_reason(result: results.Result) -> None:
    assert {cell.system for cell in result.cells} == {*SYSTEMS}
    for cell in result.cells:
        assert len(cell.runs) == (0 if cell.skipped else 1)
    skipped = [cell.name for cell in result.cells if cell.skipped]
    # PgBouncer of 1.21 and later has it.
    assert skipped in (["postgres_pgbouncer/prepared/random/5t/2c"], [])


def test_a_program_sends_the_load_generators_requests(result: results.Result) -> None:
    cells = [cell for cell in result.cells if cell.variant in CLIENTS]
    every = {(system.name, name) for system in SYSTEMS.values() for name in system.variants}
    asked = {(cell.system, cell.variant) for cell in cells}
    assert asked == {one for one in every if one[1] in CLIENTS}
    assert {client for _, client in asked} == {*CLIENTS}
    for cell in cells:
        assert cell.predictions_per_request == 1
        assert {"mean", "p50", "max"} <= cell.latency_ms.keys()


def test_a_rate_is_held_and_counted_from_when_requests_were_due(result: results.Result) -> None:
    found = {cell.system: cell for cell in result.cells if cell.rate}
    assert {*found} == {*ONE_OF_EACH_KIND}
    for cell in found.values():
        (run,) = cell.runs
        assert cell.name.endswith(f"/random/5t/2c/{RATE}r")
        assert run.open_loop.kept_up
        # pgbench draws the times between requests.
        assert RATE / 2 < run.open_loop.scheduled < RATE * 2
        assert run.latency_requests == run.open_loop.scheduled - run.open_loop.skipped
        assert {"p50", "max"} <= run.latency_ms.keys()


def test_training_is_measured_each_way(result: results.Result) -> None:
    assert [way.what for way in result.training] == [*training.WAYS]
    (rows,) = {way.rows for way in result.training}
    assert 4_000 < rows <= WORKLOAD.rows
    for way in result.training:
        assert (way.features, way.rounds) == (10, WORKLOAD.training_rounds)
        assert way.seconds > 0 and way.peak_bytes_above_idle > 0


def test_every_run_used_processor_and_memory(result: results.Result) -> None:
    whole = datetime.fromisoformat(result.finished) - datetime.fromisoformat(result.started)
    assert sum(run.seconds for cell in result.cells for run in cell.runs) <= whole.total_seconds()
    for cell in result.cells:
        for run in cell.runs:
            assert run.seconds >= 0.9
            # At a low rate a server may take less than a hundredth of a second, in which the kernel
            # counts for processes that go on.
            least = 0.0 if cell.rate else 0.01
            assert least <= run.server.cpu_seconds < run.seconds * 64
            assert 0 < run.generator.cpu_seconds < run.seconds * 64
            assert run.server.pss_bytes > 1 << 20
            assert run.generator.pss_bytes > 1 << 18
            known = [run.latency_ms[name] for name in results.LATENCIES if name in run.latency_ms]
            assert {"mean", "p50"} <= run.latency_ms.keys() and known[0] > 0
            assert known[1:] == sorted(known[1:])
            assert 0 < run.latency_requests <= run.requests


def test_the_result_describes_the_measurement(result: results.Result) -> None:
    assert all(result.versions.values())
    # Of Python's package, though the service in Rust has a crate of that name.
    assert result.versions["redis"] == version("redis")
    assert {"processor", "cores", "memory", "kernel"} <= result.machine.keys()
    assert result.workload["seed"] == WORKLOAD.seed
    assert {*result.configuration} == {*SYSTEMS}
    assert "pool_mode = transaction" in result.configuration["postgres_pgbouncer"]["pgbouncer.ini"]
    published = result.configuration["python_published"]
    assert published["environment"]["OMP_NUM_THREADS"] == "2"
    assert {"--workers=5", "--timeout=2"} <= {*published["command"]}
    assert {load.what for load in result.loading} == {
        "postgresql: COPY, index, VACUUM ANALYZE",
        *(f"redis: redis-cli --pipe, {name}" for name in ("json", "float32")),
    }


def test_no_password_and_no_path_is_in_the_result(result: results.Result, state: Path) -> None:
    text = repr(result)
    assert "redis://" not in text
    assert str(state) not in text
    assert str(Path(__file__).resolve().parents[2]) not in text
    assert "password" not in text.replace("TCP, password", "")


def test_the_table_has_a_line_for_each_cell(
    result: results.Result, capsys: pytest.CaptureFixture[str]
) -> None:
    show(result)
    shown = capsys.readouterr().out
    assert all(title in shown for title, *_ in FIGURES)
    asked = [[str(cell.trees), str(cell.clients)] for cell in result.cells]
    lines = [line.split()[2:4] for line in shown.splitlines()]
    assert sorted(line for line in lines if line in asked) == sorted(asked)
