"""Claims are judged by the results: verdicts change with figures, and missing figures are "not run"."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.report.claims import Claim, judged
from bench.report.files import Sources, sources
from bench.report.finding import FUNCTIONS, against_rival, times
from bench.report.measured import Measured, MissingFigure, RequestSpec, entry, pooled
from bench.report.pages import ROOT
from bench.results import Spread
from tests.bench.report.conftest import LOCAL, scaled


def verdicts(found: Sources) -> dict[str, str]:
    """Returns the verdicts of the first document, by the claims' text."""
    return {one.says: one.verdict for one in judged(found)[0]["claims"]}


@pytest.mark.parametrize(
    ("claim", "ours", "verdict", "noisy"),
    [
        ({"least": 8}, (11.0, 10.0, 12.0), "holds", False),
        ({"least": 8}, (9.0, 7.0, 12.0), "holds", True),
        ({"least": 8}, (7.0, 6.0, 7.5), "weaker", False),
        ({"least": 8}, (1.2, 0.9, 1.4), "does not hold", False),
        ({"most": 0.75}, (0.7, 0.6, 0.74), "holds", False),
        ({"most": 0.75}, (0.98, 0.9, 1.05), "does not hold", False),
        ({"most": -0.07, "none": 0}, (-0.03, -0.05, -0.01), "weaker", False),
        ({"least": 8}, None, "not run", False),
    ],
)
def test_a_claim_is_judged(claim: dict, ours: tuple | None, verdict: str, noisy: bool) -> None:
    one = Claim("says", ("times",), **claim, ours=ours and Spread(*ours, count=4))
    assert (one.verdict, one.noisy) == (verdict, noisy)


def test_a_slower_postgresql_changes_the_verdict(directory: Path) -> None:
    path = directory / LOCAL / "results.json"
    says = (
        "On one machine, PostgreSQL serves 8 times the predictions per second of Python with Redis"
    )
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


def test_the_committed_claims_have_a_verdict_only_of_enough_measurements() -> None:
    found = sources(ROOT / "bench" / "results")
    claims = [one for document in judged(found) for one in document["claims"]]
    for one in claims:
        assert one.found[0] in FUNCTIONS
        assert (one.least is None) != (one.most is None)
        ruled = one.verdict in ("holds", "weaker", "does not hold")
        enough = one.ours is not None and one.ours.count >= 4
        assert ruled == (enough and one.verdict != "noise"), one.says
    # The rival is computed, never written down, so that a better one replaces it.
    for one in claims:
        name, *rest = one.found
        assert name == "times" or not [part for part in rest if "python_" in str(part)], one.says


def test_a_share_of_time_within_the_noise_has_no_verdict() -> None:
    ours = Spread(-0.10, -0.27, 0.06, 4)
    assert Claim("says", ("step",), most=0.15, shown="percent", ours=ours).verdict == "noise"


def test_a_claim_is_looked_up_in_earlier_runs_with_both_cells_of_one(made: Sources) -> None:
    cells = [replace(one, runs=[]) if one.name == CELL else one for one in made.local.result.cells]
    without = Measured(replace(made.local.result, cells=cells), "without")
    earlier = scaled(made.local, "postgres_direct", 2)
    names = (CELL, "asgi/http/hot/25t/20c")
    before = times(made, *names).median
    found = times(replace(made, local=without, split=None, earlier=[earlier]), *names)
    assert found.median == pytest.approx(2 * before)
    with pytest.raises(MissingFigure, match="no result has figures"):
        times(replace(made, local=without, split=None), *names)


@pytest.mark.parametrize(("count", "verdict"), [(1, "one run"), (3, "3 runs"), (4, "holds")])
def test_a_verdict_needs_four_measurements(count: int, verdict: str) -> None:
    one = Claim("says", ("times",), least=8, ours=Spread(11.0, 10.0, 12.0, count))
    assert one.verdict == verdict


def test_runs_of_one_commit_are_pooled(made: Sources) -> None:
    one = made.local
    both = pooled([one, Measured(scaled(one, "postgres_direct", 0.5).result, "other")])
    single, pool = (against_rival(replace(made, local=found), CELL) for found in (one, both))
    assert pool.count == 2 * single.count == 10
    # Pairs are of one run: half of them are half as large.
    assert pool.smallest == pytest.approx(single.smallest / 2)
    assert pool.largest == single.largest


CELL = "postgres_direct/simple/hot/25t/20c"


def test_the_rival_is_the_best_service_without_this_engine(made: Sources) -> None:
    assert made.local.rival(RequestSpec()) == entry("asgi", "http")
    assert made.local.rival(RequestSpec(), memory=True) == entry("asgi_memory", "http")
    before = against_rival(made, CELL)
    # A better service replaces it, even one that no folder describes any more.
    better = replace(made, local=scaled(made.local, "python_tuned", 10, "rocket"))
    assert better.local.rival(RequestSpec()).system == "rocket"
    assert against_rival(better, CELL).median < before.median
    # This engine behind HTTP is faster than all, and no rival.
    assert made.local.cell(entry("axum", "http"), RequestSpec())


def test_a_cell_that_the_best_service_lacks_is_not_run(made: Sources) -> None:
    cells = [
        replace(one, runs=[]) if one.name == "asgi/http/hot/25t/10c" else one
        for one in made.local.result.cells
    ]
    without = replace(made, local=Measured(replace(made.local.result, cells=cells), "changed"))
    name = "postgres_direct/simple/hot/25t/10c"
    assert against_rival(made, name).median > 1
    with pytest.raises(MissingFigure, match="was not asked"):
        against_rival(without, name)
