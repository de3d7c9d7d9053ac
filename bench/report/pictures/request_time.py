"""Where the servers' time for a request goes: there and back, the row, its columns, the prediction.

Each part is the difference of two requests, of which the second does what the first does
and one thing more. Both sides are drawn to one scale, and below that PostgreSQL's alone.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.report.entries import POSTGRES, Entry
from bench.report.figures import added, tenths
from bench.report.ladder import PARTS, parts
from bench.report.measured import CLIENTS, Measured
from bench.report.pictures.bars import AROUND, BAR
from bench.report.pictures.drawing import INK, from_zero, new, value_at_end

COLOURS = {"ping": "#BBBBBB", "fetch": "#56B4E9", "columns": "#F0E442", "hot": "#D55E00"}


def _stacked(axes: Axes, measured: Measured, shown: Sequence[Entry]) -> None:
    for place, entry in enumerate(shown):
        found = parts(measured, entry)
        begin = 0.0
        for name, spread in found.items():
            # A part within the noise may come out below nothing; it is drawn as nothing.
            long = max(spread.median, 0.0)
            axes.barh(
                place, long, left=begin, height=0.66, color=COLOURS[name], edgecolor="white", linewidth=0.8,
                label=PARTS[name],
            )  # fmt: skip
            begin += long
        text = added([spread.median for spread in found.values()], tenths)
        value_at_end(axes, place, begin, text)
    from_zero(axes)
    axes.set_xlim(0, axes.get_xlim()[1] * 1.28)
    axes.set_yticks(range(len(shown)), [entry.label for entry in shown])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()


def draw(measured: Measured, shown: Sequence[Entry]) -> Figure | None:
    """The entries that were asked for all three; None where there are none."""
    if not shown:
        return None
    own = [entry for entry in shown if entry.side == POSTGRES]
    heights = [len(shown) + 1.5, *([len(own) + 1.5] if own else [])]
    figure = new(
        AROUND + 0.3 + BAR * sum(heights), "Where the time of a request goes",
        f"Processor time of all server processes, {CLIENTS} clients, the hot key, 25 trees. Medians.",
    )  # fmt: skip
    panels = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    _stacked(panels[0], measured, shown)
    if own:
        _stacked(panels[1], measured, own)
        panels[1].set_title("PostgreSQL's alone, drawn larger", size=9, loc="left", color=INK)
    panels[-1].set_xlabel("µs of processor time per request")
    found = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
    named = {name: found[name] for name in PARTS.values() if name in found}
    figure.legend(
        named.values(),
        named.keys(),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=8.5,
    )
    return figure
