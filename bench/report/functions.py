"""The figures of one `python -m bench.functions`, from its functions.json."""

import json
from pathlib import Path
from typing import Any

from bench.results import Spread, ratio


def _row(name: str, one: dict[str, Any], rows: int) -> dict[str, Any]:
    """Returns a model's figures: times of `array_length` and seconds."""
    series = one["series"]

    def figure(name: str, scale: float = 1.0) -> Spread | None:
        return Spread.of([value * scale for value in series[name]]) if name in series else None

    return {
        "model": name, "megabytes": one["script"] / 1e6,
        "one": {form: ratio(series[f"one/{form}"], series["one/control"]) for form in ("churn", "predict")},
        "scan": {
            form: ratio(series[f"scan/{form}"], series["scan/control"])
            for form in ("churn_scan", "churn_rows", "predict")
        },
        "us": {form: figure(f"scan/{form}", 1e6 / rows) for form in ("churn_scan", "churn_rows")},
        "planning": figure("planning", 1e3), "first": figure("first", 1e3),
        "memory": figure("memory", 1e-6), "explain": figure("explain", 1e3),
    }  # fmt: skip


def given(run: Path) -> dict[str, Any]:
    """Returns the template's variables."""
    found = json.loads((run / "functions.json").read_text())
    return {
        "run": found,
        "models": [_row(name, one, found["rows"]) for name, one in found["subjects"].items()],
    }
