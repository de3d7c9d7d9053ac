"""Whether the optimised build wins, and where: pairs of runs against pairs of the same build.

A figure's change is the median of the rounds' ratios of optimised to plain. Its noise is how far apart
control and plain, the same library twice, are within a round, up or down: the second largest of the
rounds, since one of them may be disturbed by something else. A larger change, up or down, is beyond
the noise.
"""

import statistics
from dataclasses import dataclass
from enum import Enum

from bench.results import Spread
from pgo.result import CONTROL, OPTIMISED, PLAIN, Cell, Run

THROUGHPUT = "throughput"
FIGURES = (THROUGHPUT, "mean", "p50", "p99", "max")


class Outcome(Enum):
    """Of one figure of one cell."""

    BETTER = "better"
    WITHIN = ""
    WORSE = "worse"


@dataclass(frozen=True)
class Change:
    """One figure before and after."""

    cell: Cell
    figure: str
    plain: Spread
    optimised: Spread
    # After over before, median of the rounds; and the same of one build twice, above one.
    ratio: float
    noise: float

    @property
    def outcome(self) -> Outcome:
        """Within the noise, or on which side of it."""
        if _apart(self.ratio) <= self.noise:
            return Outcome.WITHIN
        more_is_better = self.figure == THROUGHPUT
        return Outcome.BETTER if (self.ratio > 1) == more_is_better else Outcome.WORSE


def _apart(ratio: float) -> float:
    return max(ratio, 1 / ratio)


def _value(run: Run, figure: str) -> float | None:
    return run.throughput if figure == THROUGHPUT else run.latency_ms.get(figure)


def change(cell: Cell, figure: str) -> Change | None:
    """What became of a figure; None for one that the cell's runs do not have, or not all of them.

    pgbench says 0 where a run was over before its connections were made.
    """
    found = {name: [_value(run, figure) for run in runs] for name, runs in cell.runs.items()}
    if not all(value for values in found.values() for value in values):
        return None

    def ratios(name: str) -> list[float]:
        return [one / other for one, other in zip(found[name], found[PLAIN], strict=True)]

    return Change(
        cell, figure, Spread.of(found[PLAIN]), Spread.of(found[OPTIMISED]),
        statistics.median(ratios(OPTIMISED)), sorted(map(_apart, ratios(CONTROL)))[-2],
    )  # fmt: skip


def changes(cells: list[Cell]) -> list[Change]:
    """All figures of all cells."""
    found = (change(cell, figure) for cell in cells for figure in FIGURES)
    return [one for one in found if one is not None]


@dataclass(frozen=True)
class Verdict:
    """The cells in which more is done a second, and in which less, each beyond the noise."""

    cells: int
    better: list[Change]
    worse: list[Change]
    # Of the cell in which it is largest: a disturbed run decides nothing.
    noise: float

    @property
    def wins(self) -> bool:
        """More in at least half of the cells, and less in none."""
        return not self.worse and 2 * len(self.better) >= self.cells


def verdict(cells: list[Cell]) -> Verdict:
    """By throughput: mean and percentiles follow it, and the tail of short runs is chance."""
    found = [one for one in changes(cells) if one.figure == THROUGHPUT]

    def with_outcome(outcome: Outcome) -> list[Change]:
        return [one for one in found if one.outcome is outcome]

    return Verdict(
        len(cells),
        with_outcome(Outcome.BETTER),
        with_outcome(Outcome.WORSE),
        max(one.noise for one in found),
    )
