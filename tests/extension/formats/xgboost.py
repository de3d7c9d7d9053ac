"""Models of XGBoost on a table of numbers, some of them missing."""

from functools import cache

import numpy as np
import pandas as pd
import xgboost as xgb

from tests.extension.formats.frame import LEAVES, Predictions

NAME = f"XGBoost {xgb.__version__}"
ROWS = 20_000
KINDS = {f"f{index}": "float4" for index in range(6)}
THREE = {"num_class": 3}
COMPARED = {
    "squared error": {"objective": "reg:squarederror"},
    "logistic": {"objective": "binary:logistic"},
    "softprob": {"objective": "multi:softprob", **THREE},
    "poisson": {"objective": "count:poisson"},
    "dart": {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.5},
    "forest": {"objective": "reg:squarederror", "num_parallel_tree": 8, "subsample": 0.5},
    "vector leaves": {
        "objective": "multi:softprob", **THREE, "multi_strategy": "multi_output_tree",
    },
}  # fmt: skip
TESTED = COMPARED | {
    "deep": {"objective": "reg:squarederror", "max_depth": 12},
    "exact": {"objective": "reg:squarederror", "tree_method": "exact"},
    "pruned": {"objective": "reg:squarederror", "tree_method": "exact", "gamma": 20},
    "absolute error": {"objective": "reg:absoluteerror"},
    "pseudo-Huber": {"objective": "reg:pseudohubererror", "huber_slope": 20},
    "quantiles": {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]},
    "squared logarithmic error": {"objective": "reg:squaredlogerror"},
    "gamma": {"objective": "reg:gamma"},
    "tweedie": {"objective": "reg:tweedie"},
    "Cox": {"objective": "survival:cox"},
    "base score": {"objective": "binary:logistic", "base_score": 0.25},
    "margin": {"objective": "binary:logitraw"},
    "hinge": {"objective": "binary:hinge"},
    "leaf by leaf": {"objective": "reg:logistic", "grow_policy": "lossguide", "max_leaves": 11},
    "softmax": {"objective": "multi:softmax", **THREE},
    "ten classes": {"objective": "multi:softprob", "num_class": 10},
    "forest of classes": {
        "objective": "multi:softprob", **THREE, "num_parallel_tree": 3, "subsample": 0.5,
    },
    "pairs": {"objective": "rank:pairwise"},
    "ranking": {"objective": "rank:ndcg", "tree_method": "exact"},
}  # fmt: skip
ARGUMENTS = ""


@cache
def _drawn() -> tuple[np.ndarray, np.ndarray]:
    """Numbers on a grid, so that many lie on thresholds, and which of them are missing."""
    draw = np.random.default_rng(31)
    table = np.round(draw.normal(size=(ROWS, len(KINDS))), 2).astype(np.float32)
    return table, draw.random(table.shape) < 0.1


def make_frame() -> pd.DataFrame:
    """The rows, with missing values."""
    table, is_missing = _drawn()
    return pd.DataFrame(table, columns=list(KINDS)).mask(is_missing)


def make_label(_: pd.DataFrame) -> np.ndarray:
    """A target of three columns, as they are without missing values."""
    table, _missing = _drawn()
    return table[:, 0] * table[:, 1] + np.sin(table[:, 2] * 3)


def train(frame: pd.DataFrame, label: np.ndarray, params: dict) -> xgb.Booster:
    """A model of all rows."""
    kind, _, name = params["objective"].partition(":")
    data = xgb.DMatrix(frame)
    if kind != "reg" or name in ("logistic", "squaredlogerror", "gamma", "tweedie"):
        label = np.digitize(label, np.linspace(-0.5, 0.5, params.get("num_class", 3) - 1))
    if kind == "binary" or name == "logistic":
        label = np.minimum(label, 1)
    elif kind == "survival" or name in ("gamma", "tweedie"):
        label = label + 1
    elif kind == "rank":
        data.set_group([20] * (ROWS // 20))
    data.set_label(label)
    return xgb.train({"nthread": 1, "seed": 3, **params}, data, 10)


def files(model: xgb.Booster) -> list[bytes]:
    """The model file in both formats."""
    return [bytes(model.save_raw(file_format)) for file_format in ("json", "ubj")]


def predictions(model: xgb.Booster, frame: pd.DataFrame, params: dict) -> Predictions:
    """XGBoost's predictions."""
    data = xgb.DMatrix(frame)
    margins, values = model.predict(data, output_margin=True), model.predict(data)
    if params["objective"] == "reg:quantileerror":
        values = np.sort(values, axis=1)  # as XGBoost itself does from release 3.4 on
    leaves = model.predict(xgb.DMatrix(frame.head(LEAVES)), pred_leaf=True)
    classes = None
    if params["objective"].startswith(("binary:", "multi:")):
        numbers = values > 0.5 if margins.ndim == 1 else margins.argmax(axis=1)
        classes = [str(number) for number in numbers.astype(int)]
    return Predictions(margins, values, leaves.reshape(LEAVES, -1).astype(int).tolist(), classes)
