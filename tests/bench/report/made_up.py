"""Made-up results with every kind of cell, computed by formulas, for tests of the report.

Nothing here was measured. The figures are near those of the runs of November 2026, so that the pictures made
of them can be judged by eye, and a test that contradicts reality is noticed.
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bench import results
from bench.processes import Used
from bench.results import SCHEMA, CellResult, OpenLoop, Result, RoundTrip, Run
from bench.workload import Cell

REPETITIONS, ROWS = 5, 1_000_000
SECONDS = 2.0
CLIENTS = (1, 5, 10, 20, 100)
TREES = (25, 100)
MEGABYTE = 1_000_000
# Microseconds of the server's two cores: a ping, a row found, a prediction per tree and one call.
COSTS = {
    ("postgres_direct", "simple"): (13.5, 20.8, 0.004, 4.5),
    ("postgres_direct", "prepared"): (11.8, 4.4, 0.004, 1.7),
    ("postgres_pgbouncer", "simple"): (32.0, 17.0, 0.004, 8.5),
    ("python_published_one_thread", "http"): (201.0, 136.0, 0.3, 260.0),
    ("python_tuned", "http"): (212.0, 123.0, 0.06, 220.0),
    ("asgi", "http"): (60.0, 25.0, 0.06, 40.0),
    ("asgi_memory", "http"): (60.0, 5.0, 0.06, 40.0),
    ("axum", "http"): (8.0, 1.0, 0.004, 1.0),
    ("axum_redis", "http"): (20.0, 20.0, 0.004, 1.0),
}
# Services that use Redis, and the systems that are asked at rates and on three hosts.
STORED = ("python_tuned", "python_published_one_thread", "asgi")
MAIN = [one for one in COSTS if one[0] in ("postgres_direct", "postgres_pgbouncer", *STORED)]
DELAYS = (None, 0.0, 0.1, 0.25, 0.5)
PARTS = {
    "postgres_direct": ["postgres"], "postgres_pgbouncer": ["postgres", "pgbouncer"],
    "asgi_memory": ["uvicorn"], "axum": ["axum"],
}  # fmt: skip


def _cost(cell: Cell) -> float:
    ping, fetch, a_tree, call = COSTS[cell.system, cell.variant]
    known = {"ping": 0, "fetch": fetch, "columns": fetch + 0.8 * call}
    known["batch"] = 100 * (fetch * 0.1 + a_tree * cell.trees) + call
    return ping + known.get(cell.request, fetch + call + a_tree * cell.trees)


def _run(cell: Cell, noise: float, turn: int) -> Run:
    cost = _cost(cell) * noise
    # The least latency of a client: a wake-up of an idle core, and the round trip.
    trips = 2 if cell.system in STORED and cell.request != "ping" else 1
    alone = cost * 1.2 + 25 + trips * 2_000 * (cell.delay_ms or 0.0)
    most = min(cell.clients * 1e6 / alone, 2e6 / (cost * 1.25))
    if cell.rate is None:
        answered, mean, loop = most, 1_000 * cell.clients / most, None
    else:
        answered, due = min(cell.rate, most), int(cell.rate * SECONDS)
        mean = alone / 1_000 / max(0.05, 1 - answered / most)
        loop = OpenLoop(due, 3, due - int(answered * SECONDS), cell.rate < most)
    requests = int(answered * SECONDS)
    latencies = {"mean": mean}
    if cell.rate is not None or cell.request in ("random", "batch"):
        times = {"p50": 0.9, "p90": 1.6, "p99": 3.0, "p99_9": 6.0, "max": 15}
        latencies |= {name: mean * factor for name, factor in times.items()}
    cpu, names = cost * requests / 1e6, PARTS.get(cell.system, ("gunicorn", "redis"))
    parts = {name: Used(cpu / len(names), 200 * MEGABYTE) for name in names}
    return Run(
        requests=requests, requests_per_second=answered, latency_ms=latencies,
        latency_requests=requests if "p50" in latencies else 0, open_loop=loop, seconds=SECONDS,
        server=Used(cpu, 200 * MEGABYTE * len(parts)), server_parts=parts,
        generator=Used(SECONDS * 0.4, 5 * MEGABYTE), network=None,
        log=f"raw/{cell.name.replace('/', '-')}-{turn}.txt",
    )  # fmt: skip


def cell_result(cell: Cell, skipped: str | None = None) -> CellResult:
    """A cell and its runs, whose noise is drawn from the cell's name."""
    draw = random.Random(cell.name)
    count = 0 if skipped else REPETITIONS
    runs = [_run(cell, draw.uniform(0.95, 1.08), turn + 1) for turn in range(count)]
    if runs and runs[0].open_loop and not runs[0].open_loop.kept_up:
        runs = runs[:1]
    asked = {name: value for name, value in vars(cell).items() if name != "turns"}
    return CellResult(
        name=cell.name, **asked, skipped=skipped,
        predictions_per_request={"ping": 0, "fetch": 0, "columns": 0, "batch": 100}.get(cell.request, 1),
        runs=runs, latency_ms={}, requests_per_second=None,
    )  # fmt: skip


