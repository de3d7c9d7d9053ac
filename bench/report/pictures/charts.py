"""The two shapes of all pictures: bars from zero, and lines over a scale."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.report.measured import Entry
from bench.report.pictures.drawing import WIDTH, Axis, Drawing, apart, number, rounded
from bench.results import Spread

# What figures behind bars take; the height of a bar, and of a panel of lines.
VALUES, ROW, PANEL = 190, 23, 220


@dataclass(frozen=True)
class Bar:
    """A bar: its parts by colour, the whole with its range, and what is written behind it."""

    label: str
    parts: Sequence[tuple[str, float]]
    whole: Spread
    text: str


def _wide(labels: Iterable[str]) -> float:
    """What the longest of them takes in a common font."""
    return 6.9 * max(map(len, labels))


def bars(drawing: Drawing, found: Sequence[tuple[str, Bar]]) -> None:
    """Bars in the order given, to one scale; each heading stands above the first of its bars."""
    if not found:
        return
    # Bars below others begin where those do.
    drawing.left = left = max(drawing.left, 24 + _wide(one.label for _, one in found))
    axis = Axis([one.whole.largest for _, one in found], (left, WIDTH - VALUES))
    before = ""
    for heading, one in found:
        if heading != before:
            drawing.text(left, drawing.height + 16, heading, "small")
            drawing.height += 22
            before = heading
        top, middle = drawing.height, drawing.height + ROW / 2
        drawing.text(left - 10, middle + 4.5, one.label, anchor="end")
        begin = 0.0
        for colour, value in one.parts:
            # A part within the noise may come out below nothing; it is drawn as nothing.
            drawing.box(axis.at(begin), top + 3, axis.at(max(value, 0)) - left, ROW - 6, colour)
            begin += max(value, 0)
        low, high = axis.at(one.whole.smallest), axis.at(one.whole.largest)
        if one.whole.smallest < one.whole.largest:
            drawing.line(low, middle, high, middle, "range")
            for place in (low, high):
                drawing.line(place, middle - 4, place, middle + 4, "range")
        drawing.text(max(high, axis.at(begin)) + 8, middle + 4.5, one.text)
        drawing.height += ROW
    drawing.height += 8


@dataclass(frozen=True)
class Line:
    """An entry's spreads along an axis; `drawn` where the line goes, if not through them."""

    entry: Entry
    points: Sequence[tuple[float, Spread]]
    drawn: Sequence[tuple[float, float]] = ()

    @property
    def path(self) -> Sequence[tuple[float, float]]:
        """Where the line goes."""
        return self.drawn or [(x, spread.median) for x, spread in self.points]


@dataclass(frozen=True)
class Panel:
    """Lines over one scale; `along` is what stands below it."""

    title: str
    along: str
    lines: Sequence[Line]
    log: bool = True


def panels(drawing: Drawing, found: Sequence[Panel], columns: int = 1, named: bool = True) -> None:
    """Panels side by side, to one scale; each line's name at its end, or below all of them."""
    every = [line for panel in found for line in panel.lines]
    log = found[0].log
    values = [v for line in every for _, s in line.points for v in (s.smallest, s.largest)]
    if log:
        # So that the highest line across is named.
        values.append(rounded(max(values)))
    places = [x for line in every for x, _ in line.path]
    names = 50 + _wide(line.entry.label for line in every) if named else 0
    width = (WIDTH - 12 - names) / columns
    for index, panel in enumerate(found):
        left = 62 + (index % columns) * width
        top = drawing.height + 26
        across = Axis(places, (left, 12 + width * (index % columns + 1) - 24), log)
        up = Axis(values, (top + PANEL - 60, top), log)
        _frame(drawing, panel, across, up, sorted({x for line in every for x, _ in line.points}))
        for line in panel.lines:
            _line(drawing, line, across, up)
        if named:
            _names(drawing, panel.lines, across, up)
        if index % columns == columns - 1 or index == len(found) - 1:
            drawing.height += PANEL + 14
    if not named:
        looks = [*dict.fromkeys((line.entry.label, line.entry.colour) for line in every)]
        for begin in range(0, len(looks), 3):
            drawing.legend(looks[begin : begin + 3])


def _frame(drawing: Drawing, panel: Panel, across: Axis, up: Axis, ticks: Sequence[float]) -> None:
    left, right = across.ends
    bottom, top = up.ends
    drawing.text(left - 50, top - 12, panel.title, "small")
    for value in up.ticks():
        drawing.line(left, up.at(value), right, up.at(value), "rule")
        drawing.text(left - 8, up.at(value) + 4, number(value), "small", "end")
    last = -100.0
    for value in ticks if panel.log else across.ticks():
        place = across.at(value)
        if place - last > 12 + 7 * len(number(value)):
            drawing.text(place, bottom + 17, number(value), "small", "middle")
            last = place
    drawing.text((left + right) / 2, bottom + 36, panel.along, "small", "middle")


def _line(drawing: Drawing, line: Line, across: Axis, up: Axis) -> None:
    entry = line.entry
    drawing.path([(across.at(x), up.at(y)) for x, y in line.path], entry.colour, entry.line)
    for x, spread in line.points:
        place = across.at(x)
        drawing.line(place, up.at(spread.smallest), place, up.at(spread.largest), "range")
        drawing.mark(place, up.at(spread.median), entry.marker, entry.colour)


def _names(drawing: Drawing, lines: Sequence[Line], across: Axis, up: Axis) -> None:
    """Names at the ends of lines, pushed apart where two would touch."""
    ends = [(up.at(line.path[-1][1]), across.at(line.path[-1][0]), line.entry) for line in lines]
    ends.sort(key=lambda one: one[0])
    right = across.ends[1] + 18
    for y, (end, x, entry) in zip(apart([one[0] for one in ends], 16), ends, strict=True):
        drawing.line(x + 6, end, right, y, "rule")
        drawing.text(right + 5, y + 4.5, entry.label)
