"""The load generators' reports are read right, and a run with one failed request is no result.

The reports are real ones: those with failures come from a server that gave every third
answer the status 500, or another length.
"""

from pathlib import Path

import pytest

from bench.generators import Figures, Unsound, ab, pgbench, wrk

REPORTS = Path(__file__).resolve().parent / "reports"


def report(name: str) -> str:
    return (REPORTS / f"{name}.txt").read_text()


def test_pgbench_is_read() -> None:
    assert pgbench.parse(report("pgbench")) == Figures(42218, 42569.796801, {"mean": 0.117})


def test_pgbench_with_many_scripts_is_read_for_all_together() -> None:
    figures = pgbench.parse(report("pgbench_many_scripts"))
    assert figures == Figures(2557, 2575.030363, {"mean": 0.388})


def test_a_failed_transaction_is_no_result() -> None:
    failed = report("pgbench").replace("failed transactions: 0 (", "failed transactions: 3 (")
    with pytest.raises(Unsound, match="3 transactions failed"):
        pgbench.parse(failed)


def test_ab_is_read_with_and_without_keepalive() -> None:
    kept = ab.parse(report("ab_keepalive"))
    assert (kept.requests, kept.latency_ms) == (2049, {"mean": 2.441})
    assert kept.requests_per_second == 2048.43
    closed = ab.parse(report("ab_without_keepalive"))
    assert (closed.requests, closed.latency_ms) == (2131, {"mean": 2.349})


def test_ab_with_other_statuses_is_no_result() -> None:
    assert "Failed requests:        0" in report("ab_non_2xx")
    with pytest.raises(Unsound, match="20 answers had a status other than 2xx"):
        ab.parse(report("ab_non_2xx"))


def test_ab_with_other_answers_is_no_result() -> None:
    with pytest.raises(Unsound, match="20 requests failed"):
        ab.parse(report("ab_other_length"))


def test_wrk_is_read() -> None:
    figures = wrk.parse(report("wrk"))
    assert figures.requests == 2198
    assert figures.requests_per_second == pytest.approx(1995.89, abs=0.01)
    assert figures.latency_ms["mean"] == 2.609
    assert figures.latency_ms["p99_9"] == 11.691
    assert [*figures.latency_ms] == ["mean", "p50", "p90", "p99", "p99_9", "max"]
    assert figures.latency_requests == 2198


def test_wrk_with_other_statuses_is_no_result() -> None:
    with pytest.raises(Unsound, match=r"requests failed: \{'status': 255\}"):
        wrk.parse(report("wrk_non_2xx"))


@pytest.mark.parametrize("kind", ["connect", "read", "write", "timeout"])
def test_wrk_with_a_broken_connection_is_no_result(kind: str) -> None:
    with pytest.raises(Unsound, match=kind):
        wrk.parse(report("wrk").replace(f'"{kind}": 0', f'"{kind}": 1'))


@pytest.mark.parametrize(
    ("parse", "name"), [(pgbench.parse, "pgbench"), (ab.parse, "ab_keepalive"), (wrk.parse, "wrk")]
)
def test_a_report_without_a_line_is_no_result(parse, name: str) -> None:
    lines = report(name).splitlines(keepends=True)
    refused = 0
    for number in range(len(lines)):
        try:
            parse("".join(lines[:number] + lines[number + 1 :]))
        except Unsound:
            refused += 1
    assert refused == {"pgbench": 4, "ab_keepalive": 4, "wrk": 1}[name]


@pytest.mark.parametrize(
    ("parse", "name", "count"),
    [
        (pgbench.parse, "pgbench", "processed: 42218"),
        (ab.parse, "ab_keepalive", "Complete requests:      2049"),
        (wrk.parse, "wrk", '"requests": 2198'),
    ],
)
def test_a_run_without_requests_is_no_result(parse, name: str, count: str) -> None:
    assert count in report(name)
    nothing = report(name).replace(count, count.rstrip("0123456789") + "0")
    with pytest.raises(Unsound, match="not one request"):
        parse(nothing)
