"""Latency at fixed rates, with the tail that a closed loop hides, and who could not keep up."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bench.report.measured import Measured, latency
from bench.report.pictures.drawing import INK, line, logarithmic, new
from bench.report.rates import FixedRates

# Points of the distribution, by their names in a run's latency_ms.
PANELS = {
    "p50": "p50: half are answered within",
    "p99": "p99: 99 of 100",
    "p99_9": "p99.9: 999 of 1,000",
    "max": "the slowest of all",
}
# Where the marks of missed rates begin, and how far apart they are: parts of a panel's height.
HIGHEST, STEP = 0.97, 0.055


def _panel(axes: Axes, measured: Measured, rates: FixedRates, name: str) -> None:
    for entry in rates.entries:
        found = [
            (rate, spread)
            for rate in rates.held(entry)
            if (spread := measured.spread(entry, rates.asked(rate), latency(name)))
        ]
        if found:
            line(axes, entry, [rate for rate, _ in found], [spread for _, spread in found])
    axes.set_title(PANELS[name], size=9, loc="left", color=INK)
    logarithmic(axes, "x", rates.rates)
    axes.tick_params(axis="x", labelrotation=35)
    logarithmic(axes, "y")


def _mark_missed(axes: Axes, rates: FixedRates) -> None:
    """A cross at the upper edge for a rate that was tried and missed."""
    row = 0
    for entry in rates.entries:
        missed = rates.missed(entry)
        axes.plot(
            missed, [HIGHEST - STEP * row] * len(missed), transform=axes.get_xaxis_transform(),
            color=entry.colour, marker="x", markersize=6, markeredgewidth=2, linestyle="none",
        )  # fmt: skip
        row += bool(missed)


def draw(measured: Measured, rates: FixedRates | None) -> Figure | None:
    """A panel for each point of the distribution; None without such runs."""
    if rates is None:
        return None
    figure = new(
        6.6, "Latency at fixed rates: the tail",
        f"The hot key, 25 trees, {rates.of.clients} connections. A latency begins when the request was due.",
    )  # fmt: skip
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for axes, name in zip(panels.flat, PANELS, strict=True):
        _panel(axes, measured, rates, name)
    for axes in panels.flat:
        low, high = axes.get_ylim()
        # Room for the marks above the lines: the axes are shared, so once is enough.
        axes.set_ylim(low, high * 4 if axes is panels.flat[0] else None)
        _mark_missed(axes, rates)
    for axes in panels[-1]:
        axes.set_xlabel("requests per second, as scheduled (log scale)")
    for axes in panels[:, 0]:
        axes.set_ylabel("latency, ms (log scale)")
    named = [
        Line2D(
            [], [], color=entry.colour, marker=entry.marker, linestyle=entry.line, label=entry.label
        )
        for entry in rates.entries
    ]
    cross = Line2D(
        [], [], color=INK, marker="x", linestyle="none", markeredgewidth=2, label="rate not held"
    )
    figure.legend(
        handles=[*named, cross], loc="outside lower center", ncols=3, frameon=False, fontsize=8.5
    )
    return figure
