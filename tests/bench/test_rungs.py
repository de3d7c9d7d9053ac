"""The rungs are described whole, the caller's log is read as written, and Go's own tests pass."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from bench import rungs
from bench.generators.request_log import BadLog, caller_requests, read
from bench.hosts import ROOT

VERBS = {"ping", "echo", "raw", "features", "key"}
CLOCK = 1_700_000_000_000_000_000


def written(path: Path, *entries: tuple[int, int, int]) -> Path:
    """A log as the caller leaves it."""
    path.write_bytes(struct.pack("<q", CLOCK) + b"".join(struct.pack("<3q", *e) for e in entries))
    return path


def test_rungs_ask_for_known_verbs_and_predict() -> None:
    described = rungs.described()
    assert {"go_walker", "grpc_cpp", "pg_binary", "http_flask_sklearn"} <= described.keys()
    for rung in described.values():
        assert {*rung.verbs} <= VERBS, rung.name
        assert {*rung.verbs} & {*rungs.PREDICTING}, rung.name


def test_every_row_of_the_document_has_a_rung() -> None:
    found = [rung.document.ns for rung in rungs.described().values() if rung.document]
    assert sorted(found) == [491, 575, 243056, 244941, 367433, 785147, 21699830, 21935237]


def test_every_folder_of_a_server_makes_what_its_command_names() -> None:
    for file in rungs.FOLDER.glob("*/rung.toml"):
        if "{build}" in file.read_text():
            assert file.with_name("build.sh").stat().st_mode & 0o111, file.parent.name


def test_a_log_is_sorted_by_when_requests_were_due(tmp_path: Path) -> None:
    log = written(tmp_path / "log", (2_000_000_000, 2_000_000_000, 2_100_000_000), (0, 0, 5))
    requests, clock = caller_requests(log)
    assert clock == CLOCK
    assert requests[:, 0].tolist() == [0.0, 2.0]
    assert requests[1, 2] == pytest.approx(2.1)


def test_latency_begins_when_a_request_was_due(tmp_path: Path) -> None:
    log = written(
        tmp_path / "log", (0, 1_000_000, 4_000_000), (500_000_000, 500_000_000, 502_000_000)
    )
    found = read("caller", str(log), 0, 1, 2)
    assert found["latency_ms"]["mean"] == 3.0
    assert not log.exists()


def test_a_log_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(struct.pack("<3q", CLOCK, 1, 2))
    with pytest.raises(BadLog):
        caller_requests(log)


@pytest.mark.skipif(not shutil.which("go"), reason="there is no go")
def test_the_packages_of_the_caller() -> None:
    packages = [f"./caller/{name}" for name in ("walker", "rows", "connection")]
    command = ["go", "-C", str(ROOT / "bench"), "test", *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
