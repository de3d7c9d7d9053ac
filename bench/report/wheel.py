"""The figures of one `python -m bench.wheel`, from its wheel.json: the wheel against each library's calls."""

import json
import statistics
from pathlib import Path
from typing import Any

from bench.results import Spread, ratio

OURS = "gbtrees"


def _row(name: str, calls: dict[str, list[float]], rows: int) -> dict[str, Any]:
    """Returns our time per row, the fastest call of the library, and how many times as long it takes."""
    fastest = min(
        (one for one in calls if one != OURS), key=lambda one: Spread.of(calls[one]).median
    )
    ours, theirs = ([time * 1e6 / rows for time in calls[one]] for one in (OURS, fastest))
    return {
        "model": name, "call": fastest, "ours": Spread.of(ours), "theirs": Spread.of(theirs),
        "times": ratio(theirs, ours),
    }  # fmt: skip


def given(run: Path) -> dict[str, Any]:
    """Returns the template's variables."""
    found = json.loads((run / "wheel.json").read_text())
    tables = {
        what: [_row(name, calls[what], rows) for name, calls in found["subjects"].items()]
        for what, rows in found["rows"].items()
    }
    return {
        "run": found,
        "tables": tables,
        "medians": {
            what: statistics.median(row["times"].median for row in rows)
            for what, rows in tables.items()
        },
        "overhead": Spread.of([time * 1e6 for time in found["overhead"]]),
    }
