"""Three hosts: throughput beside the one machine's, and latency by the round trip between hosts."""

from matplotlib.figure import Figure

from bench.report.distance import Growth
from bench.report.figures import whole
from bench.report.measured import CLIENTS, Asked, Measured, requests_per_second
from bench.report.pictures.bars import AROUND, BAR, bars, spreads
from bench.report.pictures.drawing import INK, MEDIANS, from_zero, name_ends, new, ranges


def throughput(local: Measured, split: Measured, delay_ms: float) -> Figure:
    """The same entries and clients on one machine and on three hosts."""
    apart = Asked(delay_ms=delay_ms)
    shown = [entry for entry in split.entries if split.cell(entry, apart)]
    figure = new(
        AROUND + 0.3 + BAR * len(shown), f"One machine and three hosts: throughput, {CLIENTS} clients",
        f"One prediction per request, the hot key, 25 trees, closed loop. {MEDIANS}",
    )  # fmt: skip
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, measured, asked, title in (
        (left, local, Asked(), "all on one machine"),
        (right, split, apart, f"three hosts, {delay_ms:g} ms one way"),
    ):
        bars(axes, spreads(measured, shown, asked, requests_per_second), whole)
        axes.set_title(title, size=9, loc="left", color=INK)
        axes.set_xlabel("requests per second")
    largest = max(
        spread.largest
        for measured, asked in ((local, Asked()), (split, apart))
        for _, spread in spreads(measured, shown, asked, requests_per_second)
        if spread
    )
    left.set_xlim(0, largest * 1.25)
    right.invert_yaxis()
    return figure


def latencies(grown: list[Growth]) -> Figure:
    """Mean latency of one client by the round trip, with the line that explains it."""
    figure = new(
        4.1, "How latency grows with the distance, one client",
        "One prediction per request, the hot key, 25 trees. Medians of the runs' means, fitted lines.",
    )  # fmt: skip
    axes = figure.add_subplot()
    axes.set(
        xlabel="round trip between the client and the server, ms (measured)",
        ylabel="mean latency, ms",
    )
    ends = []
    for growth in grown:
        entry, places = growth.entry, [point.round_trip_ms for point in growth.points]
        found = [point.latency for point in growth.points]
        axes.errorbar(
            places, [spread.median for spread in found], yerr=ranges(found), color=entry.colour,
            marker=entry.marker, linestyle="none", markersize=5, capsize=2.5, elinewidth=1,
        )  # fmt: skip
        far = max(places)
        axes.plot(
            [0, far],
            [growth.at(0), growth.at(far)],
            color=entry.colour,
            linestyle=entry.line,
            linewidth=1.4,
        )
        ends.append((entry, far, growth.at(far)))
    from_zero(axes, "x")
    from_zero(axes, "y")
    name_ends(axes, ends)
    return figure
