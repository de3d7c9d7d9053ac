"""Load generators' reports and logs are read right, and a run with one failed request is no result.

The reports are real ones: those with failures come from a server that gave every third answer the status 500,
or another length. Latency includes waiting for the schedule.
"""

import http.server
import subprocess
import threading
import time
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from bench.generators import Figures, InvalidRun, Load, logged, pgbench, vegeta, wrk
from bench.generators.request_log import ROOT, Requests, pgbench_requests, read, summary
from bench.results import OpenLoop

REPORTS = tomllib.loads(Path(__file__).with_name("reports.toml").read_text())
# The figures of a log of pgbench.
SAMPLE = Figures(2100, 2100.0, {"mean": 0.12, "p50": 0.1, "p99": 0.4, "max": 2.0}, 2100, None)


read_pgbench, read_wrk = partial(pgbench.parse, log=SAMPLE), partial(wrk.parse, clients=5)


def tpc(clients: int, progress: str, seconds: int, count: int) -> str:
    """Returns a report of pgbench: its progress (seconds, rate), duration and transactions."""
    told = (one.split() for one in progress.split(","))
    lines = [
        f"progress: {at} s, {rate} tps, lat 9.000 ms stddev 1.000, 0 failed" for at, rate in told
    ]
    return "\n".join([
        f"number of clients: {clients}", *lines, f"duration: {seconds} s",
        f"number of transactions actually processed: {count}",
        "number of failed transactions: 0 (0.000%)", "tps = 1.0 (without initial connection time)",
    ])  # fmt: skip


def test_pgbench_is_read() -> None:
    latency = {"mean": 0.117, "p50": 0.1, "p99": 0.4}
    assert read_pgbench(REPORTS["pgbench"]) == Figures(42218, 42569.796801, latency, 2100, None)
    # At a rate the log has all requests.
    at_a_rate = replace(SAMPLE, open_loop=OpenLoop(2000, 1, 0, True))
    figures = pgbench.parse(REPORTS["pgbench"], at_a_rate)
    assert figures == replace(at_a_rate, requests=42218)
    # Of many scripts for all together.
    figures = read_pgbench(REPORTS["pgbench_many_scripts"])
    found = (figures.requests, figures.requests_per_second, figures.latency_ms["mean"])
    assert found == (2557, 2575.030363, 0.388)


def test_pgbenchs_warm_up_is_subtracted() -> None:
    # 10 seconds: 100 transactions in the first two, 1,791 from then to the end, and 9 after it.
    output = tpc(9, "1.0 0.0, 2.0 100.0, 3.0 225.0", 10, 1900)
    figures = pgbench.parse(output, SAMPLE, warm_up=2)
    assert figures.requests == 1900
    assert figures.requests_per_second == pytest.approx(1_791 / 8)
    # The clients' time by the transactions, not pgbench's own where it tells its progress.
    assert figures.latency_ms["mean"] == pytest.approx(9 * 8 / 1_791 * 1e3, abs=1e-3)
    with pytest.raises(InvalidRun, match="nothing of its first 4 s"):
        pgbench.parse(output, SAMPLE, warm_up=4)


@pytest.mark.parametrize("last", ["6.0", "9.5"])
def test_what_clients_complete_after_the_end_does_not_count(last: str) -> None:
    """A thousand connections take two seconds to make, and up to four to end."""
    progress = f"2.2 5.0, 3.0 10000.0, 4.0 20000.0, {last} 20000.0"
    output = tpc(1000, progress, 6, 69011)
    assert pgbench.parse(output, SAMPLE, warm_up=4).requests_per_second == pytest.approx(20_000)


def test_wrk_is_read() -> None:
    figures = read_wrk(REPORTS["wrk"])
    # Two seconds, of which the first is the warm-up.
    assert figures.requests == figures.latency_requests == 184
    assert figures.requests_per_second == pytest.approx(92 / 0.98653)
    # The clients' time by the requests, as of pgbench.
    assert figures.latency_ms["mean"] == pytest.approx(5 * 0.98653 / 92 * 1e3, abs=0.001)
    assert figures.latency_ms["p99_9"] == 48.337
    assert {*figures.latency_ms} == {"mean", "p50", "p90", "p99", "p99_9", "max"}


