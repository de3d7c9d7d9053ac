"""The sweep measures every pair once, the best ones again, and goes on where it stopped."""

import json
from pathlib import Path

import pytest

from python_baseline.sweep import FILE, Plan, Sweep, _read

PLAN = Plan([1, 2], [1, 5], [5, 20], 2, rounds=1, finalists=2, final_rounds=2, rows=1000)
ABOUT = {"machine": {"cores": "2"}, "versions": {"redis": "1"}}
# The last is best with 20 clients alone.
RATES = {(1, 1): [10.0, 10.0], (1, 5): [20.0, 20.0], (2, 1): [30.0, 30.0], (2, 5): [1.0, 40.0]}


def go_on(sweep: Sweep, runs: int) -> None:
    for pair, _ in zip(sweep.remaining(), range(runs), strict=False):
        sweep.runs.setdefault(pair, []).append(RATES[pair])


def test_every_pair_is_measured_and_the_best_again() -> None:
    sweep = Sweep(PLAN, ABOUT)
    go_on(sweep, 100)
    assert {pair: len(runs) for pair, runs in sweep.runs.items()} == {
        (1, 1): 1, (1, 5): 3, (2, 1): 3, (2, 5): 1,
    }  # fmt: skip
    assert sweep.ranked() == [(2, 1), (1, 5)]


@pytest.mark.parametrize("stop", [1, 3, 4, 5, 6, 7])
def test_it_goes_on_from_its_file(tmp_path: Path, stop: int) -> None:
    path = tmp_path / FILE
    whole, halves = Sweep(PLAN, ABOUT), Sweep(PLAN, ABOUT)
    go_on(whole, 100)
    go_on(halves, stop)
    halves.disturbed.append([0.5, 3.0])
    path.write_text(json.dumps(halves.to_json()))
    again = _read(path, PLAN, ABOUT)
    go_on(again, 100)
    assert again.runs == whole.runs
    assert again.disturbed == [[0.5, 3.0]]


def test_another_machines_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / FILE
    sweep = Sweep(PLAN, ABOUT)
    go_on(sweep, 1)
    path.write_text(json.dumps(sweep.to_json()))
    with pytest.raises(SystemExit, match="of another sweep"):
        _read(path, PLAN, ABOUT | {"machine": {"cores": "4"}})
