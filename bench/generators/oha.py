"""oha: HTTP requests at a fixed rate, evenly spaced, with one body, on persistent connections.

The clock, not the answers, fills its queue of requests. It waits for the answers to all sent requests, and
writes each with the time it left the queue to a SQLite file, from which request_log.py takes the figures. The
report is read for failures only.
"""

import json
import re
from pathlib import Path, PurePath

from bench.generators import Figures, InvalidRun, Load

# The output of tools/toolchain/cargo_program.sh, relative to the repository.
PROGRAM = PurePath(".build/cargo/bin/oha")


def command(
    program: PurePath, url: str, body: Path, load: Load, log: PurePath
) -> list[str | PurePath]:
    """Returns the command that POSTs the body, with the log of single requests at `log`."""
    return [
        program, "--no-tui", "--output-format", "json", "-q", str(load.rate), "--latency-correction",
        "-z", f"{load.end}s", "-w", "-c", str(load.clients), "--db-url", log,
        "-m", "POST", "-T", "application/json", "-D", body, url,
    ]  # fmt: skip


def parse(output: str, log: Figures) -> Figures:
    """Returns the log's figures; raises if a request failed."""
    # A line about the log is printed in the midst of the JSON.
    text = re.sub(r"^Storing results to .*\n", "", output, flags=re.MULTILINE)
    try:
        report = json.loads(text)
    except ValueError:
        raise InvalidRun(f"oha printed no report:\n{output}") from None
    if errors := report["errorDistribution"]:
        raise InvalidRun(f"requests failed: {errors}")
    if refused := {s: n for s, n in report["statusCodeDistribution"].items() if s[0] != "2"}:
        raise InvalidRun(f"answers had a status other than 2xx: {refused}")
    return log
