"""Pages of separate records: the engine and its wheel compared with libraries, queries, and costs inside."""

import json
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.inside.series import LARGE, subject
from bench.report import explanations, formats, pages, programs, queries, scores
from bench.report.figures import ranged
from bench.report.files import sources
from bench.report.inside import Found
from bench.report.pages import TEMPLATES, _environment
from bench.results import Spread, write_json
from tests.bench.report.made_up import FACTS
from tests.extension.batch.shapes import SHAPES as MEASURED

MACHINE = {
    "cores": 2, "cpu": "Some", "date": "2026-01-05", "compiler": "rustc", "system": "L", "commit": "c1",
}  # fmt: skip


def line(model: str, rows: int, side: str, *ns: float, **more: Any) -> str:
    """Returns a line of a record."""
    return json.dumps({"model": model, "rows": rows, "side": side, "ns_a_row": ns} | more) + "\n"


def record(folder: Path, **files: str) -> Path:
    """Writes a run's files."""
    (folder / "machine.json").write_text(json.dumps(MACHINE))
    for name, text in files.items():
        (folder / f"{name}.jsonl").write_text(text)
    return folder


def text(module: Any, template: str, run: Path) -> str:
    """Returns a part of a page."""
    given = module.given(run) | {"name": "made up"}
    return _environment(TEMPLATES).get_template(template).render(given)


def call(model: str, rows: int, avx2: float, portable: float, **others: float) -> str:
    """Returns the lines of one call, whose slowest block is nine times as long as the others."""
    sides = {"gbdt avx2": avx2, "gbdt portable": portable, **others}
    return "".join(line(model, rows, side, ns, ns, 9 * ns) for side, ns in sides.items())


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    information = {"model": "100x31x10-leafwise", "nodes": 3000, "lowering_ms": 250.0}
    return record(
        tmp_path,
        scores=json.dumps(information) + "\n"
        + call("100x31x10-leafwise", 1, 100, 100, f32=400, f64=300)
        + call("100x31x10-leafwise", 2048, 10, 20, f32=410, f64=500)
        + call("100x31x50-leafwise", 1, 100, 100, f32=50)
        + call("100x31x50-leafwise", 2048, 20, 40, f32=900)
        + "".join(call(f"{n}x6x10-dense", 2048, 10, 10, xgboost=10 * n) for n in (2, 3, 4, 5)),
    )  # fmt: skip


def test_scores_have_a_figure_for_each_number_of_features(scored: Path) -> None:
    page = text(scores, "scores.j2", scored)
    assert (
        "| LightGBM: 100 trees of 31 leaves (default) | 10 / 50 | 10.0 / 20.0 | 20.0 / 40.0 | 410 / 900 "
        "| 41.0 / 45.0 | 20.5 / 22.5 | 100 / 100 | 3.00 / 0.50 |" in page
    )
    assert "| XGBoost: 25 to 500 of depth 3, 6, 8 | 10 | 10.0 (10.0 to 10.0) |" in page
    assert "| 3.50 (2.00 to 5.00) | 3.50 (2.00 to 5.00) | - | - |" in page
    assert "The slowest model to compile, 100x31x10-leafwise of 3,000 nodes, takes 250 ms." in page


def test_scores_are_counted_by_kernel(scored: Path) -> None:
    page = text(scores, "scores.j2", scored)
    # Four calls of leaf-wise trees and four of others, by two kernels.
    assert "In the median of 6 models" in page and "It is faster than them in 7 of 8 cells" in page
    assert "with avx2, 7 of 8 cells with portable; a machine has one of these kernels." in page
    assert (
        "The library is faster with: "
        "LightGBM, 100 trees of 31 leaves (default), 1 row, avx2, 1 (0.50 at least); "
        "LightGBM, 100 trees of 31 leaves (default), 1 row, portable, 1 (0.50 at least)." in page
    )
    lines = (scored / scores.FILE).read_text().splitlines(True)
    few = "".join(line for line in lines if '"rows": 1,' not in line)
    record(scored, scores=few + call("25x3x10-dense", 1, 1, 1, xgboost=2))
    page = text(scores, "scores.j2", scored)
    assert "It is faster than them in 7 of 7 cells" in page and "The library is faster" not in page


