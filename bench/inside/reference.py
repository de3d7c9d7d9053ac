"""XGBoost's own predictions for all flights, in a separate process, which is asked again and again.

A process has one XGBoost, the first that is imported. Here it is the release that is pinned for training in
SQL, the newest, on one thread.
"""

import multiprocessing
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from data.flights import Request, blocks
from python_baseline.releases import load

# What the process holds.
_held: dict[str, Any] = {}


def beside(rows: int, files: Mapping[str, Path]) -> ProcessPoolExecutor:
    """The process, with the flights of the table, as rows of f32 one after the other, and models."""
    # Spawned, so that it has nothing of this one's.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, context, initializer=_hold, initargs=(rows, files))


def _hold(rows: int, files: Mapping[str, Path]) -> None:
    xgboost = load("pinned")
    flights = np.concatenate([*blocks(Request(rows))])
    # The first column is the delay.
    _held["features"] = np.ascontiguousarray(flights[:, 1:], dtype=np.float32)
    for label, path in files.items():
        _held[label] = xgboost.Booster({"nthread": 1}, model_file=path)
        _held[label].feature_names = None


def predict_all(label: str) -> tuple[float, int]:
    """The seconds that the predictions for all flights took, and the sum of their bits."""
    began = time.perf_counter()
    predicted = _held[label].inplace_predict(_held["features"])
    took = time.perf_counter() - began
    return took, int(np.asarray(predicted, np.float32).view(np.int32).sum(dtype=np.int64))
