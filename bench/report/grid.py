"""The engine alone: its kernels beside XGBoost and other engines, over a grid of models.

Made from what one run of extension/gbdt/benches/grid/run.sh left: machine.json, grid.jsonl (the benchmark
`grid`) and peers.jsonl (`peers.py`); medians of the blocks are shown. XGBoost's best is a call with a proxy
matrix that the caller keeps: a side of its own where the grid has it, else from single_row.json, which
holds what the benchmark `single_row` found.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.results import Spread

KERNELS = ("gbdt avx512", "gbdt avx2", "gbdt portable")
KEPT = ", proxy kept"
HEADLINES = ("25x6x10-dense", "500x6x10-dense", "500x8x10-dense")
ROWS = (1, 64, 1024, 100_000)


@dataclass(frozen=True)
class Cell:
    """What one side took for a row, in nanoseconds."""

    spread: Spread
    # Whether fewer rows were handed over in a call than were to be.
    short: bool

    @property
    def median(self) -> float:
        """Of the blocks."""
        return self.spread.median

    @property
    def text(self) -> str:
        """The median, marked if fewer rows were handed over."""
        digits = 1 if self.median < 100 else 0
        return f"{self.median:,.{digits}f}" + ("\\*" if self.short else "")


Cells = dict[tuple[str, int, str], Cell]


def _read(path: Path) -> tuple[Cells, dict[str, dict[str, Any]]]:
    """Cells by model, rows and side, and what is known of each model."""
    cells: Cells = {}
    models: dict[str, dict[str, Any]] = {}
    for text in path.read_text().splitlines():
        line = json.loads(text)
        if "side" in line:
            cell = Cell(Spread.of(line["ns_a_row"]), line["rows_called"] < line["rows"])
            cells[line["model"], line["rows"], line["side"]] = cell
        else:
            models[line["model"]] = line
    return cells, models


def _order(model: str) -> tuple[int, ...]:
    """Models by kind, features, depth and trees."""
    shape, kind = model.split("-")
    trees, depth, features = map(int, shape.split("x"))
    return (["dense", "missing", "categorical"].index(kind), features, depth, trees)


def _peers(cells: Cells) -> list[str]:
    """XGBoost's sides, the newest release first, and of each the better call."""
    names = {side for _, _, side in cells if side.startswith("xgboost")}

    def place(name: str) -> tuple[list[int], bool]:
        release = name.split()[1].removesuffix(",")
        return [int(part) for part in release.split(".")], name.endswith(KEPT)

    return sorted(names, key=place, reverse=True)


def _slower(cells: Cells, peers: list[str]) -> Iterator[tuple[str, int, str, float, str]]:
    """Where a kernel took longer than an XGBoost: model, rows, kernel, its share of the speed, and which."""
    for (model, count, side), cell in cells.items():
        for peer in peers:
            other = cells.get((model, count, peer))
            if side in KERNELS and other and cell.median > other.median:
                yield model, count, side, other.median / cell.median, peer


def given(run: Path) -> dict[str, Any]:
    """What the page's template shows of a run's directory."""
    cells, models = _read(run / "grid.jsonl")
    names, peers = sorted(models, key=_order), _peers(cells)
    others = _read(run / "peers.jsonl")[0] if (run / "peers.jsonl").exists() else {}
    alone = run / "single_row.json"
    return {
        "machine": json.loads((run / "machine.json").read_text()),
        "cells": cells, "models": models, "names": names, "peers": peers,
        "kernels": [name for name in KERNELS if any(side == name for _, _, side in cells)],
        "headlines": [name for name in HEADLINES if name in models],
        "releases": [*dict.fromkeys(peer.removesuffix(KEPT).split()[1] for peer in peers)],
        "slower": [*_slower(cells, peers)], "ROWS": ROWS, "others": others,
        "other_names": sorted({model for model, _, _ in others}, key=_order),
        "other_sides": [
            *KERNELS[:2],
            *sorted({side for _, _, side in others if not side.startswith("gbdt")}),
        ],
        "single_row": json.loads(alone.read_text()) if alone.exists() else None,
    }  # fmt: skip
