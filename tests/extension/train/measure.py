"""Measures a training in SQL compared with Python's: time, and peak memory above the idle process.

    python -m tests.extension.train.measure [rows] [rounds]

Ten features of ten million rows on all cores. The time is that from the rows in the table to the model.
Each way is measured twice, in turn; the better time is shown, and the larger memory for each value.
"""

import os
import sys
from functools import partial
from pathlib import Path

import psycopg

from bench import training
from bench.hosts import local
from bench.interleaving import interleaved
from tools.cluster import start, stop

STATE = Path(__file__).resolve().parents[3] / ".test" / "measure"
PORT = 54331
FEATURES = [f"x{number}" for number in range(10)]
# Normal and uniform noise, a product and a wave.
VALUES = ", ".join(f"random()::real AS {name}" for name in FEATURES)
CREATE = f"""
    SELECT setseed(0.5);
    CREATE TABLE dense AS
    SELECT *, (x0 * x1 + sin(6 * x2) + random() / 2)::real AS y
    FROM (SELECT {VALUES} FROM generate_series(1, %s)) AS drawn;
    VACUUM ANALYZE dense
"""


def main(rows: int = 10_000_000, rounds: int = 100) -> None:
    """Prints a line for each way to train."""
    stop(STATE, delete=True)
    cluster, _ = start(STATE, PORT)
    host = local(STATE)
    try:
        with psycopg.connect(cluster.conninfo(), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION pgboost_train CASCADE")
            for statement in (CREATE % rows).split(";"):
                connection.execute(statement)
        task = {
            "conninfo": cluster.conninfo(), "table": "dense", "features": FEATURES, "target": "y",
            "rounds": rounds, "threads": os.cpu_count(),
        }  # fmt: skip
        print(f"{rows} rows, {len(FEATURES)} features, {rounds} rounds, {os.cpu_count()} threads")
        ways = {
            way: partial(host.call, "bench.training:train", apart=True, what=way, **task)
            for way in training.WAYS
        }
        for way, runs in interleaved(ways, 2).items():
            seconds = min(run["seconds"] for run in runs)
            peak = max(run["peak_bytes_above_idle"] for run in runs) / rows / len(FEATURES)
            print(f"{way:40} {seconds:8.2f} s {peak:6.2f} bytes for each value")
    finally:
        host.close()
        stop(STATE, delete=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
