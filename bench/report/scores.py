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
    kinds: tuple[str, ...]
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


# XGBoost's models that the grid limits in depth.
LIMITED = ("dense", "missing", "categorical", "exact")
RANDOM = tuple(f"borders{count}" for count in (1, 32, 254, 65_535))
LINES = (
    Line("LightGBM", "100 trees of 31 leaves (default)", ("leafwise",), "100x31"),
    Line("LightGBM", "300 of 63", ("leafwise",), "300x63"),
    Line("LightGBM", "500 of 127", ("leafwise",), "500x127"),
    Line("LightGBM", "200 of 255", ("leafwise",), "200x255"),
    Line("LightGBM", "default, five classes", ("leafwise5",)),
    Line("LightGBM", "100 of 31 and 255, target of heavy tails", ("heavy",)),
    Line("LightGBM", "100 of 31, DART", ("dropout",)),
    Line("LightGBM", "100 of 31, linear leaves", ("linear",)),
    Line("XGBoost", "100 trees of depth 6 (default)", ("default",)),
    Line("XGBoost", "default, five classes", ("default5",)),
    Line("XGBoost", "100 of depth 4, ten classes", ("shallow10",)),
    Line("XGBoost", "100 of depth 10", ("deep",), "100x10"),
    Line("XGBoost", "50 of depth 12", ("deep",), "50x12"),
    Line("XGBoost", "100 of 31 leaves, leaf by leaf", ("lossguide",), "100x31"),
    Line("XGBoost", "100 of 255 leaves, leaf by leaf", ("lossguide",), "100x255"),
    Line("XGBoost", "25 to 500 of depth 3, 6, 8", LIMITED),
    Line("XGBoost", "100 of depth 6, DART", ("dart",)),
    Line("CatBoost", "200 of depth 6, target statistics", ("statistics",)),
    Line("CatBoost", "1,000 trees of depth 6 (default)", ("oblivious",), "1000x6"),
    Line("CatBoost", "500 of depth 8", ("oblivious",), "500x8"),
    Line("CatBoost", "200 of depth 10", ("oblivious",), "200x10"),
    Line("CatBoost", "200 of depth 6, five classes", ("oblivious5",)),
    Line("CatBoost", "random, depth 1 to 16, up to 254 borders", RANDOM[:3]),
    Line("CatBoost", "random, depth 1 to 16, 65,535 borders", RANDOM[3:]),
    Line("scikit-learn", "random forest, 100 of depth 25", ("forest",), "100x25"),
    Line("scikit-learn", "random forest, 500 of depth 40", ("forest",), "500x40"),
    Line("scikit-learn", "random forest, 100 of depth 25, five classes", ("forest5",)),
    Line("scikit-learn", "isolation forest (default)", ("isolation",)),
)  # fmt: skip


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
    batch, first = (found, SCORES, BATCH), kernels[0]
    return [
        *(Column(f"{short(kernel)}, ns", *batch, kernel, "ours") for kernel in kernels),
        Column("library, ns", *batch, first, "theirs"),
        *(Column(f"{short(kernel)}, times", *batch, kernel) for kernel in kernels),
        Column(f"one row, {short(first)}, ns", found, SCORES, 1, first, "ours"),
        Column("times", found, SCORES, 1, first),
    ]
