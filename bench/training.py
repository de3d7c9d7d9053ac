"""Trains on a table once, in SQL or in Python, and measures time and memory.

Called in a separate process on the server's host, which can measure the processes there. In SQL the backend
trains. In Python this process does, after fetching the rows of the same table: as numpy arrays by a binary
COPY, or as a pandas data frame of a query's rows, as in 2022. All train on the rows with a target, with every
feature, the same rounds, XGBoost's defaults and pgboost_train's release of XGBoost. The time starts with the
rows in the table and ends with the model; memory is the peak anonymous memory less that before.
"""

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psycopg
from numpy.typing import NDArray

from bench.results import Training
from data.columns import FEATURES, TARGET
from python_baseline.releases import load

MODEL = "trained_in_sql"
# The binary format of COPY: a header, for each row its number of fields and for each field its length.
_HEADER, _TRAILER = 19, 2

# The target and the features of the rows that have a target.
COLUMNS = (TARGET, *FEATURES)
QUERY = f"SELECT {', '.join(COLUMNS)} FROM flights WHERE {TARGET} IS NOT NULL"
# Rows become Python objects before they are a data frame, a kilobyte each.
MAX_FRAME_ROWS = 10_000_000

# The number of rows, seconds and peak bytes.
Trained = tuple[int, float, int]


def _anonymous(pid: int | str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


class Peak:
    """A context manager that measures the peak of a process, less its memory on entry.

    Children are included, since a backend trains in a separate process. Anonymous memory is that allocated
    by the process, without PostgreSQL's shared buffers and libraries. It is sampled 100 times per second.
    """

    def __init__(self, pid: int | None = None) -> None:
        self.pid = pid or os.getpid()
        self.bytes = 0
        self._done = threading.Event()

    def _anonymous(self) -> int:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return sum(_anonymous(pid) for pid in (self.pid, *children))

    def _watch(self, idle: int) -> None:
        while not self._done.wait(0.01):
            self.bytes = max(self.bytes, self._anonymous() - idle)

    def __enter__(self) -> "Peak":
        self._thread = threading.Thread(target=self._watch, args=(self._anonymous(),))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def copied(connection: psycopg.Connection, query: str, columns: int) -> NDArray[np.floating[Any]]:
    """Fetches a query of non-null reals by a binary COPY; returns a view of the bytes received."""
    sent = bytearray()
    with connection.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT BINARY") as copy:
        for part in copy:
            sent += part
    row = np.dtype([("fields", ">i2"), ("values", [("bytes", ">i4"), ("value", ">f4")], columns)])
    rows = (len(sent) - _HEADER - _TRAILER) // row.itemsize
    table = np.frombuffer(sent, dtype=row, count=rows, offset=_HEADER)
    if (table["fields"] != columns).any() or (table["values"]["bytes"] != 4).any():
        raise ValueError("COPY gave other rows than of reals that are not NULL")
    return table["values"]["value"]


def _in_sql(connection: psycopg.Connection, rounds: int, threads: int) -> Trained:
    rows = connection.execute(f"SELECT count({TARGET}) FROM flights").fetchone()[0]
    parameters = json.dumps({"nthread": threads})
    with Peak(connection.info.backend_pid) as peak:
        began = time.perf_counter()
        connection.execute(
            "SELECT train_model(%s, 'flights', %s, %s, %s)", (MODEL, TARGET, parameters, rounds)
        )
        seconds = time.perf_counter() - began
    connection.execute("SELECT drop_model(%s)", (MODEL,))
    return rows, seconds, peak.bytes


def _arrays(connection: psycopg.Connection) -> tuple[Any, Any]:
    table = copied(connection, QUERY, len(COLUMNS))
    return table[:, 1:].astype(np.float32), table[:, 0].astype(np.float32)


def _frame(connection: psycopg.Connection) -> tuple[Any, Any]:
    frame = pd.DataFrame(connection.execute(QUERY).fetchall(), columns=[*COLUMNS])
    return frame[[*FEATURES]], frame[TARGET]


def _in_python(fetch: Callable[[psycopg.Connection], tuple[Any, Any]]) -> Callable[..., Trained]:
    def train(connection: psycopg.Connection, rounds: int, threads: int) -> Trained:
        # As in SQL: idle threads sleep.
        os.environ["OMP_WAIT_POLICY"] = "passive"
        xgboost = load()
        with Peak() as peak:
            began = time.perf_counter()
            features, target = fetch(connection)
            xgboost.XGBRegressor(n_estimators=rounds, n_jobs=threads).fit(features, target)
            seconds = time.perf_counter() - began
        return len(features), seconds, peak.bytes

    return train


WAYS: dict[str, Callable[..., Trained]] = {
    "postgresql: train_model": _in_sql,
    "python: COPY into numpy, XGBRegressor": _in_python(_arrays),
    "python: rows into pandas, XGBRegressor": _in_python(_frame),
}


def train(what: str, conninfo: str, rounds: int, threads: int) -> dict[str, Any]:
    """Trains once in one of `WAYS`; returns the fields of a result's `Training`."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        rows, seconds, peak = WAYS[what](connection, rounds, threads)
    return asdict(Training(what, rows, len(FEATURES), rounds, threads, seconds, peak))


def ways(rows: int) -> list[str]:
    """Returns the ways that can train on a table of that size."""
    return [what for what in WAYS if "pandas" not in what or rows <= MAX_FRAME_ROWS]
