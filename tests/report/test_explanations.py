"""Explanations beside XGBoost's: a ratio is of two medians of one model and call."""

import json
from pathlib import Path

from bench.report.pages import page


def line(model: str, side: str, *ns: float, rows: int = 1) -> str:
    cell = {"model": model, "what": "contributions", "rows": rows, "side": side, "ns_a_row": ns}
    return json.dumps(cell) + "\n"


def test_every_cell_is_beside_its_own_call(tmp_path: Path) -> None:
    machine = {"cores": 2, "cpu": "Some", "date": "2026-11-22", "compiler": "rustc", "system": "L"}
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    (tmp_path / "explanations.jsonl").write_text(
        json.dumps({"xgboost": "9.1"}) + "\n"
        + line("25x8x10-dense", "gbdt cold", 9, 10, 50)
        + line("25x8x10-dense", "xgboost", 20, 30, 40)
        + line("25x6x10-dense", "gbdt cold", 20) + line("25x6x10-dense", "xgboost", 10)
        + line("25x6x10-dense", "gbdt avx2", 2, rows=64)
        + line("25x6x10-dense", "xgboost", 300, rows=64)
    )  # fmt: skip
    text = page("explanations.md", tmp_path)
    assert "XGBoost 9.1" in text
    assert "XGBoost was faster in 1 of 3 cells." in text
    assert (
        "| 25x6x10-dense | 0.50 | 150 |\n| 25x8x10-dense | 3.00 | - |\n| median | 1.75 | 150 |"
        in text
    )
    assert "| model | one row, no tables | 64 rows, avx2 |" in text
    assert "## Contributions\n" in text
