"""A line an entry, a column for each thing that was asked: what most tables are."""

from collections.abc import Callable, Sequence

from bench.report.entries import Entry
from bench.report.figures import Written, ranged
from bench.report.markdown import table
from bench.report.measured import Asked, Measured, RunFigure

# After a figure of a cell in which a server did not have all of its cores in some run.
STARVED = " †"


def by(
    measured: Measured,
    shown: Sequence[Entry],
    columns: Sequence[tuple[str, Asked]],
    cell: Callable[[Entry, Asked], str],
) -> str:
    """A line an entry, a column for each thing asked; entries without any figure are left out."""
    rows = [
        (entry.label, *(cell(entry, asked) for _, asked in columns))
        for entry in shown
        if any(measured.cell(entry, asked) for _, asked in columns)
    ]
    return table(("", *(name for name, _ in columns)), rows)


def client_columns(measured: Measured, request: str = "hot") -> list[tuple[str, Asked]]:
    """A column for each number of clients that a request was asked by in a closed loop."""
    return [
        (f"{clients} client{'s' if clients > 1 else ''}", Asked(request, clients))
        for clients in measured.clients(request)
    ]


def ranges_of(
    measured: Measured, figure: RunFigure, written: Written
) -> Callable[[Entry, Asked], str]:
    """What fills a cell: the figure's median with its smallest and largest."""

    def cell(entry: Entry, asked: Asked) -> str:
        found = measured.cell(entry, asked)
        text = ranged(measured.spread(entry, asked, figure), written)
        return text + STARVED if found and found.starved else text

    return cell
