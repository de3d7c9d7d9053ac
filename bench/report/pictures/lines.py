"""Throughput and latency by the number of clients, and throughput by the size of the model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.report.entries import AS_PUBLISHED, MAIN, Entry
from bench.report.measured import TREES, Asked, Measured, RunFigure, latency, requests_per_second
from bench.report.pictures.drawing import MEDIANS, line, logarithmic, name_ends, new

SHOWN = (*MAIN, AS_PUBLISHED)
HEIGHT = 4.1
CONDITIONS = "One prediction per request, the hot key, closed loop"


@dataclass(frozen=True)
class _Lines:
    """What is drawn: of whom, where along, and which figure of what was asked there."""

    shown: Sequence[Entry]
    places: Sequence[int]
    asked: Callable[[int], Asked]
    figure: RunFigure

    def draw(self, axes: Axes, measured: Measured) -> None:
        """A line for each entry that has figures at any of the places; then the names."""
        ends = []
        for entry in self.shown:
            found = [
                (place, spread)
                for place in self.places
                if (spread := measured.spread(entry, self.asked(place), self.figure))
            ]
            if found:
                line(axes, entry, [place for place, _ in found], [spread for _, spread in found])
                ends.append((entry, found[-1][0], found[-1][1].median))
        logarithmic(axes, "x", self.places)
        logarithmic(axes, "y")
        name_ends(axes, ends)


def throughput(measured: Measured) -> Figure:
    """Requests a second by clients."""
    figure = new(HEIGHT, "Throughput by clients", f"{CONDITIONS}, 25 trees. {MEDIANS}")
    axes = figure.add_subplot()
    axes.set(xlabel="clients (log scale)", ylabel="requests per second (log scale)")
    places = measured.clients("hot")
    _Lines(SHOWN, places, lambda n: Asked(clients=n), requests_per_second).draw(axes, measured)
    return figure


def latencies(measured: Measured) -> Figure:
    """Mean latency by clients."""
    figure = new(HEIGHT, "Mean latency by clients", f"{CONDITIONS}, 25 trees. {MEDIANS}")
    axes = figure.add_subplot()
    axes.set(xlabel="clients (log scale)", ylabel="mean latency, ms (log scale)")
    places = measured.clients("hot")
    _Lines(SHOWN, places, lambda n: Asked(clients=n), latency("mean")).draw(axes, measured)
    return figure


def trees(measured: Measured) -> Figure | None:
    """Requests a second by the model's number of trees, where there is more than one model."""
    found = measured.further_models()
    if not found:
        return None
    clients, sizes = found
    title = f"Larger models: throughput by trees, {clients} clients"
    figure = new(HEIGHT, title, f"{CONDITIONS}. {MEDIANS}")
    axes = figure.add_subplot()
    axes.set(xlabel="trees of depth 6 (log scale)", ylabel="requests per second (log scale)")
    asked = [Asked(clients=clients, trees=size) for size in sizes]
    shown = [entry for entry in measured.entries if any(measured.cell(entry, one) for one in asked)]
    places = sorted({TREES, *sizes})
    drawn = _Lines(shown, places, lambda n: Asked(clients=clients, trees=n), requests_per_second)
    drawn.draw(axes, measured)
    return figure