def _closed() -> Iterator[CellResult]:
    for system, variant in COSTS:
        own = ("columns",) if system in ("postgres_direct", "postgres_pgbouncer") else ()
        requests = ("ping", "fetch", "hot", "random", *own)
        for request, number in [*itertools.product(requests, CLIENTS), ("batch", 5)]:
            yield cell_result(Cell(system, variant, request, TREES[0], number))
        for trees in TREES[1:]:
            yield cell_result(Cell(system, variant, "hot", trees, 5))


def _at_rates(
    rates: Sequence[int], delays: Sequence[float | None] = (None,)
) -> Iterator[CellResult]:
    for (system, variant), delay in itertools.product(MAIN, delays):
        missed = False
        for rate in rates:
            cell = Cell(system, variant, "hot", TREES[0], 20, rate, delay)
            made = cell_result(cell, "it missed a lower rate" if missed else None)
            missed = missed or not made.runs[0].open_loop.kept_up
            yield made


def _delayed() -> Iterator[CellResult]:
    for (system, variant), delay in itertools.product(MAIN, DELAYS):
        for request, clients in itertools.product(("ping", "random"), (1, 20)):
            yield cell_result(Cell(system, variant, request, TREES[0], clients, None, delay))


FACTS = {
    "processor": "Made-up Processor", "cores": "2", "threads per core": "1", "governor": "unknown",
    "memory": "8000000 kB", "virtual machine": "yes", "system": "Debian", "kernel": "6.1",
}  # fmt: skip


def _round_trips(hosts: dict[str, str], delays: Sequence[float | None]) -> list[RoundTrip]:
    return [
        RoundTrip(hosts[source], hosts[target], "tcp", delay, micros, micros * 1.5, 1_000)
        for delay in delays
        for source, target in (("client", "server"), ("server", "store"))
        if (micros := 30 + 2_000 * (delay or 0.0))
    ]


def _result(
    hosts: dict[str, str], name: str, cells: list[CellResult], trips: list[RoundTrip]
) -> Result:
    return Result(
        schema=SCHEMA, started="2026-01-01T10:00:00+00:00", finished="2026-01-01T10:50:00+00:00",
        commit="0123456789abcdef" * 2 + "01234567", machine=FACTS,
        topology=results.Topology(name, hosts, dict.fromkeys(hosts.values(), FACTS), {}, trips),
        versions={"postgresql": "15.20 (Debian)", "pgboost": "0.1.0"},
        workload={"name": "full", "repetitions": REPETITIONS, "seconds": 2, "rows": ROWS},
        configuration={}, cells=cells,
        loading=[
            results.Loading("postgresql: COPY, index, VACUUM ANALYZE", ROWS, 1.6, 108 * MEGABYTE),
            results.Loading("redis: redis-cli --pipe, json", ROWS, 8.8, 128 * MEGABYTE),
        ],
        training=[
            results.Training(what, ROWS, 10, 25, 2, seconds + more, megabytes * MEGABYTE)
            for more in (0.0, -0.1, 0.1)
            for what, seconds, megabytes in (
                ("postgresql: train_model", 1.4, 76), ("python: rows into pandas, XGBRegressor", 2.8, 878),
            )
        ],
        checked=[results.Checked(trees, 10_000, {"postgres_direct, simple": 10_000}) for trees in TREES],
    )  # fmt: skip


def local() -> Result:
    """The whole table on one machine."""
    hosts = dict.fromkeys(("server", "store", "client"), "local")
    cells = [*_closed(), *_at_rates((500, 1_000, 2_000, 4_000, 10_000, 20_000))]
    return _result(hosts, "local", cells, _round_trips(hosts, (None,)))


def split() -> Result:
    """Three hosts, with several delays between them."""
    hosts = {role: f"the-{role}" for role in ("server", "store", "client")}
    cells = [*_delayed(), *_at_rates((500, 1_000), (0.25,))]
    made = _result(hosts, "split", cells, _round_trips(hosts, DELAYS))
    return replace(made, workload=made.workload | {"name": "split"})
