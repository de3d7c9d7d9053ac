"""The page of other ways holds what their records say, of those that were not withdrawn."""

import json
from pathlib import Path

from bench.report import pages
from bench.report.files import sources
from bench.report.finding import found_by
from bench.report.pages import made as files_of
from tests.bench.report.made_up import FACTS

HEAD = {"started": "2026-01-02T00:00:00+00:00", "commit": "0123456789abcdef", "machine": FACTS}
MS = {"mean": 1.0, "p50": 1.0, "p99": 2.0}


def rung(label: str, *verbs: str) -> dict:
    return {"label": label, "what": "made up", "verbs": verbs}


def record(directory: Path, kind: str, value: dict) -> Path:
    place = directory / f"2026-01-02-{kind}"
    place.mkdir()
    (place / f"{kind}.json").write_text(json.dumps(HEAD | value))
    return place


def test_rungs_are_sorted_and_shown_by_how_an_application_asks(directory: Path, root: Path) -> None:
    runs = [{"mean": ns} for ns in (30_000.0, 20_000.0, 10_000.0)]
    cells = {"slow/raw": runs, "slow/features": runs[:1], "fast/key": [{"mean": 500.0}]}
    rungs = {
        "slow": rung("Slow", "features", "raw"),
        "fast": rung("Fast", "key"),
        "none": rung("None", "raw"),
    }
    record(
        directory,
        "ladder",
        {"rungs": rungs, "sets": {"titanic": {"cells": cells, "compared": {"a": 4_414}}}},
    )
    page = files_of(sources(directory), root)[pages.PAGES / "ways.md"]
    assert "4,414 answers were compared" in page
    lines = [line for line in page.splitlines() if line.endswith(" |") and "made up" in line]
    assert lines == [
        "| Fast | made up | key | 0.500 |",
        "| Slow | made up | raw | 20.0 (10.0 to 30.0) |",
    ]


def test_stores_that_fall_behind_are_marked_and_withdrawn_ones_omitted(
    directory: Path, root: Path
) -> None:
    runs = [
        {"store": store, "live": live, "updates": 8_000, "rate": 1000.0, "updated": done, "mb": 50.0,
         "latency_ms": {**MS, "max": most}}
        for store, done in (("go_map", 8_000), ("go_flat", 4_000), ("wrong", 8_000))
        for live, most in ((10_000, 4.0), (1_000_000, 40.0))
    ]  # fmt: skip
    stores = {"go_map": "map", "go_flat": "flat", "wrong": "a wrong one"}
    place = record(
        directory, "fresh", {"load": {"rate": 1000, "clients": 20}, "stores": stores, "runs": runs}
    )
    (place / "withdrawn.json").write_text(json.dumps({"wrong": "it wrote nothing"}))
    found = sources(directory)
    page = files_of(found, root)[pages.PAGES / "ways.md"]
    behind = [line for line in page.splitlines() if "falls behind" in line]
    assert len(behind) == 2 and all(line.startswith("| flat |") for line in behind)
    assert "| a wrong one |" not in page and "withdrawn: a wrong one (it wrote nothing)" in page
    large, small = ["go_map", 1_000_000, 8_000], ["go_map", 10_000, 8_000]
    ratio = found_by(found, ["fresh_ratio", large, small, "max"])
    assert (ratio.median, ratio.count) == (10.0, 1)
    assert found_by(found, ["fresh_ratio", ["nobody", 1, 1], small, "max"]) is None
