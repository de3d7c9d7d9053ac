"""Predictions of XGBoost itself, and the distance of other predictions from them."""

import numpy as np
import xgboost as xgb

from tests.extension.e2e.datasets import Dataset

VALUE_ULPS = 2


def train(dataset: Dataset, params: dict) -> xgb.Booster:
    """A model of the data set: twelve rounds, one thread."""
    data = xgb.DMatrix(dataset.features, label=dataset.target, feature_names=dataset.names)
    return xgb.train({"nthread": 1, "seed": 3, "max_depth": 5, **params}, data, 12)


def margins(booster: xgb.Booster, features: np.ndarray) -> np.ndarray:
    """XGBoost's margins for a matrix of features, a row for each."""
    data = xgb.DMatrix(features, feature_names=booster.feature_names)
    return booster.predict(data, output_margin=True).reshape(len(features), -1)


def model_bytes(booster: xgb.Booster) -> bytes:
    """The model file."""
    return bytes(booster.save_raw("ubj"))


def floats(rows: list) -> np.ndarray:
    """A query's numbers as f32: PostgreSQL's text for a real has the same bits when it is read."""
    return np.array(rows, dtype=np.float32)


def assert_same_bits(given: np.ndarray, expected: np.ndarray) -> None:
    """Both are f32 and equal bit for bit."""
    assert given.dtype == expected.dtype == np.float32
    assert given.shape == expected.shape
    differing = np.flatnonzero(given.view(np.uint32) != expected.view(np.uint32))
    assert not differing.size, (
        f"{differing.size} of {given.size} differ, the first by "
        f"{given.flat[differing[0]]!r} instead of {expected.flat[differing[0]]!r}"
    )


def assert_near(given: np.ndarray, expected: np.ndarray) -> None:
    """Both are f32, and at most VALUE_ULPS units in the last place apart."""
    assert given.dtype == expected.dtype == np.float32
    assert given.shape == expected.shape
    apart = np.abs(order(given) - order(expected))
    assert apart.max() <= VALUE_ULPS, f"up to {apart.max()} units in the last place apart"


def order(values: np.ndarray) -> np.ndarray:
    """Whole numbers that count the floats below a float of f32: neighbours differ by 1."""
    bits = values.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