def test_explanations_are_compared_with_the_library_and_with_shap(tmp_path: Path) -> None:
    def cell(model: str, side: str, *ns: float, rows: int = 1, **apart: float) -> str:
        return line(model, rows, side, *ns, what="contributions", **apart)

    found = (
        cell("xgboost-25x6", "gbdt avx2", 9e3, 10e3, 50e3)
        + cell("xgboost-25x6", "gbdt portable", 20e3)
        + cell("xgboost-25x6", "xgboost 9.1", 20e3, 30e3, 40e3, apart=2e-7)
        + cell("xgboost-25x6", "shap 1.2", 70e3, apart=4e-7)
        + cell("lightgbm-200x255", "gbdt avx2", 20e3)
        + cell("lightgbm-200x255", "gbdt portable", 5e3)
        + cell("lightgbm-200x255", "lightgbm 8.0", 10e3, apart=1e-7)
        + cell("lightgbm-200x255", "gbdt avx2", 2e3, rows=2048)
        + cell("lightgbm-200x255", "gbdt portable", 4e3, rows=2048)
        + cell("lightgbm-200x255", "lightgbm 8.0", 300e3, rows=2048, apart=3e-7)
        + cell("lightgbm-200x255", "shap 1.2", 1e3, rows=2048, apart=3e-7)
    )
    page = text(explanations, "explanations.j2", record(tmp_path, explanations=found))
    for said in (
        "compared with lightgbm 8.0, shap 1.2, xgboost 9.1.",
        "2e-07 (xgboost), 4e-07 (shap), 3e-07 (lightgbm) of the largest",
        "| xgboost-25x6 | - | - | - | - | - | - | - | - | 10.0 | 3.00 | - |",
        "| lightgbm-200x255 | 2.00 | 4.00 | 300 | 150 | 75.0 | 0.50 | - | - | 20.0 | 0.50 | - |",
        "150 times as fast with avx2 as the model's own library's, 75.0 times with portable; "
        "those of one row 1.75 times.",
        "faster in 2 of 3 calls (of a model) with avx2, 3 of 3 calls with portable; the least ratio is 0.50.",
    ):
        assert said in page


def test_formats_are_compared_within_a_run_with_the_fastest_kernel(tmp_path: Path) -> None:
    catboost, lightgbm = "25x6x10-dense.cbm", "25x6x10-dense"
    run = record(
        tmp_path,
        formats=line(catboost, 1024, "gbdt", 9, 10, 50)
        + line(catboost, 1024, "catboost 1", 20, 30, 40)
        + line(catboost, 1024, "gbdt", 20, 20, 20)
        + line(catboost, 1024, "catboost 1", 20, 30, 40),
        lightgbm=json.dumps({"model": lightgbm, "nodes": 1}) + "\n"
        + line(lightgbm, 1024, "gbdt avx512", 5)
        + line(lightgbm, 1024, "gbdt avx2", 8)
        + line(lightgbm, 1024, "lightgbm 4, f32", 100),
    )  # fmt: skip
    part = text(formats, "part-of-formats.md.j2", run)
    assert "medians of 2 runs" in part
    assert "| catboost 1 | 1,024 | 30.0 | 2.25 (1.50 to 3.00) |" in part
    assert "| lightgbm 4, f32 | 1,024 | 100 | 20.0 |" in part
    assert part.count("| pgboost's engine | 1,024 |") == 2


