"""The committed pages follow from the committed results; a changed figure is found."""

import csv
import json
import re
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from bench.report import explanations, pages, scores
from bench.report.files import Sources, newest, sources
from bench.report.measured import RequestSpec
from bench.report.pages import ROOT, stale, write
from bench.report.pages import made as files_of

RESULTS = ROOT / "bench" / "results"


@pytest.fixture(scope="module")
def committed() -> Sources:
    return sources(RESULTS)


def documents(committed: Sources) -> list[dict[str, Any]]:
    """The pooled results as JSON, read without the report's code."""
    return [
        json.loads((RESULTS / name / "results.json").read_text()) for name in committed.local.names
    ]


def test_the_report_would_change_nothing(committed: Sources) -> None:
    assert stale(files_of(committed)) == [], "run make report"


def test_all_full_runs_of_the_commit_are_pooled(committed: Sources) -> None:
    commits = [one["commit"] for one in documents(committed)]
    every = [
        path
        for path in RESULTS.rglob("results.json")
        if (one := json.loads(path.read_text())).get("commit") == commits[0]
        and one["workload"]["name"] == "full"
    ]
    assert len(every) == len(commits) and len({*commits}) == 1


# Systems that predict by this project's engine, or are no service.
OURS = re.compile(r"postgres|axum|asgi_gbtrees")
MEMORY = re.compile(r"_memory$")


def test_no_service_without_this_engine_beats_the_named_rival(committed: Sources) -> None:
    """Checks every cell, by the raw files and the names that pages print."""
    rates = defaultdict(lambda: defaultdict(list))
    for cell in (cell for one in documents(committed) for cell in one["cells"]):
        system, variant, asked = cell["name"].split("/", 2)
        if cell["rate"] is None and variant == "http" and not OURS.match(system):
            kind = asked, bool(MEMORY.search(system))
            rates[kind][system] += [run["requests_per_second"] for run in cell["runs"]]
    assert len(rates) > 5
    for (asked, memory), of in rates.items():
        medians = {system: statistics.median(found) for system, found in of.items() if found}
        request, trees, clients = asked.split("/")
        question = RequestSpec(request, int(clients[:-1]), int(trees[:-1]))
        rival = committed.local.rival(question, memory)
        assert (rival and rival.system) == max(medians, key=medians.get, default=None), asked


def test_every_measured_cell_is_in_the_data_of_the_index(committed: Sources) -> None:
    text = (ROOT / pages.PAGES / "results.js").read_text()
    first = text[text.index('"runs": [') :].split("\n}}")[0]
    for cell in (cell for one in documents(committed) for cell in one["cells"]):
        if cell["runs"]:
            (line,) = [line for line in first.splitlines() if line.startswith(f'"{cell["name"]}":')]
            assert '"answered": [' in line, cell["name"]


def test_every_measured_cell_of_the_engine_is_in_its_data(committed: Sources) -> None:
    for file, name in ((scores.FILE, "scores"), (explanations.FILE, "explanations")):
        run = newest(RESULTS, file)
        measured = [json.loads(line) for line in (run / file).read_text().splitlines()]
        cells = {(one["model"], str(one["rows"]), one["side"]) for one in measured if "side" in one}
        with (ROOT / pages.DATA / f"{name}.csv").open() as data:
            found = {
                (one["model"], one["rows_per_call"], one["side"]) for one in csv.DictReader(data)
            }
        assert found == cells and cells


def test_the_page_of_the_engine_is_short() -> None:
    for part in (ROOT / pages.PAGES / "engine.md").read_text().split("\n## ")[1:]:
        lines = part.splitlines()
        table = [line for line in lines if line.startswith("| ")]
        text = " ".join(line for line in lines if not line.startswith("| "))
        assert len(table) <= 2 + 25 and len(text.split()) < 500, lines[0]


def test_no_table_is_empty_and_all_is_of_one_machine(committed: Sources) -> None:
    for page in (ROOT / pages.PAGES).glob("*.md"):
        assert not re.search(r"^-$", page.read_text(), re.MULTILINE), page.name
    for kind in ("inside", "ladder", "serving", "fresh", "training-limit"):
        machine = json.loads(committed.other(kind).read_text())["machine"]
        assert machine["processor"] == committed.local.facts["processor"]


def test_there_are_eight_pages() -> None:
    found = {
        path.name for path in (ROOT / pages.PAGES).iterdir() if path.suffix in (".md", ".html")
    }
    assert found == {
        "README.md",
        "anywhere.md",
        "index.html",
        "claims.md",
        "ways.md",
        "inside.md",
        "engine.md",
        "formats.md",
    }


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
    picture = root / pages.PAGES / "clients.svg"
    picture.write_text(picture.read_text().replace("<path ", "<line ", 1))
    assert stale(files_of(made, root, small), root) == ["docs/benchmarks/clients.svg differs"]
