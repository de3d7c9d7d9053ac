"""`python -m bench.generators.request_log`: what a load generator's log of single requests says, as JSON.

It runs where the load generator ran, reads the log once through, and deletes it. A request has three
times: when it was due by the schedule, when it was sent, and when its answer had come. Latency
begins when it was due: a client that was kept waiting by the request before would else hide that
the next one came too late. Where there is no schedule, due is when it was sent.

What was due before the warm-up's end is not counted, nor is what was due after the end.
"""

import argparse
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.generators import Figures, tells
from bench.results import OpenLoop

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999}
LATE_SECONDS = 1e-3
# A run keeps up whose last tenth was sent, in the middle, within this part of the run's length
# of when it was due: what cannot keep up by a hundredth of the rate is that far behind.
LAST = 0.1
BEHIND = 0.01
# oha's clock goes by whole milliseconds and wakes up to two late, which is not the server's doing.
# What it is later than that counts.
OHA_TICK_SECONDS = 2e-3

Request = tuple[float, float, float]


class BadLog(Exception):
    """A log with a request that failed, or that cannot be understood."""


@dataclass(frozen=True)
class Window:
    """The time that counts, in seconds after the first request was due, and the rate, if one was given."""

    warm_up: float
    seconds: float
    rate: float | None

    @property
    def end(self) -> float:
        """When it is over."""
        return self.warm_up + self.seconds


class Latencies:
    """Counts by whole microseconds, so that its size does not grow with the log's."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.number = 0

    def add(self, seconds: float) -> None:
        """One more."""
        self._counts[round(seconds * 1e6)] += 1
        self.number += 1

    def percentile(self, part: float) -> float:
        """The smallest that at least such a part does not exceed, in milliseconds."""
        wanted, seen = part * self.number, 0
        for microseconds, count in sorted(self._counts.items()):
            seen += count
            if seen >= wanted:
                return microseconds / 1e3
        raise BadLog("no request is in the time that counts")

    def milliseconds(self) -> dict[str, float]:
        """All that a result holds; of percentiles those that so many requests can tell from the largest."""
        total = sum(microseconds * count for microseconds, count in self._counts.items())
        shares = {
            name: self.percentile(part)
            for name, part in PERCENTILES.items()
            if tells(self.number, part)
        }
        return {"mean": total / self.number / 1e3, **shares, "max": max(self._counts) / 1e3}


def summary(requests: Iterable[Request], window: Window) -> Figures:
    """What the requests, in seconds after the first was due, say of the window."""
    latencies, waits, answered, done_within, late = Latencies(), Latencies(), 0, 0, 0
    for due, sent, done in requests:
        answered += 1
        done_within += window.warm_up <= done < window.end
        if window.warm_up <= due < window.end:
            latencies.add(done - due)
            late += sent - due > LATE_SECONDS
            if due >= window.end - LAST * window.seconds:
                waits.add(sent - due)
    # What is far too slow for a rate is still busy with the warm-up's requests at the end.
    if not latencies.number and not (window.rate and done_within):
        raise BadLog("no request is in the time that counts")
    found = latencies.milliseconds() if latencies.number else {}
    return Figures(
        answered, done_within / window.seconds, found, latencies.number,
        _schedule(window, latencies.number, late, waits) if window.rate else None,
    )  # fmt: skip


def _schedule(window: Window, counted: int, late: int, waits: Latencies) -> OpenLoop:
    allowed = BEHIND * window.end * 1e3
    kept_up = waits.number > 0 and waits.percentile(0.5) <= allowed
    # pgbench draws the times between requests, so one that keeps up sends a little more or less.
    scheduled = counted if kept_up else max(counted, round(window.rate * window.seconds))
    return OpenLoop(scheduled, late, scheduled - counted, kept_up)


def pgbench_requests(prefix: Path) -> Iterator[Request]:
    """From the files of pgbench --log, one for each of its threads."""
    files = pgbench_files(prefix)
    first = min((due for file in files for due, _, _ in _pgbench_lines(file, 1_000)), default=0)
    for file in files:
        for due, sent, done in _pgbench_lines(file):
            yield (due - first) / 1e6, (sent - first) / 1e6, (done - first) / 1e6


def pgbench_files(prefix: Path) -> list[Path]:
    """They are called prefix.pid and prefix.pid.thread."""
    return sorted(prefix.parent.glob(f"{prefix.name}.*"))


def _pgbench_lines(file: Path, most: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Client, number, microseconds, script, second and microsecond of the end, and the lag at a rate."""
    with file.open() as lines:
        for number, line in enumerate(lines):
            if number == most:
                return
            fields = line.split()
            if not fields[2].isdecimal():
                raise BadLog(f"a transaction {fields[2]}")
            done = int(fields[4]) * 1_000_000 + int(fields[5])
            due = done - int(fields[2])
            yield due, due + (int(fields[6]) if len(fields) > 6 else 0), done


def oha_requests(database: Path, rate: float) -> Iterator[Request]:
    """From oha's table of answered requests, of which each has its place in the schedule.

    oha takes its requests from a queue in the order in which they are due, and with -w it waits
    for those that it has sent, so the table has the first so many of them and no other.
    """
    query = 'SELECT start_latency_correction, start, "end", status FROM oha ORDER BY 1'
    with sqlite3.connect(database) as connection:
        for place, (handed_out, sent, done, status) in enumerate(connection.execute(query)):
            if not 200 <= status < 300:
                raise BadLog(f"an answer of status {status}")
            yield min(handed_out, place / rate + OHA_TICK_SECONDS), sent, done


def _read(kind: str, log: Path, window: Window) -> Figures:
    if kind == "oha":
        return summary(oha_requests(log, window.rate), window)
    return summary(pgbench_requests(log), window)


def main() -> None:
    """Prints the summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("pgbench", "oha"))
    parser.add_argument("log", type=Path, help="pgbench: the files' prefix; oha: the database")
    parser.add_argument("--rate", type=float)
    parser.add_argument("--warm-up", type=float, default=0)
    parser.add_argument("--seconds", type=float, required=True)
    arguments = parser.parse_args()
    log = arguments.log
    try:
        window = Window(arguments.warm_up, arguments.seconds, arguments.rate)
        print(json.dumps(asdict(_read(arguments.kind, log, window))))
    except BadLog as error:
        print(json.dumps({"error": str(error)}))
    finally:
        for file in [*pgbench_files(log), log]:
            file.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
