"""Explanations by the engine beside XGBoost's, over the grid's models.

Made from what the benchmark `explanations` left, explanations.jsonl and machine.json. A ratio is of the
medians of two sides that took turns, of the same model and call.
"""

import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from bench.report.grid import order

FILE = "explanations.jsonl"
PEER = "xgboost"


class Call(NamedTuple):
    """What is computed, of how many rows a call, by which side of the engine."""

    what: str
    rows: int
    side: str

    @property
    def text(self) -> str:
        """The head of its column."""
        side = "no tables" if self.side == "cold" else self.side
        return f"{'one row' if self.rows == 1 else f'{self.rows:,} rows'}, {side}"


def given(run: Path) -> dict[str, Any]:
    """What the page's template shows of a run's directory."""
    found, release = {}, ""
    for line in map(json.loads, (run / FILE).read_text().splitlines()):
        release = line.get(PEER, release)
        if "side" in line:
            call = Call(line["what"], line["rows"], line["side"].removeprefix("gbdt "))
            found[line["model"], call] = statistics.median(line["ns_a_row"])
    times = {
        (model, call): found[model, call._replace(side=PEER)] / ns
        for (model, call), ns in found.items()
        if call.side != PEER
    }
    calls = list(dict.fromkeys(call for _, call in times))
    models = sorted({model for model, _ in times}, key=order)
    return {
        "machine": json.loads((run / "machine.json").read_text()), "release": release,
        "models": models, "times": times,
        "kinds": {
            what: [call for call in calls if call.what == what]
            for what in dict.fromkeys(call.what for call in calls)
        },
        "medians": {
            call: statistics.median(ratio for (_, own), ratio in times.items() if own == call)
            for call in calls
        },
        "slower": sum(ratio < 1 for ratio in times.values()),
    }  # fmt: skip
