"""Services of one model as a picture: requests per second of each kind of request."""

from pathlib import Path

from bench.report import serving
from bench.report.figures import whole
from bench.report.pictures.charts import Bar, bars
from bench.report.pictures.drawing import Drawing

COLOURS = {
    "pg": "#0072B2",
    "http_go": "#117733",
    "http_fastapi": "#882255",
    "http_axum": "#8A8A00",
    "http_flask": "#D55E00",
}


def named(one: dict) -> str:
    """A service with its cores and workers."""
    workers = f", {one['workers']} worker{'s' * (one['workers'] > 1)}" if one["workers"] else ""
    return f"{one['label']}, {one['cores']}{workers}"


def drawn(run: Path) -> Drawing:
    """Bars, the best first."""
    found = serving.read(run)
    drawing = Drawing(
        "Requests per second, 32 clients",
        "One model behind each service; medians, thin lines from the smallest to the largest repetition.",
    )
    for verb, kind in serving.KINDS.items():
        shown = []
        for name, one in found.shown(verb):
            spread = found.spread(name, verb, "rate")
            colour = next(colour for start, colour in COLOURS.items() if name.startswith(start))
            bar = Bar(named(one), [(colour, spread.median)], spread, whole(spread.median))
            shown.append((kind, bar))
        bars(drawing, shown)
    return drawing
