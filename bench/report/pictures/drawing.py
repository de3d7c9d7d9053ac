"""What pictures are drawn with: SVG whose text is text, and whose colours follow the reader's scheme.

A picture has a ground of its own, which turns dark where the reader's scheme is dark, so that it can be
read on any page. Coordinates have one decimal, so that the same figures give the same bytes on every
processor.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape

WIDTH = 840
STYLE = """
text { font: 13px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1b1f24; }
.title { font-size: 16px; font-weight: 600; }
.small { font-size: 12px; fill: #57606a; }
.ground { fill: #ffffff; } .rule { stroke: #d0d7de; } .range { stroke: #1b1f24; stroke-width: 1.4; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .small { fill: #9aa5b1; }
  .ground { fill: #0d1117; } .rule { stroke: #30363d; } .range { stroke: #e6edf3; }
}"""
DASHES = {"--": "7 3", ":": "2 3"}
SHAPES = {
    "s": ((-4, -4), (4, -4), (4, 4), (-4, 4)), "D": ((-5, 0), (0, -5), (5, 0), (0, 5)),
    "^": ((-5, 4), (0, -5), (5, 4)), "v": ((-5, -4), (0, 5), (5, -4)),
}  # fmt: skip


def number(value: float) -> str:
    """A number at an axis."""
    return f"{value:,.0f}" if value >= 1_000 else f"{value:g}"


def _joined(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def rounded(value: float) -> float:
    """The next 1, 2 or 5 of a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= value)


class Axis:
    """Values as places between two ends, on a linear or a logarithmic scale."""

    def __init__(
        self, values: Sequence[float], ends: tuple[float, float], log: bool = False
    ) -> None:
        self._log, self.ends = log, ends
        low = min(values) / 1.1 if log else 0.0
        self._low, self._high = self._of(low), self._of(max(values))

    def _of(self, value: float) -> float:
        return math.log10(value) if self._log else value

    def at(self, value: float) -> float:
        """Its place."""
        begin, end = self.ends
        return begin + (self._of(value) - self._low) / (self._high - self._low) * (end - begin)

    def ticks(self) -> Iterator[float]:
        """Round values along it, five or so."""
        if not self._log:
            step = rounded(self._high / 6)
            yield from (step * count for count in range(math.floor(self._high / step) + 1))
            return
        steps = (1, 2, 5) if self._high - self._low < 2.3 else (1,)
        for power in range(math.floor(self._low), math.ceil(self._high) + 1):
            found = (step * 10.0**power for step in steps)
            yield from (one for one in found if self._low <= self._of(one) <= self._high)


class Drawing:
    """A picture in the making; `height` grows with what is added, `left` is where its bars begin."""

    def __init__(self, title: str, below: str) -> None:
        self._parts: list[str] = []
        self.height, self.left = 52.0, 0.0
        self.text(12, 24, title, "title")
        self.text(12, 42, below, "small")

    def add(self, tag: str, text: str = "", **attributes: float | str) -> None:
        """An element; numbers with one decimal, `class_` for class."""
        given = "".join(
            f' {name.strip("_").replace("_", "-")}="{value if isinstance(value, str) else f"{value:.1f}"}"'
            for name, value in attributes.items()
        )
        self._parts.append(f"<{tag}{given}>{escape(text)}</{tag}>")

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """Text whose base line begins, ends or is centred there."""
        self.add("text", text, x=x, y=y, text_anchor=anchor, class_=kind)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """A straight line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """A bar."""
        self.add("rect", x=x, y=y, width=width, height=height, fill=colour)

    def mark(self, x: float, y: float, shape: str, colour: str) -> None:
        """A point of a line: a square, a diamond, a triangle, or a circle."""
        if shape in SHAPES:
            corners = ((x + dx, y + dy) for dx, dy in SHAPES[shape])
            self.add("polygon", points=_joined(corners), fill=colour)
        else:
            self.add("circle", cx=x, cy=y, r=4, fill=colour)

    def path(self, points: Iterable[tuple[float, float]], colour: str, line: str = "-") -> None:
        """Points that are joined."""
        look = {"stroke": colour, "stroke_width": 2, "stroke_dasharray": DASHES.get(line, "none")}
        self.add("polyline", points=_joined(points), fill="none", **look)

    def note(self, text: str) -> None:
        """A line of text below what is there."""
        self.text(12, self.height + 12, text, "small")
        self.height += 20

    def legend(self, names: Sequence[tuple[str, str]]) -> None:
        """Coloured boxes with names, in a line."""
        x = 12.0
        for name, colour in names:
            self.box(x, self.height, 11, 11, colour)
            self.text(x + 16, self.height + 10, name)
            x += 40 + 7.2 * len(name)
        self.height += 24

    def svg(self) -> str:
        """The file."""
        size = f'width="{WIDTH}" height="{self.height:.0f}" viewBox="0 0 {WIDTH} {self.height:.0f}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{STYLE}\n</style>\n'
        ground = f'<rect class="ground" width="{WIDTH}" height="{self.height:.0f}" rx="6"/>\n'
        return head + ground + "\n".join(self._parts) + "\n</svg>\n"


def apart(places: Sequence[float], gap: float) -> list[float]:
    """Sorted places, moved as little as keeps neighbours a gap apart: blocks keep their centre."""
    blocks: list[tuple[float, int]] = []
    for place in places:
        centre, count = place, 1
        while blocks and centre - blocks[-1][0] < gap * (count + blocks[-1][1]) / 2:
            before, number = blocks.pop()
            centre = (before * number + centre * count) / (number + count)
            count += number
        blocks.append((centre, count))
    return [
        centre + gap * (index - (count - 1) / 2)
        for centre, count in blocks
        for index in range(count)
    ]
