"""What the pages compute of a result: controls, steps of a request, fixed rates, distance, and wins.

- Controls: the query with `predict` against the same without it.
- Steps, each the difference of two requests: `ping` goes there and back, `fetch` also finds the flight,
  `columns` also reads the ten features out of its row, which only PostgreSQL has as a separate step, and
  `hot` also predicts. Of processor time, which a load generator on the same machine does not blur.
- Rates: an entry sustains one when more than half of its runs answered nearly all that was due; the latencies
  of one that does not are those of a queue that grows.
- Distance: one client waits for each answer, so a prediction takes a round trip for each time that somebody
  waits for somebody else: the slope of the line, by least squares over the delays that were set.
"""

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from bench.report.measured import (
    AS_PUBLISHED,
    POSTGRES,
    TREES,
    Asked,
    Entry,
    Measured,
    held,
    turns,
    values,
)
from bench.results import Spread

# With fewer clients the control is mostly the wake-up of an idle core.
FEWEST_CLIENTS = 5
# What each step's time is spent on.
STEPS: Mapping[str, str] = {
    "ping": "there and back",
    "fetch": "finding the flight",
    "columns": "reading its ten columns",
    "hot": "predicting",
}
# What an entry has to have been asked; where it has no step `columns`, that counts to `hot`.
NEEDED = {"ping", "fetch", "hot"}
# Runs of one cell whose p99 differ by more than this many times are told of in words.
OUTLIER = 3


def against_control(measured: Measured, control: str) -> dict[tuple[Entry, int], Spread]:
    """What is left of a control's throughput, by entry and clients."""
    return {
        (one, clients): found
        for one in measured.entries
        if one.side == POSTGRES
        for clients in measured.clients("hot")
        if clients >= FEWEST_CLIENTS
        if (found := measured.times(one, one, Asked(clients=clients), "rate", Asked(control, clients)))
    }  # fmt: skip


def steps(measured: Measured, entry: Entry) -> dict[str, list[float]]:
    """Microseconds of each step, in each repetition that all were measured in."""
    found = {name: cell for name in STEPS if (cell := measured.cell(entry, Asked(name)))}
    us = {name: turns(cell, "us") for name, cell in found.items()}
    common = [turn for turn in us.get("hot", {}) if all(turn in one for one in us.values())]
    if not (us.keys() >= NEEDED and common):
        return {}
    taken, before = {}, dict.fromkeys(common, 0.0)
    for name, now in us.items():
        taken[name] = [now[turn] - before[turn] for turn in common]
        before = now
    return taken


def step_spreads(measured: Measured, entry: Entry) -> dict[str, Spread]:
    """The same, over all repetitions."""
    return {name: Spread.of(found) for name, found in steps(measured, entry).items()}


def stepped(measured: Measured) -> list[Entry]:
    """The entries that have all that is needed."""
    return [one for one in measured.entries if one != AS_PUBLISHED and steps(measured, one)]


@dataclass(frozen=True)
class FixedRates:
    """All rates that were tried with one request and one number of connections."""

    measured: Measured
    # Any of them, without its rate.
    of: Asked
    rates: tuple[int, ...]
    entries: tuple[Entry, ...]

    def asked(self, rate: int) -> Asked:
        """What was asked at a rate."""
        return replace(self.of, rate=rate)

    def held(self, entry: Entry, really: bool = True) -> list[int]:
        """The rates that an entry sustained; else those that it was asked for and did not sustain."""
        cells = {rate: self.measured.cell(entry, self.asked(rate)) for rate in self.rates}
        return [rate for rate, cell in cells.items() if cell and held(cell) == really]

    def outliers(self) -> Iterator[tuple[Entry, int, list[float], float]]:
        """Entry, rate, sorted p99 of its runs, and the slowest request, where runs differ much."""
        for entry in self.entries:
            for rate in self.held(entry):
                cell = self.measured.cell(entry, self.asked(rate))
                p99 = sorted(values(cell, "p99"))
                if p99[-1] > OUTLIER * p99[0]:
                    yield entry, rate, p99, max(values(cell, "max"))


def fixed_rates(measured: Measured) -> FixedRates | None:
    """The runs at fixed rates for the hot key; None where there are none."""
    found = [one for one in measured.asked_for(request="hot", trees=TREES) if one.rate is not None]
    if not found:
        return None
    # One number of connections at a time makes a comparison: the one most often asked.
    (of, _), *_ = Counter(replace(one, rate=None) for one in found).most_common(1)
    asked = sorted(
        (one for one in found if replace(one, rate=None) == of), key=lambda one: one.rate
    )
    entries = (one for one in measured.entries if any(measured.cell(one, at) for at in asked))
    return FixedRates(measured, of, tuple(at.rate for at in asked), (*entries,))


@dataclass(frozen=True)
class Growth:
    """An entry's latencies by the round trip in milliseconds, and the line through them."""

    entry: Entry
    points: list[tuple[float, Spread]]
    round_trips: float
    base_ms: float

    def at(self, round_trip_ms: float) -> float:
        """The line's latency."""
        return self.base_ms + self.round_trips * round_trip_ms

    @property
    def furthest(self) -> float:
        """How far the point furthest from the line is above or below it, in milliseconds."""
        return max(abs(self.at(trip) - latency.median) for trip, latency in self.points)


def delays(measured: Measured) -> list[float]:
    """The delays that were set, one way, none at all included."""
    return sorted({cell.delay_ms for cell in measured.result.cells if cell.runs} - {None})


def round_trip_ms(measured: Measured, delay_ms: float | None) -> float | None:
    """Between the client and the server, as measured with that delay."""
    topology = measured.result.topology
    ends = {topology.roles["client"], topology.roles["server"]}
    for trip in topology.round_trips:
        if {trip.source, trip.target} == ends and trip.delay_ms == delay_ms:
            return trip.p50_us / 1_000
    return None


def growth(measured: Measured) -> list[Growth]:
    """Of each entry that was measured with three delays or more, with one client."""
    found = []
    for entry in measured.entries:
        points = [
            (trip, latency)
            for delay in delays(measured)
            if (trip := round_trip_ms(measured, delay)) is not None
            if (latency := measured.spread(entry, Asked(clients=1, delay_ms=delay), "mean"))
        ]
        if len(points) >= 3:
            middle = [(trip, latency.median) for trip, latency in points]
            line = statistics.linear_regression(*zip(*middle, strict=True))
            found.append(Growth(entry, points, line.slope, line.intercept))
    return found
