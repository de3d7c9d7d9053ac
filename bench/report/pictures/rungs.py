"""The ladder as a picture: a prediction's time by each rung, on a log scale, with the document's."""

from pathlib import Path

from bench.report import rungs
from bench.report.figures import three_digits, whole
from bench.report.pictures.drawing import WIDTH, Axis, Drawing

ROW, VALUES, TICK = 22, 150, 8
INSIDE, POSTGRES, SERVICE, CONTROL = "#117733", "#0072B2", "#D55E00", "#8A8F98"


def microseconds(us: float) -> str:
    """A time with its unit."""
    if us < 1:
        return f"{us * 1e3:.0f} ns"
    return f"{three_digits(us)} µs" if us < 1e3 else f"{three_digits(us / 1e3)} ms"


def drawn(run: Path) -> Drawing:
    """From ten nanoseconds to ten milliseconds."""
    found = rungs.read(run)
    shown = found.shown()
    known = found.sets["titanic"]
    drawing = Drawing(
        "From a row to its prediction: the time by each way, on a log scale",
        f"Titanic, {known['rounds']} trees, depth {known['depth']}, one client, {whole(known['rows'])} rows;"
        " a mark is the document's figure, of another machine.",
    )
    left = 24 + 6.9 * max(len(rung["label"]) for _, rung, _ in shown)
    figures = [spread.median * 1e3 for _, _, spread in shown]
    documents = [rung["document"]["ns"] for _, rung, _ in shown if rung["document"]]
    axis = Axis([min(figures), *figures, *documents], (left, WIDTH - VALUES), log=True)
    top = drawing.height
    for tick in axis.ticks():
        drawing.line(axis.at(tick), top, axis.at(tick), top + ROW * len(shown), "rule")
        drawing.text(
            axis.at(tick), top + ROW * len(shown) + 16, microseconds(tick / 1e3), "small", "middle"
        )
    for _, rung, spread in shown:
        inside = not (rung["command"] or rung["postgres"])
        colour = CONTROL if rung["control"] else INSIDE if inside else SERVICE
        colour = POSTGRES if rung["postgres"] else colour
        middle, end = drawing.height + ROW / 2, axis.at(spread.median * 1e3)
        drawing.text(left - 10, middle + 4.5, rung["label"], anchor="end")
        drawing.box(left, drawing.height + 3, end - left, ROW - 6, colour)
        last = end
        if rung["document"]:
            place = axis.at(rung["document"]["ns"])
            drawing.line(place, middle - TICK, place, middle + TICK, "range")
            last = max(end, place)
        drawing.text(last + 8, middle + 4.5, microseconds(spread.median))
        drawing.height += ROW
    drawing.height += 30
    drawing.legend(
        [("in the caller's process", INSIDE), ("PostgreSQL", POSTGRES), ("a service", SERVICE)]
    )
    return drawing
