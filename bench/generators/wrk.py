"""wrk: a closed loop over HTTP with requests drawn from a file of bodies, by draw.lua.

One thread, as ab has. It opens a new connection where the server closes the old one.
"""

import json
import re
from pathlib import Path

from bench.generators import Figures, Load, Unsound, checked

DRAW = Path(__file__).resolve().parent / "draw.lua"
PATIENCE_SECONDS = 60
REPORT = re.compile(r"^report (\{.*\})$", re.MULTILINE)


def command(url: str, bodies: Path, load: Load) -> list[str | Path]:
    """What to run: POST of bodies drawn evenly from the lines of a file."""
    return [
        "wrk", "--threads", "1", "--connections", str(load.clients), "--duration", f"{load.seconds}s",
        "--timeout", f"{PATIENCE_SECONDS}s", "--script", DRAW, url,
        "--", bodies, str(load.seed),
    ]  # fmt: skip


def parse(output: str) -> Figures:
    """The report that draw.lua prints; none of the requests may have failed."""
    found = REPORT.search(output)
    if not found:
        raise Unsound(f"wrk printed no report:\n{output}")
    report = json.loads(found[1])
    errors = {name: count for name, count in report["errors"].items() if count}
    if errors:
        raise Unsound(f"requests failed: {errors}")
    return checked(
        Figures(
            requests=report["requests"],
            requests_per_second=report["requests"] / report["seconds"],
            latency_ms=report["latency_ms"],
            latency_requests=report["requests"],
        )
    )
