"""Reads and deletes load generators' logs of single requests, on the load generator's host.

A request has three times: due by the schedule, sent, and answered. Latency starts when it was due; otherwise
a client that waits for a slow answer would hide the delay of its next request. Without a schedule a request
is due when it is sent.

Requests that were due before the end of the warm-up or after the end of the run are not counted.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.generators import Figures, InvalidRun, Load, vegeta
from bench.results import OpenLoop

ROOT = Path(__file__).resolve().parents[2]
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}
LATE_SECONDS = 1e-3
# A run keeps up if the median delay of its last tenth of requests is within this part of its duration. A
# system whose throughput is a hundredth below the rate is that far behind.
LAST = 0.1
BEHIND = 0.01

# In floats a thousandth of a thousand requests is a little less than one.
ROUNDING = 1e-9

# One row per request: due, sent and done, in seconds after the first was due.
Requests = NDArray[np.float64]


def percentile(values: NDArray[np.float64], part: float) -> float:
    """Returns the smallest value that at least that part of the values does not exceed."""
    return float(np.quantile(values, part, method="inverted_cdf"))


def _milliseconds(latencies: NDArray[np.float64]) -> dict[str, float]:
    """Returns a result's latencies, without percentiles that the number of requests cannot resolve."""
    found = np.round(latencies * 1e6) / 1e3
    shares = {
        name: percentile(found, part)
        for name, part in PERCENTILES.items()
        if len(found) * (1 - part) >= 1 - ROUNDING
    }
    return {"mean": float(found.mean()), **shares, "max": float(found.max())}


def summary(requests: Requests, load: Load) -> Figures:
    """Computes the figures of the counted time."""
    due, sent, done = requests.T
    counted = (load.warm_up <= due) & (due < load.end)
    number = int(counted.sum())
    within = int(((load.warm_up <= done) & (done < load.end)).sum())
    # A system far too slow for its rate is still busy with the warm-up's requests at the end. A slow closed
    # loop may have none of its few requests in the sample, which is no error.
    if load.rate and not (number or within):
        raise InvalidRun("no request is in the time that counts")
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
    # pgbench draws the times between requests, so a run that keeps up sends a little more or less.
    scheduled = counted if kept_up else max(counted, round(load.rate * load.seconds))
    return OpenLoop(scheduled, late, scheduled - counted, kept_up)


def pgbench_files(prefix: Path) -> list[Path]:
    """Returns the log files of pgbench's threads: prefix.pid and prefix.pid.thread."""
    return sorted(prefix.parent.glob(f"{prefix.name}.*"))


def pgbench_requests(prefix: Path) -> Requests:
    """Reads the files of pgbench --log.

    Columns: client, number, microseconds, script, second and microsecond of the end, and the lag at a rate.
    """
    lines = [line for file in pgbench_files(prefix) for line in file.read_text().splitlines()]
    if not lines:
        return np.empty((0, 3))
    try:
        found = np.loadtxt(lines, dtype=np.int64, ndmin=2).T
    except ValueError as error:
        raise InvalidRun(f"a transaction: {error}") from None
    done = found[4] * 1_000_000 + found[5]
    due = done - found[2]
    sent = due + (found[6] if len(found) > 6 else 0)
    return (np.column_stack([due, sent, done]) - due.min()) / 1e6


def read(kind: str, log: str, load: dict[str, Any]) -> dict[str, Any]:
    """Reads and deletes pgbench's files with the prefix `log`, or vegeta's; returns figures or an error."""
    path, asked = Path(log), Load(**load)
    try:
        if kind == "pgbench":
            found = pgbench_requests(path)
        else:
            found = vegeta.requests(vegeta.encoded(ROOT / vegeta.PROGRAM, path), asked.rate)
        return asdict(summary(found, asked))
    except InvalidRun as error:
        return {"error": str(error)}
    finally:
        for file in [*pgbench_files(path), path]:
            file.unlink(missing_ok=True)
