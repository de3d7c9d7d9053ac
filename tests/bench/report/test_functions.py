"""The table of models as SQL functions is what its run's file gives."""

from pathlib import Path

from bench.report.functions import given
from bench.results import Spread, write_json


def test_multiples_are_taken_within_each_repetition(tmp_path: Path) -> None:
    series = {
        "one/churn": [0.5, 0.75], "one/predict": [0.25, 0.25], "one/control": [0.25, 0.125],
        "scan/churn_scan": [0.25, 0.5], "scan/churn_rows": [0.5, 1.0], "scan/predict": [0.125, 0.125],
        "scan/control": [0.125, 0.0625], "planning": [0.5, 0.5], "first": [0.5], "memory": [3e6],
    }  # fmt: skip
    run = {"rows": 500_000, "subjects": {"one": {"script": 500_000, "series": series}}}
    write_json(tmp_path / "functions.json", run)
    (model,) = given(tmp_path)["models"]
    assert model["one"]["churn"] == Spread.of([2.0, 6.0])
    assert model["scan"]["churn_scan"] == Spread.of([2.0, 8.0])
    assert model["us"]["churn_rows"] == Spread.of([1.0, 2.0])
    assert model["memory"] == Spread.of([3.0]) and model["explain"] is None
