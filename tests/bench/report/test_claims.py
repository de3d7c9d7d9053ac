"""Claims are judged by the results: verdicts change with figures, and missing figures are "not run"."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench.report.claims import NOT_RUN, VERDICTS, Claim, judged, table
from bench.report.files import Sources, sources
from bench.report.finding import Finding, found_by
from bench.report.measured import Measured, MissingFigure, RequestSpec, entry, pooled
from bench.report.pages import PAGES, ROOT
from bench.results import Spread
from tests.bench.report.conftest import LOCAL, scaled
from tests.bench.report.made_up import FACTS


def verdicts(found: Sources) -> dict[str, str]:
    """Returns the verdicts of the first document, by the claims' text."""
    return {one.says: one.verdict for one in judged(found)[0]["claims"]}


@pytest.mark.parametrize(
    ("claim", "ours", "verdict", "noisy"),
    [
        ({"least": 8}, (11.0, 10.0, 12.0, 4), "holds", False),
        ({"least": 8}, (9.0, 7.0, 12.0, 4), "holds", True),
        ({"least": 8}, (7.0, 6.0, 7.5, 4), "weaker", False),
        ({"least": 8}, (1.2, 0.9, 1.4, 4), "does not hold", False),
        ({"most": 0.75}, (0.7, 0.6, 0.74, 4), "holds", False),
        ({"most": 0.75}, (0.98, 0.9, 1.05, 4), "does not hold", False),
        ({"most": -0.07, "none": 0}, (-0.03, -0.05, -0.01, 4), "weaker", False),
        ({"least": 8}, None, "not run", False),
        # A verdict needs four measurements, and a share of time that is not within the noise.
        ({"least": 8}, (11.0, 10.0, 12.0, 1), "one run", False),
        ({"least": 8}, (9.0, 7.0, 12.0, 3), "3 runs", False),
        ({"most": 0.15, "shown": "percent"}, (-0.10, -0.27, 0.06, 4), "noise", False),
    ],
)
def test_a_claim_is_judged(claim: dict, ours: tuple | None, verdict: str, noisy: bool) -> None:
    one = Claim("says", ("times",), **claim, ours=ours and Spread(*ours))
    assert (one.verdict, one.noisy) == (verdict, noisy)


def test_a_slower_postgresql_changes_the_verdict(directory: Path) -> None:
    path = directory / LOCAL / "results.json"
    says = next(iter(verdicts(sources(directory))))
    document = json.loads(path.read_text())
    own = [cell for cell in document["cells"] if cell["system"] == "postgres_direct"]
    for factor, verdict in ((5, "holds"), (0.4, "weaker"), (0.1, "does not hold")):
        for run in (run for cell in own for run in cell["runs"]):
            run["requests_per_second"] *= factor
        path.write_text(json.dumps(document))
        assert verdicts(sources(directory))[says] == verdict


def test_a_figure_without_a_run_is_not_run(made: Sources) -> None:
    without = replace(made, split=None)
    assert {one for says, one in verdicts(without).items() if "there, " in says} == {"not run"}


@pytest.fixture(scope="module")
def committed() -> list[dict]:
    return judged(sources(ROOT / "bench" / "results"))


def test_the_committed_claims_have_a_verdict_only_of_enough_measurements(committed: list) -> None:
    claims = [one for document in committed for one in document["claims"]]
    for one in claims:
        # What was not run says why, or waits for a run.
        assert one.note or one.found, one.says
        assert not one.found or (one.least is None) != (one.most is None)
        ruled = one.verdict in VERDICTS and one.verdict != NOT_RUN
        enough = one.ours is not None and one.ours.count >= 4
        assert ruled == (enough and one.verdict != "noise"), one.says
        assert bool(one.runs) == (one.ours is not None), one.says
        # The rival is computed, never written down, so that a better one replaces it.
        name, *rest = one.found or ("times",)
        assert name in ("times", "recorded") or "python_" not in str(rest), one.says
        if name == "against_rival" and one.ours:
            assert one.against == "best Python service, Redis"
        # Serializers were measured on 20 November, ladders and builds by programs that are retired.
        if "serializers" in one.says or name in ("recorded", "lead", "counted"):
            assert one.ours is not None, one.says


