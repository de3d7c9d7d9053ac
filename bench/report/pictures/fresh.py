"""Latency over time while features are replaced, with the ends of collections and vacuums marked."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.report import fresh
from bench.report.figures import three_digits, whole
from bench.report.pictures.drawing import WIDTH, Axis, Drawing

ROW, GAP, COLUMNS = 74, 34, 2
LINE, EVENT = "#0072B2", "#D55E00"
# What the lines may be: a tenth of a millisecond to ten seconds would hide what differs.
LEAST_MS = 0.1


def _panel(
    drawing: Drawing, one: Mapping[str, Any], label: str, ends: tuple[float, float], up: Axis
) -> None:
    left, right = ends
    bottom, top = up.ends
    longest = three_digits(one["latency_ms"]["max"])
    drawing.text(left, top - 6, f"{label}: longest {longest} ms")
    for value in up.ticks():
        drawing.line(left, up.at(value), right, up.at(value), "rule")
        drawing.text(left - 5, up.at(value) + 4, f"{value:g}", "small", "end")
    times = one["timeline"]
    step = (right - left) / len(times)
    seconds = len(times) * 0.1
    for at in one["events"]:
        drawing.box(left + at / seconds * (right - left), bottom - 6, 1.5, 12, EVENT)
    path = [(left + (i + 0.5) * step, up.at(max(ms, LEAST_MS))) for i, ms in enumerate(times)]
    drawing.path(path, LINE)


def drawn(run: Path) -> Drawing:
    """A panel for each store, with the most updates."""
    found = fresh.read(run)
    live, updates = found.pictured
    stores = found.run["stores"].items()
    shown = [(label, one) for name, label in stores if (one := found.one(name, live, updates))]
    drawing = Drawing(
        f"The slowest prediction of each tenth of a second, ms, with {whole(updates)} updates a second",
        f"{whole(live)} rows held, {whole(found.run['load']['rate'])} predictions a second;"
        " marks: collections and vacuums that ended.",
    )
    every = [ms for _, one in shown for ms in one["timeline"]]
    width = WIDTH / COLUMNS
    for number, (label, one) in enumerate(shown):
        column = number % COLUMNS
        left, right = column * width + 48, (column + 1) * width - 14
        top = drawing.height + 26
        up = Axis([LEAST_MS * 1.1, max(1.0, *every)], (top + ROW, top), log=True)
        _panel(drawing, one, label, (left, right), up)
        if column == COLUMNS - 1 or number == len(shown) - 1:
            drawing.height += ROW + GAP
    drawing.height += 10
    return drawing
