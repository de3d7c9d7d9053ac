"""Computes the pages' derived figures: steps of a request, fixed rates, and distance.

- Steps, each the difference of two requests: `ping` is a round trip, `fetch` also finds the flight, `columns`
  also reads the ten features of its row, a separate step in PostgreSQL only, and `hot` also predicts. They
  are in CPU time of the server, which a load generator on the same machine does not distort.
- Rates: an entry sustains a rate if more than half of its runs answered nearly all that was due; otherwise
  its latencies are those of a growing queue.
- Distance: the number of network round trips that one client's prediction takes is the slope of its latency
  over the round-trip time, by least squares over the delays.
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.report.measured import TREES, Entry, Measured, RequestSpec, by_repetition, held
from bench.results import Spread

STEPS = ("ping", "fetch", "columns", "hot")
# The steps that an entry must have; without `columns`, its time is part of `hot`.
NEEDED = {"ping", "fetch", "hot"}


def steps(measured: Measured, entry: Entry) -> dict[str, list[float]]:
    """Returns the microseconds of each step, in the repetitions that measured all of them."""
    found = {name: cell for name in STEPS if (cell := measured.cell(entry, RequestSpec(name)))}
    us = {name: by_repetition(cell, "us") for name, cell in found.items()}
    common = [turn for turn in us.get("hot", {}) if all(turn in one for one in us.values())]
    if not (us.keys() >= NEEDED and common):
        return {}
    taken, before = {}, dict.fromkeys(common, 0.0)
    for name, now in us.items():
        taken[name] = [now[turn] - before[turn] for turn in common]
        before = now
    return taken


def fixed_rates(measured: Measured) -> list[RequestSpec]:
    """Returns the requests at fixed rates for one prediction, rising.

    Only those with one number of connections are comparable: the most frequent one.
    """
    found = [one for one in measured.asked_for(trees=TREES) if one.rate is not None]
    kinds = Counter(replace(one, rate=None) for one in found).most_common(1)
    asked = (one for one in found if replace(one, rate=None) == kinds[0][0])
    return sorted(asked, key=lambda one: one.rate)


def sustained(measured: Measured, entry: Entry, asked: Sequence[RequestSpec]) -> list[int]:
    """Returns the rates of these requests that an entry sustained."""
    cells = ((one.rate, measured.cell(entry, one)) for one in asked)
    return [rate for rate, cell in cells if cell and held(cell)]


@dataclass(frozen=True)
class Growth:
    """An entry's latencies by the round-trip time in milliseconds, and the line through them."""

    entry: Entry
    points: list[tuple[float, Spread]]
    round_trips: float
    base_ms: float


def delays(measured: Measured) -> list[float]:
    """Returns the one-way delays that were set, 0.0 included."""
    return sorted({cell.delay_ms for cell in measured.result.cells if cell.runs} - {None})


def round_trip_ms(measured: Measured, delay_ms: float | None) -> float | None:
    """Returns the round-trip time between client and server, as measured with that delay."""
    topology = measured.result.topology
    ends = {topology.roles["client"], topology.roles["server"]}
    for trip in topology.round_trips:
        if {trip.source, trip.target} == ends and trip.delay_ms == delay_ms:
            return trip.p50_us / 1_000
    return None


def growth(measured: Measured) -> list[Growth]:
    """Returns the growth of each entry that one client measured with at least three delays."""
    found = []
    for entry in measured.entries:
        points = [
            (trip, latency)
            for delay in delays(measured)
            if (trip := round_trip_ms(measured, delay)) is not None
            if (latency := measured.spread(entry, RequestSpec(clients=1, delay_ms=delay), "mean"))
        ]
        if len(points) >= 3:
            middle = [(trip, latency.median) for trip, latency in points]
            line = statistics.linear_regression(*zip(*middle, strict=True))
            found.append(Growth(entry, points, line.slope, line.intercept))
    return found
