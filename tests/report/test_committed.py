"""The committed pages are what the committed results give, and nobody wrote a figure by hand.

And the checks themselves are checked: a figure that is changed or written by hand is found.
"""

import re
from pathlib import Path

import pytest

from bench.report import pages
from bench.report.files import Sources, sources
from bench.report.pages import ROOT, stale, write
from bench.report.pages import made as files_of
from bench.report.prose import figures, unfounded


def test_the_report_would_change_nothing() -> None:
    assert stale(files_of(sources(ROOT / "bench" / "results"))) == [], "run make report"


def test_no_figure_is_written_by_hand() -> None:
    assert unfounded(ROOT) == []


@pytest.mark.parametrize(
    "name", ["docs/benchmarks/README.md", "README.md", "python_baseline/README.md"]
)
def test_a_changed_figure_is_found(made: Sources, root: Path, small: Path, name: str) -> None:
    write(files_of(made, root, small), root)
    assert stale(files_of(made, root, small), root) == []
    page = root / name
    text = page.read_text()
    begin = text.index("make report")
    number = re.compile(r"\b[1-9](?=\d*,\d{3}\b)")
    page.write_text(text[:begin] + number.sub("8", text[begin:].replace("8,", "7,"), count=1))
    assert stale(files_of(made, root, small), root) == [f"{name} differs"]


def test_a_changed_picture_is_found(made: Sources, root: Path, small: Path) -> None:
    write(files_of(made, root, small), root)
    picture = root / pages.PAGES / "answer.svg"
    picture.write_text(picture.read_text().replace("M ", "M 1", 1))
    assert stale(files_of(made, root, small), root) == ["docs/benchmarks/answer.svg differs"]


def test_a_figure_written_beside_a_generated_part_is_found(root: Path) -> None:
    assert unfounded(root) == []
    page = root / "README.md"
    page.write_text(page.read_text().replace("By hand.", "By hand: 17 times as fast."))
    (found,) = unfounded(root)
    assert found.startswith("README.md, line 5: '17 times'")


def test_a_figure_in_another_section_of_the_readme_is_none_of_the_comparison(root: Path) -> None:
    page = root / "README.md"
    page.write_text(page.read_text().replace("Text.", "A scan takes 162 ns a row."))
    assert unfounded(root) == []


def test_a_figure_in_a_template_or_a_page_by_hand_is_found(root: Path, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("It is {{ times a b }} times, and 12 ms.\n")
    (root / pages.PAGES).mkdir(parents=True)
    (root / pages.PAGES / "aws.md").write_text("Half the time goes there.\n")
    found = unfounded(root, tmp_path)
    assert [line.split(",")[0] for line in found] == [
        "bench/report/templates/page.md", "docs/benchmarks/aws.md",
    ]  # fmt: skip
    assert "'12 ms'" in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "17 times as fast", "17x", "42,921 requests a second", "0.466 ms", "37.3 µs", "121 MB", "92 %",
        "about 40,000", "ten times faster", "a third of the time", "twice as many", "tenfold",
        "an order of magnitude", "half the memory", "2022 requests a second", "`42,921 req/s`",
        "    0.466 ms", "with 400 requests", "two thirds of it", "| 42,921 |", "XGBoost is 17 times slower",
    ],
)  # fmt: skip
def test_a_measured_figure_is_refused(text: str) -> None:
    assert figures(f"Before.\n{text}\nAfter.")


@pytest.mark.parametrize(
    "text",
    [
        "With 20 clients and 25 trees of depth 6.", "The comparison of 2022.",
        "PostgreSQL 15 and PgBouncer 1.21", "XGBoost 3.1 to 3.3", "10,000 such keys",
        "p99.9 and p50", "0.25 ms one way",
        "answered with 404, and",
        "[here](../results/2026-11-20-x/results.json)", "<!-- 17 times -->",
        "`postgres_direct/simple/hot/25t/20c`", "    curl http://127.0.0.1:8000/", "a pool of 10",
        "5 Gunicorn workers", "a hundred predictions a request",
        "two c5.large hosts", "1. Take this.", "held to one OpenMP thread",
    ],
)  # fmt: skip
def test_a_fact_of_the_set_up_is_not(text: str) -> None:
    assert figures(f"Before.\n{text}\nAfter.") == []