@pytest.mark.parametrize("kind", ["connect", "read", "write", "timeout"])
def test_a_failed_request_is_no_result(kind: str) -> None:
    with pytest.raises(InvalidRun, match=kind):
        read_wrk(REPORTS["wrk"].replace(f'"{kind}": 0', f'"{kind}": 1'))
    with pytest.raises(InvalidRun, match=r"requests failed: \{'status': 61\}"):
        read_wrk(REPORTS["wrk_non_2xx"])
    failed = REPORTS["pgbench"].replace("failed transactions: 0 (", "failed transactions: 3 (")
    with pytest.raises(InvalidRun, match="3 transactions failed"):
        read_pgbench(failed)


@pytest.mark.parametrize(
    ("parse", "name", "needed", "count"),
    [(read_pgbench, "pgbench", 4, "processed: 42218"), (read_wrk, "wrk", 1, '"counted": 92')],
)
def test_a_report_without_a_line_or_requests_is_no_result(
    parse, name: str, needed: int, count: str
) -> None:
    lines = REPORTS[name].splitlines(keepends=True)
    refused = 0
    for number in range(len(lines)):
        try:
            parse("".join(lines[:number] + lines[number + 1 :]))
        except InvalidRun:
            refused += 1
    assert refused == needed
    assert count in REPORTS[name]
    nothing = REPORTS[name].replace(count, count.rstrip("0123456789") + "0")
    with pytest.raises(InvalidRun, match="not one request"):
        parse(nothing)


SCRIPTS, SIMPLE = pgbench.Scripts([Path("one.sql")]), pgbench.Program("pgbench", "simple", 2)


def window(warm_up: float, seconds: float, rate: float | None = None) -> Load:
    """Returns a load whose warm-up is followed by the counted seconds."""
    return Load(1, seconds, 0, rate, warm_up)


def one_server(
    rate: float, seconds: float, takes: float, stalls: float = 0.0, end: float = np.inf
) -> Requests:
    """Requests due at a rate, served one after the other until the end; each second begins with a stall."""
    free, found = 0.0, []
    for place in range(int(rate * seconds)):
        due = place / rate
        sent = max(due, free)
        if sent % 1 < stalls:
            sent = int(sent) + stalls
        free = sent + takes
        if sent < end:
            found.append((due, sent, free))
    return np.array(found)


@pytest.mark.parametrize(
    ("requests", "names"),
    [(9, ["p50"]), (10, ["p50", "p90"]), (20, ["p50", "p90", "p95"]), (99, ["p50", "p90", "p95"]),
     (100, ["p50", "p90", "p95", "p99"]), (1000, ["p50", "p90", "p95", "p99", "p99_9"])],
)  # fmt: skip
def test_percentiles_are_the_smallest_values_of_their_rank(requests: int, names: list[str]) -> None:
    took = np.arange(1, requests + 1) / 1e3
    found = summary(np.column_stack([took * 0, took * 0, took]), window(0.0, 1.0)).latency_ms
    assert [*found] == ["mean", *names, "max"]
    if requests == 1000:
        assert [*found.values()] == [500.5, 500, 900, 950, 990, 999, 1000]


def test_a_stall_is_seen_by_all_that_were_due_in_it() -> None:
    counted = window(1.0, 4.0, 500.0)
    stalled = summary(one_server(500, 5, takes=1e-4, stalls=0.2), counted)
    assert stalled.latency_requests == 2000
    # A fifth of the requests is due in a stall and waits for 100 ms in the mean.
    assert stalled.latency_ms["p90"] == pytest.approx(100, abs=12)
    assert stalled.latency_ms["p99"] == pytest.approx(190, abs=12)
    assert stalled.latency_ms["p50"] < 1
    assert stalled.open_loop.kept_up
    assert stalled.open_loop.late == pytest.approx(400, abs=60)
    # Latencies from the time of sending would hide it.
    _, sent, done = one_server(500, 5, takes=1e-4, stalls=0.2).T
    assert summary(np.column_stack([sent, sent, done]), window(1.0, 4.0)).latency_ms["p99"] < 1


