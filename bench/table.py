"""Prints a result as tables, one for each kind of request, without empty columns."""

from bench.report.figures import ranged
from bench.report.measured import spread
from bench.requests import REQUESTS
from bench.results import CellResult, Result
from tools.workbench.console import say, table

# A column's title, the figure's name in bench/report/measured.py, and its format.
FIGURES = (
    ("requests/s", "rate", "whole"), ("mean ms", "mean", "three"), ("p99 ms", "p99", "three"),
    ("server CPU us/request", "us", "tenths"),
    ("generator CPU us/request", "generator us", "tenths"),
    ("server MB", "mb", "whole"),
)  # fmt: skip


def _figure(cell: CellResult, figure: str, way: str) -> str | None:
    known = spread(cell, figure)
    return known and ranged(known, way)


def _line(cell: CellResult) -> dict[str, object]:
    delay = None if cell.delay_ms is None else f"{cell.delay_ms:g}"
    return {
        "system": cell.system, "variant": cell.variant, "trees": cell.trees, "clients": cell.clients,
        "delay ms": delay, "asked/s": cell.rate,
        **{title: _figure(cell, figure, way) for title, figure, way in FIGURES},
    }  # fmt: skip


def show(result: Result) -> None:
    """Prints the tables, and the reasons for empty cells."""
    for request in REQUESTS:
        lines = [_line(cell) for cell in result.cells if cell.request == request]
        if lines:
            titles = [one for one in lines[0] if any(line[one] is not None for line in lines)]
            print(f"\n{request}")
            table(titles, [[line[title] for title in titles] for line in lines])
    for why in dict.fromkeys(cell.skipped for cell in result.cells if cell.skipped):
        say("")
        say(f"empty: {why}")
