"""Models of CatBoost on a table of columns of many types, half of which they are trained on."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import catboost
from catboost import CatBoost, Pool
from tests.extension.formats.frame import (
    KINDS,
    LEAVES,
    ROWS,
    Predictions,
    numbers,
    score_of_numbers,
)

NAME = f"CatBoost {catboost.__version__}"
COLOURS = ["red", "green", "", "O'Hare", "bl\u00fc", "NULL", "\u65e5\u672c", "x" * 70]
SIZES = [30, -4, 0, 7_000_000_000]
CATEGORICAL = list(KINDS)[6:]
DEPTHWISE = {"grow_policy": "Depthwise", "min_data_in_leaf": 20}
LOSSGUIDE = {"grow_policy": "Lossguide", "max_leaves": 40, "depth": 12}
MODELS = {
    "RMSE": {"loss_function": "RMSE"},
    "RMSE, depth 10": {"loss_function": "RMSE", "depth": 10},
    "RMSE, Depthwise": {"loss_function": "RMSE", **DEPTHWISE},
    "RMSE, Lossguide": {"loss_function": "RMSE", **LOSSGUIDE},
    "RMSE, NaN above all": {"loss_function": "RMSE", "nan_mode": "Max"},
    "MAE": {"loss_function": "MAE"},
    "Quantile": {"loss_function": "Quantile:alpha=0.2"},
    "Huber": {"loss_function": "Huber:delta=1"},
    "Poisson": {"loss_function": "Poisson"},
    "Tweedie": {"loss_function": "Tweedie:variance_power=1.5"},
    "RMSEWithUncertainty": {"loss_function": "RMSEWithUncertainty"},
    "MultiQuantile": {"loss_function": "MultiQuantile:alpha=0.1,0.5,0.9"},
    "Logloss": {"loss_function": "Logloss"},
    "Logloss, Lossguide": {"loss_function": "Logloss", **LOSSGUIDE},
    "CrossEntropy": {"loss_function": "CrossEntropy"},
    "MultiClass": {"loss_function": "MultiClass"},
    "MultiClass, Depthwise": {"loss_function": "MultiClass", **DEPTHWISE},
    "MultiClassOneVsAll": {"loss_function": "MultiClassOneVsAll"},
    "YetiRank": {"loss_function": "YetiRank"},
    "QueryRMSE": {"loss_function": "QueryRMSE"},
}
# Target statistics of the categories and of their combinations, in place of one-hot categories.
STATISTICS = {
    f"{name}, CTR": {"one_hot_max_size": 2, "model_size_reg": 0, **params}
    for name, params in {
        "RMSE": {"loss_function": "RMSE", "max_ctr_complexity": 3},
        "RMSE, one-hot": {"loss_function": "RMSE", "one_hot_max_size": 4, "max_ctr_complexity": 3},
        "RMSE, Lossguide": {"loss_function": "RMSE", **LOSSGUIDE},
        "Poisson": {"loss_function": "Poisson", "counter_calc_method": "Full"},
        "Logloss": {"loss_function": "Logloss", "simple_ctr": ["Borders", "Counter", "Buckets"]},
        "MultiClass": {"loss_function": "MultiClass", "max_ctr_complexity": 2},
    }.items()
}
TESTED = COMPARED = MODELS | STATISTICS
FORMATS = ("json", "cbm")
ARGUMENTS = ""
PROBABILITIES = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")


def make_frame() -> pd.DataFrame:
    """Numbers of all widths, some missing, and categories of three types."""
    draw = np.random.default_rng(23)
    columns = numbers(draw, 30)
    columns["colour"] = np.array(COLOURS, dtype=object)[draw.integers(0, len(COLOURS), ROWS)]
    columns["size"] = np.array(SIZES)[draw.integers(0, len(SIZES), ROWS)]
    return pd.DataFrame(columns | {"flag": draw.random(ROWS) < 0.5})


def make_label(frame: pd.DataFrame) -> np.ndarray:
    """Something that all columns have a part in."""
    score = score_of_numbers(frame)
    score += np.cos(3.0 * frame["colour"].map(COLOURS.index))
    score += np.sin(2.0 * frame["size"].map(SIZES.index))
    return np.asarray(score + frame["flag"] * np.nan_to_num(frame["exact"]))


def train(frame: pd.DataFrame, label: np.ndarray, params: dict) -> CatBoost:
    """A model of half of the rows."""
    loss = params["loss_function"].split(":")[0]
    half = ROWS // 2
    groups = np.arange(half) // 20 if loss in ("YetiRank", "QueryRMSE") else None
    if loss in ("CrossEntropy", "YetiRank"):
        label = 1 / (1 + np.exp(-label))
    elif loss in ("Poisson", "Tweedie"):
        label = np.exp(label / 4)
    elif loss in PROBABILITIES:
        names = ["low", "medium", "high"]
        label = np.array(names)[np.digitize(label, [0.5] if loss == "Logloss" else [-0.5, 0.5])]
    fixed = {
        "iterations": 12, "depth": 6, "learning_rate": 0.3, "one_hot_max_size": 20, "random_seed": 5,
        "thread_count": 1, "verbose": False, "allow_writing_files": False,
    }  # fmt: skip
    pool = Pool(frame.iloc[:half], label[:half], cat_features=CATEGORICAL, group_id=groups)
    return CatBoost({**fixed, **params}).fit(pool)


def answers(model: CatBoost, frame: pd.DataFrame, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """CatBoost's margins, and the values that its scikit-learn wrappers return."""
    kinds = dict.fromkeys(PROBABILITIES, "Probability") | {
        "Poisson": "Exponent", "Tweedie": "Exponent", "RMSEWithUncertainty": "RMSEWithUncertainty",
    }  # fmt: skip
    kind = kinds.get(loss, "RawFormulaVal")
    pool = Pool(frame, cat_features=CATEGORICAL)
    values = model.predict(pool, prediction_type=kind)
    if loss in ("Logloss", "CrossEntropy"):
        values = values[:, 1]
    return model.predict(pool, prediction_type="RawFormulaVal"), values


def file_of(model: CatBoost, file_format: str) -> bytes:
    """The model file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save_model(str(path), format=file_format)
        return path.read_bytes()


def files(model: CatBoost) -> list[bytes]:
    """The model file in both formats."""
    return [file_of(model, file_format) for file_format in FORMATS]


def predictions(model: CatBoost, frame: pd.DataFrame, params: dict) -> Predictions:
    """CatBoost's predictions."""
    loss = params["loss_function"].split(":")[0]
    pool = Pool(frame, cat_features=CATEGORICAL)
    leaves = model.calc_leaf_indexes(Pool(frame.head(LEAVES), cat_features=CATEGORICAL))
    classes = None
    if loss in PROBABILITIES and loss != "CrossEntropy":
        classes = np.ravel(model.predict(pool, prediction_type="Class")).tolist()
    return Predictions(*answers(model, frame, loss), leaves.tolist(), classes)
