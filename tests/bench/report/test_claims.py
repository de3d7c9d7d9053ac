"""Claims are judged by the results: verdicts change with figures, and missing figures are "not run"."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.report.claims import Claim, judged, targets
from bench.report.files import Sources, sources
from bench.report.finding import FUNCTIONS, against_rival
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
        assert ruled == (one.ours is not None and one.ours.count >= 4), one.says
    # The rival is computed, never written down, so that a better one replaces it.
    for one in claims:
        name, above, *rest = (*one.found, "")
        services = [part for part in rest if str(part).startswith("python_tuned")]
        assert not (name == "times" and str(above).startswith("postgres") and services), one.says


@pytest.mark.parametrize(("count", "verdict"), [(1, "one run"), (3, "3 runs"), (4, "holds")])
def test_a_verdict_needs_four_measurements(count: int, verdict: str) -> None:
    one = Claim("says", ("times",), least=8, ours=Spread(11.0, 10.0, 12.0, count))
    assert (one.verdict, one.reached) == (verdict, "met" if verdict == "holds" else verdict)


@pytest.mark.parametrize(
    ("ours", "reached"),
    [
        (None, "not run"),
        ((10.0, 9.0, 11.0), "met"),
        ((9.5, 8.0, 10.0), "within noise"),
        ((8.5, 8.0, 8.9), "missed"),
    ],
)
def test_a_target_is_met_or_missed_where_the_whole_range_is(
    ours: tuple | None, reached: str
) -> None:
    assert (
        Claim("says", ("times",), least=9, ours=ours and Spread(*ours, count=4)).reached == reached
    )


def test_runs_of_one_commit_are_pooled(made: Sources) -> None:
    one = made.local
    other = Measured(scaled(one, "postgres_direct", 0.5).result, "other")
    both = pooled([one, other])
    alone, together = (targets(replace(made, local=found), "local") for found in (one, both))
    for single, pool in zip(alone, together, strict=True):
        if "throughput" in single.says and "Python service" in single.says:
            assert pool.ours.count == 2 * single.ours.count == 10
            # Pairs are of one run: half of them are half as large.
            assert pool.ours.smallest == pytest.approx(single.ours.smallest / 2)
            assert pool.ours.largest == single.ours.largest


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
