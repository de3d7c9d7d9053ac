"""oha: HTTP requests at a rate, evenly spaced, one body over and over, on connections that are kept.

It runs from a queue that is filled by the clock and not by the answers, waits for what it has sent, and
writes every answered request with the time at which it left the queue into a file of SQLite, from
which request_log.py takes all figures. The report is read for what failed.
"""

import json
import re
from pathlib import Path, PurePath

from bench.generators import Figures, Load, Unsound

# Where tools/toolchain/cargo_program.sh puts it, in the repository.
PROGRAM = PurePath(".build/cargo/bin/oha")


def command(
    program: PurePath, url: str, body: Path, load: Load, log: PurePath
) -> list[str | PurePath]:
    """What to run: POST of the body, with the log of single requests at `log`."""
    return [
        program, "--no-tui", "--output-format", "json", "-q", str(load.rate), "--latency-correction",
        "-z", f"{load.end}s", "-w", "-c", str(load.clients), "--db-url", log,
        "-m", "POST", "-T", "application/json", "-D", body, url,
    ]  # fmt: skip


def parse(output: str, log: Figures) -> Figures:
    """The log's figures; none of the requests may have failed."""
    # Amidst its JSON a line from elsewhere says that it stores the log.
    text = re.sub(r"^Storing results to .*\n", "", output, flags=re.MULTILINE)
    try:
        report = json.loads(text)
    except ValueError:
        raise Unsound(f"oha printed no report:\n{output}") from None
    if errors := report["errorDistribution"]:
        raise Unsound(f"requests failed: {errors}")
    if refused := {s: n for s, n in report["statusCodeDistribution"].items() if s[0] != "2"}:
        raise Unsound(f"answers had a status other than 2xx: {refused}")
    return log
