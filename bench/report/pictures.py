"""Draws the picture of README.md and the results page by matplotlib: requests per second over clients.

Text stays text, and the same figures give the same bytes. Blue is PostgreSQL, orange a service.
"""

import io
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from bench.report import headline
from bench.report.figures import whole
from bench.report.measured import PREPARED, SIMPLE, Entry, Measured, RequestSpec

STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "pgboost", "font.family": "sans-serif", "font.size": 9.5,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 11, "axes.titlelocation": "left",
}  # fmt: skip
# Inverts the picture on dark pages and keeps its hues.
DARK = "@media (prefers-color-scheme: dark) {svg {filter: invert(93%) hue-rotate(180deg)}}"
COLOURS = ("#0b62a8", "#5b9bd5", "#f3bd8e", "#d9620f", "#a8480a", "#5e2703")
RIVALS = {
    "FastAPI": "FastAPI", "best Python, Redis": "best Python service, Redis",
    "Rust, Redis": "Rust service, Redis", "Rust, memory": "Rust service, memory",
}  # fmt: skip
# With fewer numbers of clients there is no curve.
POINTS = 3
# The least distance of two labels, as a part of the axis.
APART = 0.055


def _lines(measured: Measured) -> list[tuple[str, Entry]]:
    """Returns the names and the entries of the lines: two of PostgreSQL's, and the rivals'."""
    them = headline.rivals(measured, RequestSpec())
    own = [("PostgreSQL, prepared", PREPARED), ("PostgreSQL, simple query", SIMPLE)]
    return own + [(text, them[name]) for name, text in RIVALS.items() if name in them]


def _points(measured: Measured, of: Entry) -> list[tuple[int, float, float, float]]:
    """Returns clients, median, smallest and largest of an entry's rates."""
    every = measured.clients("random")
    found = [(n, measured.spread(of, RequestSpec(clients=n), "rate")) for n in every]
    return [(n, one.median, one.smallest, one.largest) for n, one in found if one]


def _label(axes: Any, ends: list[tuple[str, float, str]]) -> None:
    """Writes the names next to the lines' ends, apart from each other."""
    least, most = axes.get_ylim()
    place = float("-inf")
    for name, rate, colour in sorted(ends, key=lambda one: one[1]):
        place = max((rate - least) / (most - least), place + APART)
        axes.text(1.01, place, name, transform=axes.transAxes, va="center", color=colour)


def _clients(local: Measured) -> Figure | None:
    figure = Figure((9, 4), layout="constrained")
    axes, ends, known = figure.subplots(), [], set()
    for (name, of), colour in zip(_lines(local), COLOURS, strict=False):
        points = _points(local, of)
        if len(points) >= POINTS:
            clients, middle, low, high = zip(*points, strict=True)
            axes.plot(clients, middle, color=colour, linewidth=1.6, marker="o", markersize=5)
            axes.fill_between(clients, low, high, color=colour, alpha=0.15, linewidth=0)
            ends.append((name, middle[-1], colour))
            known.update(clients)
    if not ends:
        return None
    axes.set(xscale="log", ylim=(0, None), xlabel="clients, each with one request under way")
    axes.set_xticks(sorted(known), [whole(number) for number in sorted(known)])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: whole(value))
    axes.set_title("Requests per second, one prediction each, for a drawn key. Medians and ranges.")
    _label(axes, ends)
    return figure


def written(draw: Callable[[], Figure | None]) -> str | None:
    """Draws a picture in the common style and returns its SVG."""
    with mpl.rc_context(STYLE):
        figure = draw()
        if figure is None:
            return None
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    text = drawn.getvalue().replace("</style>", f"{DARK}</style>", 1)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def clients(local: Measured) -> str | None:
    """Returns the SVG of requests over clients, or None if the results have too few numbers of clients."""
    return written(lambda: _clients(local))
