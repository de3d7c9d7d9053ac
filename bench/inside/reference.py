"""XGBoost's predictions for all flights, in a separate process that is reused.

A process has one XGBoost, the first imported. Here it is the release pinned for training in SQL, on one
thread.
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

# The state of the process.
_held: dict[str, Any] = {}


def beside(rows: int, files: Mapping[str, Path]) -> ProcessPoolExecutor:
    """Starts the process with the table's flights, as rows of f32 one after another, and the models."""
    # Spawned, so that it inherits nothing.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, context, initializer=_hold, initargs=(rows, files))


def _hold(rows: int, files: Mapping[str, Path]) -> None:
    xgboost = load()
    flights = np.concatenate([*blocks(Request(rows))])
    # The first column is the delay.
    _held["features"] = np.ascontiguousarray(flights[:, 1:], dtype=np.float32)
    for label, path in files.items():
        _held[label] = xgboost.Booster({"nthread": 1}, model_file=path)
        _held[label].feature_names = None


def predict_all(label: str) -> tuple[float, int]:
    """Predicts for all flights; returns the seconds and the sum of the predictions' bits."""
    began = time.perf_counter()
    predicted = _held[label].inplace_predict(_held["features"])
    took = time.perf_counter() - began
    return took, int(np.asarray(predicted, np.float32).view(np.int32).sum(dtype=np.int64))
