"""The page of what predictions cost inside the database holds what its run's file gives."""

import json
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.inside.series import LARGE, subject
from bench.report import pages
from bench.report.figures import ranged
from bench.report.files import sources
from bench.report.inside import Found
from bench.results import Spread, write_json
from tests.bench.report.made_up import FACTS

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
