"""ApacheBench: a closed loop with keep-alive where the server has it, one request over and over.

Its percentiles are whole milliseconds, so only the mean, which it reports to the
microsecond, is kept. A body of another length than the first it counts as failed, and so
does this: the hot request has one answer.
"""

import re
from pathlib import Path

from bench.generators import Figures, Load, Unsound, checked, number

# The time ends a run, never the count. ab reserves 40 bytes for each of these.
MOST_REQUESTS = 2_000_000
PATIENCE_SECONDS = 60


def command(url: str, body: Path | None, load: Load) -> list[str | Path]:
    """What to run: POST of the body, or GET without one."""
    post = ["-T", "application/json", "-p", body] if body else []
    # -t sets -n, so -n comes after it.
    return [
        "ab", "-q", "-k", "-t", str(load.seconds), "-n", str(MOST_REQUESTS), "-c", str(load.clients),
        "-s", str(PATIENCE_SECONDS), *post, url,
    ]  # fmt: skip


def parse(output: str) -> Figures:
    """The report's figures; none of the requests may have failed."""
    failed = number(r"^Failed requests: +(\d+)", output)
    if failed:
        raise Unsound(f"{failed:.0f} requests failed:\n{output}")
    # The line is there only where there was one.
    if refused := re.search(r"^Non-2xx responses: +(\d+)", output, re.MULTILINE):
        raise Unsound(f"{refused[1]} answers had a status other than 2xx")
    return checked(
        Figures(
            requests=int(number(r"^Complete requests: +(\d+)", output)),
            requests_per_second=number(r"^Requests per second: +([0-9.]+)", output),
            latency_ms={"mean": number(r"^Time per request: +([0-9.]+) \[ms\] \(mean\)$", output)},
        )
    )
