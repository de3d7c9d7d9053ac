"""Three hosts: what each entry does with each delay, and the lines through its latencies."""

from dataclasses import replace

from bench.report import distance as distances
from bench.report.entries import Entry
from bench.report.figures import NOTHING, median, ranged, three_digits, whole
from bench.report.markdown import table
from bench.report.measured import (
    CLIENTS,
    Asked,
    Measured,
    latency,
    network_busy,
    requests_per_second,
)

# The same with less to do: what finding the flight, and the way there and back, allow.
ALONE = ("fetch", "ping")


def _line(measured: Measured, entry: Entry, delay: float | None) -> list[str]:
    """What one entry does with one delay."""
    one, many = Asked(clients=1, delay_ms=delay), Asked(delay_ms=delay)
    rates = [
        measured.spread(entry, replace(many, request=request), requests_per_second)
        for request in ("hot", *ALONE)
    ]
    trip = distances.round_trip_ms(measured, delay)
    return [
        "as it is" if delay is None else f"{delay:g}",
        NOTHING if trip is None else three_digits(trip),
        entry.label,
        *(ranged(measured.spread(entry, asked, latency("mean")), three_digits) for asked in (one, many)),
        *(ranged(rate, whole) for rate in rates),
        median(measured.spread(entry, many, network_busy), "{:.2f}".format),
    ]  # fmt: skip


def distance(measured: Measured) -> str:
    """What each entry does with each delay, its no-op controls beside it; columns of nothing are left out."""
    header = (
        "ms one way", "round trip, ms", "", "ms, 1 client", f"ms, {CLIENTS} clients",
        f"requests/s, {CLIENTS} clients", *(f"{name} alone" for name in ALONE), "cores of the delay line",
    )  # fmt: skip
    rows = [
        _line(measured, entry, delay)
        for delay in (None, *distances.delays(measured))
        for entry in measured.entries
        if measured.cell(entry, Asked(delay_ms=delay))
    ]
    kept = [place for place in range(len(header)) if any(row[place] != NOTHING for row in rows)]
    rows = [[row[place] for place in kept] for row in rows]
    return table([header[place] for place in kept], rows, text_columns=3)


def growth(measured: Measured) -> str:
    """The line that explains the latencies: what a prediction takes, and its round trips."""
    found = distances.growth(measured)
    rows = [
        (
            one.entry.label, three_digits(one.base_ms), f"{one.round_trips:.2f}",
            three_digits(one.furthest),
        )
        for one in found
    ]  # fmt: skip
    header = (
        "",
        "ms without distance",
        "round trips a prediction",
        "furthest point from the line, ms",
    )
    return table(header, rows)
