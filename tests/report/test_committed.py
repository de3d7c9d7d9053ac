"""The committed pages are what the committed results give; a figure that is changed is found."""

import re
from pathlib import Path

import pytest

from bench.report import pages
from bench.report.files import Sources, sources
from bench.report.pages import ROOT, stale, write
from bench.report.pages import made as files_of


def test_the_report_would_change_nothing() -> None:
    assert stale(files_of(sources(ROOT / "bench" / "results"))) == [], "run make report"


@pytest.mark.parametrize(
    "name", ["docs/benchmarks/README.md", "README.md", "python_baseline/README.md"]
)
def test_a_changed_figure_is_found(made: Sources, root: Path, small: Path, name: str) -> None:
    write(files_of(made, root, small), root)
    assert stale(files_of(made, root, small), root) == []
    page = root / name
    text = page.read_text()
    begin = text.index("make report")
    page.write_text(text[:begin] + re.sub(r"\d,\d{3}", "0,000", text[begin:], count=1))
    assert stale(files_of(made, root, small), root) == [f"{name} differs"]


def test_a_changed_picture_is_found(made: Sources, root: Path, small: Path) -> None:
    write(files_of(made, root, small), root)
    picture = root / pages.PAGES / "answer.svg"
    picture.write_text(picture.read_text().replace("<line ", "<path ", 1))
    assert stale(files_of(made, root, small), root) == ["docs/benchmarks/answer.svg differs"]