def test_every_document_has_its_claims_on_the_page_and_in_the_data(committed: list) -> None:
    assert [len(document["claims"]) for document in committed] == [38, 12, 12, 7, 19]
    lines = [*csv.DictReader(io.StringIO(table(committed)))]
    page = (ROOT / PAGES / "claims.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if line.count(" | ") == 7][1:]
    rows = [row for row in rows if row[0] not in ("| claim", "| ---")]
    assert [one["claim"] for one in lines] == [row[0].removeprefix("| ") for row in rows]
    for one in lines:
        for run in one["runs"].split():
            assert (ROOT / "bench" / "results" / run).is_dir()
    # Rows are folded up, so that the page is short until one is opened.
    shown = re.sub(r"</summary>.*?</details>", "", page, flags=re.DOTALL)
    assert len(shown.splitlines()) <= 60


RECORD = {
    "machine": FACTS,
    "cells": [{"name": "q", "runs": {"a": [{"rate": 8.0, "mb": 2.0}], "b": [{"rate": 4.0, "mb": 4.0}]}}],
    "runs": [
        {"store": "map", "latency_ms": {"p99": 3.0}}, {"store": "flat", "latency_ms": {"p99": 2.0}},
    ],
    "push": {"a": {"ns/op": 9.0}, "b": {"ns/op": 10.0}},
    "rows": 7,
}  # fmt: skip
A, B = (["cells", {"name": "q"}, "runs", build] for build in "ab")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["recorded", "made", "rate", A], 8.0),
        (["recorded", "made", "rate", A, B], 2.0),
        (["recorded", "made", "rate", A, B, 1], 1.0),
        (["recorded", "made", "rate/mb", A, B], 4.0),
        (["recorded", "made", "p99", ["runs", {"store": "map"}], ["runs", {"store": "flat"}]], 1.5),
        (["recorded", "made", "ns/op", ["push", "a"], ["push", "b"], 1], -0.1),
        (["recorded", "made", "", ["rows"]], 7.0),
        (["lead", "made", "rate", [A, B], [B, A]], 4.0),
        (["counted", "made", ["rows"]], 7.0),
        (["recorded", "made", "rate", ["runs", {"store": "none"}]], None),
        (["recorded", "none", "rate", A], None),
    ],
)
def test_a_separate_record_is_read_by_the_steps_to_its_figures(
    directory: Path, found: list, expected: float | None
) -> None:
    (directory / "2026-01-03").mkdir()
    (directory / "2026-01-03" / "made.json").write_text(json.dumps(RECORD))
    ours, finding = found_by(sources(directory), found)
    assert (ours and ours.median) == (expected and pytest.approx(expected))
    assert {*finding.runs} == ({"2026-01-03"} if ours else set())


CELL = "postgres_direct/simple/hot/25t/20c"


def lacking(made: Sources, name: str) -> Measured:
    """Returns the result without the runs of a cell."""
    result = made.local.result
    cells = [replace(one, runs=[]) if one.name == name else one for one in result.cells]
    return Measured(replace(result, cells=cells), "lacking")


def test_a_claim_is_looked_up_in_earlier_runs_with_both_cells_of_one(made: Sources) -> None:
    without = lacking(made, CELL)
    earlier = scaled(made.local, "postgres_direct", 2)
    names = (CELL, "asgi/http/hot/25t/20c")
    before = Finding(made).times(*names).median
    found = Finding(replace(made, local=without, split=None, earlier=[earlier])).times(*names)
    assert found.median == pytest.approx(2 * before)
    with pytest.raises(MissingFigure, match="no result has figures"):
        Finding(replace(made, local=without, split=None)).times(*names)


def test_runs_of_one_commit_are_pooled(made: Sources) -> None:
    one = made.local
    both = pooled([one, Measured(scaled(one, "postgres_direct", 0.5).result, "other")])
    single, pool = (Finding(replace(made, local=of)).against_rival(CELL) for of in (one, both))
    assert pool.count == 2 * single.count == 10
    # Pairs are of one run: half of them are half as large.
    assert pool.smallest == pytest.approx(single.smallest / 2)
    assert pool.largest == single.largest


def test_the_rival_is_the_best_service_without_this_engine(made: Sources) -> None:
    assert made.local.rival(RequestSpec()) == entry("asgi", "http")
    assert made.local.rival(RequestSpec(), memory=True) == entry("asgi_memory", "http")
    before = Finding(made).against_rival(CELL)
    # A better service replaces it, even one that no folder describes any more.
    better = replace(made, local=scaled(made.local, "python_tuned", 10, "rocket"))
    assert better.local.rival(RequestSpec()).system == "rocket"
    assert Finding(better).against_rival(CELL).median < before.median
    # This engine behind HTTP is faster than all, and no rival.
    assert made.local.cell(entry("axum", "http"), RequestSpec())


def test_a_cell_that_the_best_service_lacks_is_not_run(made: Sources) -> None:
    without = replace(made, local=lacking(made, "asgi/http/hot/25t/10c"))
    name = "postgres_direct/simple/hot/25t/10c"
    assert Finding(made).against_rival(name).median > 1
    with pytest.raises(MissingFigure, match="was not asked"):
        Finding(without).against_rival(name)
