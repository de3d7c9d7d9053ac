"""The ratios that the comparison set out to reach, and whether it did, over all full runs of one state.

Each was fixed before the measurement it is held against. It is met or missed where all ratios of all runs
are on one side of it, and within noise where their range holds it.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bench.report.distance import delays
from bench.report.entries import (
    MAIN,
    ONE_THREAD,
    POOLED,
    POSTGRES,
    PREPARED,
    PYTHON,
    SIMPLE,
    TUNED,
    Entry,
)
from bench.report.measured import (
    CLIENTS,
    Asked,
    Measured,
    RunFigure,
    inverse,
    latency,
    requests_per_second,
)
from bench.results import Spread

# With fewer clients the control is mostly the wake-up of an idle core.
FEWEST_OF_CONTROL = 5
MOST_CLIENTS = 100
SPLIT_DELAY_MS = 0.25


@dataclass(frozen=True)
class Goal:
    """One of them. `measured` is None where the results do not say."""

    what: str
    least: float
    measured: Spread | None

    @property
    def verdict(self) -> str:
        """`met`, `missed`, `within noise`, or that there is no figure."""
        if self.measured is None:
            return "not measured"
        if self.measured.smallest < self.least <= self.measured.largest:
            return "within noise"
        return "met" if self.measured.median >= self.least else "missed"


def over_runs(runs: Sequence[list[Goal]]) -> list[Goal]:
    """Each goal over several runs: the median of their medians, and the widest range."""
    found = []
    for same in zip(*runs, strict=True):
        spreads = [goal.measured for goal in same if goal.measured]
        pooled = Spread(
            statistics.median(spread.median for spread in spreads),
            min(spread.smallest for spread in spreads),
            max(spread.largest for spread in spreads),
        ) if spreads else None  # fmt: skip
        found.append(replace(same[0], measured=pooled))
    return found


def faster(
    measured: Measured, above: Entry, below: Entry, asked: Asked, figure: RunFigure
) -> Spread | None:
    """How many times less of a latency the first entry has."""
    return inverse(measured.times(above, below, asked, figure))


def _against(measured: Measured, above: Entry, below: Entry, least: float) -> Iterator[Goal]:
    asked = Asked()
    names = f"{above.label} against {below.label}, {CLIENTS} clients"
    throughput = measured.times(above, below, asked, requests_per_second)
    yield Goal(f"throughput: {names}", least, throughput)
    yield Goal(
        f"mean latency: {names}", least, faster(measured, above, below, asked, latency("mean"))
    )


def _pooled_at_most_clients(measured: Measured) -> Goal:
    what = f"throughput: {POOLED.label}, {MOST_CLIENTS} clients against its best"
    found = {
        clients: cell
        for clients in measured.clients("hot")
        if (cell := measured.cell(POOLED, Asked(clients=clients)))
    }
    if MOST_CLIENTS not in found:
        return Goal(what, 0.75, None)
    best = max(found.values(), key=lambda cell: cell.requests_per_second.median)
    return Goal(what, 0.75, measured.ratio(found[MOST_CLIENTS], best, requests_per_second))


# The requests that a prediction may be held against: the same row's ten columns read and not
# used, as predict reads them; and one column of it. The first is the control of `make speed` too.
CONTROLS = ("columns", "fetch")


def against_control(measured: Measured, control: str) -> dict[tuple[Entry, int], Spread]:
    """What predicting leaves of a control's throughput, by entry and clients."""
    return {
        (entry, clients): found
        for entry in MAIN
        if entry.side == POSTGRES
        for clients in measured.clients("hot")
        if clients >= FEWEST_OF_CONTROL
        and (
            found := measured.times(
                entry, entry, Asked(clients=clients), requests_per_second, Asked(control, clients)
            )
        )
    }


def _control(measured: Measured) -> Goal:
    control = next((name for name in CONTROLS if against_control(measured, name)), CONTROLS[0])
    found = against_control(measured, control)
    what = (
        f"throughput: PostgreSQL against the same query without predict (`{control}`), the lowest"
        f" of {len(found)} cells with {FEWEST_OF_CONTROL} clients or more"
    )
    return Goal(what, 0.92, min(found.values(), key=lambda spread: spread.median, default=None))


def of_local(measured: Measured) -> list[Goal]:
    """What was wanted on one machine."""
    return [
        *_against(measured, SIMPLE, ONE_THREAD, 12),
        *_against(measured, SIMPLE, TUNED, 9),
        *_against(measured, PREPARED, TUNED, 18),
        _pooled_at_most_clients(measured),
        _control(measured),
    ]


def _highest_p99(measured: Measured, below: Entry) -> tuple[str, Spread | None]:
    """p99 with the delay, at the highest rate that both held; of the closed loop where it has one."""
    asked = Asked(delay_ms=SPLIT_DELAY_MS)
    closed = faster(measured, SIMPLE, below, asked, latency("p99"))
    if closed:
        return f"{CLIENTS} clients", closed
    rates = [
        both
        for both in measured.asked(SIMPLE)
        if both.rate and both.delay_ms == SPLIT_DELAY_MS and both.request == "hot"
        if all(measured.held(entry, both) for entry in (SIMPLE, below))
    ]
    if not rates:
        return f"{CLIENTS} clients", None
    chosen = max(rates, key=lambda both: both.rate)
    return f"{chosen.rate:,} requests per second", faster(
        measured, SIMPLE, below, chosen, latency("p99")
    )


def of_split(measured: Measured) -> list[Goal]:
    """What was wanted of three hosts."""
    if SPLIT_DELAY_MS not in delays(measured):
        return []
    asked, goals = Asked(delay_ms=SPLIT_DELAY_MS), []
    # The rival is the service's best entry with that delay, wherever it has its features.
    services = [
        (spread.median, one)
        for one in measured.entries
        if one.side == PYTHON and (spread := measured.spread(one, asked, requests_per_second))
    ]
    best = max(services, key=lambda pair: pair[0])[1] if services else TUNED
    for below, least in ((ONE_THREAD, 12), (best, 9)):
        names = f"{SIMPLE.label} against {below.label}, {SPLIT_DELAY_MS:g} ms one way"
        throughput = measured.times(SIMPLE, below, asked, requests_per_second)
        goals.append(Goal(f"throughput: {names}, {CLIENTS} clients", least, throughput))
        where, p99 = _highest_p99(measured, below)
        goals.append(Goal(f"p99: {names}, {where}", 4, p99))
    return goals
