"""What the pages compute of a result: controls, steps of a request, fixed rates, distance, and wins.

- Controls: the query with `predict` against the same without it.
- Steps, each the difference of two requests: `ping` goes there and back, `fetch` also finds the flight,
  `columns` also reads the ten features out of its row, which only PostgreSQL has as a step of its own, and
  `hot` also predicts. Of processor time, which a load generator on the same machine does not blur.
- Rates: an entry holds one when each of its runs answered nearly all that was due; the latencies of one that
  does not are those of a queue that grows.
- Distance: one client waits for each answer, so a prediction takes a round trip for each time that somebody
  waits for somebody else: the slope of the line, by least squares over the delays that were set.
- Wins: every question in which the service's best entry beats one of PostgreSQL's main entries by a figure.
  Figures of the same runs say much the same, so a question counts once; a win within the spread says so.
"""

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from bench.report.measured import (
    AS_PUBLISHED,
    MAIN,
    MORE_IS_BETTER,
    POSTGRES,
    PYTHON,
    TREES,
    Asked,
    Entry,
    Measured,
    held,
    values,
)
from bench.results import Spread

# With fewer clients the control is mostly the wake-up of an idle core.
FEWEST_CLIENTS = 5
# The same row's ten columns read and not used, as predict reads them; and one column of it.
CONTROLS = ("columns", "fetch")
# What each step's time is spent on.
STEPS: Mapping[str, str] = {
    "ping": "there and back",
    "fetch": "finding the flight",
    "columns": "reading its ten columns",
    "hot": "predicting",
}
# What an entry has to have been asked; where it has no step `columns`, that counts to `hot`.
NEEDED = {"ping", "fetch", "hot"}
# A run whose p99 is so many times the median run's is told of in words.
OUTLIER = 10
# A figure of wins, how it is called and written, and whether it is of closed loops only.
FIGURES = (
    ("rate", "requests per second", "whole", True),
    ("mean", "mean latency, ms", "three", False),
    ("p99", "p99, ms", "three", False),
    ("p99_9", "p99.9, ms", "three", False),
    ("max", "slowest, ms", "three", False),
    ("mb", "memory of the servers, MB", "whole", True),
)


def against_control(measured: Measured, control: str) -> dict[tuple[Entry, int], Spread]:
    """What is left of a control's throughput, by entry and clients."""
    return {
        (one, clients): found
        for one in MAIN
        if one.side == POSTGRES
        for clients in measured.clients("hot")
        if clients >= FEWEST_CLIENTS
        if (found := measured.times(one, one, Asked(clients=clients), "rate", Asked(control, clients)))
    }  # fmt: skip


def control_clients(measured: Measured) -> list[int]:
    """With how many clients predictions were held against either control."""
    found = [against_control(measured, name) for name in CONTROLS]
    return sorted({count for ratios in found for _, count in ratios})


def steps(measured: Measured, entry: Entry) -> dict[str, list[float]]:
    """Microseconds of each step in each repetition; none where a needed one was not measured as often."""
    found = {name: cell for name in STEPS if (cell := measured.cell(entry, Asked(name)))}
    if not found.keys() >= NEEDED or len({len(cell.runs) for cell in found.values()}) > 1:
        return {}
    taken, before = {}, [0.0] * len(found["hot"].runs)
    for name, cell in found.items():
        now = values(cell, "us")
        taken[name] = [a - b for a, b in zip(now, before, strict=True)]
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
        """The rates that an entry held; else those that it was asked for and did not hold."""
        cells = {rate: self.measured.cell(entry, self.asked(rate)) for rate in self.rates}
        return [rate for rate, cell in cells.items() if cell and held(cell) == really]

    def outliers(self) -> Iterator[tuple[Entry, int, int, int, float, float]]:
        """Entry, rate, how many such runs of how many, and the worst one's p99 and slowest request."""
        for entry in self.entries:
            for rate in self.held(entry):
                cell = self.measured.cell(entry, self.asked(rate))
                p99 = values(cell, "p99")
                count = sum(one > OUTLIER * sorted(p99)[len(p99) // 2] for one in p99)
                if count:
                    yield entry, rate, count, len(p99), max(p99), max(values(cell, "max"))


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


@dataclass(frozen=True)
class Win:
    """One figure of the service's that is better than one of PostgreSQL's."""

    asked: Asked
    what: str
    shown: str
    service: Entry
    database: Entry
    theirs: Spread
    ours: Spread
    # Whether the two ranges do not touch.
    clear: bool

    @property
    def question(self) -> tuple[Asked, Entry]:
        """What is counted."""
        return self.asked, self.database


def _best(
    measured: Measured, asked: Asked, figure: str, database: Entry
) -> tuple[Entry, Spread] | None:
    """The service's, among those that are asked as PostgreSQL's entry is."""
    sign = -1 if figure in MORE_IS_BETTER else 1
    found = [
        (one, spread)
        for one in measured.entries
        if (one.side, one.program) == (PYTHON, database.program)
        if (spread := measured.spread(one, asked, figure)) and held(measured.cell(one, asked))
    ]
    return min(found, key=lambda pair: sign * pair[1].median, default=None)


def _wins(measured: Measured, asked: Asked, database: Entry) -> Iterator[Win]:
    lost = not held(measured.cell(database, asked))
    known = (("rate", "holds the rate", "whole", False),) if lost else FIGURES
    for figure, what, shown, closed in known:
        best = _best(measured, asked, figure, database)
        ours = measured.spread(database, asked, figure)
        if not (ours and best) or (closed and asked.rate):
            continue
        service, theirs = best
        more = figure in MORE_IS_BETTER
        clear = theirs.smallest > ours.largest if more else theirs.largest < ours.smallest
        if lost or (theirs.median != ours.median and (theirs.median > ours.median) == more):
            yield Win(asked, what, shown, service, database, theirs, ours, lost or clear)


def wins(measured: Measured) -> tuple[list[Win], int]:
    """All of them, and how many questions: what was asked of both, for each entry of PostgreSQL's."""
    ours = [one for one in MAIN if one.side == POSTGRES]
    questions = [
        (asked, database)
        for asked in measured.asked_for(ours, delay_ms=None)
        for database in ours
        if (cell := measured.cell(database, asked))
        # What asks for no prediction is a control.
        and cell.predictions_per_request
        and _best(measured, asked, "rate", database)
    ]
    return [win for question in questions for win in _wins(measured, *question)], len(questions)
