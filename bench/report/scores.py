"""Compares the engine's scoring with that of each model's libraries.

The input is one run of extension/gbtrees/benches/grid/run.sh: machine.json, scores.jsonl (the benchmark
`grid` and `libraries.py libraries`), and compiled.jsonl (`libraries.py`). A cell is a model, a
number of rows per call and a kernel. Its time is the median of its blocks; its ratio is that to the fastest
call of the libraries measured interleaved with it, below 1 if the library is faster.
"""

import json
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from bench.report.figures import WAYS

FILE = "scores.jsonl"
KERNELS = ("gbdt avx512", "gbdt avx512bw", "gbdt avx2", "gbdt portable")
BATCH = 2048
# Libraries called without Python, whose overhead exceeds the time of one row.
BY_C = ("xgboost", "lightgbm")

# Nanoseconds per row of every block, by model, rows per call and side.
Cells = dict[tuple[str, int, str], list[float]]


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
    Line("XGBoost", "100 trees of depth 6 (default)", ("default",)),
    Line("XGBoost", "default, five classes", ("default5",)),
    Line("XGBoost", "100 of depth 4, ten classes", ("shallow10",)),
    Line("XGBoost", "100 of depth 10", ("deep",), "100x10"),
    Line("XGBoost", "50 of depth 12", ("deep",), "50x12"),
    Line("XGBoost", "100 of 31 leaves, leaf by leaf", ("lossguide",), "100x31"),
    Line("XGBoost", "100 of 255 leaves, leaf by leaf", ("lossguide",), "100x255"),
    Line("XGBoost", "25 to 500 of depth 3, 6, 8", LIMITED),
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


def read(path: Path) -> tuple[Cells, dict[str, dict[str, Any]]]:
    """Returns the cells and the facts of each model."""
    cells, models = {}, {}
    for line in map(json.loads, path.read_text().splitlines() if path.exists() else ()):
        if "side" in line:
            cells[line["model"], line["rows"], line["side"]] = line["ns_a_row"]
        else:
            models[line["model"]] = line
    return cells, models


class Ratio(NamedTuple):
    """A cell: nanoseconds per row of a kernel, and of the fastest other side."""

    ours: float
    peer: str
    theirs: float

    @property
    def times(self) -> float:
        """The engine's speed relative to the other side's."""
        return self.theirs / self.ours


Ratios = dict[tuple[str, int, str], Ratio]


def ratios(cells: Cells) -> Ratios:
    """Returns the ratios by model, rows per call and kernel."""
    sides: dict[tuple[str, int], dict[str, float]] = {}
    for (model, rows, side), ns in cells.items():
        sides.setdefault((model, rows), {})[side] = statistics.median(ns)
    found = {}
    for call, of_call in sides.items():
        others = {side: ns for side, ns in of_call.items() if side not in KERNELS}
        if others:
            peer = min(others, key=others.get)
            for kernel in (side for side in of_call if side in KERNELS):
                found[*call, kernel] = Ratio(of_call[kernel], peer, others[peer])
    return found


def summary(values: list[float], way: str) -> str:
    """Formats up to three figures each, and more as the median and the range."""
    write = WAYS[way]
    if len(values) <= 3:
        return " / ".join(map(write, values)) or "-"
    return f"{write(statistics.median(values))} ({write(min(values))} to {write(max(values))})"


def table(run: Path) -> list[list[Any]]:
    """Returns every cell, below a header, for the data that engine.md links."""
    cells, _ = read(run / FILE)
    of_kernel = ratios(cells)
    head = ["model", "trees", "size", "features", "kind", "rows_per_call", "side", "ns_per_row",
            "least", "most", "fastest_library", "times"]  # fmt: skip
    lines = []
    for (model, rows, side), ns in cells.items():
        found = of_kernel.get((model, rows, side))
        figures = [f"{value:.1f}" for value in (statistics.median(ns), min(ns), max(ns))]
        beside = [found.peer, f"{found.times:.3f}"] if found else ["", ""]
        lines.append([model, *_parts(model), model.split("-")[1], rows, side, *figures, *beside])
    return [head, *lines]


