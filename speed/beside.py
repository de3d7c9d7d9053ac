"""What Python does of what PostgreSQL does: in a process of its own, which is asked again and again.

A process has one XGBoost, the first that is imported. Here it is the release that is pinned for training in
SQL, the newest, on one thread.
"""

import io
import multiprocessing
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psycopg

from data.columns import FEATURES
from data.flights import Request, blocks
from python_baseline.releases import load

COPY = f"COPY (SELECT {', '.join(FEATURES)} FROM flights) TO STDOUT (FORMAT csv)"
# What the process holds.
_held: dict[str, Any] = {}


class Beside:
    """The process, made ready by a function of this module; `ask` calls another one there."""

    def __init__(self, ready: Callable[..., None], *given: Any) -> None:
        # Spawned, so that it has nothing of this one's.
        self._pool = ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn"), initializer=ready, initargs=given
        )

    def ask(self, function: Callable[..., Any], *given: Any) -> Any:
        """What the function answers there."""
        return self._pool.submit(function, *given).result()

    def __enter__(self) -> "Beside":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()


def hold_models(files: Mapping[str, Path]) -> None:
    """Has models."""
    _held["xgboost"] = xgboost = load("pinned")
    for label, path in files.items():
        _held[label] = xgboost.Booster({"nthread": 1}, model_file=path)


def hold_flights(rows: int, files: Mapping[str, Path]) -> None:
    """Has models, and the flights of the table, as rows of f32 one after the other."""
    hold_models(files)
    flights = np.concatenate([*blocks(Request(rows))])
    # The first column is the delay.
    _held["features"] = np.ascontiguousarray(flights[:, 1:], dtype=np.float32)
    for label in files:
        _held[label].feature_names = None


def predict_all(label: str) -> tuple[float, int]:
    """The seconds that the predictions for all flights took, and the sum of their bits."""
    began = time.perf_counter()
    predicted = _held[label].inplace_predict(_held["features"])
    took = time.perf_counter() - began
    return took, int(np.asarray(predicted, np.float32).view(np.int32).sum(dtype=np.int64))


def explain_all(label: str, conninfo: str) -> tuple[float, float, float]:
    """Seconds to take all flights out of the table and to explain them, and the sum of all contributions."""
    began = time.perf_counter()
    content = io.BytesIO()
    with psycopg.connect(conninfo) as connection, connection.cursor().copy(COPY) as copy:
        content.writelines(copy)
    content.seek(0)
    frame = pd.read_csv(content, names=[*FEATURES], dtype=np.float32)
    copied = time.perf_counter()
    matrix = _held["xgboost"].DMatrix(frame, nthread=1)
    found = _held[label].predict(matrix, pred_contribs=True)
    done = time.perf_counter()
    return copied - began, done - copied, float(found.sum(dtype=np.float64))
