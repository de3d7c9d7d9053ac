"""Compares the engine with LightGBM, CatBoost and ONNX Runtime, each on models of its format.

The input is formats.jsonl (`formats.py`) and lightgbm.jsonl (the benchmark `grid`) of
extension/gbtrees/benches/grid/run.sh, each with several runs. A run's figure is the median of its blocks, and
a ratio is that of two figures of the same run.
"""

import statistics
from pathlib import Path
from typing import Any

from bench.report import grid
from bench.report.grid import KERNELS
from bench.results import Spread, ratio

FILE = "formats.jsonl"
ENGINE = "pgboost's engine"
ROWS = (1, 64, 1024, 100_000)

# Nanoseconds per row of each run, by library, shape of the model, rows per call and side.
Figures = dict[tuple[str, str, int, str], list[float]]


def _figures(path: Path, library: str = "") -> Figures:
    measured = [line for line in grid.lines(path) if "side" in line]
    sides = {line["side"] for line in measured}
    engine = next((kernel for kernel in ("gbdt", *KERNELS) if kernel in sides), None)
    found: Figures = {}
    for line in measured:
        shape, _, kind = line["model"].replace("-dense", "").partition(".")
        side = ENGINE if line["side"] == engine else line["side"]
        key = library or kind, shape, line["rows"], side
        found.setdefault(key, []).append(statistics.median(line["ns_a_row"]))
    return found


def given(run: Path) -> dict[str, Any]:
    """Returns the template's variables from a run's directory."""
    figures = _figures(run / FILE) | _figures(run / "lightgbm.jsonl", "txt")
    libraries = dict.fromkeys(library for library, *_ in figures)
    shown = [key for key in figures if not key[3].startswith("gbdt")]
    return {
        "machine": grid.machine(run),
        "shapes": sorted({key[1] for key in shown}, key=lambda one: int(one.split("x")[0])),
        "runs": max(map(len, figures.values())),
        "sides": {one: dict.fromkeys(key[3] for key in shown if key[0] == one) for one in libraries},
        "ROWS": ROWS, "ENGINE": ENGINE,
        "ns": {key: Spread.of(figures[key]) for key in shown},
        "times": {key: ratio(figures[key], figures[*key[:3], ENGINE]) for key in shown},
    }  # fmt: skip
