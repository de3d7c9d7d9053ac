"""Both sides are measured while they are disturbed, for some seconds, and the page has a table of it."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench.disturbed import MOMENTS, RATE, SETTLING, measure, summary
from bench.generators import InvalidRun
from bench.report import pages
from bench.report.files import sources
from tests.bench.report.made_up import FACTS

SECONDS, ROWS = 12.0, 20_000


def test_both_sides_are_disturbed_and_the_page_says_so(
    state: Path, directory: Path, root: Path
) -> None:
    found = measure(state, SECONDS, ROWS)
    for side in found["sides"].values():
        assert side["requests"] == (SECONDS - SETTLING) * RATE
        # Nothing fails before the first event, and everything while the store is down.
        assert {*side["events"]} == {*MOMENTS}
        assert sum(one["failed"] for one in side["events"].values()) == side["failed"]
        assert 0 < side["events"]["store"]["failed"] < side["requests"] / 2
        assert {"p50", "p99", "p99_9", "max"} <= side["latency_ms"].keys()
        assert min(side["meanwhile"].values()) > 0
    deploy = found["sides"]["postgres_direct"]["events"]["deploy"]
    assert (deploy["failed"], deploy["old_answers"]) == (0, 0)
    path = directory / "made-up-disturbed" / "2026-01-06T100000" / "disturbed.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"started": "2026-01-06T10:00:00", "machine": FACTS} | found))
    page = pages.made(sources(directory), root)[pages.PAGES / "README.md"]
    part = page.split("## Deploys and crashes")[1].split("##")[0]
    assert 4 <= len([line for line in part.splitlines() if line.startswith("| ")]) - 2 <= 6


EVENTS = {"deploy": (3.0, 0.1), "process": (5.0, 0.1), "store": (7.0, 0.1)}
# The old and the new model's answers to one call.
EXPECTED = np.array([[1.5], [2.5]], np.float32)
NAN = float("nan")


def of(*answers: tuple[float, float]) -> np.ndarray:
    """Returns a request per 10 ms with the answer of the last one before, by its time."""
    due = np.arange(200, 900) / 100
    answer = [[one for at, one in answers if at <= time][-1] for time in due]
    return np.column_stack([due, due, due + 0.001, due * 0, answer])


def test_failures_gaps_and_old_answers_are_of_their_event() -> None:
    found = summary(of((0, 1.5), (3.005, 2.5), (3.105, 1.5), (3.155, 2.5), (7.0, NAN), (7.5, 2.5)),
                    EXPECTED, EVENTS)  # fmt: skip
    assert (found["requests"], found["failed"]) == (700, 50)
    events = found["events"]
    assert [events[name]["failed"] for name in MOMENTS] == [0, 0, 50]
    assert [round(events[name]["without_answer_s"], 2) for name in MOMENTS] == [0.01, 0.01, 0.50]
    assert events["deploy"]["old_answers"] == 5
    assert found["latency_ms"]["max"] == pytest.approx(1)


def test_a_request_that_a_kill_ends_is_the_kills_failure() -> None:
    requests = of((0, 1.5), (3.0, 2.5))
    requests[299, 2], requests[299, 4] = 5.005, NAN
    found = summary(requests, EXPECTED, EVENTS)["events"]
    assert [found[name]["failed"] for name in MOMENTS] == [0, 1, 0]


def test_an_answer_of_no_model_is_no_result() -> None:
    with pytest.raises(InvalidRun, match="no model's"):
        summary(of((0, 1.5), (4.0, 3.5)), EXPECTED, EVENTS)
