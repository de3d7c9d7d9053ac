"""Draws the front page's pictures by matplotlib: throughput, tail latency at fixed rates, a request's steps.

Text stays text, and the same figures give the same bytes. Blue is inside PostgreSQL, orange a service; pale
shades are entries outside the main comparison.
"""

import io
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from bench.report import computed
from bench.report.figures import tenths, whole
from bench.report.files import Sources
from bench.report.measured import AS_PUBLISHED, CLIENTS, Entry, Measured, RequestSpec
from bench.results import Spread
from bench.systems.description import GROUPS

COLOURS = dict(
    zip(
        (*GROUPS["postgres"], *GROUPS["service"]),
        ("#0b62a8", "#8fc1e8", "#d9620f", "#f3bd8e"),
        strict=True,
    )
)
STEPS = {"ping": "#c9ced6", "fetch": "#8f98a5", "columns": "#5d6673", "hot": "#1f242b"}
STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "pgboost", "font.family": "sans-serif", "font.size": 9.5,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 11, "axes.titlelocation": "left",
}  # fmt: skip

# Inverts the picture on dark pages and keeps its hues.
DARK = "@media (prefers-color-scheme: dark) {svg {filter: invert(93%) hue-rotate(180deg)}}"


def _entries(measured: Measured, figure: str) -> list[tuple[Entry, Spread]]:
    """Returns entries in ascending order of a figure of the main cell, without programs and AS_PUBLISHED."""
    found = [
        (one, spread)
        for one in measured.entries
        if one != AS_PUBLISHED
        and not one.program
        and (spread := measured.spread(one, RequestSpec(), figure))
    ]
    return sorted(found, key=lambda pair: pair[1].median)


def _behind(axes: Any, text: str, x: float, y: float) -> None:
    axes.annotate(text, (x, y), (5, 0), textcoords="offset points", va="center")


def _bars(
    found: Sequence[tuple[Entry, Spread]], colours: dict[str, str], legend: str, title: str
) -> tuple[Any, Any]:
    """Creates a figure with a bar for each entry, and its axes."""
    figure = Figure((9, 1 + 0.27 * len(found)), layout="constrained")
    axes = figure.subplots()
    axes.set_yticks(range(len(found)), [one.label for one, _ in found])
    axes.tick_params("y", length=0)
    axes.margins(y=0.01)
    boxes = [mpl.patches.Patch(color=colour, label=name) for name, colour in colours.items()]
    axes.legend(handles=boxes, frameon=False, loc=legend)
    axes.set_title(title)
    return figure, axes


def _answer(sources: Sources) -> Figure | None:
    found = _entries(sources.local, "rate")
    groups = {one.group for one, _ in found}
    colours = {group: colour for group, colour in COLOURS.items() if group in groups}
    title = f"Requests per second, one prediction each, {CLIENTS} clients. Medians and ranges."
    figure, axes = _bars(found, colours, "lower right", title)
    for place, (one, spread) in enumerate(found):
        axes.barh(place, spread.median, color=COLOURS[one.group])
        axes.plot([spread.smallest, spread.largest], [place, place], color="#1b1f24", linewidth=1)
        _behind(axes, whole(spread.median), spread.largest, place)
    axes.xaxis.set_major_formatter(lambda value, _: whole(value))
    return figure


def _tail_panel(axes: Any, sources: Sources, rates: computed.FixedRates, name: str) -> None:
    for number, one in enumerate(rates.entries):
        spreads = [
            (rate, sources.local.spread(one, rates.asked(rate), name)) for rate in rates.held(one)
        ]
        points = [(rate, spread.median) for rate, spread in spreads if spread]
        if points:
            axes.plot(
                *zip(*points, strict=True), color=COLOURS[one.group], marker="o", markersize=4
            )
            place = (5, 4 - 11 * (number % 2))
            axes.annotate(one.label, points[-1], place, textcoords="offset points", fontsize=7)
    axes.set(xscale="log", yscale="log", xlabel="requests per second")
    axes.set_xticks(rates.rates, [whole(rate) for rate in rates.rates])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.margins(x=0.3)


def _tail(sources: Sources) -> Figure | None:
    rates = computed.fixed_rates(sources.local)
    if rates is None:
        return None
    figure = Figure((9, 3.8), layout="constrained")
    titles = {"p99": "99 of 100 within, ms", "max": "the slowest, ms"}
    for axes, (name, title) in zip(figure.subplots(1, 2, sharey=True), titles.items(), strict=True):
        _tail_panel(axes, sources, rates, name)
        axes.set_title(title)
    return figure


def _request_time(sources: Sources) -> Figure | None:
    local = sources.local
    stepped = computed.stepped(local)
    found = [(one, spread) for one, spread in _entries(local, "us") if one in stepped][::-1]
    if not found:
        return None
    colours = {computed.STEPS[name]: colour for name, colour in STEPS.items()}
    title = f"Processor time of the servers for a request, µs, {CLIENTS} clients. Medians."
    figure, axes = _bars(found, colours, "upper right", title)
    for place, (one, spread) in enumerate(found):
        begin = 0.0
        for name, step in computed.step_spreads(local, one).items():
            # A step within the noise may be negative, and is drawn as zero.
            axes.barh(place, max(step.median, 0), left=begin, color=STEPS[name])
            begin += max(step.median, 0)
        _behind(axes, tenths(spread.median), begin, place)
    return figure


# The function that draws a picture, or returns None without figures, and the alternative text.
PICTURES: dict[str, tuple[Callable[[Sources], Figure | None], str]] = {
    "answer": (_answer, "requests per second of every entry, sorted"),
    "tail": (_tail, "p99 and largest latency by the rate of requests"),
    "request-time": (_request_time, "the servers' processor time for a request, in steps"),
}


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


def svg(name: str, sources: Sources) -> str | None:
    """Returns the SVG of a picture, or None if the results have no figures for it."""
    return written(lambda: PICTURES[name][0](sources))
