"""`python -m bench.training`: trains on the benchmark's table once; the time and the memory that it took.

A process of its own on the server's host for each training, where it can see what the processes
there use. In SQL it is the backend that trains; in Python it is this process, which first fetches
the rows from the same table: as numpy arrays by a binary COPY, or as a pandas data frame of a query's
rows, as in 2022. All take the flights that were not cancelled, every feature, the same rounds and
XGBoost's defaults, with the XGBoost that pgboost_train comes with. The time is that from the rows in
the table to the model; memory is the most anonymous memory of the process less what it had before.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import psycopg
from numpy.typing import NDArray

from data.columns import COLUMNS, FEATURES, TARGET
from python_baseline.releases import load
from workbench.memory import Peak

MODEL = "trained_in_sql"
ROWS = f"SELECT {', '.join(COLUMNS)} FROM flights WHERE {TARGET} IS NOT NULL"
# The binary format of COPY: a header, for each row its number of fields and for each field its length.
_HEADER, _TRAILER = 19, 2
_FIELDS = [("count", ">i2")] + [
    part for name in COLUMNS for part in ((f"{name}_bytes", ">i4"), (name, ">f4"))
]

# The rows, and how long it took to train and to what memory.
Trained = tuple[int, float, int]


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


def _arrays(connection: psycopg.Connection) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    with connection.cursor() as cursor, cursor.copy(f"COPY ({ROWS}) TO STDOUT BINARY") as copy:
        sent = bytearray()
        for part in copy:
            sent += part
    rows = (len(sent) - _HEADER - _TRAILER) // np.dtype(_FIELDS).itemsize
    table = np.frombuffer(sent, dtype=_FIELDS, count=rows, offset=_HEADER)
    features = np.empty((len(table), len(FEATURES)), dtype=np.float32)
    for place, name in enumerate(FEATURES):
        features[:, place] = table[name]
    return features, table[TARGET].astype(np.float32)


def _frame(connection: psycopg.Connection) -> tuple[Any, Any]:
    cursor = connection.execute(ROWS)
    frame = pd.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description])
    return frame[[*FEATURES]], frame[TARGET]


def _in_python(fetch: Callable[[psycopg.Connection], tuple[Any, Any]]) -> Callable[..., Trained]:
    def train(connection: psycopg.Connection, rounds: int, threads: int) -> Trained:
        # As in SQL: threads with nothing to do sleep.
        os.environ["OMP_WAIT_POLICY"] = "passive"
        xgboost = load("pinned")
        with Peak() as peak:
            began = time.perf_counter()
            features, target = fetch(connection)
            xgboost.XGBRegressor(n_estimators=rounds, n_jobs=threads).fit(features, target)
            seconds = time.perf_counter() - began
        return len(features), seconds, peak.bytes

    return train


WAYS: dict[str, Callable[[psycopg.Connection, int, int], Trained]] = {
    "postgresql: train_model": _in_sql,
    "python: COPY into numpy, XGBRegressor": _in_python(_arrays),
    "python: rows into pandas, XGBRegressor": _in_python(_frame),
}


def main() -> None:
    """One question, one answer: the fields of a result's Training."""
    question = json.load(sys.stdin)
    threads, rounds = question["threads"], question["rounds"]
    with psycopg.connect(question["conninfo"], autocommit=True) as connection:
        rows, seconds, peak = WAYS[question["what"]](connection, rounds, threads)
    answer = {
        "what": question["what"], "rows": rows, "features": len(FEATURES), "rounds": rounds,
        "threads": threads, "seconds": seconds, "peak_bytes_above_idle": peak,
    }  # fmt: skip
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
