"""What the servers hold and spend: memory, larger models, a request's steps, batches, every entry."""

from collections.abc import Callable

from bench.key_set import PER_BATCH
from bench.report import ladder
from bench.report.entries import TUNED, Entry
from bench.report.figures import NOTHING, median, ranged, tenths, times, whole
from bench.report.markdown import table
from bench.report.measured import (
    TREES,
    Asked,
    Measured,
    predictions_per_second,
    requests_per_second,
    server_megabytes,
    server_us,
)
from bench.report.tables.lines import by, client_columns, ranges_of


def memory(measured: Measured) -> str:
    """Memory of all servers by clients."""
    cell = ranges_of(measured, server_megabytes, whole)
    return by(measured, measured.entries, client_columns(measured), cell)


def memory_parts(measured: Measured) -> str:
    """Memory of each part of the server."""
    found = {
        entry: measured.parts(entry, Asked())
        for entry in measured.entries
        if measured.spread(entry, Asked(), server_megabytes)
    }
    names = dict.fromkeys(name for parts in found.values() for name in parts)
    rows = [
        (entry.label, *(ranged(parts.get(name), whole) for name in names))
        for entry, parts in found.items()
    ]
    return table(("", *names), rows)


def _by_trees(measured: Measured, cell: Callable[[Entry, Asked], str]) -> str:
    models = measured.further_models()
    if models is None:
        return NOTHING
    clients, sizes = models
    columns = [
        (f"{size:,} trees", Asked(clients=clients, trees=size)) for size in sorted({TREES, *sizes})
    ]
    return by(measured, measured.entries, columns, cell)


def trees(measured: Measured) -> str:
    """Throughput by the number of trees."""
    return _by_trees(measured, ranges_of(measured, requests_per_second, whole))


def trees_time(measured: Measured) -> str:
    """The servers' processor time for a request by the number of trees."""
    return _by_trees(measured, ranges_of(measured, server_us, tenths))


def request_time(measured: Measured) -> str:
    """The steps of a request."""
    rows = []
    for entry in measured.entries:
        if ladder.asked(measured, entry):
            found = ladder.parts(measured, entry)
            total = measured.needed(entry, Asked(), server_us)
            steps = [ranged(found.get(step), tenths) for step in ladder.PARTS]
            rows.append((entry.label, *steps, ranged(total, tenths)))
    return table(("", *ladder.PARTS.values(), "all"), rows)


def batches(measured: Measured) -> str:
    """A hundred predictions a request against one."""
    clients = measured.batch_clients()
    if clients is None:
        return NOTHING
    asked = Asked("batch", clients)
    rows = []
    for entry in measured.entries:
        if measured.cell(entry, asked):
            one = measured.spread(entry, Asked(clients=asked.clients), requests_per_second)
            many = measured.spread(entry, asked, predictions_per_second(PER_BATCH))
            cpu = measured.spread(entry, asked, lambda run: server_us(run) / PER_BATCH)
            figures = (ranged(one, whole), ranged(many, whole), ranged(cpu, tenths))
            rows.append((entry.label, *figures))
    header = (
        "", "predictions/s, one a request", "predictions/s, a hundred a request",
        "µs of the servers a prediction, a hundred a request",
    )  # fmt: skip
    return table(header, rows)


def further(measured: Measured) -> str:
    """Every entry beside the tuned service."""
    rows = []
    for entry in measured.entries:
        if measured.cell(entry, Asked()):
            against = measured.times(entry, TUNED, Asked(), requests_per_second)
            figures = (
                ranged(measured.spread(entry, Asked(), requests_per_second), whole),
                ranged(against, times),
                median(measured.spread(entry, Asked(), server_us), tenths),
                median(measured.spread(entry, Asked(), server_megabytes), whole),
            )
            rows.append((entry.label, *figures))
    header = (
        "", "requests/s", "times the tuned service", "µs of the servers a request", "servers' memory, MB"
    )  # fmt: skip
    return table(header, rows)