def test_the_fastest_call_is_compared_by_repetition(tmp_path: Path) -> None:
    calls = {"gbtrees": [1e-3, 2e-3, 2e-3], "slow": [9.0] * 3, "fast": [1e-2, 4e-2, 2e-2]}
    other = {"gbtrees": [1.0] * 3, "only": [4.0] * 3}
    subjects = {"a": {"margins": calls}, "b": {"margins": other}}
    record = {"rows": {"margins": 1000}, "subjects": subjects, "overhead": [2e-6]}
    write_json(tmp_path / "wheel.json", record)
    found = programs.wheel(tmp_path)
    row, _ = found["tables"]["margins"]
    assert (row["model"], row["call"]) == ("a", "fast")
    times, overhead = row["times"], found["overhead"]
    figures = (
        row["ours"].median,
        row["theirs"].median,
        times.smallest,
        times.median,
        times.largest,
    )
    assert figures == pytest.approx((2, 20, 10, 10, 20))
    assert (found["medians"]["margins"], overhead.median) == pytest.approx((7, 2))


def test_multiples_of_functions_are_taken_within_each_repetition(tmp_path: Path) -> None:
    series = {
        "one/churn": [0.5, 0.75], "one/predict": [0.25, 0.25], "one/control": [0.25, 0.125],
        "scan/churn_scan": [0.25, 0.5], "scan/churn_rows": [1.0, 1.5], "scan/predict": [0.125, 0.125],
        "scan/control": [0.125, 0.0625], "planning": [0.5, 0.5], "first": [0.5], "memory": [3e6],
    }  # fmt: skip
    run = {"rows": 500_000, "subjects": {"one": {"script": 500_000, "series": series}}}
    write_json(tmp_path / "functions.json", run)
    (model,) = programs.functions(tmp_path)["models"]
    multiples = (model["one"]["churn"], model["scan"]["churn_scan"], model["us"]["churn_rows"])
    assert multiples == (Spread.of([2.0, 6.0]), Spread.of([2.0, 8.0]), Spread.of([1.0, 2.0]))
    assert model["memory"] == Spread.of([3.0]) and model["explain"] is None


EXPLAINED, TENTH = "`explain_prediction` in `FROM`", [0.01, 0.01, 0.01]
# The reason of a shape that does not predict in batches, and its series.
SHAPES = {
    "columns": ("", {
        "control": [0.012, 0.01, 0.011], "25x6/on": [0.024, 0.03, 0.033], "25x6/off": [0.06, 0.06, 0.066],
        "200x8/on": [0.05, 0.05, 0.05], "200x8/off": [0.2, 0.25, 0.3], "100x31/on": [0.012, 0.01, 0.022],
        "100x31/off": [0.1, 0.1, 0.1],
    }),
    queries.MEANS: ("", {
        "control": TENTH, "25x6/on": [0.02] * 3, "25x6/off": [0.2] * 3, "100x31/on": [0.24, 0.23, 0.22],
        "100x31/off": [0.9] * 3,
    }),
    EXPLAINED: ("it has parameters", {"control": TENTH, "25x6/on": [0.2] * 3, "25x6/off": [0.2] * 3}),
    "not on the page": ("", {"control": TENTH, "25x6/on": [0.04] * 3, "25x6/off": [0.2] * 3}),
}  # fmt: skip


def test_queries_are_those_of_the_run(tmp_path: Path) -> None:
    content = {
        "machine": {"processor": "Made Up 1", "cores": 2}, "started": "2026-01-05T10:00:00",
        "commit": "c" * 40, "rows": 60_000, "repetitions": 3, "postgresql": "15.20",
        "shapes": {
            name: {"statement": "SELECT 1", "batch": not reason, "reason": reason}
            for name, (reason, _) in SHAPES.items()
        },
        "subjects": {name: {"unit": "s", "series": series} for name, (_, series) in SHAPES.items()},
    }  # fmt: skip
    write_json(tmp_path / queries.FILE, content)
    (tmp_path / "README.md").write_text("Built in haste.\n")
    text = pages.page("queries", tmp_path)
    for said in (
        "3 of 4 shapes of a query predict in batches. With 25x6 a statement takes 3.00 (2.00 to 4.00)",
        "with 200x8 4.55 times",
        "Built in haste. To repeat it",
        "2026-01-05 on Made Up 1",
        "statement over 60,000 rows",
        "| columns | yes | 30.0 | 3.00 (2.00 to 3.00) | 2.00 | 50.0 | 4.55 (4.17 to 5.00) | 5.00 |",
        f"| {EXPLAINED} | no | 200 | 20.0 | 1.00 | - | - | - |",
        f"- Not in batches: {EXPLAINED}: it has parameters.",
        "takes 1.00 (1.00 to 2.00) times the scan without a prediction",
        "`mean_abs_contribs` of all rows 20.0 (10.0 to 23.0) times the scan with `predict`",
    ):
        assert said in text
    assert "not on the page" not in text
    assert set(queries.SHOWN) <= set(MEASURED)


