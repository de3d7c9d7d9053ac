"""Other libraries compared with the engine: a figure is a run's median, a ratio is of one run."""

import json
from pathlib import Path

from bench.report import formats
from bench.report.pages import TEMPLATES, _environment


def line(model: str, side: str, *ns: float, rows: int = 1024) -> str:
    return json.dumps({"model": model, "rows": rows, "side": side, "ns_a_row": ns}) + "\n"


def record(folder: Path) -> Path:
    machine = {"cores": 2, "cpu": "Some", "date": "2026-11-22", "compiler": "rustc 1"}
    (folder / "machine.json").write_text(json.dumps(machine))
    model = "25x6x10-dense.cbm"
    (folder / "formats.jsonl").write_text(
        line(model, "gbdt", 9, 10, 50)
        + line(model, "catboost 1", 20, 30, 40)
        + line(model, "gbdt", 20, 20, 20)
        + line(model, "catboost 1", 20, 30, 40)
    )
    model = "25x6x10-dense"
    (folder / "lightgbm.jsonl").write_text(
        json.dumps({"model": model, "nodes": 1})
        + "\n"
        + line(model, "gbdt avx512", 5)
        + line(model, "gbdt avx2", 8)
        + line(model, "lightgbm 4, f32", 100)
    )
    return folder


def test_a_ratio_is_of_one_run(tmp_path: Path) -> None:
    found = formats.given(record(tmp_path))
    key = ("cbm", "25x6x10", 1024, "catboost 1")
    assert found["runs"] == 2
    assert (found["ns"][key].smallest, found["ns"][key].largest) == (30, 30)
    assert (found["times"][key].smallest, found["times"][key].largest) == (1.5, 3)


def test_the_fastest_kernel_is_the_engine(tmp_path: Path) -> None:
    found = formats.given(record(tmp_path))
    assert list(found["sides"]["txt"]) == [formats.ENGINE, "lightgbm 4, f32"]
    assert found["times"]["txt", "25x6x10", 1024, "lightgbm 4, f32"].median == 20


def test_the_part_has_a_line_for_each_side(tmp_path: Path) -> None:
    given = formats.given(record(tmp_path)) | {"name": "made up"}
    text = _environment(TEMPLATES).get_template("part-of-formats.md.j2").render(given)
    assert "| catboost 1 | 1,024 | 30.0 | 2.25 (1.50 to 3.00) |" in text
    assert "| lightgbm 4, f32 | 1,024 | 100 | 20.0 |" in text
    assert text.count("| pgboost's engine | 1,024 |") == 2
