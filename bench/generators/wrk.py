"""wrk: a closed loop over HTTP with requests drawn from a file of bodies, by draw.lua.

As many threads as pgbench has. It opens a new connection where the server closes the old one. The mean
latency is the clients' time by the requests, which is what pgbench's is taken to be too.
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
        "--duration", f"{load.seconds}s", "--timeout", f"{PATIENCE_SECONDS}s", "--script", DRAW, url,
        "--", str(load.seed), *([bodies] if bodies else []),
    ]  # fmt: skip


def parse(output: str, clients: int) -> Figures:
    """The report that draw.lua prints; none of the requests may have failed."""
    found = REPORT.search(output)
    if not found:
        raise Unsound(f"wrk printed no report:\n{output}")
    report = json.loads(found[1])
    errors = {name: count for name, count in report["errors"].items() if count}
    if errors:
        raise Unsound(f"requests failed: {errors}")
    requests = report["requests"]
    mean = round(clients * report["seconds"] / requests * 1e3, 3) if requests else 0.0
    return checked(
        Figures(
            requests=requests,
            requests_per_second=requests / report["seconds"],
            latency_ms=report["latency_ms"] | {"mean": mean},
            latency_requests=requests,
        )
    )
