"""Times queries: full scans by the clock of the client, one-row queries by pgbench.

What is compared is measured in turn, round after round, so that a machine which
slows down does so for both; a ratio is the median of the rounds' own ratios.
"""

import os
import re
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
from tqdm import tqdm

from cluster import Cluster
from cluster.server import bin_directory

SQL = Path(__file__).resolve().parent.parent / "sql"


@dataclass(frozen=True)
class OneRow:
    """How pgbench asks: its protocol, how many clients, for how many seconds."""

    protocol: str
    clients: int
    seconds: int


def median_ratio(values: Sequence[float], controls: Sequence[float]) -> float:
    """How the one compares with the other, each round with itself."""
    return statistics.median(v / c for v, c in zip(values, controls, strict=True))


def pgbench(
    cluster: Cluster, dbname: str, script: Path, how: OneRow, options: Sequence[str] = ()
) -> str:
    """What one run of pgbench reports."""
    threads = min(how.clients, os.cpu_count() or 1)
    command = [
        bin_directory() / "pgbench", "--no-vacuum", f"--file={script}",
        f"--protocol={how.protocol}", f"--client={how.clients}", f"--jobs={threads}",
        f"--time={how.seconds}", *options,
    ]  # fmt: skip
    done = subprocess.run(
        command, env=cluster.environment(dbname), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"pgbench failed:\n{done.stderr}")
    # Its progress is in the one, its result in the other.
    return done.stderr + done.stdout


def transactions_per_second(cluster: Cluster, dbname: str, script: str, how: OneRow) -> float:
    """One run of pgbench with a file of sql/."""
    report = pgbench(cluster, dbname, SQL / script, how)
    return float(re.search(r"^tps = ([0-9.]+)", report, re.MULTILINE)[1])


def pgbench_in_turn(
    cluster: Cluster, dbname: str, scripts: Sequence[str], how: OneRow, rounds: int
) -> dict[str, list[float]]:
    """The transactions a second of each script in each round."""
    results: dict[str, list[float]] = {script: [] for script in scripts}
    with tqdm(total=rounds * len(scripts), unit=" runs", leave=False, disable=None) as bar:
        for round_ in range(rounds):
            # Every other round goes backwards, so that none is always the first.
            for script in scripts[:: 1 if round_ % 2 == 0 else -1]:
                tps = transactions_per_second(cluster, dbname, script, how)
                results[script].append(tps)
                bar.update(1)
    return results


def scans_in_turn(
    connection: psycopg.Connection, expressions: Sequence[str], rounds: int
) -> dict[str, list[float]]:
    """Seconds that the sum of each expression over all flights takes, in one process."""
    results: dict[str, list[float]] = {expression: [] for expression in expressions}
    connection.execute("SET max_parallel_workers_per_gather = 0")
    with tqdm(total=rounds * len(expressions), unit=" scans", leave=False, disable=None) as bar:
        # The first round warms the cache and is not counted.
        for round_ in range(rounds + 1):
            for expression in expressions[:: 1 if round_ % 2 == 0 else -1]:
                began = time.perf_counter()
                connection.execute(f"SELECT sum({expression}) FROM flights f").fetchone()
                if round_ > 0:
                    results[expression].append(time.perf_counter() - began)
                bar.update(1)
    connection.execute("RESET max_parallel_workers_per_gather")
    return results
