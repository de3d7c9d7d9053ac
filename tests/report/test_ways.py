"""The pages of the ladder and of services hold their runs' figures, and claims find them."""

import json
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import rungs
from bench.report import finding, pages, serving
from bench.report.files import Sources, sources
from bench.report.pages import made as files_of
from bench.report.pictures.drawing import WIDTH

HEAD = {
    "schema": 1, "started": "2026-01-02T00:00:00+00:00", "commit": "0123456789abcdef+",
    "machine": {"processor": "Made Up", "cores": "2", "system": "None"}, "versions": {"go": "go1.26"},
}  # fmt: skip


def _ladder() -> dict:
    """Verb after verb takes ten µs more; in process all take one."""
    cells = {}
    for rung in rungs.described().values():
        for step, verb in enumerate(("ping", "echo", "features", "raw", "key"), 1):
            ns = 1_000.0 if rung.in_process else 10_000.0 * step
            if verb in rung.verbs:
                runs = [{"mean": ns, "p50": ns, "p99": ns, "server_cpu": ns / 2} for _ in range(3)]
                cells[f"{rung.name}/{verb}"] = runs
    check = {
        "rung": "pg_simple", "verb": "key", "by": "pgbench",
        "latency_ms": {"caller": [0.11, 0.1], "other": [0.1, 0.09]},
    }  # fmt: skip
    known = {
        "rows": 2207, "columns": 7, "rounds": 10, "depth": 6, "xgboost": "3.4.1", "compared": {"a": 2207},
        "cells": cells, "crosscheck": [check],
    }  # fmt: skip
    described = {name: asdict(rung) for name, rung in rungs.described().items()}
    plan = {"seconds": 1, "repetitions": 3, "clients": 1}
    return HEAD | {"plan": plan, "rungs": described, "sets": {"titanic": known, "flights": known}}


def _serving() -> dict:
    services, cells = {}, {}
    for of, label, rate in (("http_go", "Go", 3000.0), ("http_fastapi", "FastAPI", 1500.0)):
        name = f"{of}-all-{int(of != 'http_go')}"
        services[name] = {"of": of, "label": label, "cores": "all cores", "workers": 0}
        for verb in serving.KINDS:
            run = {"rate": rate, "mb": 30.0, "p50": 1.0, "p95": 2.0, "p99": 3.0}
            cells[f"{name}/{verb}"] = [run, run]
    load = {"clients": 32, "seconds": 2}
    return HEAD | {
        "load": load, "repetitions": 2, "compared": 4321, "services": services, "cells": cells,
    }  # fmt: skip


def _fresh() -> dict:
    """Whoever holds a hundred times the rows takes ten times as long; what has no pointers does not."""
    ms = {"mean": 1.0, "p50": 1.0, "p99": 2.0, "p99_9": 3.0}
    runs = [
        {
            "store": store, "live": live, "updates": updates, "rate": 1000.0, "updated": updates * done,
            "seconds": 2, "mb": 50.0, "latency_ms": {**ms, "max": most}, "timeline": [0.0, 1.0, most],
            "events": [0.1],
        }
        for store, done in (("go_map", 1.0), ("go_flat", 0.5), ("go_controlled", 1.0))
        for live, most in ((10_000, 4.0), (1_000_000, 4.0 if store == "go_flat" else 40.0))
        for updates in (0, 8_000)
    ]  # fmt: skip
    labels = {"go_map": "map", "go_flat": "flat", "go_controlled": "controlled"}
    load = {"rate": 1000, "clients": 20, "seconds": 2}
    return HEAD | {
        "load": load, "settings": {"autovacuum_naptime": "5s"}, "stores": labels, "runs": runs,
        "push": {
            "Clearing": {"ns/op": 240_000.0}, "Window/1KB": {"ns/op": 1e3, "p99-ns": 5e3},
            "Document/1KB": {"ns/op": 200_000.0}, "Controlled/1KB": {"ns/op": 150_000.0},
        },
    }  # fmt: skip


@pytest.fixture
def ways(directory: Path) -> Sources:
    """Results with a run of each."""
    for name, value in (("ladder", _ladder()), ("serving", _serving()), ("fresh", _fresh())):
        place = directory / f"2026-01-02-{name}"
        place.mkdir()
        (place / f"{name}.json").write_text(json.dumps(value))
    return sources(directory)


def test_the_ladder_says_first_that_a_call_in_process_is_fastest(ways: Sources, root: Path) -> None:
    page = files_of(ways, root)[pages.PAGES / "ladder.md"]
    assert page.index("**A call in process beats every server**") < page.index("![")
    assert "4,414 answers were compared" in page
    for rung in rungs.described().values():
        assert f"| {rung.label} |" in page


