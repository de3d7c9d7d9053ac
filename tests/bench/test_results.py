"""A result file is read whole or not at all."""

import copy
import json
import tarfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from bench import results
from bench.processes import Used
from bench.results import BadResult, CellResult, Spread, parse
from bench.workload import Cell
from tests.bench.report.made_up import cell_result, split

CELL = Cell("asgi", "http", "random", 25, 5)
LATENCY = {"mean": 1.25, "p99": 3.5}
MEASURED, AT_A_RATE = cell_result(CELL), cell_result(replace(CELL, rate=500))
CLOSED = replace(
    MEASURED.runs[0], latency_ms=LATENCY, latency_requests=100, requests_per_second=50.5,
    network=Used(0.25, 1 << 16),
)  # fmt: skip
MEASURED = replace(MEASURED, runs=[CLOSED, CLOSED])
SKIPPED = cell_result(replace(CELL, variant="prepared"), "too old")
RESULT = replace(split(), cells=[MEASURED, AT_A_RATE, SKIPPED])


def test_a_written_result_is_read(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    results.write(path, RESULT)
    assert parse(path.read_text()) == RESULT
    assert [file.name for file in tmp_path.iterdir()] == ["results.json"]


DOCUMENT = asdict(RESULT)


@pytest.mark.parametrize(
    ("way", "name"),
    [
        ((), "commit"),
        (("topology", "round_trips", 0), "p99_us"),
        (("cells", 0), "requests_per_second"),
        (("cells", 0, "runs", 0), "server_parts"),
        (("cells", 0, "runs", 0, "generator"), "pss_bytes"),
        (("cells", 1, "runs", 0, "open_loop"), "kept_up"),
    ],
)
def test_a_file_that_lacks_a_field_or_has_another_type_is_refused(
    way: tuple[str | int, ...], name: str
) -> None:
    document = copy.deepcopy(DOCUMENT)
    holder: Any = document
    for step in way:
        holder = holder[step]
    holder[name] = ["of another type"]
    with pytest.raises(BadResult, match=name):
        parse(json.dumps(document))
    del holder[name]
    with pytest.raises(BadResult, match=name):
        parse(json.dumps(document))


def test_what_is_no_result_is_refused() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["cells"][0]["runs"][0]["note"] = "x"
    with pytest.raises(BadResult, match=r"cells\[0\]\.runs\[0\]\.note"):
        parse(json.dumps(document))
    for text in ("[]", "1", '"x"', "null"):
        with pytest.raises(BadResult):
            parse(text)
    with pytest.raises(BadResult, match="schema 1"):
        parse(json.dumps(DOCUMENT | {"schema": 1}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"latency_ms": LATENCY | {"p98": 3.0}}, "p98"),
        ({"latency_requests": 0}, "percentiles of 0 requests"),
        ({"latency_ms": {"mean": 1.25}}, "percentiles of 100 requests"),
    ],
)
def test_latencies_have_known_names_and_rest_on_requests(changes: dict, message: str) -> None:
    with pytest.raises(BadResult, match=message):
        replace(CLOSED, **changes)


def test_summaries_are_computed_from_the_runs() -> None:
    slow = replace(CLOSED, requests_per_second=40.5, latency_ms=LATENCY | {"p50": 1.0})
    found = replace(MEASURED, runs=[CLOSED, slow])
    assert found.requests_per_second == Spread(45.5, 40.5, 50.5)
    assert {*found.latency_ms} == {"mean", "p99"}
    assert SKIPPED.requests_per_second is None and SKIPPED.latency_ms == {}
    spread = Spread.of([3.0, 1.0, 2.0, 10.0])
    assert (spread, spread.count) == (Spread(2.5, 1.0, 10.0), 4)


def cell(cores: list[float], **different: object) -> CellResult:
    """Returns a cell whose runs kept that number of cores busy."""
    runs = [replace(CLOSED, server=Used(2.0 * busy, 1)) for busy in cores]
    return replace(MEASURED, runs=runs, **different)


def test_a_run_without_all_cores_is_found_by_what_the_entry_uses_elsewhere() -> None:
    cells = [
        cell([1.7]),
        # One run alone, and no other of this cell to compare it with: a larger model, as many clients.
        cell([1.17], trees=1_000, name="asgi/http/random/1000t/5c"),
        cell([1.25, 1.1], trees=500, name="asgi/http/random/500t/5c"),
        # The entry's other cells are not comparable.
        cell([0.9], clients=1, name="asgi/http/random/25t/1c"),
        cell([0.9], rate=50, name="asgi/http/random/25t/5c/50r"),
        cell([0.9], request="ping", predictions_per_request=0, name="asgi/http/ping/25t/5c"),
        cell([0.9], system="b", name="b/http/random/25t/5c"),
    ]
    found = replace(RESULT, cells=cells)
    assert [one.starved for one in found.cells] == [[], [0], [1], [], [], [], []]
    # Marks in a file may follow an older rule.
    value = json.loads(json.dumps(asdict(found)))
    for one in value["cells"]:
        one["starved"] = [5]
    assert parse(json.dumps(value)) == found


def test_every_run_has_a_separate_directory_and_one_archive(tmp_path: Path) -> None:
    first, second = (results.new_directory(tmp_path, "one-2-cores") for _ in range(2))
    assert first != second and {first.parent, second.parent} == {tmp_path / "one-2-cores"}
    for run in (first, second):
        (run / "raw").mkdir()
        (run / "raw" / "cell-1.txt").write_text("tps = 7\n")
        results.pack_raw(run)
        assert [path.name for path in run.iterdir()] == ["raw.tar.xz"]
    with tarfile.open(first / "raw.tar.xz") as archive:
        assert archive.extractfile("raw/cell-1.txt").read() == b"tps = 7\n"
    assert (first / "raw.tar.xz").read_bytes() == (second / "raw.tar.xz").read_bytes()
    # A run that printed nothing.
    results.pack_raw(tmp_path)
