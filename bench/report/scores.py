"""The engine alone: its kernels beside XGBoost and other engines, over a grid of models.

Made from what one run of extension/gbtrees/benches/grid/run.sh left: machine.json, grid.jsonl (the benchmark
`grid`) and peers.jsonl (`peers.py`); medians of the blocks are shown. XGBoost's best is a call with a proxy
matrix that the caller keeps: a side of its own where the grid has it, else from single_row.json.
"""

import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple

KERNELS = ("gbdt avx512", "gbdt avx512bw", "gbdt avx2", "gbdt portable")
KEPT = ", proxy kept"
HEADLINES = ("25x6x10-dense", "500x6x10-dense", "500x8x10-dense")
KINDS = ("dense", "missing", "categorical", "exact")
ROWS = (1, 64, 1024, 100_000)


class Cell(NamedTuple):
    """The median of what one side took for a row, in nanoseconds."""

    median: float
    # Whether fewer rows were handed over in a call than were to be.
    short: bool

    @property
    def text(self) -> str:
        """The median, marked if fewer rows were handed over."""
        return f"{self.median:,.{1 if self.median < 100 else 0}f}" + ("\\*" if self.short else "")


Cells = dict[tuple[str, int, str], Cell]


def _read(path: Path) -> tuple[Cells, dict[str, dict[str, Any]]]:
    """Cells by model, rows and side, and what is known of each model."""
    cells, models = {}, {}
    for line in map(json.loads, path.read_text().splitlines() if path.exists() else ()):
        if "side" in line:
            cell = Cell(statistics.median(line["ns_a_row"]), line["rows_called"] < line["rows"])
            cells[line["model"], line["rows"], line["side"]] = cell
        else:
            models[line["model"]] = line
    return cells, models


def order(model: str) -> tuple[int, ...]:
    """Models by kind, features, depth and trees."""
    shape, kind = model.split("-")
    trees, depth, features = map(int, shape.split("x"))
    return KINDS.index(kind), features, depth, trees


def _place(peer: str) -> tuple[list[int], bool]:
    """XGBoost's sides by release, and of each the better call last."""
    release = peer.split()[1].removesuffix(",")
    return [int(part) for part in release.split(".")], peer.endswith(KEPT)


def given(run: Path) -> dict[str, Any]:
    """What the page's template shows of a run's directory."""
    cells, models = _read(run / "grid.jsonl")
    others, _ = _read(run / "peers.jsonl")
    sides, other_sides = ({side for _, _, side in found} for found in (cells, others))
    peers = sorted((one for one in sides if one.startswith("xgboost")), key=_place, reverse=True)
    alone = run / "single_row.json"
    # Models that an earlier run had and this one has not, with the cells that were slower there.
    earlier = [_read(path)[1] for path in run.parent.glob("*/grid.jsonl") if path.parent != run]
    missing = sorted({name for one in earlier for name in one} - models.keys(), key=order)
    return {
        "machine": json.loads((run / "machine.json").read_text()),
        "missing": missing, "cells": cells, "models": models, "peers": peers,
        "names": sorted(models, key=order),
        "kernels": [one for one in KERNELS if one in sides], "ROWS": ROWS, "others": others,
        "headlines": [one for one in HEADLINES if one in models],
        "releases": [*dict.fromkeys(peer.removesuffix(KEPT).split()[1] for peer in peers)],
        # Where a kernel took longer than an XGBoost.
        "slower": [
            (model, count, side, cells[model, count, peer].median / cell.median, peer)
            for (model, count, side), cell in cells.items()
            for peer in peers
            if side in KERNELS and cell.median > cells.get((model, count, peer), cell).median
        ],
        "other_names": sorted({model for model, _, _ in others}, key=order),
        "other_sides": [
            *(one for one in KERNELS if one in other_sides),
            *sorted(other_sides - {*KERNELS}),
        ],
        "single_row": json.loads(alone.read_text()) if alone.exists() else None,
    }  # fmt: skip
