"""The page of what predictions cost inside the database holds what its run's file gives."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bench import record
from bench.inside.series import subject
from bench.report import pages
from bench.report.files import sources
from bench.report.inside import Found
from bench.results import Spread
from tests.bench.report import made_up_inside

NAME = "2026-01-05-made-up-inside"


@pytest.fixture
def run(directory: Path) -> Path:
    """The directory of a made-up run, next to the other results."""
    path = directory / NAME
    path.mkdir()
    record.write(path / "inside.json", made_up_inside.inside())
    return path


@pytest.fixture
def page(run: Path, root: Path, small: Path) -> Callable[[], str]:
    """Makes the page."""
    return lambda: pages.made(sources(run.parent), root, small)[pages.PAGES / "inside.md"]


def line(page: str, begins: str) -> list[str]:
    """The cells of the first line of a table that begins so."""
    (found, *_) = [text for text in page.splitlines() if text.startswith(f"| {begins}")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_what_predict_adds_is_taken_within_each_repetition() -> None:
    added = Found(made_up_inside.inside()).added_to_scan("500x8")
    assert added == Spread.of([(0.11 - 0.05) / 4, (0.11 - 0.05) / 4, (0.12 - 0.06) / 4])


def test_stale_answers_are_counted_over_all_repetitions(page: Callable[[], str]) -> None:
    assert line(page(), "`deploy_model`, between two versions")[3:] == [
        "3,000",
        "0",
    ]


def test_a_run_of_some_subjects_gives_a_page_without_the_others(
    run: Path, page: Callable[[], str]
) -> None:
    whole = made_up_inside.inside()
    some = whole | {"subjects": {"copies": whole["subjects"]["copies"]}}
    record.write(run / "inside.json", some)
    text = page()
    assert "## One copy" in text and "## A full scan" not in text


def test_the_page_and_the_readmes_part_are_made_with_the_report(
    run: Path, root: Path, small: Path
) -> None:
    files = pages.made(sources(run.parent), root, small)
    page = files[pages.PAGES / "inside.md"]
    assert page.startswith(f"<!-- generated from bench/results/ ({NAME}) by make report: edit")
    predicting = files[Path("docs/predicting.md")]
    assert (
        f"generated from bench/results/{NAME} by make report: edit bench/report/templates/inside-part"
        in predicting
    )
    assert "2.00 (1.50 to 2.50) ms more than a first `SELECT 1`" in predicting
    assert predicting.count("<!-- begin: generated") == predicting.count("<!-- end: generated -->")
    pages.write(files, root)
    assert pages.stale(pages.made(sources(run.parent), root, small), root) == []


def test_a_changed_figure_in_a_page_of_the_users_is_found(
    run: Path, root: Path, small: Path
) -> None:
    pages.write(pages.made(sources(run.parent), root, small), root)
    page = root / "docs" / "predicting.md"
    page.write_text(page.read_text().replace("2.00 (1.50 to", "1.00 (1.50 to"))
    found = pages.stale(pages.made(sources(run.parent), root, small), root)
    assert found == ["docs/predicting.md differs"]


def test_series_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        subject("s", {"one": [1.0, 2.0], "other": [1.0]})
