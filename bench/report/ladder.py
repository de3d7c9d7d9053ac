"""A request's time in steps, each the difference of two requests that were measured.

`ping` goes there and back, `fetch` also finds the flight, `columns` also reads the ten features out of its
row, which only PostgreSQL has as a step of its own, and `hot` also predicts. What a step takes is processor
time of all server processes, which a load generator on the same machine does not blur as it does the time
on the clock.
"""

from collections.abc import Mapping

from bench.report.entries import AS_PUBLISHED, Entry
from bench.report.measured import Asked, Measured, values
from bench.results import Spread

# What each step's time is spent on.
PARTS: Mapping[str, str] = {
    "ping": "there and back",
    "fetch": "finding the flight",
    "columns": "reading its ten columns",
    "hot": "predicting",
}
# What an entry has to have been asked; where it has no step `columns`, that counts to `hot`.
NEEDED = ("ping", "fetch", "hot")


def steps(measured: Measured, entry: Entry) -> dict[str, list[float]]:
    """Microseconds of each step in each repetition; none where a needed one was not measured as often."""
    found = {name: cell for name in PARTS if (cell := measured.cell(entry, Asked(name)))}
    if not {*NEEDED} <= found.keys() or len({len(cell.runs) for cell in found.values()}) > 1:
        return {}
    steps_, before = {}, None
    for name, cell in found.items():
        now = values(cell, "us")
        steps_[name] = now if before is None else [a - b for a, b in zip(now, before, strict=True)]
        before = now
    return steps_


def parts(measured: Measured, entry: Entry) -> dict[str, Spread]:
    """The same, over all repetitions."""
    return {name: Spread.of(found) for name, found in steps(measured, entry).items()}


def shown(measured: Measured) -> list[Entry]:
    """The entries that have all that is needed; the service of 2022 as it was is for the record."""
    return [one for one in measured.entries if one != AS_PUBLISHED and steps(measured, one)]
