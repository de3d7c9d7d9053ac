"""vegeta: HTTP requests at a fixed rate, evenly spaced, with the bodies of a file, on persistent connections.

The clock, not the answers, fills its queue of requests, which its workers take in order. It waits for the
answers to all sent requests, and writes each to a log, from which request_log.py takes the figures.
"""

import csv
import io
import subprocess
from pathlib import Path, PurePath

import numpy as np
from numpy.typing import NDArray

from bench.generators import InvalidRun, Load
from bench.generators.pgbench import CONNECTING_SECONDS

# Relative to the repository.
BUILD, PROGRAM = PurePath("tools/toolchain/vegeta.sh"), PurePath(".build/vegeta")
PATIENCE_SECONDS = 60
# Columns of `vegeta encode --to csv`.
SENT_NS, STATUS, TAKEN_NS, ERROR, NUMBER = 0, 1, 2, 5, 8


def command(
    program: PurePath, url: str, bodies: Path, load: Load, log: PurePath
) -> list[str | PurePath]:
    """Returns the command that POSTs a file's bodies in turn, with the log of single requests at `log`."""
    # A worker has a connection, and sends its next request when it has its answer. The report is for readers.
    script = (
        "url=$1 program=$2 log=$3 bodies=$4; shift 4; "
        'sed \'s|.*|{"method":"POST","url":"\'"$url"\'","body":"&"}|\' '
        '"$bodies" | "$program" attack -format=json -output="$log" "$@" && '
        '"$program" report -type=json "$log"'
    )
    return [
        "sh", "-c", script, "sh", url, program, log, bodies, f"-rate={load.rate}/s",
        f"-duration={load.end + CONNECTING_SECONDS}s", f"-workers={load.clients}",
        f"-max-workers={load.clients}", f"-connections={load.clients}",
        f"-timeout={PATIENCE_SECONDS}s", "-http2=false", "-max-body=0",
        "-header=Content-Type: application/json",
    ]  # fmt: skip


def encoded(program: Path, log: Path) -> str:
    """Returns the log as CSV."""
    command = [program, "encode", "-to=csv", log]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InvalidRun(f"vegeta's log: {done.stderr.strip()}")
    return done.stdout


def requests(log: str, rate: float) -> NDArray[np.float64]:
    """Reads the log: due, sent and done of each request, in the order of the schedule.

    Workers take requests in that order, and all of those are answered, so the log has the schedule's first
    requests without a gap. The first is sent when it is due.
    """
    rows = sorted(csv.reader(io.StringIO(log)), key=lambda row: int(row[NUMBER]))
    for row in rows:
        if not row[STATUS].startswith("2"):
            said = f"an answer of status {row[STATUS]}" if row[STATUS] != "0" else row[ERROR]
            raise InvalidRun(f"a request failed: {said}")
    if not rows:
        return np.empty((0, 3))
    sent = np.array([int(row[SENT_NS]) for row in rows])
    seconds = (sent - sent[0]) / 1e9
    taken = np.array([int(row[TAKEN_NS]) for row in rows]) / 1e9
    due = np.minimum(seconds, np.arange(len(rows)) / rate)
    return np.column_stack([due, seconds, seconds + taken])
