"""The runs at fixed rates: which rates, who held them, who did not, and runs that a median hides.

An entry holds a rate when each of its runs answered nearly all that the schedule asked for; the latencies
of one that does not are those of a queue that grows, and are not shown as if they were any.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from bench.report.entries import Entry
from bench.report.measured import TREES, Asked, Measured, held, values

# A run whose p99 is so many times the median run's is told of in words.
OUTLIER = 10


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
    asked = measured.asked_for(measured.entries, request="hot", trees=TREES)
    found = [one for one in asked if one.rate is not None]
    if not found:
        return None
    # One number of connections at a time makes a comparison: the one most often asked.
    (of, _), *_ = Counter(replace(one, rate=None) for one in found).most_common(1)
    rates = sorted({one.rate for one in found if replace(one, rate=None) == of})
    entries = [
        one
        for one in measured.entries
        if any(measured.cell(one, replace(of, rate=rate)) for rate in rates)
    ]
    return FixedRates(measured, of, tuple(rates), tuple(entries))
