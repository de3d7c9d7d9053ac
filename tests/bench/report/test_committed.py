"""The committed pages follow from the committed results; a changed figure is found."""

import csv
import json
import re
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from bench.report import explanations, headline, pages, queries, scores
from bench.report.files import Sources, newest, sources
from bench.report.measured import RequestSpec, values
from bench.report.pages import ROOT, stale, write
from bench.report.pages import made as files_of

RESULTS, INDEX = ROOT / "bench" / "results", "docs/benchmarks/README.md"
# Entries that were measured with one key and with drawn ones, by 20 clients.
DRAWN, ASKED = ("postgres_direct/simple", "postgres_direct/prepared", "asgi/http"), "/25t/20c"


@pytest.fixture(scope="module")
def committed() -> Sources:
    return sources(RESULTS)


def documents(committed: Sources) -> list[dict[str, Any]]:
    """The pooled results as JSON, read without the report's code."""
    return [
        json.loads((RESULTS / name / "results.json").read_text()) for name in committed.local.names
    ]


def test_the_report_would_change_nothing(committed: Sources) -> None:
    files = files_of(committed)
    assert stale(files) == [], "run make report"
    # Nothing that an earlier report made is left over.
    there = [*(ROOT / pages.PAGES).rglob("*.*")]
    made = [
        one
        for one in there
        if one.suffix in (".csv", ".svg") or b"generated from" in one.read_bytes()[:20]
    ]
    assert {one.relative_to(ROOT) for one in made} <= files.keys()


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


def test_the_index_has_every_measured_cell_and_begins_with_the_rivals(committed: Sources) -> None:
    text = (ROOT / pages.PAGES / "results.js").read_text()
    first = text[text.index('"runs": [') :].split("\n}}")[0]
    for cell in (cell for one in documents(committed) for cell in one["cells"]):
        if cell["runs"]:
            (line,) = [line for line in first.splitlines() if line.startswith(f'"{cell["name"]}":')]
            assert '"answered": [' in line, cell["name"]
    systems = json.loads(text[text.index("{") : text.rindex("}") + 1])["systems"]
    first = {name for name, one in systems.items() if one["first"]}
    own = {"postgres_direct/simple", "postgres_direct/prepared"}
    assert own <= first and "asgi/http" in first and "asgi_gbtrees/http" not in first
    rivals = headline.rivals(committed.local, RequestSpec()).values()
    assert first == own | {f"{one.system}/{one.variant}" for one in rivals}


def test_the_method_tells_the_cost_of_drawing_keys_as_it_was_measured(committed: Sources) -> None:
    """Of the runs that have one key and drawn ones."""
    method = " ".join((ROOT / "bench/README.md").read_text().split())
    one = next(one for one in committed.earlier if one.cell(headline.SIMPLE, RequestSpec("hot")))
    drawn, same = (
        [
            statistics.median(values(one.named(f"{name}/{request}{ASKED}"), "generator us"))
            for name in DRAWN
        ]
        for request in ("random", "hot")
    )
    assert (
        "took {:.1f} and {:.1f} µs for a request in place of {:.1f} and {:.1f} with one key"
        " (simple, prepared), wrk {:.1f} in place of {:.1f}."
    ).format(*drawn[:2], *same[:2], drawn[2], same[2]) in method


@pytest.mark.parametrize(
    ("file", "name", "keys"),
    [
        (scores.FILE, "scores", ("model", "rows", "side")),
        (explanations.FILE, "explanations", ("model", "what", "rows", "side")),
    ],
)
def test_every_measured_cell_of_the_engine_is_in_its_data(
    file: str, name: str, keys: tuple[str, ...]
) -> None:
    run = newest(RESULTS, file)
    measured = [json.loads(line) for line in (run / file).read_text().splitlines()]
    columns = ["rows_per_call" if key == "rows" else key for key in keys]
    with (ROOT / pages.DATA / f"{name}.csv").open() as data:
        lines = [*csv.DictReader(data)]
    found = {tuple(line[name] for name in columns): float(line["ns_per_row"]) for line in lines}
    assert len(found) == len(lines) > 0
    medians = (
        (tuple(str(one[key]) for key in keys), statistics.median(one["ns_a_row"]))
        for one in measured
        if "side" in one
    )
    assert found == {key: pytest.approx(ns, abs=0.51) for key, ns in medians}


def test_every_shape_and_series_of_queries_is_in_its_data() -> None:
    run = newest(RESULTS, queries.FILE)
    subjects = json.loads((run / queries.FILE).read_text())["subjects"]
    with (ROOT / pages.DATA / "queries.csv").open() as data:
        lines = {(one["shape"], one["series"]): float(one["ms"]) for one in csv.DictReader(data)}
    assert lines == {
        (shape, name): pytest.approx(1e3 * statistics.median(values), abs=1e-3)
        for shape, one in subjects.items()
        for name, values in one["series"].items()
    }


def test_the_page_of_the_engine_is_short() -> None:
    for part in (ROOT / pages.PAGES / "engine.md").read_text().split("\n## ")[1:]:
        lines = part.splitlines()
        table = [line for line in lines if line.startswith("| ")]
        text = " ".join(line for line in lines if not line.startswith("| "))
        assert len(table) <= 2 + 25 and len(text.split()) < 500, lines[0]


def test_no_table_is_empty_and_all_is_of_one_machine(committed: Sources) -> None:
    for page in (ROOT / pages.PAGES).glob("*.md"):
        assert not re.search(r"^-$", page.read_text(), re.MULTILINE), page.name
    kinds = ("inside", "ladder", "serving", "fresh", "training-limit", "pgo", "go-pgo", "upgrade")
    for kind in kinds:
        machine = json.loads(committed.other(kind).read_text())["machine"]
        assert machine["processor"] == committed.local.facts["processor"]


@pytest.mark.parametrize(
    ("name", "figure"),
    [(INDEX, r"\d,\d{3}"), ("README.md", r"\d,\d{3}"), ("docs/benchmarks/clients.svg", "<path ")],
)
def test_a_changed_figure_is_found(
    made: Sources, root: Path, small: Path, name: str, figure: str
) -> None:
    write(files_of(made, root, small), root)
    assert stale(files_of(made, root, small), root) == []
    before, mark, text = (root / name).read_text().partition("make report")
    if not mark:
        before, text = "", before
    (root / name).write_text(before + mark + re.sub(figure, "0,000", text, count=1))
    assert stale(files_of(made, root, small), root) == [f"{name} differs"]
