"""The page of the engine alone: its kernels beside XGBoost and other engines, over a grid of models.

It is made from what one run of extension/gbdt/benches/grid/run.sh left: machine.json, grid.jsonl
(the benchmark `grid`) and peers.jsonl (`peers.py`). Every figure on it is from there; medians of
the blocks are shown.
"""

import json
import statistics
from dataclasses import dataclass
from pathlib import Path

from bench.report.figures import times
from bench.report.markdown import table

KERNELS = ("gbdt avx512", "gbdt avx2", "gbdt portable")
HEADLINES = ("25x6x10-dense", "500x6x10-dense", "500x8x10-dense")
ROWS = (1, 64, 1024, 100_000)

MEASURED = "grid.jsonl"

HEAD = """\
# The engine

Nanoseconds a row, one thread, margins. The rows lie in memory, row after row, as f32, and no
database is involved. Measured on {date} on {cpu} ({cores} cores, {system}), {compiler}, with XGBoost
{releases}; raw results in `bench/results/{results}`.

Before a model was measured, the margins of 4,096 rows were found equal **to the bit** between all
kernels and all releases of XGBoost. Then the sides took turns, five blocks each, each walking on
through 100,000 rows, so that no branch is learnt by heart. The median block is shown. XGBoost is called
through its C API, in place (`XGBoosterPredictFromDense`), with `nthread` 1 and no proxy matrix kept, as
most callers do. Where 100,000 rows would have taken a side longer than its share of the time, it was
handed fewer in a call, at least 1,024 (marked \\*).

Models are named trees x depth x features, {models} of them. They are trained on 20,000 rows by
`extension/gbdt/benches/grid/train.py`. In models called missing one value in twenty is, in those
called categorical every fifth feature holds category codes.

To repeat it: `extension/gbdt/benches/grid/run.sh`.
"""

OTHERS = """\
The same models and rows, one thread. Treelite, TL2cgen and ONNX Runtime are called from Python, with numpy
rows, as their users do; the engine and XGBoost from compiled code. None of the three gives XGBoost's bits.
"""


@dataclass(frozen=True)
class Cell:
    """What one side took."""

    median: float
    least: float
    most: float
    short: bool

    @staticmethod
    def of(line: dict) -> "Cell":
        """The cell of a line of the results."""
        times = line["ns_a_row"]
        short = line["rows_called"] < line["rows"]
        return Cell(statistics.median(times), min(times), max(times), short)

    def text(self) -> str:
        """The median, marked if fewer rows were handed over."""
        digits = 1 if self.median < 100 else 0
        return f"{self.median:,.{digits}f}" + ("\\*" if self.short else "")


Cells = dict[tuple[str, int, str], Cell]


def read(path: Path) -> tuple[Cells, dict[str, dict]]:
    """Cells by model, rows and side, and what is known of each model."""
    cells: Cells = {}
    models: dict[str, dict] = {}
    for text in path.read_text().splitlines():
        line = json.loads(text)
        if "side" in line:
            cells[line["model"], line["rows"], line["side"]] = Cell.of(line)
        else:
            models[line["model"]] = line
    return cells, models


def order(model: str) -> tuple:
    """Models by kind, features, depth and trees."""
    shape, kind = model.split("-")
    trees, depth, features = map(int, shape.split("x"))
    return (["dense", "missing", "categorical"].index(kind), features, depth, trees)


def releases_of(cells: Cells) -> list[str]:
    """XGBoost's releases, newest first."""
    names = {side for _, _, side in cells if side.startswith("xgboost")}
    return sorted(names, key=lambda name: [int(part) for part in name.split()[1].split(".")])[::-1]


