"""The comparison: the same cell on each server, one after the other, round after round.

In a round each cell takes the servers in turn, close together in time, and the order changes from
cell to cell and from round to round. A pair is what two of them did within a round. The server
`control` has the same library as `plain`, so that their pairs tell what the machine adds by itself.
"""

import itertools
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
from tqdm import tqdm

from bench.generators import Load, pgbench
from bench.generators.request_log import Latencies, Window, pgbench_requests, summary
from bench.queries import model_name
from cluster import Cluster
from cluster.server import bin_directory
from data.flights import Request
from pgo.result import CONTROL, OPTIMISED, PLAIN, Cell, Plan, Run
from pgo.server import DATABASE
from pgo.workload import DEPTHS, scan, scripts
from workbench.queries import predict

PROTOCOLS, CLIENTS, TREES_OF_ONE_ROW = ("simple", "prepared"), (1, 20), 25
# So many full scans are a run, by trees: a second or two.
SCANS = {25: 5, 500: 2}
KEPT = ("mean", "p50", "p99", "max")
# Without it a scan of so many rows is compiled at each run, which takes as long as predicting.
SCAN_SETTINGS = {"max_parallel_workers_per_gather": "0", "jit": "off"}


class Unequal(Exception):
    """Builds that do not predict the same."""


def _connect(cluster: Cluster, settings: Mapping[str, str]) -> psycopg.Connection:
    connection = cluster.connect(DATABASE)
    for name, value in settings.items():
        connection.execute(f"SET {name} = {value}")
    return connection


@dataclass(frozen=True)
class OneRow:
    """The benchmark's query, by pgbench, which logs every transaction."""

    protocol: str
    clients: int
    seconds: int
    scripts: Sequence[Path]
    unit = "transactions"

    @property
    def name(self) -> str:
        """As it is shown."""
        return f"one row, {self.protocol}, {self.clients} client{'s' * (self.clients > 1)}"

    def run(self, cluster: Cluster, round_: int) -> Run:
        """One run of it; a transaction that failed is an error."""
        program = pgbench.Program(
            str(bin_directory() / "pgbench"), self.protocol, len(os.sched_getaffinity(0))
        )
        load = Load(self.clients, self.seconds, seed=round_)
        with tempfile.TemporaryDirectory(prefix="pgboost-") as directory:
            log = Path(directory, "log")
            command = pgbench.command(program, self.scripts, load, log, sampled=1)
            environment = cluster.environment(DATABASE)
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                raise RuntimeError(f"pgbench failed:\n{done.stderr}")
            # Whatever began within the run counts, also the last, which ended after it.
            window = Window(0, self.seconds + 1, None)
            logged = summary(pgbench_requests(log), window)
        figures = pgbench.parse(done.stdout, logged)
        latency = logged.latency_ms | {"mean": figures.latency_ms["mean"]}
        return Run(
            figures.requests_per_second, {name: latency[name] for name in KEPT}, figures.requests
        )


@dataclass(frozen=True)
class Scan:
    """The sum of the predictions for all flights, a few times, in a new connection's one process."""

    trees: int
    rows: int
    unit = "rows"

    @property
    def name(self) -> str:
        """As it is shown."""
        return f"full scan, {self.trees} trees of depth {DEPTHS[self.trees]}"

    def run(self, cluster: Cluster, _round: int) -> Run:
        """One run of it; the first, which opens the model, reads a few rows and does not count."""
        latencies = Latencies()
        with _connect(cluster, SCAN_SETTINGS) as connection:
            first = predict("columns", model_name(self.trees))
            connection.execute(f"SELECT {first} FROM flights f LIMIT 1000").fetchall()
            began = time.perf_counter()
            for _ in range(SCANS[self.trees]):
                before = time.perf_counter()
                connection.execute(scan("columns", self.trees), prepare=False).fetchone()
                latencies.add(time.perf_counter() - before)
            took = time.perf_counter() - began
        found = latencies.milliseconds()
        kept = {name: found[name] for name in KEPT if name in found}
        return Run(self.rows * latencies.number / took, kept, latencies.number)


# Every other one is the reverse of the one before.
ORDERS = tuple(
    order
    for one in (
        (PLAIN, CONTROL, OPTIMISED),
        (CONTROL, OPTIMISED, PLAIN),
        (OPTIMISED, PLAIN, CONTROL),
    )
    for order in (one, one[::-1])
)


def digests(cluster: Cluster) -> tuple[int, ...]:
    """Of the predictions for all flights, in batches and row by row, by each model: a sum of hashes."""
    found = []
    for batch in ("on", "off"):
        with _connect(cluster, SCAN_SETTINGS | {"pgboost.enable_batch": batch}) as connection:
            for trees in DEPTHS:
                hashed = f"hashfloat4extended({predict('columns', model_name(trees))}, 0)"
                row = connection.execute(f"SELECT sum({hashed}) FROM flights f").fetchone()
                found.append(int(row[0]))
    return tuple(found)


def same_everywhere(found: Mapping[str, tuple[int, ...]]) -> None:
    """Has the servers' digests be the same."""
    if len({*found.values()}) != 1:
        raise Unequal(f"the builds predict differently: {dict(found)}")


def compare(clusters: Mapping[str, Cluster], plan: Plan) -> list[Cell]:
    """All cells on all servers in all rounds."""
    hot = scripts(Request(plan.rows))[TREES_OF_ONE_ROW]["hot"]
    asked = [
        *(OneRow(*way, plan.seconds, hot) for way in itertools.product(PROTOCOLS, CLIENTS)),
        *(Scan(trees, plan.rows) for trees in DEPTHS),
    ]
    cells = [Cell(one.name, one.unit, {name: [] for name in clusters}) for one in asked]
    turns = [*itertools.product(range(plan.rounds), range(len(asked)))]
    for round_, place in tqdm(turns, unit=" cells", leave=False, disable=None):
        for name in ORDERS[(round_ + place) % len(ORDERS)]:
            cells[place].runs[name].append(asked[place].run(clusters[name], round_))
    return cells
