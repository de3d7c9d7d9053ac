"""How all pictures look, and that the same figures always give the same bytes.

Text is drawn as outlines, in the font that matplotlib brings: a browser's own font would be
wider or narrower, and labels would lie over lines. The background is white, so that a picture can be
read on a dark page as on a light one. Ids come from a fixed salt and the date is left out.
"""

import io
import re
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from bench.report.entries import Entry
from bench.results import Spread

# Inches of 72 units. GitHub's column is a little wider than this.
WIDTH = 8.4
INK, MUTED, RULE = "#222222", "#666666", "#DDDDDD"
SALT = "pgboost"
# Below this ratio of its ends a logarithmic axis has too few powers of ten to be read by them alone.
FEW_DECADES = 200
# What is said under a title of the figures and the bars on them.
MEDIANS = "Medians; thin bars from the smallest to the largest repetition."
# The line from a name to its end of a line.
LEADER = {"arrowstyle": "-", "linewidth": 0.5, "shrinkA": 1, "shrinkB": 4}
STYLE = {
    "svg.fonttype": "path",
    "svg.hashsalt": SALT,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


def new(height: float, title: str, below: str) -> Figure:
    """An empty picture under its title and a line that says what is shown and how."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    figure.get_layout_engine().set(
        w_pad=0.08, h_pad=0.08, rect=(0.005, 0.005, 0.99, 1 - 0.62 / height)
    )
    figure.text(0.012, 1 - 0.12 / height, title, size=12, weight="bold", va="top")
    figure.text(0.012, 1 - 0.37 / height, below, size=8.5, color=MUTED, va="top")
    return figure


def svg(figure: Figure) -> str:
    """The picture's file. Call it within `look`."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return _settled(text.getvalue())


# A coordinate with more digits than can be seen, and an id that matplotlib makes from such.
_LONG = re.compile(r"(?<![\w.])(-?[1-9]\d*)\.(\d{4,})\b")
_ID = re.compile(r'id="([a-z][0-9a-f]{10})"')


def _settled(text: str) -> str:
    """The same picture with coordinates of three decimals and ids by number.

    Processors differ in the last bit of a logarithm, and one such bit would change an id
    everywhere. Lines end without blanks, as in every file of this repository.
    """
    text = _LONG.sub(lambda found: f"{float(found[0]):.3f}", text)
    for number, name in enumerate(dict.fromkeys(_ID.findall(text)), 1):
        text = text.replace(f'"{name}"', f'"{name[0]}{number}"').replace(
            f"#{name}", f"#{name[0]}{number}"
        )
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


def look() -> mpl.rc_context:
    """The style, for as long as a picture is drawn."""
    mpl.rcdefaults()
    return mpl.rc_context(STYLE)


def short(value: float, _: int | None = None) -> str:
    """A number at an axis."""
    if value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.10f}".rstrip("0").rstrip(".") if value else "0"


def from_zero(axes: Axes, along: str = "x") -> None:
    """A linear axis that begins at 0, with light lines across."""
    axes.grid(axis=along)
    axis = getattr(axes, f"{along}axis")
    axis.set_major_formatter(FuncFormatter(short))
    getattr(axes, f"set_{along}lim")(0, None)
    # Too many long numbers would touch each other.
    axes.locator_params(axis=along, nbins=5)


def logarithmic(axes: Axes, along: str, ticks: Sequence[float] | None = None) -> None:
    """A logarithmic axis; with `ticks`, only these are named."""
    getattr(axes, f"set_{along}scale")("log")
    axis = getattr(axes, f"{along}axis")
    axis.set_major_formatter(FuncFormatter(short))
    axis.set_minor_formatter(NullFormatter())
    low, high = getattr(axes, f"get_{along}lim")()
    if high / low < FEW_DECADES:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    if ticks is not None:
        getattr(axes, f"set_{along}ticks")(list(ticks))
        axis.set_minor_locator(NullLocator())
    axes.grid(axis=along)


def line(axes: Axes, entry: Entry, places: Sequence[float], spreads: Sequence[Spread]) -> None:
    """Medians joined by a line, with bars from the smallest to the largest."""
    middle = [spread.median for spread in spreads]
    axes.errorbar(
        places, middle, yerr=ranges(spreads), color=entry.colour, marker=entry.marker,
        linestyle=entry.line, linewidth=1.7, markersize=5, capsize=2.5, elinewidth=1, capthick=1,
    )  # fmt: skip


def ranges(spreads: Sequence[Spread]) -> list[list[float]]:
    """How far the smallest and the largest lie from the median."""
    return [
        [spread.median - spread.smallest for spread in spreads],
        [spread.largest - spread.median for spread in spreads],
    ]


def value_at_end(axes: Axes, place: int, end: float, text: str) -> None:
    """Figures behind a bar, on a ground that lines do not cross."""
    axes.annotate(
        text, (end, place), xytext=(5, 0), textcoords="offset points", va="center", size=8.5, color=INK,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )  # fmt: skip


def name_ends(axes: Axes, ends: Sequence[tuple[Entry, float, float]], size: float = 8.5) -> None:
    """Each line's name at its right end, pushed apart where two would touch.

    To be called when the limits of the axes are final.
    """
    figure = axes.figure
    figure.draw_without_rendering()
    # Points on the page, of the axes' own height.
    height = axes.get_window_extent().height * 72 / figure.dpi
    gap = size * 1.25
    found = []
    for entry, x, y in ends:
        _, place = axes.transAxes.inverted().transform(axes.transData.transform((x, y)))
        found.append((place * height, entry, x, y))
    found.sort(key=lambda one: one[0])
    for own, (_, entry, x, y) in zip(apart([one[0] for one in found], gap), found, strict=True):
        axes.annotate(
            entry.label, xy=(x, y), xycoords="data",
            xytext=(1.03, own / height), textcoords="axes fraction",
            color=entry.ink, size=size, va="center", annotation_clip=False,
            arrowprops=LEADER | {"color": entry.colour},
        )  # fmt: skip


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
