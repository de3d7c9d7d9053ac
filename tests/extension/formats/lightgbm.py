"""Models of LightGBM on a table of columns of many types, half of which they are trained on."""

import numpy as np
import pandas as pd

import lightgbm as lgb
from tests.extension.formats.frame import (
    KINDS,
    LEAVES,
    ROWS,
    Predictions,
    numbers,
    score_of_numbers,
)

NAME = f"LightGBM {lgb.__version__}"
COLOURS = ["red", "green", "", "O'Hare", "bl\u00fc", "NULL", "\u65e5\u672c"]
SIZES = [30, -4, 10, 7_000_000_000]
FOREST = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
MODELS = {
    "regression": {"objective": "regression"},
    "square_root": {"objective": "regression", "reg_sqrt": True},
    "l1": {"objective": "regression_l1"},
    "huber": {"objective": "huber"},
    "quantile": {"objective": "quantile", "alpha": 0.2},
    "mape": {"objective": "mape"},
    "poisson": {"objective": "poisson"},
    "gamma": {"objective": "gamma"},
    "tweedie": {"objective": "tweedie"},
    "binary": {"objective": "binary", "sigmoid": 1.55177},
    "cross_entropy": {"objective": "cross_entropy"},
    "cross_entropy_lambda": {"objective": "cross_entropy_lambda"},
    "multiclass": {"objective": "multiclass", "num_class": 3},
    "multiclassova": {"objective": "multiclassova", "num_class": 3},
    "lambdarank": {"objective": "lambdarank"},
    "zeros_missing": {"objective": "regression", "zero_as_missing": True},
    "nothing_missing": {"objective": "regression", "use_missing": False},
    "dart": {"objective": "binary", "boosting": "dart", "drop_rate": 0.5, "skip_drop": 0},
    "goss": {"objective": "binary", "boosting": "goss"},
    "forest": {"objective": "regression", **FOREST},
    "forest_of_classes": {"objective": "multiclass", "num_class": 3, **FOREST},
}
TESTED = COMPARED = MODELS
# The frame has columns of float32, which LightGBM widens.
ARGUMENTS = ", real_input => 'float32'"


def make_frame() -> pd.DataFrame:
    """Numbers of all widths, categories of three types, and something missing in each."""
    draw = np.random.default_rng(21)

    def chosen(values: list) -> pd.Categorical:
        return pd.Categorical.from_codes(draw.integers(-1, len(values), ROWS), pd.Index(values))

    categories = map(chosen, (COLOURS, SIZES, [False, True]))
    return pd.DataFrame(numbers(draw, 40) | dict(zip(list(KINDS)[6:], categories, strict=True)))


def make_label(frame: pd.DataFrame) -> np.ndarray:
    """A target to which all columns contribute."""
    score = score_of_numbers(frame)
    score += np.cos(3.0 * frame["colour"].cat.codes) + np.sin(2.0 * frame["size"].cat.codes)
    return np.asarray(score + frame["flag"].cat.codes * np.nan_to_num(frame["exact"]))


def train(frame: pd.DataFrame, label: np.ndarray, params: dict) -> lgb.Booster:
    """A model of half of the rows."""
    objective = params["objective"]
    if objective.startswith("cross_entropy"):
        label = 1 / (1 + np.exp(-label))
    elif objective in ("poisson", "gamma", "tweedie"):
        label = np.exp(label / 4)
    elif objective not in ("regression", "regression_l1", "huber", "quantile", "mape"):
        label = np.digitize(label, [-0.5, 0.5])
        label = np.minimum(label, 1) if objective == "binary" else label
    half = ROWS // 2
    group = [20] * (half // 20) if objective == "lambdarank" else None
    fixed = {
        "num_threads": 1, "seed": 5, "verbosity": -1, "num_leaves": 40, "min_data_per_group": 5,
    }  # fmt: skip
    data = lgb.Dataset(frame.iloc[:half], label[:half], group=group)
    return lgb.train({**fixed, **params}, data, 12)


def files(model: lgb.Booster) -> list[bytes]:
    """The model file."""
    return [model.model_to_string().encode()]


def predictions(model: lgb.Booster, frame: pd.DataFrame, params: dict) -> Predictions:
    """LightGBM's predictions."""
    values = model.predict(frame)
    leaves = model.predict(frame.head(LEAVES), pred_leaf=True).reshape(LEAVES, -1).astype(int)
    classes = None
    if params["objective"] in ("binary", "multiclass", "multiclassova"):
        numbers = values > 0.5 if values.ndim == 1 else values.argmax(axis=1)
        classes = [str(number) for number in numbers.astype(int)]
    return Predictions(model.predict(frame, raw_score=True), values, leaves.tolist(), classes)
