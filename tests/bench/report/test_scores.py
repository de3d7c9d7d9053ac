"""Scores compared with a model's libraries: each cell with the fastest of its call, and all in the data."""

import json
from pathlib import Path

import pytest

from bench.report import scores
from bench.report.pages import TEMPLATES, _environment

MACHINE = {
    "cores": 2, "cpu": "Some", "date": "2026-01-05", "compiler": "rustc", "system": "L", "commit": "c1",
}  # fmt: skip


def line(model: str, rows: int, side: str, *ns: float) -> str:
    return json.dumps({"model": model, "rows": rows, "side": side, "ns_a_row": ns}) + "\n"


def call(model: str, rows: int, avx2: float, portable: float, **others: float) -> str:
    sides = {"gbdt avx2": avx2, "gbdt portable": portable, **others}
    return "".join(line(model, rows, side, ns, ns, 9 * ns) for side, ns in sides.items())


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    information = {"model": "100x31x10-leafwise", "nodes": 3000, "lowering_ms": 250.0}
    (tmp_path / scores.FILE).write_text(
        json.dumps(information) + "\n"
        + call("100x31x10-leafwise", 1, 100, 100, f32=400, f64=300)
        + call("100x31x10-leafwise", 2048, 10, 20, f32=410, f64=500)
        + call("100x31x50-leafwise", 1, 100, 100, f32=50)
        + call("100x31x50-leafwise", 2048, 20, 40, f32=900)
        + "".join(call(f"{n}x6x10-dense", 2048, 10, 10, xgboost=10 * n) for n in (2, 3, 4, 5))
    )  # fmt: skip
    return tmp_path


def text(run: Path) -> str:
    given = scores.given(run) | {"name": "made up"}
    return _environment(TEMPLATES).get_template("scores.j2").render(given)


def test_a_line_has_a_figure_for_each_number_of_features(run: Path) -> None:
    page = text(run)
    assert (
        "| LightGBM: 100 trees of 31 leaves (default) | 10 / 50 | 10.0 / 20.0 | 20.0 / 40.0 | 410 / 900 "
        "| 41.0 / 45.0 | 20.5 / 22.5 | 100 / 100 | 3.00 / 0.50 |" in page
    )
    assert "| XGBoost: 25 to 500 of depth 3, 6, 8 | 10 | 10.0 (10.0 to 10.0) |" in page
    assert "| 3.50 (2.00 to 5.00) | 3.50 (2.00 to 5.00) | - | - |" in page


def test_the_sentence_counts_the_cells_it_stands_on(run: Path) -> None:
    page = text(run)
    # Four calls of leaf-wise trees and four of others, by two kernels.
    assert "In the median of 6 models" in page and "It is faster than them in 7 of 8 cells" in page
    assert "with avx2, 7 of 8 cells with portable; a machine has one of these kernels." in page
    assert (
        "The library is faster with: "
        "LightGBM, 100 trees of 31 leaves (default), 1 row, avx2, 1 (0.50 at least); "
        "LightGBM, 100 trees of 31 leaves (default), 1 row, portable, 1 (0.50 at least)." in page
    )
    few = "".join(
        line
        for line in (run / scores.FILE).read_text().splitlines(True)
        if '"rows": 1,' not in line
    )
    (run / scores.FILE).write_text(few + call("25x3x10-dense", 1, 1, 1, xgboost=2))
    page = text(run)
    assert "It is faster than them in 7 of 7 cells" in page and "The library is faster" not in page


def test_the_slowest_model_to_compile_is_named(run: Path) -> None:
    assert "The slowest model to compile, 100x31x10-leafwise of 3,000 nodes, takes 250 ms." in text(
        run
    )
