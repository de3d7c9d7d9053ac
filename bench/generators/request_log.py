"""What a load generator's log of single requests says; read where the load generator ran, and deleted.

A request has three times: when it was due by the schedule, when it was sent, and when its answer had come.
Latency begins when it was due: a client that was kept waiting by the request before would else hide that
the next one came too late. Where there is no schedule, due is when it was sent.

What was due before the warm-up's end is not counted, nor is what was due after the end.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.generators import Figures, tells
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

# A line for each request: due, sent and done, in seconds after the first was due.
Requests = NDArray[np.float64]


class BadLog(Exception):
    """A log with a request that failed, or that cannot be understood."""


@dataclass(frozen=True)
class Window:
    """The time that counts, in seconds after the first request was due, and the rate, if one was given."""

    warm_up: float
    seconds: float
    rate: float | None = None

    @property
    def end(self) -> float:
        """When it is over."""
        return self.warm_up + self.seconds


def percentile(values: NDArray[np.float64], part: float) -> float:
    """The smallest that at least such a part does not exceed."""
    return float(np.quantile(values, part, method="inverted_cdf"))


def _milliseconds(latencies: NDArray[np.float64]) -> dict[str, float]:
    """All that a result holds; of percentiles those that so many requests can tell from the largest."""
    found = np.round(latencies * 1e6) / 1e3
    known = {name: part for name, part in PERCENTILES.items() if tells(len(found), part)}
    shares = {name: percentile(found, part) for name, part in known.items()}
    return {"mean": float(found.mean()), **shares, "max": float(found.max())}


def summary(requests: Requests, window: Window) -> Figures:
    """What the requests say of the window."""
    due, sent, done = requests.T
    counted = (window.warm_up <= due) & (due < window.end)
    number = int(counted.sum())
    within = int(((window.warm_up <= done) & (done < window.end)).sum())
    # What is far too slow for a rate is still busy with the warm-up's requests at the end; and of the few
    # requests of a slow closed loop none may be in the sample.
    if window.rate and not (number or within):
        raise BadLog("no request is in the time that counts")
    waits = (sent - due)[counted]
    last = waits[due[counted] >= window.end - LAST * window.seconds]
    return Figures(
        len(requests),
        within / window.seconds,
        _milliseconds((done - due)[counted]) if number else {},
        number,
        _schedule(window, number, int((waits > LATE_SECONDS).sum()), last) if window.rate else None,
    )


def _schedule(
    window: Window, counted: int, late: int, waits: NDArray[np.float64]
) -> OpenLoop:  # fmt: skip
    kept_up = len(waits) > 0 and percentile(waits, 0.5) <= BEHIND * window.end
    # pgbench draws the times between requests, so one that keeps up sends a little more or less.
    scheduled = counted if kept_up else max(counted, round(window.rate * window.seconds))
    return OpenLoop(scheduled, late, scheduled - counted, kept_up)


def pgbench_files(prefix: Path) -> list[Path]:
    """One for each of its threads: prefix.pid and prefix.pid.thread."""
    return sorted(prefix.parent.glob(f"{prefix.name}.*"))


def _pgbench_lines(file: Path) -> Iterator[tuple[int, int, int]]:
    """Client, number, microseconds, script, second and microsecond of the end, and the lag at a rate."""
    with file.open() as lines:
        for fields in map(str.split, lines):
            if not fields[2].isdecimal():
                raise BadLog(f"a transaction {fields[2]}")
            done = int(fields[4]) * 1_000_000 + int(fields[5])
            due = done - int(fields[2])
            yield due, due + (int(fields[6]) if len(fields) > 6 else 0), done


def pgbench_requests(prefix: Path) -> Requests:
    """From the files of pgbench --log."""
    lines = [line for file in pgbench_files(prefix) for line in _pgbench_lines(file)]
    times = np.array(lines, dtype=np.int64).reshape(-1, 3)
    return (times - times[:, 0].min(initial=np.iinfo(np.int64).max)) / 1e6


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
        raise BadLog(f"an answer of status {refused[0]:.0f}")
    planned = np.arange(len(table)) / rate + OHA_TICK_SECONDS
    return np.column_stack([np.minimum(table[:, 0], planned), table[:, 1], table[:, 2]])


READERS = {
    "oha": oha_requests,
    "pgbench": lambda path, _: pgbench_requests(path),
}


def read(kind: str, log: str, warm_up: float, seconds: float, rate: float | None) -> dict[str, Any]:
    """What pgbench's files with a prefix, or another's one, say: the fields of Figures, or an error."""
    path = Path(log)
    try:
        return asdict(summary(READERS[kind](path, rate), Window(warm_up, seconds, rate)))
    except BadLog as error:
        return {"error": str(error)}
    finally:
        for file in [*pgbench_files(path), path]:
            file.unlink(missing_ok=True)
