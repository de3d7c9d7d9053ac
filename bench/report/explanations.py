"""Compares the engine's explanations with those of each model's library and of shap.

The input is explanations.jsonl and machine.json of `extension/gbtrees/benches/grid/explanations.py`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.report import grid
from bench.report.grid import BATCH, Column, short

FILE = "explanations.jsonl"
# The kernels with VBMI and without, which use the same instructions for explanations.
AVX512 = grid.KERNELS[:2]
CONTRIBUTIONS, INTERACTIONS = "contributions", "interactions"


def table(run: Path) -> list[list[Any]]:
    """Returns every cell, below a header, for the data that engine.md links."""
    head = ["model", "what", "rows_per_call", "side", "ns_per_row", "least", "most"]
    return [head, *grid.data(grid.cells(grid.lines(run / FILE)), list, 0)]


def _apart(lines: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Returns by package the largest relative deviation of its contributions from ours."""
    apart: dict[str, float] = {}
    for line in lines:
        package = line["side"].split()[0]
        apart[package] = max(apart.get(package, 0), line.get("apart", 0))
    return {package: most for package, most in apart.items() if most}


def given(run: Path) -> dict[str, Any]:
    """Returns the template's variables from a run's directory."""
    lines = grid.lines(run / FILE)
    cells = grid.cells(lines)
    found, shap = (
        grid.ratios(cells, lambda side, wanted=wanted: side.startswith("shap ") == wanted)
        for wanted in (False, True)
    )
    kernels = list(dict.fromkeys(kernel for _, kernel in (*found, *shap)))
    if {*AVX512} <= {*kernels}:
        kernels.remove(AVX512[1])
    columns = _columns(found, shap, kernels)
    models = list(dict.fromkeys(call.model for call in cells))
    contributions = [call.rows for call in cells if call.what == CONTRIBUTIONS]
    return {
        "machine": grid.machine(run), "apart": _apart(lines), "models": models, "BATCH": BATCH,
        "peers": sorted({one.peer for one in (*found.values(), *shap.values())}),
        "first": short(kernels[0]), "header": ["model", *(one.title for one in columns)],
        "lines": [[model, *(one.text([model]) for one in columns)] for model in models],
        "least": min(one.times for one in found.values()), "faster": grid.won(found),
        "medians": {
            (rows, short(kernel)): grid.median(found, CONTRIBUTIONS, rows, kernel)
            for kernel in kernels
            for rows in dict.fromkeys(contributions)
        },
    }  # fmt: skip


def _columns(found: grid.Ratios, shap: grid.Ratios, kernels: list[str]) -> list[Column]:
    """Returns the table's columns: of the first kernel unless the title names one."""
    first, columns = kernels[0], grid.batch_columns(found, CONTRIBUTIONS, kernels, "us")
    columns.append(Column(f"{short(first)}, times shap", shap, CONTRIBUTIONS, BATCH, first))
    for title, rows in (("16 rows", 16), ("one row", 1)):
        of = found, CONTRIBUTIONS, rows, first
        columns += [Column(f"{title}, us", *of, "ours", 1e3), Column("times", *of)]
    return [*columns, Column("interactions, times", found, INTERACTIONS, 256, first)]
