"""Small data that every library trains on, and a model of each library, fitted when it is called."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xgboost

import catboost
import lightgbm

SEED = 20261122
ROWS = 400
CITIES = ["Rome", "Oslo", "Bern", "Riga"]


class Changed(xgboost.XGBRegressor):
    """A model that predicts other numbers than its file, where its first feature is missing."""

    def predict(self, frame: Any, **options: Any) -> Any:
        found = super().predict(frame, **options)
        return np.where(np.isnan(np.asarray(frame, float)[:, 0]), found + 0.5, found)


def frame(rows: int = ROWS) -> pd.DataFrame:
    """Numbers of four types, some of them missing."""
    generator = np.random.default_rng(SEED)
    x = generator.normal(size=(rows, 3))
    x[generator.random((rows, 3)) < 0.05] = np.nan
    return pd.DataFrame({
        "single": x[:, 0].astype(np.float32), "Double precision": x[:, 1],
        "whole": generator.integers(-5, 5, rows), "flag": generator.random(rows) < 0.5,
        "other": x[:, 2].astype(np.float32),
    })  # fmt: skip


def numbers(rows: int = ROWS) -> pd.DataFrame:
    """Columns that every library reads, without missing values."""
    return frame(rows).astype(np.float32).fillna(0)


def with_categories(zones: int) -> pd.DataFrame:
    """The frame with a category of text and one of numbers."""
    city = np.random.default_rng(5).choice(CITIES, ROWS).astype(object)
    return frame().assign(city=city, zone=np.arange(ROWS) % zones)


def target(of: pd.DataFrame) -> np.ndarray:
    """Returns a number that depends on all columns."""
    values = of.astype(float).fillna(0).to_numpy()
    return np.asarray(values @ np.arange(1, values.shape[1] + 1) + values[:, 0] ** 2)


def classes(of: pd.DataFrame, labels: list[Any]) -> np.ndarray:
    """Returns labels by the size of the target."""
    codes = pd.qcut(target(of), len(labels), labels=False)
    return np.asarray(labels)[codes]


FRAME = frame()
NUMBER = target(FRAME)
TWO, THREE = classes(FRAME, ["late", "früh"]), classes(FRAME, [10, 20, 30])
EARLY, COUNT = TWO == "früh", np.abs(NUMBER)
QUICK = {"n_estimators": 12, "max_depth": 4, "random_state": 1}
QUIET = {"verbose": -1, **QUICK}
BAGGED = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6, **QUIET}
SILENT = {"verbose": False, "allow_writing_files": False}
CAT = {"iterations": 12, "depth": 4, "random_seed": 1, **SILENT}


def of_xgboost(target: np.ndarray, **options: Any) -> Any:
    return xgboost.XGBClassifier(**QUICK, **options).fit(FRAME, target)


def stopped() -> Any:
    noise = np.random.default_rng(3).normal(size=ROWS)
    model = xgboost.XGBRegressor(n_estimators=200, early_stopping_rounds=30, learning_rate=1.0)
    model.fit(FRAME[:300], noise[:300], eval_set=[(FRAME[300:], noise[300:])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    return model


REGRESSORS: dict[str, Callable[[], Any]] = {
    "XGBRegressor": lambda: xgboost.XGBRegressor(**QUICK),
    "XGBRFRegressor": lambda: xgboost.XGBRFRegressor(**QUICK),
    "LGBMRegressor": lambda: lightgbm.LGBMRegressor(**QUIET),
    "LGBMRegressor of rf": lambda: lightgbm.LGBMRegressor(**BAGGED),
    "LGBMRegressor, linear": lambda: lightgbm.LGBMRegressor(linear_tree=True, **QUIET),
    "CatBoostRegressor": lambda: catboost.CatBoostRegressor(**CAT),
    "CatBoostRegressor, lossguide": lambda: catboost.CatBoostRegressor(grow_policy="Lossguide", **CAT),
    "CatBoost": lambda: catboost.CatBoost({**CAT, "loss_function": "RMSE"}),
}  # fmt: skip
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "LGBMClassifier": lambda: lightgbm.LGBMClassifier(**QUIET),
    "LGBMClassifier, linear": lambda: lightgbm.LGBMClassifier(linear_tree=True, **QUIET),
    "CatBoostClassifier": lambda: catboost.CatBoostClassifier(**CAT),
}
FITTED: dict[str, Callable[[], Any]] = {
    **{name: lambda make=make: make().fit(FRAME, NUMBER) for name, make in REGRESSORS.items()},
    **{name: lambda make=make: make().fit(FRAME, TWO) for name, make in CLASSIFIERS.items()},
    **{f"{name} of three": lambda make=make: make().fit(FRAME, THREE) for name, make in CLASSIFIERS.items()},
    # XGBoost's own classifier takes no texts.
    "XGBClassifier": lambda: of_xgboost(EARLY),
    "XGBClassifier of three": lambda: of_xgboost(THREE // 10 - 1),
    "XGBClassifier, softmax": lambda: of_xgboost(THREE // 10 - 1, objective="multi:softmax"),
    "XGBRegressor of poisson": lambda: xgboost.XGBRegressor(
        objective="count:poisson", **QUICK).fit(FRAME, COUNT),
    "XGBRegressor, stopped early": stopped,
    "Booster of XGBoost": lambda: xgboost.train(
        {"objective": "binary:logistic"}, xgboost.DMatrix(FRAME, EARLY), 12),
    "Booster of LightGBM": lambda: lightgbm.train(
        {"objective": "poisson", "verbose": -1}, lightgbm.Dataset(FRAME, COUNT), 12),
    "CatBoostRegressor, Poisson": lambda: catboost.CatBoostRegressor(
        **CAT, loss_function="Poisson").fit(FRAME, COUNT),
    "CatBoost of Logloss": lambda: catboost.CatBoost({**CAT, "loss_function": "Logloss"}).fit(FRAME, EARLY),
}  # fmt: skip
