"""How latency grows with the distance between hosts, and the line that explains it.

One client waits for each answer before it asks again, so that nothing queues: a prediction takes what it
takes with no distance, and a round trip for each time that somebody waits for somebody else. The line's
slope is that number, by least squares over the delays that were set.
"""

import statistics
from dataclasses import dataclass

from bench.report.entries import Entry
from bench.report.measured import Asked, Measured
from bench.results import Spread


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
    found = {cell.delay_ms for cell in measured.result.cells if cell.runs}
    return sorted(found - {None})


def round_trip_ms(measured: Measured, delay_ms: float | None) -> float | None:
    """Between the client and the server, as measured with that delay."""
    topology = measured.result.topology
    ends = {topology.roles["client"], topology.roles["server"]}
    for trip in topology.round_trips:
        if {trip.source, trip.target} == ends and trip.delay_ms == delay_ms:
            return trip.p50_us / 1_000
    return None


def growth(measured: Measured, clients: int = 1) -> list[Growth]:
    """Of each entry that was measured with three delays or more."""
    found = []
    for entry in measured.entries:
        points = [
            (trip, latency)
            for delay in delays(measured)
            if (trip := round_trip_ms(measured, delay)) is not None
            if (latency := measured.spread(entry, Asked(clients=clients, delay_ms=delay), "mean"))
        ]
        if len(points) >= 3:
            middle = [(trip, latency.median) for trip, latency in points]
            line = statistics.linear_regression(*zip(*middle, strict=True))
            found.append(Growth(entry, points, line.slope, line.intercept))
    return found
