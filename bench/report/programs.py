"""The figures of programs that measure by themselves, from a run's directory: their templates' variables."""

import json
import statistics
from pathlib import Path
from typing import Any

from bench.results import Spread, ratio

# The call of the engine's wheel.
OURS = "gbtrees"


def _scaled(values: list[float], scale: float) -> Spread:
    return Spread.of([value * scale for value in values])


def _model(name: str, one: dict[str, Any], rows: int) -> dict[str, Any]:
    """Returns the figures of a model as SQL functions: multiples of `array_length`, and times.

    A row of `churn_rows` is a further one: planning is a figure for itself.
    """
    series = dict(one["series"])
    spent = zip(series["scan/churn_rows"], series["planning"], strict=True)
    series["scan/churn_rows"] = [whole - planning for whole, planning in spent]

    def figure(name: str, scale: float = 1e3) -> Spread | None:
        return _scaled(series[name], scale) if name in series else None

    return {
        "model": name, "megabytes": one["script"] / 1e6,
        "one": {form: ratio(series[f"one/{form}"], series["one/control"]) for form in ("churn", "predict")},
        "scan": {
            form: ratio(series[f"scan/{form}"], series["scan/control"])
            for form in ("churn_scan", "churn_rows", "predict")
        },
        "us": {form: figure(f"scan/{form}", 1e6 / rows) for form in ("churn_scan", "churn_rows")},
        "planning": figure("planning"), "first": figure("first"),
        "memory": figure("memory", 1e-6), "explain": figure("explain"),
    }  # fmt: skip


def functions(run: Path) -> dict[str, Any]:
    """Returns what one `python -m bench.functions` found."""
    found = json.loads((run / "functions.json").read_text())
    models = [_model(name, one, found["rows"]) for name, one in found["subjects"].items()]
    return {"run": found, "models": models}


def _row(name: str, calls: dict[str, list[float]], rows: int) -> dict[str, Any]:
    """Returns the wheel's time per row, the library's fastest call, and how many times as long that takes."""
    others = (one for one in calls if one != OURS)
    fastest = min(others, key=lambda one: statistics.median(calls[one]))
    ours, theirs = (_scaled(calls[one], 1e6 / rows) for one in (OURS, fastest))
    times = ratio(calls[fastest], calls[OURS])
    return {"model": name, "call": fastest, "ours": ours, "theirs": theirs, "times": times}


def wheel(run: Path) -> dict[str, Any]:
    """Returns what one `python -m bench.wheel` found."""
    found = json.loads((run / "wheel.json").read_text())
    tables = {
        what: [_row(name, calls[what], rows) for name, calls in found["subjects"].items()]
        for what, rows in found["rows"].items()
    }
    medians = {
        what: statistics.median(row["times"].median for row in of) for what, of in tables.items()
    }
    overhead = _scaled(found["overhead"], 1e6)
    return {"run": found, "tables": tables, "medians": medians, "overhead": overhead}