def test_requests_due_in_the_warm_up_or_after_the_end_are_not_counted() -> None:
    requests = [(0.1, 0.1, 0.9), (1.0, 1.0, 1.001), (2.9, 2.9, 3.1), (3.0, 3.0, 3.001)]
    found = summary(np.array(requests), window(1.0, 2.0, 1.0))
    assert (found.requests, found.latency_requests) == (4, 2)
    assert found.latency_ms["max"] == pytest.approx(200)
    # One was answered in the two seconds.
    assert found.requests_per_second == 0.5


@pytest.mark.parametrize(("takes", "kept_up"), [(0.9e-3, True), (1.0e-3, True), (1.05e-3, False)])
def test_a_server_that_falls_behind_does_not_keep_up(takes: float, kept_up: bool) -> None:
    # A generator stops at the end of its time: requests not sent by then are missing.
    sent = one_server(1000, 5, takes, end=5)
    found = summary(sent, window(1.0, 4.0, 1000.0))
    assert found.open_loop.kept_up is kept_up
    assert found.open_loop.scheduled == 4000
    assert (found.open_loop.skipped > 0) is not kept_up
    assert found.requests_per_second == pytest.approx(min(1000, 1 / takes), rel=0.01)


def test_a_server_that_is_far_too_slow_does_not_keep_up() -> None:
    sent = one_server(1000, 5, 0.01, end=5)
    found = summary(sent, window(0.0, 5.0, 1000.0))
    assert (found.open_loop.kept_up, found.open_loop.skipped) == (False, 5000 - len(sent))
    # It never leaves the warm-up behind, and so has a rate and no latency.
    sent = one_server(1000, 3, 0.01, end=3)
    assert sent[:, 0].max() < 1
    found = summary(sent, window(1.0, 2.0, 1000.0))
    assert found.requests_per_second == pytest.approx(100, rel=0.02)
    assert (found.latency_ms, found.latency_requests) == ({}, 0)
    assert (found.open_loop.kept_up, found.open_loop.skipped) == (False, 2000)
    with pytest.raises(InvalidRun, match="no request"):
        summary(np.array([(0.5, 0.5, 0.6)]), window(1.0, 2.0, 10.0))


# Client, number, microseconds, script, second and microsecond of the end, lag.
PGBENCH = ("0 0 1500 0 1700000000 1500 500", "0 1 700 0 1700000000 10700 100")
PGBENCH_THREAD = ("1 0 250 0 1700000001 1250 50",)


