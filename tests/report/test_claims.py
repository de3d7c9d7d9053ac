"""Claims are judged by the results: the verdict changes with a figure, and what no run has is not run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.report.claims import Claim, judged, over_runs, targets
from bench.report.files import Sources, sources
from bench.report.finding import FUNCTIONS
from bench.report.pages import ROOT
from bench.results import Spread
from tests.report.conftest import LOCAL, scaled


def verdicts(found: Sources) -> dict[str, str]:
    """By what a claim says, of the first document."""
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
    one = Claim("says", **claim, ours=ours and Spread(*ours))
    assert (one.verdict, one.noisy) == (verdict, noisy)


def test_a_slower_postgresql_changes_the_verdict(directory: Path) -> None:
    path = directory / LOCAL / "results.json"
    says = (
        "On one machine, PostgreSQL serves 8 times the predictions per second of Python with Redis"
    )
    assert verdicts(sources(directory))[says] == "holds"
    document = json.loads(path.read_text())
    for cell in document["cells"]:
        if cell["system"] == "postgres_direct":
            for run in cell["runs"]:
                run["requests_per_second"] /= 5
    path.write_text(json.dumps(document))
    assert verdicts(sources(directory))[says] == "weaker"


def test_what_no_run_has_is_not_run(made: Sources) -> None:
    without = replace(made, split=None)
    assert {one for says, one in verdicts(without).items() if "there, " in says} == {"not run"}


def test_the_committed_claims_are_found_by_functions_that_exist() -> None:
    found = sources(ROOT / "bench" / "results")
    for document in judged(found):
        for one in document["claims"]:
            assert not one.found or one.found[0] in FUNCTIONS
            assert not one.found or (one.least is None) != (one.most is None)
    says = verdicts(found)
    for name in (
        "8 times the predictions", "40 times", "7 times the memory", "twice the memory", "Ultra JSON",
        "MessagePack", "PgBouncer brings it back with 20", "Redis is the bottleneck",
    ):  # fmt: skip
        assert any(name in claim and verdict != "not run" for claim, verdict in says.items()), name


@pytest.mark.parametrize(
    ("ours", "reached"),
    [
        (None, "not measured"),
        ((10.0, 9.0, 11.0), "met"),
        ((9.5, 8.0, 10.0), "within noise"),
        ((8.5, 8.0, 8.9), "missed"),
    ],
)
def test_a_target_is_met_or_missed_where_the_whole_range_is(
    ours: tuple | None, reached: str
) -> None:
    assert Claim("says", least=9, ours=ours and Spread(*ours)).reached == reached


def test_targets_are_pooled_over_the_runs_of_a_commit(made: Sources) -> None:
    alone = targets(made, "local")
    assert all(one.ours for one in alone)
    other = scaled(made.local, "postgres_direct", 0.5)
    both = over_runs(replace(made, kept=[made.local, other]))
    for one, pooled in zip(alone, both, strict=True):
        if "throughput" in one.says and "against service" in one.says:
            assert pooled.ours.median == pytest.approx(0.75 * one.ours.median)
            assert pooled.ours.smallest < one.ours.smallest
            assert pooled.ours.largest == one.ours.largest


def test_over_a_network_the_best_service_is_the_rival(made: Sources) -> None:
    split = scaled(made.split, "python_tuned", 2, "python_memory")
    rival = [[one.ours for one in targets(found, "split") if "best entry" in one.says]
             for found in (made, replace(made, split=split))]  # fmt: skip
    assert rival[1][0].median == pytest.approx(rival[0][0].median / 2)
