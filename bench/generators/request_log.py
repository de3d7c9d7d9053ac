"""What a load generator's log of single requests says; read where the load generator ran, and deleted.

A request has three times: when it was due by the schedule, when it was sent, and when its answer had come.
Latency begins when it was due: a client that was kept waiting by the request before would else hide that
the next one came too late. Where there is no schedule, due is when it was sent.

What was due before the warm-up's end is not counted, nor is what was due after the end.
"""

import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.generators import Figures, Load, Unsound
from bench.results import OpenLoop

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}
LATE_SECONDS = 1e-3
# A run keeps up whose last tenth was sent, in the middle, within this part of the run's length
# of when it was due: what cannot keep up by a hundredth of the rate is that far behind.
LAST = 0.1
BEHIND = 0.01
# oha's clock goes by whole milliseconds and wakes up to two late, which is not the server's doing.
# What it is later than that counts.
OHA_TICK_SECONDS = 2e-3

# Of a thousandth part of a thousand requests floats make a little less than one.
ROUNDING = 1e-9

# A line for each request: due, sent and done, in seconds after the first was due.
Requests = NDArray[np.float64]


def percentile(values: NDArray[np.float64], part: float) -> float:
    """The smallest that at least such a part does not exceed."""
    return float(np.quantile(values, part, method="inverted_cdf"))


def _milliseconds(latencies: NDArray[np.float64]) -> dict[str, float]:
    """All that a result holds; of percentiles those that so many requests can tell from the largest."""
    found = np.round(latencies * 1e6) / 1e3
    shares = {
        name: percentile(found, part)
        for name, part in PERCENTILES.items()
        if len(found) * (1 - part) >= 1 - ROUNDING
    }
    return {"mean": float(found.mean()), **shares, "max": float(found.max())}


def summary(requests: Requests, load: Load) -> Figures:
    """What the requests say of the time that counts, in seconds after the first was due."""
    due, sent, done = requests.T
    counted = (load.warm_up <= due) & (due < load.end)
    number = int(counted.sum())
    within = int(((load.warm_up <= done) & (done < load.end)).sum())
    # What is far too slow for a rate is still busy with the warm-up's requests at the end; and of the few
    # requests of a slow closed loop none may be in the sample.
    if load.rate and not (number or within):
        raise Unsound("no request is in the time that counts")
    waits = (sent - due)[counted]
    last = waits[due[counted] >= load.end - LAST * load.seconds]
    return Figures(
        len(requests),
        within / load.seconds,
        _milliseconds((done - due)[counted]) if number else {},
        number,
        _schedule(load, number, int((waits > LATE_SECONDS).sum()), last) if load.rate else None,
    )


def _schedule(load: Load, counted: int, late: int, waits: NDArray[np.float64]) -> OpenLoop:
    kept_up = len(waits) > 0 and percentile(waits, 0.5) <= BEHIND * load.end
    # pgbench draws the times between requests, so one that keeps up sends a little more or less.
    scheduled = counted if kept_up else max(counted, round(load.rate * load.seconds))
    return OpenLoop(scheduled, late, scheduled - counted, kept_up)


def pgbench_files(prefix: Path) -> list[Path]:
    """One for each of its threads: prefix.pid and prefix.pid.thread."""
    return sorted(prefix.parent.glob(f"{prefix.name}.*"))


def pgbench_requests(prefix: Path) -> Requests:
    """From the files of pgbench --log.

    Client, number, microseconds, script, second and microsecond of the end, and the lag at a rate.
    """
    lines = [line for file in pgbench_files(prefix) for line in file.read_text().splitlines()]
    if not lines:
        return np.empty((0, 3))
    try:
        found = np.loadtxt(lines, dtype=np.int64, ndmin=2).T
    except ValueError as error:
        raise Unsound(f"a transaction: {error}") from None
    done = found[4] * 1_000_000 + found[5]
    due = done - found[2]
    sent = due + (found[6] if len(found) > 6 else 0)
    return (np.column_stack([due, sent, done]) - due.min()) / 1e6


def oha_requests(database: Path, rate: float) -> Requests:
    """From oha's table of answered requests, of which each has its place in the schedule.

    oha takes its requests from a queue in the order in which they are due, and with -w it waits
    for those that it has sent, so the table has the first so many of them and no other.
    """
    query = 'SELECT start_latency_correction, start, "end", status FROM oha ORDER BY 1'
    with sqlite3.connect(database) as connection:
        table = np.array(connection.execute(query).fetchall(), dtype=np.float64).reshape(-1, 4)
    refused = table[(table[:, 3] < 200) | (table[:, 3] >= 300), 3]
    if len(refused):
        raise Unsound(f"an answer of status {refused[0]:.0f}")
    planned = np.arange(len(table)) / rate + OHA_TICK_SECONDS
    return np.column_stack([np.minimum(table[:, 0], planned), table[:, 1], table[:, 2]])


def read(kind: str, log: str, load: dict[str, Any]) -> dict[str, Any]:
    """What pgbench's files with a prefix, or another's one, say: the fields of Figures, or an error."""
    path, asked = Path(log), Load(**load)
    try:
        found = pgbench_requests(path) if kind == "pgbench" else oha_requests(path, asked.rate)
        return asdict(summary(found, asked))
    except Unsound as error:
        return {"error": str(error)}
    finally:
        for file in [*pgbench_files(path), path]:
            file.unlink(missing_ok=True)
