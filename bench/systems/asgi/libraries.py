"""Predictors of rows of f32, one after another: XGBoost's library by ctypes, and this engine's wheel.

Most of the time that XGBoost's Python package takes for one row goes into its checks and the matrix that it
makes at each call. Here the proxy matrix, the buffer of rows and its descriptions are made once, as in a C
program.
"""

import ctypes
import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.columns import FEATURES
from python_baseline.releases import UNPACKED

WIDTH = len(FEATURES)
ROW_BYTES = 4 * WIDTH
# Of all requests that wait at once: a hundred of a thousand rows each.
MOST_ROWS = 100_000
XGBOOST = UNPACKED / "xgboost" / "lib" / "libxgboost.so"
# The output of build.sh.
WHEEL = Path(__file__).resolve().parents[3] / ".build" / "gbtrees"
# For XGBoosterPredictFromDense: values, from all trees.
CONFIG = {
    "type": 0, "training": False, "iteration_begin": 0, "iteration_end": 0, "missing": float("nan"),
    "strict_shape": False, "cache_id": 0,
}  # fmt: skip

# Maps rows of features, one after another, to a value each.
Predictor = Callable[[bytes], NDArray[np.float32]]


class LibraryFailed(Exception):
    """A call that failed; the message is the library's."""


class _Library:
    """A shared library whose functions return 0 or set an error message."""

    def __init__(self, path: Path, error: str) -> None:
        self._library = ctypes.CDLL(str(path))
        self._error = getattr(self._library, error)
        self._error.restype = ctypes.c_char_p

    def function(self, name: str) -> Callable[..., None]:
        """Returns the function of that name, which raises unless the library's returns 0."""
        called = getattr(self._library, name)

        def checked(*given: Any) -> None:
            if called(*given):
                raise LibraryFailed(f"{name}: {self._error().decode()}")

        return checked


def xgboost(model: Path) -> Predictor:
    """Predicts by `XGBoosterPredictFromDense` on one thread, with a reused proxy matrix."""
    library = _Library(XGBOOST, "XGBGetLastError")
    booster, proxy = ctypes.c_void_p(), ctypes.c_void_p()
    library.function("XGBoosterCreate")(None, ctypes.c_uint64(0), ctypes.byref(booster))
    library.function("XGBoosterSetParam")(booster, b"nthread", b"1")
    library.function("XGBoosterLoadModel")(booster, str(model).encode())
    library.function("XGProxyDMatrixCreate")(ctypes.byref(proxy))
    call = library.function("XGBoosterPredictFromDense")
    rows = ctypes.create_string_buffer(MOST_ROWS * ROW_BYTES)
    place, config = ctypes.addressof(rows), ctypes.c_char_p(json.dumps(CONFIG).encode())
    shape, dimensions = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_uint64()
    found = ctypes.POINTER(ctypes.c_float)()
    answer = [ctypes.byref(one) for one in (shape, dimensions, found)]
    described: dict[int, ctypes.c_char_p] = {}

    def describe(count: int) -> ctypes.c_char_p:
        array = {"data": [place, True], "shape": [count, WIDTH], "typestr": "<f4", "version": 3}
        return described.setdefault(count, ctypes.c_char_p(json.dumps(array).encode()))

    def predict(values: bytes) -> NDArray[np.float32]:
        count = len(values) // ROW_BYTES
        ctypes.memmove(rows, values, len(values))
        call(booster, described.get(count) or describe(count), config, proxy, *answer)
        return np.frombuffer(ctypes.string_at(found, 4 * count), np.float32)

    return predict


def gbtrees(model: Path) -> Predictor:
    """Predicts by this engine's wheel."""
    sys.path.append(str(WHEEL))
    loaded = import_module("gbtrees").Model(model)

    def predict(values: bytes) -> NDArray[np.float32]:
        return loaded.predict(np.frombuffer(values, np.float32).reshape(-1, WIDTH))

    return predict


LIBRARIES = {"xgboost": xgboost, "gbtrees": gbtrees}
