"""Explanations beside a model's library: a ratio is of two medians of one model and call."""

import json
from pathlib import Path

from bench.report import explanations
from bench.report.pages import TEMPLATES, _environment


def line(model: str, side: str, *ns: float, rows: int = 1, apart: float | None = None) -> str:
    cell = {"model": model, "what": "contributions", "rows": rows, "side": side, "ns_a_row": ns}
    return json.dumps(cell | ({} if apart is None else {"apart": apart})) + "\n"


def test_every_cell_is_beside_its_own_call(tmp_path: Path) -> None:
    machine = {"cores": 2, "cpu": "Some", "date": "2026-11-25", "compiler": "rustc", "system": "L"}
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    (tmp_path / "explanations.jsonl").write_text(
        line("xgboost-25x6", "gbdt avx2", 9, 10, 50)
        + line("xgboost-25x6", "gbdt portable", 20)
        + line("xgboost-25x6", "xgboost 9.1", 20, 30, 40, apart=2e-7)
        + line("xgboost-25x6", "shap 1.2", 70, apart=4e-7)
        + line("lightgbm-100x31", "gbdt avx2", 20) + line("lightgbm-100x31", "gbdt portable", 5)
        + line("lightgbm-100x31", "lightgbm 8.0", 10, apart=1e-7)
        + line("lightgbm-100x31", "gbdt avx2", 2, rows=64)
        + line("lightgbm-100x31", "lightgbm 8.0", 300, rows=64, apart=3e-7)
    )  # fmt: skip
    given = explanations.given(tmp_path) | {"name": "made up"}
    text = _environment(TEMPLATES).get_template("explanations.j2").render(given)
    assert "beside lightgbm 8.0, shap 1.2, xgboost 9.1." in text
    assert "Libraries were faster in 1 of 6 cells." in text
    assert "2e-07 (xgboost), 4e-07 (shap), 3e-07 (lightgbm) of the largest" in text
    assert (
        "| model | one row, avx2 | one row, portable | one row, avx2, beside shap | 64 rows, avx2 |"
        in text
    )
    assert "| xgboost-25x6 | 3.00 | 1.50 | 7.00 | - |" in text
    assert (
        "| lightgbm-100x31 | 0.50 | 2.00 | - | 150 |\n| median | 1.75 | 1.75 | 7.00 | 150 |" in text
    )
