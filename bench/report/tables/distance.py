"""Three hosts: what each entry does with each delay, and the lines through its latencies."""

from dataclasses import replace

from bench.report import distance as distances
from bench.report.entries import MAIN
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


def distance(measured: Measured) -> str:
    """What each entry does with each delay, its no-op control beside it."""
    rows = []
    for delay in distances.delays(measured):
        trip = distances.round_trip_ms(measured, delay)
        for entry in MAIN:
            one, many = Asked(clients=1, delay_ms=delay), Asked(delay_ms=delay)
            if not measured.cell(entry, many):
                continue
            figures = [
                ranged(measured.spread(entry, one, latency("mean")), three_digits),
                ranged(measured.spread(entry, many, latency("mean")), three_digits),
                ranged(measured.spread(entry, many, requests_per_second), whole),
                *(
                    ranged(
                        measured.spread(entry, replace(many, request=request), requests_per_second),
                        whole,
                    )
                    for request in ("fetch", "ping")
                ),
                median(measured.spread(entry, many, network_busy), lambda value: f"{value:.2f}"),
            ]
            rows.append(
                (
                    f"{delay:g}",
                    NOTHING if trip is None else three_digits(trip),
                    entry.label,
                    *figures,
                )
            )
    header = (
        "ms one way", "round trip, ms", "", "ms, 1 client", f"ms, {CLIENTS} clients",
        f"requests/s, {CLIENTS} clients", "fetch alone", "ping alone", "cores of the delay line",
    )  # fmt: skip
    return table(header, rows, text_columns=3)


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
