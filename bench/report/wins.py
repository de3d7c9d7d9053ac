"""Where the service wins: every question in which its best entry beats one of PostgreSQL's by some figure.

The service is given the best of all its entries in each place; PostgreSQL's main entries must each stand
against that. Figures of the same runs say much the same, so a question counts once however many of its
figures are lost, and one win within the spread of the repetitions says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.report.entries import MAIN, POSTGRES, PYTHON, Entry
from bench.report.measured import MORE_IS_BETTER, Asked, Measured, held
from bench.results import Spread

# A figure, how it is called and written, and whether it is of closed loops only.
FIGURES = (
    ("rate", "requests per second", "whole", True),
    ("mean", "mean latency, ms", "three", False),
    ("p99", "p99, ms", "three", False),
    ("p99_9", "p99.9, ms", "three", False),
    ("max", "slowest, ms", "three", False),
    ("mb", "memory of the servers, MB", "whole", True),
)


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
        and (spread := measured.spread(one, asked, figure))
        if held(measured.cell(one, asked))
    ]
    return min(found, key=lambda pair: sign * pair[1].median, default=None)


def _wins(measured: Measured, asked: Asked, database: Entry) -> Iterator[Win]:
    if not held(measured.cell(database, asked)):
        best = _best(measured, asked, "rate", database)
        if best:
            ours = measured.spread(database, asked, "rate")
            yield Win(asked, "holds the rate", "whole", best[0], database, best[1], ours, True)
        return
    for figure, what, shown, closed in FIGURES:
        ours, best = (
            measured.spread(database, asked, figure),
            _best(measured, asked, figure, database),
        )
        if not (ours and best) or (closed and asked.rate):
            continue
        service, theirs = best
        more = figure in MORE_IS_BETTER
        if theirs.median != ours.median and (theirs.median > ours.median) == more:
            clear = theirs.smallest > ours.largest if more else theirs.largest < ours.smallest
            yield Win(asked, what, shown, service, database, theirs, ours, clear)


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
