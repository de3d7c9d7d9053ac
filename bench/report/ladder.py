"""A request's time in three steps, each the difference of two requests that were measured.

`ping` goes there and back, `fetch` also finds the flight, `hot` also predicts. What a step
takes is processor time of all server processes, which a load generator on the same machine
does not blur as it does the time on the clock. A difference is taken within each repetition.
"""

from collections.abc import Mapping

from bench.report.entries import MAIN, Entry
from bench.report.measured import CLIENTS, Asked, Measured, server_us
from bench.results import Spread

# What each step's time is spent on.
PARTS: Mapping[str, str] = {
    "ping": "there and back",
    "fetch": "finding the features",
    "hot": "predicting",
}


def asked(measured: Measured, entry: Entry, clients: int = CLIENTS) -> bool:
    """Whether all three were measured, equally often."""
    cells = [measured.cell(entry, Asked(request, clients)) for request in PARTS]
    return all(cells) and len({len(cell.runs) for cell in cells}) == 1


def shown(measured: Measured) -> list[Entry]:
    """The main entries that have all three."""
    return [entry for entry in MAIN if asked(measured, entry)]


def parts(measured: Measured, entry: Entry, clients: int = CLIENTS) -> dict[str, Spread]:
    """Microseconds of each step; `asked` must be so."""
    found, before = {}, None
    for request in PARTS:
        runs = measured.cell(entry, Asked(request, clients)).runs
        now = [server_us(run) for run in runs]
        steps = now if before is None else [a - b for a, b in zip(now, before, strict=True)]
        found[request] = Spread.of(steps)
        before = now
    return found
