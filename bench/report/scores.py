"""Compares the engine's scoring with that of each model's libraries.

The input is one run of extension/gbtrees/benches/grid/run.sh: machine.json, scores.jsonl (the benchmark
`grid` and `libraries.py libraries`), and compiled.jsonl (`libraries.py`).
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from bench.report import grid
from bench.report.grid import BATCH, KERNELS, SCORES, Call, Column, short

FILE = "scores.jsonl"
# Libraries called without Python, whose overhead exceeds the time of one row.
BY_C = ("xgboost", "lightgbm")


class Line(NamedTuple):
    """A line of the table: its models, by kinds and optionally by trees and size."""

    library: str
    text: str
    kinds: list[str]
    shape: str = ""

    def models(self, names: Iterable[str]) -> list[str]:
        """Returns a run's models of this line, ordered by features, size and trees."""
        start = f"{self.shape}x" if self.shape else ""
        found = [
            name for name in names if name.split("-")[1] in self.kinds and name.startswith(start)
        ]
        return sorted(found, key=lambda name: [int(part) for part in _parts(name)[::-1]])

    def features(self, members: Iterable[str]) -> str:
        """Returns the numbers of features of some models."""
        return " / ".join(dict.fromkeys(_parts(name)[2] for name in members))


LINES = [Line(**one) for one in grid.ROWS["scores"]]


def _parts(name: str) -> list[str]:
    return name.partition("-")[0].split("x")


def table(run: Path) -> list[list[Any]]:
    """Returns every cell, below a header, for the data that engine.md links."""
    cells = grid.cells(grid.lines(run / FILE))
    found = grid.ratios(cells)
    head = ["model", "trees", "size", "features", "kind", "rows_per_call", "side", "ns_per_row",
            "least", "most", "fastest_library", "times"]  # fmt: skip

    def names(call: Call) -> list[Any]:
        return [call.model, *_parts(call.model), call.model.split("-")[1], call.rows]

    sides = [(call, side) for call, of_call in cells.items() for side in of_call]
    beside = (found.get(one) for one in sides)
    lines = zip(grid.data(cells, names, 1), beside, strict=True)
    return [head] + [
        [*line, *([one.peer, f"{one.times:.3f}"] if one else ["", ""])] for line, one in lines
    ]


def given(run: Path) -> dict[str, Any]:
    """Returns the template's variables from a run's directory."""
    lines = grid.lines(run / FILE)
    found = grid.ratios(grid.cells(lines))
    facts = [line for line in lines if "side" not in line]
    names = list(dict.fromkeys(call.model for call, _ in found))
    measured = {(call.model, side) for call, side in found}
    # Those that every model was measured with.
    kernels = [one for one in KERNELS if {*product(names, [one])} <= measured]
    columns = _columns(found, kernels)
    groups = [(line, members) for line in LINES if (members := line.models(names))]
    one_row = [
        one.times for (call, kernel), one in found.items()
        if (call.rows, kernel) == (1, kernels[0]) and one.peer.startswith(BY_C)
    ]  # fmt: skip
    return {
        "machine": grid.machine(run), "names": names, "BATCH": BATCH, "kernels": kernels,
        "header": ["model", "features", *(one.title for one in columns)],
        "lines": [
            [f"{line.library}: {line.text}", line.features(members), *(one.text(members) for one in columns)]
            for line, members in groups
        ],
        "one_row": statistics.median(one_row) if one_row else None,
        "batches": {kernel: grid.median(found, SCORES, BATCH, kernel) for kernel in kernels},
        "libraries": sorted({one.peer.split(",")[0] for one in found.values()}),
        "lost": _lost(found), "faster": grid.won(found),
        "compiled": grid.ratios(grid.cells(grid.lines(run / "compiled.jsonl"))),
        "slowest": max(facts, key=lambda one: one["lowering_ms"], default=None),
    }  # fmt: skip


def _lost(found: grid.Ratios) -> dict[tuple[str, int, str], list[float]]:
    """Returns the ratios below 1, by line of the table, rows per call and kernel."""
    lost: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    for (call, kernel), one in found.items():
        if one.times < 1:
            line = next((line for line in LINES if line.models([call.model])), None)
            name = f"{line.library}, {line.text}" if line else call.model
            lost[name, call.rows, short(kernel)].append(one.times)
    return lost


def _columns(found: grid.Ratios, kernels: list[str]) -> list[Column]:
    """Returns the table's columns: of batches, and of one row with the first kernel."""
    first = kernels[0]
    return [
        *grid.batch_columns(found, SCORES, kernels, "ns"),
        Column(f"one row, {short(first)}, ns", found, SCORES, 1, first, "ours"),
        Column("times", found, SCORES, 1, first),
    ]