def comparison(cells: Cells, models: list[str], count: int, sides: tuple[str, ...]) -> str:
    """What the sides took for each model, and how many times the first is as fast as each XGBoost."""
    peers = releases_of(cells)
    present = [side for side in sides if any((model, count, side) in cells for model in models)]
    head = [
        "model",
        *present,
        *peers,
        *[f"{present[0].split()[1]}, times {peer}" for peer in peers],
    ]
    rows = []
    for model in models:
        found = [cells[model, count, side] for side in [*present, *peers]]
        ratios = [cells[model, count, peer].median / found[0].median for peer in peers]
        name = model.removesuffix("-dense")
        rows.append([name, *[cell.text() for cell in found], *[times(ratio) for ratio in ratios]])
    return table(head, rows) + "\n"


def slower(cells: Cells) -> list[str]:
    """Cells where a kernel took longer than an XGBoost."""
    found = []
    for (model, count, side), cell in cells.items():
        for peer in releases_of(cells):
            other = cells.get((model, count, peer))
            if side in KERNELS and other and cell.median > other.median:
                ratio = other.median / cell.median
                found.append(f"- {model}, {count:,} rows: {side} is {ratio:.2f} times {peer}")
    return found


def others(cells: Cells) -> str:
    """The engines that peers.py ran."""
    models = sorted({model for model, _, _ in cells}, key=order)
    first = [*KERNELS[:2]]
    rest = sorted({side for _, _, side in cells if not side.startswith("gbdt")})
    parts = []
    for count in (64, 1024, 100_000):
        rows = []
        for model in models:
            line = [cells.get((model, count, side)) for side in [*first, *rest]]
            rows.append(
                [model.removesuffix("-dense"), *[cell.text() if cell else "" for cell in line]]
            )
        parts.append(f"{count:,} rows a call:\n\n" + table(["model", *first, *rest], rows) + "\n")
    return "\n".join(parts)


def sizes(models: dict[str, dict]) -> str:
    """The images of the dense models of ten features."""
    names = [name for name in sorted(models, key=order) if name.endswith("x10-dense")]
    rows = []
    for name in names:
        line = models[name]
        rows.append(
            [
                name.removesuffix("-dense"),
                f"{line['nodes']:,}",
                f"{line['file_bytes'] / 1e6:,.2f}",
                f"{line['image_bytes'] / 1e6:,.2f}",
                f"{line['image_bytes'] / line['nodes']:,.1f}",
                f"{line['lowering_ms']:,.1f}",
                f"{line['opening_ms']:,.2f}",
            ]
        )
    head = [
        "model",
        "nodes",
        "file, MB",
        "image, MB",
        "bytes a node",
        "lowering, ms",
        "opening, ms",
    ]
    return table(head, rows) + "\n"


def page(results: Path) -> str:
    """The page's text, from a run's directory."""
    cells, models = read(results / MEASURED)
    machine = json.loads((results / "machine.json").read_text())
    names = sorted(models, key=order)
    headlines = [name for name in HEADLINES if name in models]
    releases = " and ".join(peer.split()[1] for peer in releases_of(cells))
    parts = [
        HEAD.format(results=results.name, releases=releases, models=len(names), **machine),
        "## In short\n\nOne row a call:\n",
        comparison(cells, headlines, 1, KERNELS),
        "100,000 rows a call:\n",
        comparison(cells, headlines, 100_000, KERNELS),
    ]
    for kernel in KERNELS[1:]:
        if any(side == kernel for _, _, side in cells):
            parts.append(f"100,000 rows a call, with {kernel.split()[1]} alone:\n")
            parts.append(comparison(cells, headlines, 100_000, (kernel,)))
    found = slower(cells)
    parts.append("## Where XGBoost is faster\n")
    parts.append("\n".join(found) if found else "In no cell, with any kernel.")
    for count in ROWS:
        parts.append(f"\n## {count:,} row{'' if count == 1 else 's'} a call\n")
        parts.append(comparison(cells, names, count, KERNELS))
    peers = results / "peers.jsonl"
    if peers.exists():
        parts += ["## Other engines\n", OTHERS, others(read(peers)[0])]
    return "\n".join([*parts, "## Images\n", sizes(models)])
