"""The page of queries that people write holds what its run's file gives."""

from pathlib import Path

from bench import record
from bench.report import pages, queries

NAME = "2026-01-05-made-up-queries"
SHAPES = {
    "`a / b`": {"statement": "SELECT 1", "batch": True, "reason": ""},
    "a function in `FROM`": {
        "statement": "SELECT 2",
        "batch": False,
        "reason": "it has parameters",
    },
}
SERIES = {
    "`a / b`": {
        "control": [0.012, 0.01, 0.011], "25x6/on": [0.02, 0.03, 0.04], "25x6/off": [0.06, 0.06, 0.06],
        "200x8/on": [0.05, 0.05, 0.05], "200x8/off": [0.2, 0.25, 0.3],
    },
    "a function in `FROM`": {
        "control": [0.01, 0.01, 0.01], "25x6/on": [0.2, 0.2, 0.2], "25x6/off": [0.2, 0.2, 0.2],
    },
}  # fmt: skip


def test_the_page_says_what_was_measured(tmp_path: Path) -> None:
    run = {
        "machine": {"processor": "Made Up 1", "cores": 2}, "started": "2026-01-05T10:00:00",
        "commit": "c" * 40, "rows": 60_000, "repetitions": 3, "postgresql": "15.20", "shapes": SHAPES,
        "subjects": {name: {"unit": "s", "series": series} for name, series in SERIES.items()},
    }  # fmt: skip
    path = tmp_path / NAME
    path.mkdir()
    record.write(path / queries.FILE, run)
    (path / "README.md").write_text("Built in haste.\n")
    text = pages.page("queries", path)
    assert "1 of 2 shapes of a query predict in batches" in text
    assert "\nBuilt in haste. Compare the columns" in text
    assert "2026-01-05 on Made Up 1" in text and "each reads 60,000 rows" in text
    assert (
        "| `a / b` | yes | 11.0 | 30.0 | 2.00 (1.50 to 3.00) | 50.0 | 5.00 (4.00 to 6.00) |" in text
    )
    assert "| a function in `FROM` | no | 10.0 | 200 | 1.00 | - | - |" in text
    assert "- a function in `FROM`: it has parameters." in text
