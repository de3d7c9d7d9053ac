"""Explanations compared with a model's library: a ratio is of two medians of one model and call."""

import json
from pathlib import Path

import pytest

from bench.report import explanations
from bench.report.pages import TEMPLATES, _environment
from tests.bench.report.test_scores import MACHINE


def line(model: str, side: str, *ns: float, rows: int = 1, apart: float | None = None) -> str:
    cell = {"model": model, "what": "contributions", "rows": rows, "side": side, "ns_a_row": ns}
    return json.dumps(cell | ({} if apart is None else {"apart": apart})) + "\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    (tmp_path / explanations.FILE).write_text(
        line("xgboost-25x6", "gbdt avx2", 9e3, 10e3, 50e3)
        + line("xgboost-25x6", "gbdt portable", 20e3)
        + line("xgboost-25x6", "xgboost 9.1", 20e3, 30e3, 40e3, apart=2e-7)
        + line("xgboost-25x6", "shap 1.2", 70e3, apart=4e-7)
        + line("lightgbm-200x255", "gbdt avx2", 20e3)
        + line("lightgbm-200x255", "gbdt portable", 5e3)
        + line("lightgbm-200x255", "lightgbm 8.0", 10e3, apart=1e-7)
        + line("lightgbm-200x255", "gbdt avx2", 2e3, rows=2048)
        + line("lightgbm-200x255", "gbdt portable", 4e3, rows=2048)
        + line("lightgbm-200x255", "lightgbm 8.0", 300e3, rows=2048, apart=3e-7)
        + line("lightgbm-200x255", "shap 1.2", 1e3, rows=2048, apart=3e-7)
    )
    return tmp_path


def text(run: Path) -> str:
    given = explanations.given(run) | {"name": "made up"}
    return _environment(TEMPLATES).get_template("explanations.j2").render(given)


def test_every_cell_is_compared_with_its_own_call(run: Path) -> None:
    page = text(run)
    assert "compared with lightgbm 8.0, shap 1.2, xgboost 9.1." in page
    assert "2e-07 (xgboost), 4e-07 (shap), 3e-07 (lightgbm) of the largest" in page
    assert "| xgboost-25x6 | - | - | - | - | - | - | - | - | 10.0 | 3.00 | - |" in page
    assert (
        "| lightgbm-200x255 | 2.00 | 4.00 | 300 | 150 | 75.0 | 0.50 | - | - | 20.0 | 0.50 | - |"
        in page
    )


def test_the_sentences_count_the_libraries_cells(run: Path) -> None:
    page = text(run)
    assert (
        "150 times as fast with avx2 as the model's own library's, 75.0 times with portable; "
        "those of one row 1.75 times." in page
    )
    assert (
        "The engine is faster in 2 of 3 calls (of a model) with avx2, 3 of 3 calls with portable"
        in page
    )
    assert "the least ratio is 0.50." in page