NAME = "2026-01-05-made-up-inside"


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    """The committed run, as if it were of the made-up machine."""
    path = max((pages.ROOT / "bench" / "results").rglob("inside.json"), key=str)
    return json.loads(path.read_text()) | {"machine": FACTS}


@pytest.fixture
def files(
    directory: Path, recorded: dict[str, Any], root: Path, small: Path
) -> Callable[..., dict[Path, str]]:
    """Makes the report's files of a record, by default the whole one, next to the other results."""
    (directory / NAME).mkdir()

    def made(record: dict[str, Any] = recorded) -> dict[Path, str]:
        write_json(directory / NAME / "inside.json", record)
        return pages.made(sources(directory), root, small)

    return made


PAGE, PREDICTING = pages.PAGES / "inside.md", Path("docs/predicting.md")


def test_what_predict_adds_is_taken_within_each_repetition() -> None:
    series = {"plain": [0.05, 0.05, 0.06], "on": [0.11, 0.11, 0.12], "xgboost": [4.0, 4.0, 2.0]}
    found = Found({"subjects": {"scan": subject("s", series)}})
    added = found.figure("scan", "on", minus="plain", over="xgboost")
    assert added == Spread.of([(0.11 - 0.05) / 4, (0.11 - 0.05) / 4, (0.12 - 0.06) / 2])
    with pytest.raises(ValueError, match="different lengths"):
        subject("s", {"one": [1.0, 2.0], "other": [1.0]})


def test_stale_answers_are_counted_over_all_repetitions(
    files: Callable[..., dict[Path, str]], recorded: dict[str, Any]
) -> None:
    counts = recorded["subjects"]["stale"]["series"]
    statements, stale = (sum(counts[name]) for name in ("deploy_model, statements", "deploy_model"))
    (end,) = re.findall(r"^\| `deploy_model`, between.*(\| [\d,]+ \| \d+ \|)$", files()[PAGE], re.M)
    assert end == f"| {statements:,.0f} | {stale:.0f} |"


def test_a_run_of_some_subjects_gives_a_page_without_the_others(
    files: Callable[..., dict[Path, str]], recorded: dict[str, Any]
) -> None:
    text = files(recorded | {"subjects": {"copies": recorded["subjects"]["copies"]}})[PAGE]
    assert "## One copy" in text and "## A full scan" not in text


def test_a_page_of_the_users_has_the_figures_of_the_record(
    files: Callable[..., dict[Path, str]], recorded: dict[str, Any]
) -> None:
    made = files()
    assert made[PAGE].startswith(
        f"<!-- generated from bench/results/ ({NAME}) by make report: edit"
    )
    first = recorded["subjects"]["fresh"]["series"]
    pairs = zip(first[f"constants/{LARGE}"], first["SELECT 1"], strict=True)
    added = [(a - b) * 1e3 for a, b in pairs]
    low, middle, high = statistics.quantiles(added, n=4, method="inclusive")
    figure = ranged(Spread(middle, low, high), "three")
    assert f"{figure} ms more than a first `SELECT 1`" in made[PREDICTING]
