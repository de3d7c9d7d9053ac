"""Throughput, latency and the load generator's own work, by the number of clients."""

from bench.report.entries import AS_PUBLISHED, MAIN
from bench.report.figures import NOTHING, ranged, three_digits, whole
from bench.report.goals import CONTROLS, against_control
from bench.report.markdown import table
from bench.report.measured import (
    Asked,
    Measured,
    generator_busy,
    latency,
    requests_per_second,
)
from bench.report.rates import fixed_rates
from bench.report.tables.lines import by, client_columns, ranges_of
from bench.results import LATENCIES

FOR_THE_RECORD = (*MAIN, AS_PUBLISHED)


def throughput(measured: Measured) -> str:
    """Requests a second by clients."""
    cell = ranges_of(measured, requests_per_second, whole)
    return by(measured, FOR_THE_RECORD, client_columns(measured), cell)


def latencies(measured: Measured) -> str:
    """Mean latency by clients."""
    cell = ranges_of(measured, latency("mean"), three_digits)
    return by(measured, FOR_THE_RECORD, client_columns(measured), cell)


def generator(measured: Measured) -> str:
    """How many cores the load generator kept busy, by clients."""
    cell = ranges_of(measured, generator_busy, lambda value: f"{value:.2f}")
    return by(measured, FOR_THE_RECORD, client_columns(measured), cell)


def random_keys(measured: Measured) -> str:
    """The same key again and again, and one drawn from the set."""
    columns = [
        (f"{name}, {clients} clients", Asked(request, clients))
        for clients in measured.clients("random")
        for name, request in (("one key", "hot"), ("drawn keys", "random"))
    ]
    cell = ranges_of(measured, requests_per_second, whole)
    return by(measured, measured.entries, columns, cell)


# What a prediction's throughput is held against, in words.
AGAINST = {"columns": "its ten columns read", "fetch": "one other column read"}


def control(measured: Measured) -> str:
    """What predicting leaves of the throughput of the same query without it, by both controls."""
    found = {name: against_control(measured, name) for name in CONTROLS}
    clients = sorted({number for ratios in found.values() for _, number in ratios})
    rows = []
    for name, ratios in found.items():
        for entry in dict.fromkeys(entry for entry, _ in ratios):
            figures = (ranged(ratios.get((entry, number)), "{:.3f}".format) for number in clients)
            rows.append((entry.label, AGAINST[name], *figures))
    header = ("", "against the same row,", *(f"{number} clients" for number in clients))
    return table(header, rows, text_columns=2)


def fixed(measured: Measured) -> str:
    """Latency at fixed rates; who did not hold a rate has no latency at it."""
    rates = fixed_rates(measured)
    if rates is None:
        return NOTHING
    points = [name for name in LATENCIES if name != "mean"]
    rows = []
    for rate in rates.rates:
        for entry in rates.entries:
            asked = rates.asked(rate)
            if rate in rates.held(entry):
                spreads = [measured.spread(entry, asked, latency(name)) for name in points]
                figures = [ranged(spread, three_digits) for spread in spreads]
            elif rate in rates.missed(entry):
                answered = measured.spread(entry, asked, requests_per_second)
                figures = [
                    f"not held: {whole(answered.median)} answered",
                    *[NOTHING] * (len(points) - 1),
                ]
            else:
                figures = ["not tried: it missed a lower rate", *[NOTHING] * (len(points) - 1)]
            rows.append((whole(rate), entry.label, *figures))
    header = ("requests/s", "", *(name.replace("_", ".") + ", ms" for name in points))
    return table(header, rows, text_columns=2)
