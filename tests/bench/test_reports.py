"""The load generators' reports are read right, and a run with one failed request is no result.

The reports are real ones: those with failures come from a server that gave every third
answer the status 500, or another length.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bench.generators import Figures, InvalidRun, pgbench, wrk
from bench.results import OpenLoop

REPORTS = Path(__file__).resolve().parent / "reports"


def report(name: str) -> str:
    return (REPORTS / f"{name}.txt").read_text()


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
    assert read_pgbench(report("pgbench")) == Figures(42218, 42569.796801, latency, 2100, None)
    # At a rate the log has all requests.
    at_a_rate = replace(SAMPLE, open_loop=OpenLoop(2000, 1, 0, True))
    figures = pgbench.parse(report("pgbench"), at_a_rate)
    assert figures == replace(at_a_rate, requests=42218)
    # Of many scripts for all together.
    figures = read_pgbench(report("pgbench_many_scripts"))
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
    figures = read_wrk(report("wrk"))
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
        read_wrk(report("wrk").replace(f'"{kind}": 0', f'"{kind}": 1'))
    with pytest.raises(InvalidRun, match=r"requests failed: \{'status': 61\}"):
        read_wrk(report("wrk_non_2xx"))
    failed = report("pgbench").replace("failed transactions: 0 (", "failed transactions: 3 (")
    with pytest.raises(InvalidRun, match="3 transactions failed"):
        read_pgbench(failed)


@pytest.mark.parametrize(
    ("parse", "name", "needed", "count"),
    [(read_pgbench, "pgbench", 4, "processed: 42218"), (read_wrk, "wrk", 1, '"counted": 92')],
)
def test_a_report_without_a_line_or_requests_is_no_result(
    parse, name: str, needed: int, count: str
) -> None:
    lines = report(name).splitlines(keepends=True)
    refused = 0
    for number in range(len(lines)):
        try:
            parse("".join(lines[:number] + lines[number + 1 :]))
        except InvalidRun:
            refused += 1
    assert refused == needed
    assert count in report(name)
    nothing = report(name).replace(count, count.rstrip("0123456789") + "0")
    with pytest.raises(InvalidRun, match="not one request"):
        parse(nothing)
