"""Predictions of XGBoost itself, and the distance of other predictions from them."""

from dataclasses import dataclass

import numpy as np
import xgboost as xgb

from tests.extension.e2e.datasets import Dataset

VALUE_ULPS = 2


def train(dataset: Dataset, params: dict, label: np.ndarray | None = None) -> xgb.Booster:
    """A model of the data set: twelve rounds, one thread."""
    target = dataset.target if label is None else label
    data = xgb.DMatrix(dataset.features, label=target, feature_names=dataset.names)
    if params["objective"].startswith("rank:"):
        data.set_group([20] * (len(target) // 20) + [len(target) % 20])
    return xgb.train({"nthread": 1, "seed": 3, "max_depth": 5, **params}, data, 12)


@dataclass(frozen=True)
class Answers:
    """Margins, values and leaf ids of every row, as XGBoost gives them."""

    margins: np.ndarray
    values: np.ndarray
    leaves: np.ndarray


def answers(booster: xgb.Booster, features: np.ndarray) -> Answers:
    """XGBoost's answers for a matrix of features."""
    data = xgb.DMatrix(features, feature_names=booster.feature_names)
    rows = len(features)
    values = booster.predict(data).reshape(rows, -1)
    if "reg:quantileerror" in booster.save_config():
        values = np.sort(values, axis=1)  # as XGBoost itself does from release 3.4 on
    return Answers(
        margins=booster.predict(data, output_margin=True).reshape(rows, -1),
        values=values,
        leaves=booster.predict(data, pred_leaf=True).reshape(rows, -1).astype(int),
    )


def model_bytes(booster: xgb.Booster, file_format: str = "ubj") -> bytes:
    """The model file."""
    return bytes(booster.save_raw(raw_format=file_format))


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
