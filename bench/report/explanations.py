"""Explanations by the engine beside those of each model's library, and of shap.

Made from what `extension/gbtrees/benches/grid/explanations.py` left, explanations.jsonl and machine.json. A
ratio is of the medians of two sides that took turns, of the same model and call.
"""

import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple

FILE = "explanations.jsonl"
ENGINE = "gbdt "


class Call(NamedTuple):
    """What is computed, of how many rows a call, by which kernel, beside whom."""

    what: str
    rows: int
    kernel: str
    peer: str

    @property
    def text(self) -> str:
        """The head of its column."""
        rows = "one row" if self.rows == 1 else f"{self.rows:,} rows"
        return f"{rows}, {self.kernel}" + (", beside shap" if self.peer == "shap" else "")


def given(run: Path) -> dict[str, Any]:
    """What the page's template shows of a run's directory."""
    found: dict[tuple[str, str, int], dict[str, dict]] = {}
    for line in map(json.loads, (run / FILE).read_text().splitlines()):
        call = found.setdefault((line["model"], line["what"], line["rows"]), {})
        call[line["side"]] = line
    times, apart = {}, {}
    for (model, what, rows), sides in found.items():
        engine = [side for side in sides if side.startswith(ENGINE)]
        for peer in (side for side in sides if not side.startswith(ENGINE)):
            package = peer.split()[0]
            apart[package] = max(apart.get(package, 0), sides[peer]["apart"])
            # All kernels beside the model's own library, the best one beside shap.
            for side in engine[:1] if package == "shap" else engine:
                kernel = side.removeprefix(ENGINE)
                whose = package if package == "shap" else "library"
                ratio = _median(sides[peer]) / _median(sides[side])
                times[model, Call(what, rows, kernel, whose)] = ratio
    calls = list(dict.fromkeys(call for _, call in times))
    return {
        "machine": json.loads((run / "machine.json").read_text()),
        "peers": sorted({side for sides in found.values() for side in sides if ENGINE not in side}),
        "models": list(dict.fromkeys(model for model, _ in times)), "times": times, "apart": apart,
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


def _median(line: dict) -> float:
    return statistics.median(line["ns_a_row"])