def given(run: Path) -> dict[str, Any]:
    """Returns the template's variables from a run's directory."""
    cells, models = read(run / FILE)
    found = ratios(cells)
    names = list(dict.fromkeys(model for model, _, _ in found))
    # The kernels that every model was measured with.
    measured = {kernel: {model for model, _, side in found if side == kernel} for kernel in KERNELS}
    kernels = [kernel for kernel, models_of in measured.items() if models_of == {*names}]
    header, lines = _lines(found, names, kernels)
    one_row = [
        one.times for (_, rows, kernel), one in found.items()
        if (rows, kernel) == (1, kernels[0]) and one.peer.startswith(BY_C)
    ]  # fmt: skip
    batches = {
        kernel: statistics.median(
            one.times for (_, rows, side), one in found.items() if (rows, side) == (BATCH, kernel)
        )
        for kernel in kernels
    }
    slowest = max(models.values(), key=lambda one: one["lowering_ms"], default=None)
    return {
        "machine": json.loads((run / "machine.json").read_text()), "names": names, "cells": found,
        "header": header, "lines": lines,
        "one_row": statistics.median(one_row) if one_row else None, "batches": batches,
        "BATCH": BATCH, "kernels": kernels,
        "libraries": sorted({one.peer.split(",")[0] for one in found.values()}),
        "lost": _lost(found), "faster": _faster(found),
        "compiled": ratios(read(run / "compiled.jsonl")[0]), "slowest": slowest,
    }  # fmt: skip


def _faster(found: Ratios) -> dict[str, tuple[int, int]]:
    """Returns for each kernel in how many cells it is faster than the library, and of how many."""
    cells: dict[str, list[bool]] = {}
    for (_, _, kernel), one in found.items():
        cells.setdefault(kernel.split()[1], []).append(one.times >= 1)
    return {kernel: (sum(faster), len(faster)) for kernel, faster in cells.items()}


def _lost(found: Ratios) -> dict[tuple[str, int, str], list[float]]:
    """Returns the ratios below 1, by line of the table, rows per call and kernel."""
    lost: dict[tuple[str, int, str], list[float]] = {}
    for (model, rows, kernel), one in found.items():
        if one.times < 1:
            line = next((line for line in LINES if line.models([model])), None)
            name = f"{line.library}, {line.text}" if line else model
            lost.setdefault((name, rows, kernel.split()[1]), []).append(one.times)
    return lost


def _lines(
    found: Ratios, names: list[str], kernels: list[str]
) -> tuple[list[str], list[list[str]]]:
    """Returns the table: its header, and a line for each of `LINES` that was measured."""

    def figures(members: list[str], rows: int, kernel: str, figure: str) -> str:
        cells = [found[call] for one in members if (call := (one, rows, kernel)) in found]
        values = [getattr(cell, figure) for cell in cells]
        return summary(values, "times" if figure == "times" else "three")

    first, short = kernels[0], [kernel.split()[1] for kernel in kernels]
    header = ["model", "features", *(f"{name}, ns" for name in short), "library, ns",
              *(f"{name}, times" for name in short), f"one row, {short[0]}, ns", "times"]  # fmt: skip
    lines = []
    for line in LINES:
        if members := line.models(names):
            features = dict.fromkeys(_parts(name)[2] for name in members)
            lines.append([
                f"{line.library}: {line.text}", " / ".join(features),
                *(figures(members, BATCH, kernel, "ours") for kernel in kernels),
                figures(members, BATCH, first, "theirs"),
                *(figures(members, BATCH, kernel, "times") for kernel in kernels),
                figures(members, 1, first, "ours"), figures(members, 1, first, "times"),
            ])  # fmt: skip
    return header, lines
