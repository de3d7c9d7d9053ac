"""Measures a training in SQL beside Python's: time, and peak memory above the idle process.

    python -m tests.train.measure [rows] [rounds]

Ten features of ten million rows, with and without NULLs, on all cores. In SQL the time is that of
the whole call of train_model, the reading of the table included; in Python it begins with the data
in memory, as a numpy array or a pandas DataFrame. Peak memory is the largest anonymous resident
memory of the process that trains and of those that it starts, less what it had before; shared
buffers do not count. Each is run twice, in turn, and the better time is shown.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psycopg
from numpy.typing import NDArray

from cluster import start, stop
from workbench.in_python import in_python
from workbench.memory import Peak

REPOSITORY = Path(__file__).resolve().parents[2]
STATE = REPOSITORY / ".test" / "measure"
PORT = 54331
FEATURES = 10
CHUNK = 100_000
# Every tenth value of a normal distribution lies above this one.
MISSING_ABOVE = np.float32(1.2816)


def _data(rows: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    random = np.random.default_rng(1)
    features = random.standard_normal((rows, FEATURES), dtype=np.float32)
    noise = random.standard_normal(rows, dtype=np.float32)
    return features, features[:, 0] * features[:, 1] + np.sin(features[:, 2]) + noise


def _binary(table: NDArray[np.float32]) -> Iterator[bytes]:
    """Rows as PostgreSQL's binary COPY takes them."""
    fields = [("count", ">i2")]
    for column in range(table.shape[1]):
        fields += [(f"length{column}", ">i4"), (f"value{column}", ">f4")]
    yield b"PGCOPY\n\xff\r\n\0" + bytes(8)
    for begin in range(0, len(table), CHUNK):
        chunk = table[begin : begin + CHUNK]
        packed = np.empty(len(chunk), dtype=fields)
        packed["count"] = table.shape[1]
        for column in range(table.shape[1]):
            packed[f"length{column}"] = 4
            packed[f"value{column}"] = chunk[:, column]
        yield packed.tobytes()
    yield b"\xff\xff"


def _load(connection: psycopg.Connection, table: NDArray[np.float32]) -> None:
    names = [f"x{i}" for i in range(FEATURES)]
    columns = ", ".join(f"{name} real" for name in [*names, "y"])
    connection.execute(f"CREATE TABLE dense ({columns})")
    with (
        connection.cursor() as cursor,
        cursor.copy("COPY dense FROM STDIN (FORMAT binary)") as copy,
    ):
        for block in _binary(table):
            copy.write(block)
    holes = ", ".join(f"CASE WHEN {name} <= {MISSING_ABOVE}::real THEN {name} END AS {name}"
                      for name in names)  # fmt: skip
    connection.execute(f"CREATE TABLE holes AS SELECT {holes}, y FROM dense")
    connection.execute("VACUUM ANALYZE")


def _in_sql(conninfo: str, table: str, rounds: int) -> tuple[float, int]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        with Peak(connection.info.backend_pid) as peak:
            before = time.perf_counter()
            connection.execute("SELECT train_model('m', %s, 'y', rounds => %s)", (table, rounds))
            seconds = time.perf_counter() - before
        return seconds, peak.bytes


@contextmanager
def _database() -> Iterator[str]:
    stop(STATE, delete=True)
    cluster, _ = start(STATE, PORT)
    try:
        with cluster.connect() as connection:
            connection.execute("CREATE EXTENSION pgboost_train CASCADE")
        yield cluster.conninfo()
    finally:
        stop(STATE, delete=True)


def main(rows: int = 10_000_000, rounds: int = 100) -> None:
    """Prints a line for each way to train and each table."""
    features, label = _data(rows)
    with _database() as conninfo, tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with psycopg.connect(conninfo, autocommit=True) as connection:
            _load(connection, np.column_stack([features, label]))
        label_path = directory / "y.npy"
        np.save(label_path, label)
        np.save(directory / "dense.npy", features)
        features[features > MISSING_ABOVE] = np.nan
        np.save(directory / "holes.npy", features)
        del features, label
        print(f"{rows} rows, {FEATURES} features, {rounds} rounds, {os.cpu_count()} threads")
        for table in ("dense", "holes"):
            ways = {
                "SQL": lambda table=table: _in_sql(conninfo, table, rounds),
                "numpy": lambda table=table: in_python(
                    directory / f"{table}.npy", label_path, rounds, "numpy"
                ),
                "pandas": lambda table=table: in_python(
                    directory / f"{table}.npy", label_path, rounds, "pandas"
                ),
            }
            found = {way: [run() for _ in range(1)] for way, run in ways.items()}
            for way, run in ways.items():
                found[way].append(run())
            for way, runs in found.items():
                seconds, peak = min(seconds for seconds, _ in runs), max(peak for _, peak in runs)
                print(
                    f"{table:6} {way:7} {seconds:8.2f} s {peak / rows / FEATURES:6.2f} bytes a value"
                )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
