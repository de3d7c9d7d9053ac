"""A request's time in steps, each the difference of two requests that were measured.

`ping` goes there and back, `fetch` also finds the flight, `columns` also reads the ten features out of
its row, which only PostgreSQL has as a step of its own, and `hot` also predicts. What a step takes
is processor time of all server processes, which a load generator on the same machine does
not blur as it does the time on the clock. A difference is taken within each repetition.
"""

from collections.abc import Mapping

from bench.report.entries import MAIN, Entry
from bench.report.measured import CLIENTS, Asked, Measured, server_us
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


def asked(measured: Measured, entry: Entry, clients: int = CLIENTS) -> list[str]:
    """The steps that were measured, equally often; none where one that is needed was not."""
    cells = {request: measured.cell(entry, Asked(request, clients)) for request in PARTS}
    found = [request for request, cell in cells.items() if cell]
    equal = len({len(cells[request].runs) for request in found}) == 1
    return found if equal and {*NEEDED} <= {*found} else []


def shown(measured: Measured) -> list[Entry]:
    """The main entries that have all that is needed."""
    return [entry for entry in MAIN if asked(measured, entry)]


def steps(measured: Measured, entry: Entry, clients: int = CLIENTS) -> dict[str, list[float]]:
    """Microseconds of each step that was measured, in each repetition."""
    found, before = {}, None
    for request in asked(measured, entry, clients):
        now = [server_us(run) for run in measured.cell(entry, Asked(request, clients)).runs]
        found[request] = (
            now if before is None else [a - b for a, b in zip(now, before, strict=True)]
        )
        before = now
    return found


def parts(measured: Measured, entry: Entry, clients: int = CLIENTS) -> dict[str, Spread]:
    """The same, over all repetitions."""
    return {name: Spread.of(values) for name, values in steps(measured, entry, clients).items()}
