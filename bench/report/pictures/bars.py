"""Bars from zero: the answer, every entry, predictions in batches, memory."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.key_set import PER_BATCH
from bench.report.entries import AS_PUBLISHED, MAIN, Entry
from bench.report.figures import three_digits, whole
from bench.report.measured import (
    CLIENTS,
    Asked,
    Measured,
    RunFigure,
    latency,
    predictions_per_second,
    requests_per_second,
    server_megabytes,
)
from bench.report.pictures.drawing import INK, MEDIANS, from_zero, new, ranges, value_at_end
from bench.results import Spread

# An inch for each bar, and for what is around them.
BAR, AROUND = 0.27, 1.35
# The parts of a server, in the order in which they are stacked, with colours told apart in grey too.
PARTS = {
    "postgres": ("PostgreSQL", "#0072B2"),
    "pgbouncer": ("PgBouncer", "#56B4E9"),
    "gunicorn": ("Gunicorn and its workers", "#D55E00"),
    "redis": ("Redis", "#F0C27B"),
    "server": ("not told apart", "#999999"),
}


def _name_bars(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()


def bars(
    axes: Axes,
    shown: Sequence[tuple[Entry, Spread | None]],
    written: Callable[[float], str],
) -> None:
    """A bar for each entry, with its range, and its median in figures behind it."""
    for place, (entry, spread) in enumerate(shown):
        if spread is None:
            value_at_end(axes, place, 0, "not measured")
            continue
        axes.barh(
            place, spread.median, height=0.66, color=entry.colour,
            xerr=ranges([spread]), error_kw={"elinewidth": 1, "capsize": 2.5, "ecolor": INK},
        )  # fmt: skip
        value_at_end(axes, place, spread.largest, written(spread.median))
    from_zero(axes)
    axes.set_xlim(0, axes.get_xlim()[1] * 1.16)
    _name_bars(axes, [entry.label for entry, _ in shown])


def spreads(
    measured: Measured, shown: Sequence[Entry], asked: Asked, figure: RunFigure
) -> list[tuple[Entry, Spread | None]]:
    return [(entry, measured.spread(entry, asked, figure)) for entry in shown]


def answer(measured: Measured) -> Figure:
    """Throughput and mean latency of the entries that are compared."""
    shown = [entry for entry in MAIN if measured.cell(entry, Asked())]
    figure = new(
        AROUND + BAR * len(shown), f"One prediction per request, {CLIENTS} clients",
        f"The hot key, 25 trees, closed loop. {MEDIANS}",
    )  # fmt: skip
    left, right = figure.subplots(1, 2, sharey=True)
    bars(left, spreads(measured, shown, Asked(), requests_per_second), whole)
    left.set_xlabel("requests per second (more is better)")
    bars(right, spreads(measured, shown, Asked(), latency("mean")), three_digits)
    right.set_xlabel("mean latency, ms (less is better)")
    # The axis is shared: naming the bars twice would turn it twice.
    right.invert_yaxis()
    return figure


def entries(measured: Measured) -> Figure:
    """Throughput of every entry there is."""
    shown = [entry for entry in measured.entries if entry != AS_PUBLISHED]
    shown = [entry for entry in shown if measured.cell(entry, Asked())]
    figure = new(
        AROUND + BAR * len(shown), f"Every entry: one prediction per request, {CLIENTS} clients",
        f"The hot key, 25 trees, closed loop. {MEDIANS}",
    )  # fmt: skip
    axes = figure.add_subplot()
    bars(axes, spreads(measured, shown, Asked(), requests_per_second), whole)
    axes.set_xlabel("requests per second")
    return figure


def batches(measured: Measured) -> Figure | None:
    """Predictions a second, asked for singly and by the hundred."""
    clients = measured.batch_clients()
    if clients is None:
        return None
    asked = Asked("batch", clients)
    shown = [entry for entry in measured.entries if entry != AS_PUBLISHED]
    shown = [entry for entry in shown if measured.cell(entry, asked)]
    figure = new(
        AROUND + BAR * len(shown), f"A hundred predictions per request, {clients} clients",
        f"Ten sets of keys in turn, 25 trees, closed loop. {MEDIANS}",
    )  # fmt: skip
    axes = figure.add_subplot()
    bars(axes, spreads(measured, shown, asked, predictions_per_second(PER_BATCH)), whole)
    axes.set_xlabel("predictions per second")
    return figure


def memory(measured: Measured) -> Figure:
    """What all server processes hold, by part."""
    shown = [entry for entry in measured.entries if entry != AS_PUBLISHED]
    shown = [entry for entry in shown if measured.spread(entry, Asked(), server_megabytes)]
    figure = new(
        AROUND + 0.3 + BAR * len(shown), f"Memory of the servers, {CLIENTS} clients",
        "Proportional set size of all server processes, the largest sum in a run; the hot key, 25 trees.",
    )  # fmt: skip
    axes = figure.add_subplot()
    drawn: dict[str, None] = {}
    for place, entry in enumerate(shown):
        begin = 0.0
        for name, spread in measured.parts(entry, Asked()).items():
            label, colour = PARTS.get(name, (name, PARTS["server"][1]))
            axes.barh(
                place, spread.median, left=begin, height=0.66, color=colour, edgecolor="white", linewidth=0.8,
                label=None if label in drawn else label,
            )  # fmt: skip
            drawn[label] = None
            begin += spread.median
        whole_server = measured.needed(entry, Asked(), server_megabytes)
        value_at_end(axes, place, begin, whole(whole_server.median))
    from_zero(axes)
    axes.set_xlim(0, axes.get_xlim()[1] * 1.12)
    axes.set_xlabel("MB")
    _name_bars(axes, [entry.label for entry in shown])
    figure.legend(loc="outside lower center", ncols=len(drawn), frameon=False, fontsize=8.5)
    return figure
