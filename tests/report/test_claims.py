"""Claims are judged by the results: the verdict changes with a figure, and what no run has is not run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.report.claims import FUNCTIONS, Claim, Judged, judged
from bench.report.files import Sources, sources
from bench.report.pages import ROOT
from bench.results import Spread
from tests.report.conftest import LOCAL


def verdicts(found: Sources) -> dict[str, str]:
    """By what a claim says, of the first document."""
    return {one.claim.says: one.verdict for one in judged(found)[0]["claims"]}


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
    one = Judged(Claim("says", "figure", **claim), ours and Spread(*ours))
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
            assert not one.claim.found or one.claim.found[0] in FUNCTIONS
            assert not one.claim.found or (one.claim.least is None) != (one.claim.most is None)
    says = verdicts(found)
    for name in (
        "8 times the predictions", "40 times", "7 times the memory", "twice the memory", "Ultra JSON",
        "MessagePack", "PgBouncer brings it back with 20", "Redis is the bottleneck",
    ):  # fmt: skip
        assert any(name in claim and verdict != "not run" for claim, verdict in says.items()), name
