"""Typical queries, from a run's queries.json: whether they predict in batches, and their times.

Times are medians; a ratio is taken within each repetition, and its median is shown.
"""

import json
import statistics
from pathlib import Path
from typing import Any

from bench.report import grid
from bench.report.figures import WAYS, ranged
from bench.results import Spread, ratio

FILE = "queries.json"
SMALL, LARGE = MODELS = "25x6", "200x8"
LEAFWISE = "100x31"
CONTROL = "control"
COLUMNS, MEANS = "columns", "`mean_abs_contribs(predict_contribs(...))`"
SHOWN = grid.ROWS["queries"]

# Seconds of each repetition, by shape and series (`control`, `MODEL/on` and `MODEL/off`).
Series = dict[str, dict[str, list[float]]]


def _series(found: dict[str, Any]) -> Series:
    return {name: one["series"] for name, one in found["subjects"].items()}


def table(run: Path) -> list[list[Any]]:
    """Returns every shape and series, below a header, for the data that engine.md links."""
    found = json.loads((run / FILE).read_text())
    head = ["shape", "in_batches", "series", "ms", "least", "most"]
    return [head] + [
        [shape, found["shapes"][shape]["batch"], name]
        + [f"{1e3 * figure(values):.3f}" for figure in (statistics.median, min, max)]
        for shape, series in _series(found).items()
        for name, values in series.items()
    ]


def _line(name: str, series: dict[str, list[float]], is_batch: bool) -> list[str]:
    """Returns milliseconds, their ratio to the control, and the ratio of the time without batches."""
    line = [name, "yes" if is_batch else "no"]
    for model in MODELS:
        if on := series.get(f"{model}/on"):
            line.append(WAYS["three"](1e3 * statistics.median(on)))
            line.append(ranged(ratio(on, series[CONTROL]), "times"))
            line.append(WAYS["times"](ratio(series[f"{model}/off"], on).median))
        else:
            line.extend(["-"] * 3)
    return line


def given(run: Path) -> dict[str, Any]:
    """Returns the template's variables from a run's directory."""
    found = json.loads((run / FILE).read_text())
    shapes, series, note = found["shapes"], _series(found), run / "README.md"
    batched = [name for name, one in shapes.items() if one["batch"]]

    def over(model: str, other: str) -> Spread:
        """Summarizes the times of statements in batches with a model relative to another series."""
        return Spread.of([
            ratio(series[name][f"{model}/on"], series[name][other]).median
            for name in batched if f"{model}/on" in series[name]
        ])  # fmt: skip

    leafwise = {}
    if f"{LEAFWISE}/on" in series.get(MEANS, {}):
        scan, means = (series[name][f"{LEAFWISE}/on"] for name in (COLUMNS, MEANS))
        leafwise = {"scan": ratio(scan, series[COLUMNS][CONTROL]), "means": ratio(means, scan)}
    return {
        "run": found, "machine": found["machine"], "leafwise": leafwise,
        "shapes": shapes, "in_batches": len(batched),
        "over": over, "SMALL": SMALL, "LARGE": LARGE, "CONTROL": CONTROL,
        "note": note.read_text().strip() if note.exists() else "",
        "lines": [_line(name, series[name], shapes[name]["batch"]) for name in SHOWN if name in shapes],
        "reasons": {name: one["reason"] for name, one in shapes.items() if not one["batch"]},
    }  # fmt: skip
