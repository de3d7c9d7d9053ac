"""Where the microservice wins: every figure in which its best entry beats one of PostgreSQL's.

The service is given the best of all its entries in each place, however it keeps its features; PostgreSQL's
main entries must each stand against that. Nothing is left out for being small: a win
within the spread of the repetitions says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.report.entries import MAIN, POSTGRES, PYTHON, Entry
from bench.report.figures import Written, three_digits, whole
from bench.report.measured import (
    Asked,
    Measured,
    RunFigure,
    latency,
    requests_per_second,
    server_megabytes,
)
from bench.results import Spread


@dataclass(frozen=True)
class Contest:
    """A figure that both sides have."""

    what: str
    figure: RunFigure
    more_is_better: bool
    written: Written
    # Only of closed loops or only of fixed rates; None: of both.
    at_a_rate: bool | None = None


CONTESTS = (
    Contest("requests per second", requests_per_second, True, whole, at_a_rate=False),
    Contest("mean latency, ms", latency("mean"), False, three_digits),
    Contest("p99, ms", latency("p99"), False, three_digits),
    Contest("p99.9, ms", latency("p99_9"), False, three_digits),
    Contest("slowest, ms", latency("max"), False, three_digits),
    Contest("memory of the servers, MB", server_megabytes, False, whole, at_a_rate=False),
)


@dataclass(frozen=True)
class Win:
    """One figure of the service's that is better than one of PostgreSQL's."""

    contest: Contest
    asked: Asked
    service: Entry
    database: Entry
    service_figure: Spread
    database_figure: Spread

    @property
    def clear(self) -> bool:
        """Whether the two ranges do not touch."""
        ours, theirs = self.database_figure, self.service_figure
        if self.contest.more_is_better:
            return theirs.smallest > ours.largest
        return theirs.largest < ours.smallest


def _contests(asked: Asked) -> Iterator[Contest]:
    for contest in CONTESTS:
        if contest.at_a_rate is None or contest.at_a_rate == (asked.rate is not None):
            yield contest


def _best(measured: Measured, asked: Asked, contest: Contest) -> tuple[Entry, Spread] | None:
    found = [
        (entry, spread)
        for entry in measured.entries
        if entry.side == PYTHON and measured.held(entry, asked)
        if (spread := measured.spread(entry, asked, contest.figure))
    ]
    sign = -1 if contest.more_is_better else 1
    return min(found, key=lambda one: sign * one[1].median, default=None)


CONTROLS = ("ping", "fetch", "columns")


def _predictions(measured: Measured, ours: list[Entry]) -> list[Asked]:
    """All that asks for predictions; the controls are no contest."""
    asked = measured.asked_for(ours, delay_ms=None)
    return [one for one in asked if one.request not in CONTROLS]


HOLDS = Contest("holds the rate", requests_per_second, True, whole)


def _rates_held(measured: Measured, ours: list[Entry]) -> Iterator[Win]:
    """The rates that one of PostgreSQL's entries missed and one of the service's held."""
    for asked in _predictions(measured, ours):
        best = _best(measured, asked, HOLDS) if asked.rate is not None else None
        for database in ours:
            own = measured.spread(database, asked, requests_per_second)
            if best and own and not measured.held(database, asked):
                yield Win(HOLDS, asked, best[0], database, best[1], own)


def wins(measured: Measured) -> tuple[list[Win], int]:
    """All of them, and how many comparisons there were."""
    ours = [entry for entry in MAIN if entry.side == POSTGRES]
    found, compared = [], 0
    for asked in _predictions(measured, ours):
        for contest in _contests(asked):
            best = _best(measured, asked, contest)
            for database in ours:
                own = measured.spread(database, asked, contest.figure)
                if not (best and own and measured.held(database, asked)):
                    continue
                compared += 1
                service, theirs = best
                if (
                    theirs.median > own.median
                ) == contest.more_is_better and theirs.median != own.median:
                    found.append(Win(contest, asked, service, database, theirs, own))
    return [*found, *_rates_held(measured, ours)], compared
