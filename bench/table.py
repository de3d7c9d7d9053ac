"""A result as tables on the terminal, one for each kind of request, without columns that are empty in it."""

from itertools import compress

from bench.requests import REQUESTS
from bench.results import CellResult, Result
from workbench.tell import say, table

HEADER = (
    "system", "variant", "trees", "clients", "delay ms", "asked/s", "requests/s", "smallest", "largest",
    "mean ms", "p99 ms", "server CPU ms/request", "generator busy", "server MB",
)  # fmt: skip


def _line(cell: CellResult) -> tuple[object, ...]:
    delay = None if cell.delay_ms is None else f"{cell.delay_ms:g}"
    name = (cell.system, cell.variant, cell.trees, cell.clients, delay, cell.rate)
    if cell.requests_per_second is None:
        return (*name, *[None] * (len(HEADER) - len(name)))
    rate = cell.requests_per_second
    latencies = [cell.latency_ms.get(latency) for latency in ("mean", "p99")]
    requests = sum(run.requests for run in cell.runs)
    servers = [run.server for run in cell.runs if run.server]
    cpu = f"{sum(used.cpu_seconds for used in servers) * 1e3 / requests:.3f}" if servers else None
    seconds = sum(run.seconds for run in cell.runs)
    busy = sum(run.generator.cpu_seconds for run in cell.runs) / seconds
    memory = f"{max(used.pss_bytes for used in servers) / 1e6:.0f}" if servers else None
    return (
        *name, f"{rate.median:,.0f}", f"{rate.smallest:,.0f}", f"{rate.largest:,.0f}",
        *(latency and f"{latency.median:.3f}" for latency in latencies),
        cpu, f"{busy:.2f}", memory,
    )  # fmt: skip


def _show(cells: list[CellResult]) -> None:
    lines = [_line(cell) for cell in cells]
    filled = [any(value is not None for value in column) for column in zip(*lines, strict=True)]
    table([*compress(HEADER, filled)], [[*compress(line, filled)] for line in lines])


def show(result: Result) -> None:
    """Prints the tables, and why cells are empty."""
    for request in REQUESTS:
        cells = [cell for cell in result.cells if cell.request == request]
        if cells:
            print(f"\n{request}")
            _show(cells)
    for why in dict.fromkeys(cell.skipped for cell in result.cells if cell.skipped):
        say("")
        say(f"empty: {why}")
    print()
    for load in result.loading:
        say(f"{load.what}: {load.rows:,} rows in {load.seconds:.1f} s, {load.bytes / 1e6:.0f} MB")
    for way in result.training:
        peak = f"{way.peak_bytes_above_idle / 1e6:.0f} MB above idle"
        say(f"{way.what}: {way.rows:,} rows, {way.rounds} rounds in {way.seconds:.1f} s, {peak}")
