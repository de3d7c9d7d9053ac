"""The runs at fixed rates: which rates, who held them, and who did not.

An entry holds a rate when each of its runs answered nearly all that the schedule asked for; the
latencies of one that does not are those of a queue that grows, and are not shown as if they were any.
"""

from collections import Counter
from dataclasses import dataclass, replace

from bench.report.entries import Entry
from bench.report.measured import TREES, Asked, Measured


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

    def held(self, entry: Entry) -> list[int]:
        """The rates that an entry held."""
        return [rate for rate in self.rates if self.measured.held(entry, self.asked(rate))]

    def missed(self, entry: Entry) -> list[int]:
        """The rates that an entry was asked for and did not hold."""
        return [rate for rate in self.rates if self.measured.held(entry, self.asked(rate)) is False]


def fixed_rates(measured: Measured) -> FixedRates | None:
    """The runs at fixed rates for the hot key; None where there are none."""
    found = [
        asked
        for entry in measured.entries
        for asked in measured.asked(entry)
        if asked.rate is not None and asked.request == "hot" and asked.trees == TREES
    ]
    if not found:
        return None
    # One number of connections at a time makes a comparison: the one most often asked.
    (of, _), *_ = Counter(replace(asked, rate=None) for asked in found).most_common(1)
    rates = sorted({asked.rate for asked in found if replace(asked, rate=None) == of})
    entries = [
        entry
        for entry in measured.entries
        if any(replace(asked, rate=None) == of and asked.rate for asked in measured.asked(entry))
    ]
    return FixedRates(measured, of, tuple(rates), tuple(entries))
