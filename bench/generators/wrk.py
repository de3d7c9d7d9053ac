"""wrk: a closed loop over HTTP with requests drawn from a file of bodies, by draw.lua.

As many threads as pgbench has. It opens a new connection where the server closes the old one. The rate is
that after the warm-up, and so is the mean latency: the clients' time by the requests, as pgbench's is.
Percentiles are of the whole run.
"""

import json
import re
from pathlib import Path

from bench.generators import Figures, Load, Unsound, checked

DRAW = Path(__file__).resolve().parent / "draw.lua"
PATIENCE_SECONDS = 60
REPORT = re.compile(r"^report (\{.*\})$", re.MULTILINE)


def command(url: str, bodies: Path | None, load: Load, cores: int) -> list[str | Path]:
    """What to run: POST of bodies drawn evenly from the lines of a file, or GET without one."""
    return [
        "wrk", "--threads", str(min(load.clients, cores)), "--connections", str(load.clients),
        "--duration", f"{load.end}s", "--timeout", f"{PATIENCE_SECONDS}s",
        "--script", DRAW, url, "--", str(load.seed), str(load.warm_up), *([bodies] if bodies else []),
    ]  # fmt: skip


def parse(output: str, clients: int, calls: int = 1) -> Figures:
    """The report that draw.lua prints; none of the requests may have failed.

    Where a request is several calls, the rate and the mean are of requests; it knows no percentiles of those.
    """
    found = REPORT.search(output)
    if not found:
        raise Unsound(f"wrk printed no report:\n{output}")
    report = json.loads(found[1])
    if errors := {name: count for name, count in report["errors"].items() if count}:
        raise Unsound(f"requests failed: {errors}")
    if report["counted"] < 1:
        raise Unsound("not one request was completed after the warm-up")
    per_second = report["counted"] / report["seconds"] / calls
    mean = round(clients / per_second * 1e3, 3)
    requests = report["requests"] // calls
    if calls > 1:
        return checked(Figures(requests, per_second, {"mean": mean}, 0, None))
    latency = report["latency_ms"] | {"mean": mean}
    return checked(Figures(requests, per_second, latency, requests, None))
