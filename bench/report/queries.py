"""Queries that people write: which predict in batches, and how long they take, from a run's queries.json.

Times are medians; a ratio is taken within each repetition, and its median and range are shown.
"""

import json
from pathlib import Path
from typing import Any

from bench.report.files import note
from bench.results import Spread, ratio

FILE = "queries.json"
SMALL, LARGE = "25x6", "200x8"


def _figures(series: dict[str, list[float]]) -> dict[str, Spread]:
    """Milliseconds by series, and `MODEL`, how many times as long a query takes without batches."""
    found = {name: Spread.of([1e3 * value for value in values]) for name, values in series.items()}
    for label in (SMALL, LARGE):
        if f"{label}/on" in series:
            found[label] = ratio(series[f"{label}/off"], series[f"{label}/on"])
    return found


def given(run: Path) -> dict[str, Any]:
    """What the page's template shows of a run's directory."""
    found = json.loads((run / FILE).read_text())
    shapes = found["shapes"]
    return {
        "run": found, "machine": found["machine"], "shapes": shapes,
        "figures": {name: _figures(one["series"]) for name, one in found["subjects"].items()},
        "in_batches": sum(one["batch"] for one in shapes.values()),
        "reasons": {name: one["reason"] for name, one in shapes.items() if not one["batch"]},
        "SMALL": SMALL, "LARGE": LARGE, "note": note(run),
    }  # fmt: skip
