"""ApacheBench: a closed loop with keep-alive where the server has it, one request over and over.

The percentiles that it prints are whole milliseconds; those that it writes into a file (-e) are
microseconds, so they are taken from there. It has none beyond the 99th. A body of another length than
the first it counts as failed, and so does this: the hot request has one answer.
"""

import re
from pathlib import Path, PurePath

from bench.generators import Figures, Load, Unsound, checked, number, tells

# The time ends a run, never the count. ab reserves 40 bytes for each of these.
MOST_REQUESTS = 2_000_000
PATIENCE_SECONDS = 60
PERCENTILES = {"p50": 50, "p90": 90, "p99": 99, "max": 100}
LARGEST = 100


def command(url: str, body: Path | None, load: Load, shares: PurePath) -> list[str | PurePath]:
    """What to run: POST of the body, or GET without one; percentiles go into the file `shares`."""
    post = ["-T", "application/json", "-p", body] if body else []
    # -t sets -n, so -n comes after it.
    return [
        "ab", "-q", "-k", "-t", str(load.seconds), "-n", str(MOST_REQUESTS), "-c", str(load.clients),
        "-s", str(PATIENCE_SECONDS), "-e", shares, *post, url,
    ]  # fmt: skip


def _percentiles(shares: str, requests: int) -> dict[str, float]:
    # Of few requests ab gives a place behind the last one for a high percentile, which is 0.
    return {
        name: number(rf"^{percent},([0-9.]+)$", shares)
        for name, percent in PERCENTILES.items()
        if percent == LARGEST or tells(requests, percent / 100)
    }


def parse(output: str, shares: str) -> Figures:
    """The report's figures with the file's; none of the requests may have failed."""
    failed = number(r"^Failed requests: +(\d+)", output)
    if failed:
        raise Unsound(f"{failed:.0f} requests failed:\n{output}")
    # The line is there only where there was one.
    if refused := re.search(r"^Non-2xx responses: +(\d+)", output, re.MULTILINE):
        raise Unsound(f"{refused[1]} answers had a status other than 2xx")
    requests = int(number(r"^Complete requests: +(\d+)", output))
    mean = number(r"^Time per request: +([0-9.]+) \[ms\] \(mean\)$", output)
    return checked(
        Figures(
            requests=requests,
            requests_per_second=number(r"^Requests per second: +([0-9.]+)", output),
            latency_ms={"mean": mean} | _percentiles(shares, requests),
            latency_requests=requests,
        )
    )