@pytest.fixture
def pgbench_log(tmp_path: Path) -> Path:
    for name, lines in (("log.77", PGBENCH), ("log.77.1", PGBENCH_THREAD)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path / "log"


def test_pgbenchs_files_are_read_together(pgbench_log: Path) -> None:
    flat = pgbench_requests(pgbench_log).ravel().tolist()
    assert flat == pytest.approx(
        [0, 500e-6, 1500e-6, 0.01, 0.0101, 0.0107, 1.001, 1.00105, 1.00125]
    )


@pytest.mark.parametrize("what", ["failed", "skipped"])
def test_a_transaction_that_failed_is_no_result(pgbench_log: Path, what: str) -> None:
    with (pgbench_log.parent / "log.77.1").open("a") as log:
        log.write(f"1 1 {what} 0 1700000001 1300 50\n")
    with pytest.raises(InvalidRun, match=what):
        pgbench_requests(pgbench_log)


def line(number: int, sent_ms: float, taken_ms: float, status: int = 200, error: str = "") -> str:
    """Returns a row of `vegeta encode --to csv`."""
    sent, taken = round(1.7e18 + sent_ms * 1e6), round(taken_ms * 1e6)
    return f"{sent},{status},{taken},9,2,{error},,,{number},POST,http://x/,\n"


def test_vegetas_requests_are_due_when_the_schedule_says() -> None:
    # As answered, not as sent. The second was sent in time, the third long after.
    log = line(2, 250, 10) + line(0, 0, 300) + line(1, 100, 2, 201)
    found = vegeta.requests(log, 10)
    assert found.ravel().tolist() == pytest.approx(
        [0.0, 0.0, 0.3, 0.1, 0.1, 0.102, 0.2, 0.25, 0.26], abs=1e-6
    )


@pytest.mark.parametrize(
    ("status", "error", "said"), [(503, "503 Busy", "status 503"), (0, "refused", "refused")]
)
def test_a_request_that_vegeta_saw_fail_is_no_result(status: int, error: str, said: str) -> None:
    with pytest.raises(InvalidRun, match=said):
        vegeta.requests(line(0, 0, 1) + line(1, 100, 1, status, error), 10)


class Stalling(http.server.BaseHTTPRequestHandler):
    """Answers at once, but for the first fifth of each second, in which it sleeps."""

    protocol_version = "HTTP/1.1"
    bodies: ClassVar[set[bytes]] = set()
    status = 200

    def do_POST(self) -> None:
        self.bodies.add(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(max(0, 0.2 - time.time() % 1))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def stalling() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stalling)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def run_vegeta(url: str, load: Load, directory: Path) -> Figures:
    body, log = directory / "body", directory / "log"
    # In base 64, one per line.
    body.write_text("WzFd\nWzJd\n")
    subprocess.run(vegeta.command(ROOT / vegeta.PROGRAM, url, body, load, log), check=True)
    body.unlink()
    try:
        return logged(read("vegeta", str(log), asdict(load)))
    finally:
        assert [*directory.iterdir()] == []


def test_vegeta_counts_from_when_requests_were_due(stalling: str, tmp_path: Path) -> None:
    """Few clients: most of the requests that are due in a stall are sent after it."""
    load = Load(clients=4, seconds=2, seed=0, rate=100, warm_up=1)
    found = run_vegeta(stalling, load, tmp_path)
    assert Stalling.bodies == {b"[1]", b"[2]"}
    # A second more than counts.
    assert found.requests > 300
    # One may leave just before the warm-up ends.
    assert found.latency_requests == pytest.approx(200, abs=1)
    # A fifth is due in a stall, and at most four of them are sent in it.
    assert found.open_loop.late >= 20
    assert found.latency_ms["p90"] > 50


def test_an_answer_of_another_status_is_no_result(
    stalling: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stalling, "status", 500)
    with pytest.raises(InvalidRun, match="an answer of status 500"):
        run_vegeta(stalling, Load(clients=1, seconds=1, seed=0, rate=10), tmp_path)


def test_a_log_is_deleted_when_it_was_read(pgbench_log: Path, tmp_path: Path) -> None:
    figures = logged(read("pgbench", str(pgbench_log), asdict(window(0, 2, 2))))
    assert figures.latency_requests == 3
    assert figures.open_loop.late == 0
    assert [*tmp_path.iterdir()] == []


def test_a_closed_loop_is_sampled_and_tells_its_progress_while_it_settles() -> None:
    load = Load(clients=20, seconds=4, seed=1, warm_up=1)
    loads = load, replace(load, warm_up=0), replace(load, rate=500)
    settling, settled, at_a_rate = (
        {*pgbench.command(SIMPLE, SCRIPTS, one, Path("log"))} for one in loads
    )
    assert {"--sampling-rate=0.2", "--progress=1", "--time=5"} <= settling
    assert "--progress=1" not in settled
    assert {"--rate=500", "--time=6", "--log-prefix=log"} <= at_a_rate
    assert not any("sampling" in str(word) for word in at_a_rate)
