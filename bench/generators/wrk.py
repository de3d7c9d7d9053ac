"""wrk: a closed loop over HTTP; draw.lua draws requests from a file of bodies.

It has as many threads as pgbench, and reconnects when the server closes a connection. Rate and mean latency
are those after the warm-up, computed as for pgbench; percentiles are of the whole run.
"""

import json
import re
from pathlib import Path

from bench.generators import Figures, InvalidRun, Load, checked

DRAW = Path(__file__).resolve().parent / "draw.lua"
PATIENCE_SECONDS = 60
REPORT = re.compile(r"^report (\{.*\})$", re.MULTILINE)


def command(url: str, bodies: Path | None, load: Load, cores: int) -> list[str | Path]:
    """Returns the command that POSTs bodies drawn evenly from the lines of a file, or GETs without one."""
    return [
        "wrk", "--threads", str(min(load.clients, cores)), "--connections", str(load.clients),
        "--duration", f"{load.end}s", "--timeout", f"{PATIENCE_SECONDS}s",
        "--script", DRAW, url, "--", str(load.seed), str(load.warm_up), *([bodies] if bodies else []),
    ]  # fmt: skip


def parse(output: str, clients: int) -> Figures:
    """Reads the report of draw.lua; raises if a request failed."""
    found = REPORT.search(output)
    if not found:
        raise InvalidRun(f"wrk printed no report:\n{output}")
    report = json.loads(found[1])
    if errors := {name: count for name, count in report["errors"].items() if count}:
        raise InvalidRun(f"requests failed: {errors}")
    if report["counted"] < 1:
        raise InvalidRun("not one request was completed after the warm-up")
    per_second = report["counted"] / report["seconds"]
    mean = round(clients / per_second * 1e3, 3)
    requests = report["requests"]
    latency = report["latency_ms"] | {"mean": mean}
    return checked(Figures(requests, per_second, latency, requests, None))
