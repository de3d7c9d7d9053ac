"""What predicting leaves of PostgreSQL's throughput: the query with `predict` against the same without it."""

from bench.report.entries import MAIN, POSTGRES, Entry
from bench.report.measured import Asked, Measured
from bench.results import Spread

# With fewer clients the control is mostly the wake-up of an idle core.
FEWEST_CLIENTS = 5
# The same row's ten columns read and not used, as predict reads them; and one column of it.
CONTROLS = ("columns", "fetch")


def against_control(measured: Measured, control: str) -> dict[tuple[Entry, int], Spread]:
    """What is left of a control's throughput, by entry and clients."""
    return {
        (entry, clients): found
        for entry in MAIN
        if entry.side == POSTGRES
        for clients in measured.clients("hot")
        if clients >= FEWEST_CLIENTS
        and (
            found := measured.times(
                entry, entry, Asked(clients=clients), "rate", Asked(control, clients)
            )
        )
    }


def clients(measured: Measured) -> list[int]:
    """With how many clients predictions were held against either control."""
    found = [against_control(measured, name) for name in CONTROLS]
    return sorted({count for ratios in found for _, count in ratios})
