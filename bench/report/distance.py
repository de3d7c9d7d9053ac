"""How latency grows with the distance between hosts, and the line that explains it.

One client waits for each answer before it asks again, so that nothing queues: a prediction takes what it
takes with no distance, and a round trip for each time that somebody waits for somebody else. The line's
slope is that number, by least squares over the delays that were set.
"""

from dataclasses import dataclass

from bench.report.entries import Entry
from bench.report.measured import Asked, Measured
from bench.results import Spread


@dataclass(frozen=True)
class Point:
    """What was measured with one delay."""

    delay_ms: float
    round_trip_ms: float
    latency: Spread


@dataclass(frozen=True)
class Growth:
    """An entry's latencies, nearest first, and the line through them."""

    entry: Entry
    points: tuple[Point, ...]
    base_ms: float
    round_trips: float

    def at(self, round_trip_ms: float) -> float:
        """The line's latency."""
        return self.base_ms + self.round_trips * round_trip_ms

    @property
    def furthest(self) -> float:
        """How far the point furthest from the line is above or below it, in milliseconds."""
        return max(abs(self.at(one.round_trip_ms) - one.latency.median) for one in self.points)


def delays(measured: Measured) -> list[float]:
    """The delays that were set, one way, none at all included."""
    return sorted(
        {cell.delay_ms for cell in measured.result.cells if cell.delay_ms is not None and cell.runs}
    )


def round_trip_ms(measured: Measured, delay_ms: float | None) -> float | None:
    """Between the client and the server, as measured with that delay."""
    roles = measured.result.topology.roles
    for trip in measured.result.topology.round_trips:
        between = {trip.source, trip.target}
        if between == {roles["client"], roles["server"]} and trip.delay_ms == delay_ms:
            return trip.p50_us / 1_000
    return None


def _line(points: list[Point]) -> tuple[float, float]:
    """Where it begins, and its slope."""
    across = [point.round_trip_ms for point in points]
    up = [point.latency.median for point in points]
    middle, height = sum(across) / len(across), sum(up) / len(up)
    slope = sum((x - middle) * (y - height) for x, y in zip(across, up, strict=True))
    slope /= sum((x - middle) ** 2 for x in across)
    return height - slope * middle, slope


def growth(measured: Measured, clients: int = 1) -> list[Growth]:
    """Of each entry that was measured with three delays or more."""
    found = []
    for entry in measured.entries:
        points = []
        for delay in delays(measured):
            trip = round_trip_ms(measured, delay)
            spread = measured.spread(entry, Asked(clients=clients, delay_ms=delay), "mean")
            if trip is not None and spread is not None:
                points.append(Point(delay, trip, spread))
        if len(points) >= 3:
            found.append(Growth(entry, tuple(points), *_line(points)))
    return found
