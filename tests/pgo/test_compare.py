"""The comparison, run for real on few flights: the release build against itself."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import pgo.__main__ as command
from cluster import stop
from cluster.server import installed
from data.flights import Request
from pgo import pairs, result, server, workload
from pgo.result import OPTIMISED, PLAIN, SERVERS, Plan
from pgo.server import DATABASE, Server, running
from workbench.tell import Teller

ROWS = 20_000


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What a build leaves, but that the optimised library is the installed one; where results go."""
    state = tmp_path / "state"
    for module in (command, server, workload):
        monkeypatch.setattr(module, "STATE", state)
    monkeypatch.setattr(workload, "TRAINING_ROWS", 2_000)
    monkeypatch.setattr(workload, "KEYS", 1_000)
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    state.mkdir()
    shutil.copy(installed("--pkglibdir") / "pgboost.so", state / f"{OPTIMISED}.so")
    command.prepare(Teller(2), Request(ROWS))
    yield tmp_path / "results"
    for name in SERVERS:
        stop(state / name, delete=True)


def test_every_cell_is_measured_on_every_server(prepared: Path) -> None:
    directory = command.compare(Teller(3), Plan(rounds=2, seconds=1, rows=ROWS))
    assert directory.parent == prepared
    found = result.read(directory / result.FILE)
    assert len(found.cells) == 6
    for cell in found.cells:
        assert {name: len(runs) for name, runs in cell.runs.items()} == dict.fromkeys(SERVERS, 2)
        for run in (run for runs in cell.runs.values() for run in runs):
            latency = run.latency_ms
            assert run.throughput > 0
            assert latency["p50"] <= latency["max"]
            assert latency["mean"] <= latency["max"]
            assert ("p99" in latency) == cell.name.startswith("one row")


def test_builds_that_predict_differently_are_not_compared(prepared: Path) -> None:
    with running(Server(PLAIN)) as (cluster,), cluster.connect(DATABASE) as connection:
        first = pairs.digests(cluster)
        connection.execute("SELECT load_model('flights_25', export_model('flights_500'))")
        with pytest.raises(pairs.Unequal, match="predict differently"):
            pairs.same_everywhere({PLAIN: first, OPTIMISED: pairs.digests(cluster)})