def test_a_page_names_what_failed_and_does_without_a_data_set(directory: Path, root: Path) -> None:
    place = directory / "2026-01-02-ladder"
    place.mkdir()
    run = _ladder() | {"failed": {"grpc_cpp": "CommandFailed: it has ended"}}
    del run["sets"]["flights"]
    (place / "ladder.json").write_text(json.dumps(run))
    page = files_of(sources(directory), root)[pages.PAGES / "ladder.md"]
    assert "Not measured, since it failed: grpc_cpp (`CommandFailed: it has ended`)." in page


def test_steps_are_differences_of_verbs(ways: Sources, root: Path) -> None:
    page = files_of(ways, root)[pages.PAGES / "ladder.md"]
    assert "| gRPC to C++ | 10.0 | 10.0 | 10.0 | 10.0 | 20.0 |" in page


def test_the_picture_has_every_rung_and_the_documents_marks(ways: Sources, root: Path) -> None:
    drawn = files_of(ways, root)[pages.PAGES / "ladder.svg"]
    tree = ElementTree.fromstring(drawn)
    texts = {one.text for one in tree.iter("{http://www.w3.org/2000/svg}text")}
    assert {rung.label for rung in rungs.described().values()} <= texts
    for one in tree.iter():
        places = [float(one.get(key)) for key in ("x", "x1", "x2") if one.get(key)]
        assert all(0 <= place <= WIDTH for place in places)
    marks = [one for one in tree.iter() if one.get("class") == "range"]
    assert len(marks) == sum(bool(rung.document) for rung in rungs.described().values())


def test_services_are_sorted_and_counted_by_memory(ways: Sources, root: Path) -> None:
    page = files_of(ways, root)[pages.PAGES / "serving.md"]
    assert page.index("| Go |") < page.index("| FastAPI |")
    assert "| 3,000 | 1.00 | 2.00 | 3.00 | 30 | 100 |" in page


def test_claims_find_their_figures(ways: Sources) -> None:
    assert finding.found_by(ways, ["rung_us", "go_walker", "raw"]).median == 1.0
    args = ["http_go-all-0", "http_fastapi-all-1", "top"]
    assert finding.found_by(ways, ["served", *args, "rate"]).median == 2.0
    assert finding.found_by(ways, ["served", *args, "p95"]).median == 1.0
    assert finding.found_by(ways, ["served", "http_go-all-0", "nobody", "top", "rate"]) is None


def test_stores_that_fall_behind_say_so(ways: Sources, root: Path) -> None:
    files = files_of(ways, root)
    page = files[pages.PAGES / "fresh.md"]
    (behind,) = {line for line in page.splitlines() if "falls behind" in line}
    assert behind.startswith("| flat | 8,000 |")
    assert "| clearing alone | 240 |" in page
    assert "map: longest 40.0 ms" in files[pages.PAGES / "fresh.svg"]


def test_claims_compare_stores(ways: Sources) -> None:
    large, small = ["go_map", 1_000_000, 8_000], ["go_map", 10_000, 8_000]
    assert finding.found_by(ways, ["fresh_ratio", large, small, "max"]).median == 10.0
    assert finding.found_by(ways, ["fresh_ratio", ["nobody", 1, 1], small, "max"]) is None


def test_claims_find_the_documents_own_loop(ways: Sources) -> None:
    given = ["pushed", "Controlled/1KB", "Document/1KB"]
    assert finding.found_by(ways, given).median == -0.25
    assert finding.found_by(ways, ["pushed", "Controlled/10KB", "Document/10KB"]) is None


def test_claims_tell_what_is_not_predicting(ways: Sources) -> None:
    # Of 40 µs for a raw row predicting takes the 10 between features and echo.
    assert finding.found_by(ways, ["rung_share", "http_go"]).median == 0.75
    args = ["http_go-all-0", "http_fastapi-all-1", "keys", "key"]
    assert finding.found_by(ways, ["lead", *args]).median == 1.0


def test_claims_compare_builds_within_rounds(ways: Sources, directory: Path) -> None:
    given = ["changed", "upgrade", "a query", "min", ["15", "18"]]
    assert finding.found_by(ways, given) is None
    place = directory / "2026-01-02-upgrade"
    place.mkdir()
    runs = {"15": [1.0, 2.0], "18": [0.5, 3.0]}
    cell = {
        "name": "a query",
        "runs": {
            build: [{"latency_ms": {"min": ms}} for ms in all_] for build, all_ in runs.items()
        },
    }
    (place / "upgrade.json").write_text(json.dumps({"cells": [cell]}))
    found = finding.found_by(ways, given)
    assert (found.smallest, found.largest) == (-0.5, 0.5)
