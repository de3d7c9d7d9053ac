"""The page of queries that people write shows what its run's file has."""

from pathlib import Path

import pytest

from bench.report import pages, queries
from bench.results import write_json
from tests.extension.batch.shapes import SHAPES as MEASURED

NAME = "2026-01-05-made-up-queries"
SHAPES = {
    "columns": {"statement": "SELECT 1", "batch": True, "reason": ""},
    queries.MEANS: {"statement": "SELECT 3", "batch": True, "reason": ""},
    "`explain_prediction` in `FROM`": {
        "statement": "SELECT 2",
        "batch": False,
        "reason": "it has parameters",
    },
    "not on the page": {"statement": "SELECT 4", "batch": True, "reason": ""},
}
SERIES = {
    "columns": {
        "control": [0.012, 0.01, 0.011], "25x6/on": [0.024, 0.03, 0.033], "25x6/off": [0.06, 0.06, 0.066],
        "200x8/on": [0.05, 0.05, 0.05], "200x8/off": [0.2, 0.25, 0.3], "100x31/on": [0.012, 0.01, 0.022],
        "100x31/off": [0.1, 0.1, 0.1],
    },
    queries.MEANS: {
        "control": [0.01, 0.01, 0.01], "25x6/on": [0.02, 0.02, 0.02], "25x6/off": [0.2, 0.2, 0.2],
        "100x31/on": [0.24, 0.23, 0.22], "100x31/off": [0.9, 0.9, 0.9],
    },
    "`explain_prediction` in `FROM`": {
        "control": [0.01, 0.01, 0.01], "25x6/on": [0.2, 0.2, 0.2], "25x6/off": [0.2, 0.2, 0.2],
    },
    "not on the page": {
        "control": [0.01, 0.01, 0.01], "25x6/on": [0.04, 0.04, 0.04], "25x6/off": [0.2, 0.2, 0.2],
    },
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    content = {
        "machine": {"processor": "Made Up 1", "cores": 2}, "started": "2026-01-05T10:00:00",
        "commit": "c" * 40, "rows": 60_000, "repetitions": 3, "postgresql": "15.20", "shapes": SHAPES,
        "subjects": {name: {"unit": "s", "series": series} for name, series in SERIES.items()},
    }  # fmt: skip
    path = tmp_path / NAME
    path.mkdir()
    write_json(path / queries.FILE, content)
    (path / "README.md").write_text("Built in haste.\n")
    return path


def test_the_page_shows_the_measurements(run: Path) -> None:
    text = pages.page("queries", run)
    assert (
        "3 of 4 shapes of a query predict in batches. With 25x6 a statement takes 3.00 (2.00 to 4.00)"
        in text
    )
    assert "with 200x8 4.55 times" in text
    assert "Built in haste. To repeat it" in text
    assert "2026-01-05 on Made Up 1" in text and "statement over 60,000 rows" in text
    assert (
        "| columns | yes | 30.0 | 3.00 (2.00 to 3.00) | 2.00 | 50.0 | 4.55 (4.17 to 5.00) | 5.00 |"
        in text
    )
    assert "| `explain_prediction` in `FROM` | no | 200 | 20.0 | 1.00 | - | - | - |" in text
    assert "- Not in batches: `explain_prediction` in `FROM`: it has parameters." in text
    assert "takes 1.00 (1.00 to 2.00) times the scan without a prediction" in text
    assert (
        "`mean_abs_contribs` of all rows 20.0 (10.0 to 23.0) times the scan with `predict`" in text
    )
    assert "not on the page" not in text


def test_shapes_of_the_page_are_measured() -> None:
    assert set(queries.SHOWN) <= set(MEASURED)
