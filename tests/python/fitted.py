"""A model of each library, fitted when it is called: of a number, of two classes and of three."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xgboost

import catboost
import lightgbm
from tests.python import models

ROWS = models.frame()
NUMBER = models.target(ROWS)
TWO, THREE = models.classes(ROWS, ["late", "früh"]), models.classes(ROWS, [10, 20, 30])
QUICK = {"n_estimators": 12, "max_depth": 4, "random_state": 1}
QUIET = {"verbose": -1, **QUICK}
BAGGED = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
CAT = {
    "iterations": 12,
    "depth": 4,
    "random_seed": 1,
    "verbose": False,
    "allow_writing_files": False,
}


def of_xgboost(target: np.ndarray, **options: Any) -> Any:
    return xgboost.XGBClassifier(**QUICK, **options).fit(ROWS, target)


def stopped() -> Any:
    noise = np.random.default_rng(3).normal(size=len(ROWS))
    model = xgboost.XGBRegressor(n_estimators=200, early_stopping_rounds=30, learning_rate=1.0)
    model.fit(ROWS[:300], noise[:300], eval_set=[(ROWS[300:], noise[300:])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    return model


REGRESSORS: dict[str, Callable[[], Any]] = {
    "XGBRegressor": lambda: xgboost.XGBRegressor(**QUICK),
    "XGBRFRegressor": lambda: xgboost.XGBRFRegressor(**QUICK),
    "LGBMRegressor": lambda: lightgbm.LGBMRegressor(**QUIET),
    "LGBMRegressor of rf": lambda: lightgbm.LGBMRegressor(**BAGGED, **QUIET),
    "LGBMRegressor, linear": lambda: lightgbm.LGBMRegressor(linear_tree=True, **QUIET),
    "CatBoostRegressor": lambda: catboost.CatBoostRegressor(**CAT),
    "CatBoostRegressor, lossguide": lambda: catboost.CatBoostRegressor(
        grow_policy="Lossguide", **CAT
    ),
    "CatBoost": lambda: catboost.CatBoost({**CAT, "loss_function": "RMSE"}),
}
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "LGBMClassifier": lambda: lightgbm.LGBMClassifier(**QUIET),
    "LGBMClassifier, linear": lambda: lightgbm.LGBMClassifier(linear_tree=True, **QUIET),
    "CatBoostClassifier": lambda: catboost.CatBoostClassifier(**CAT),
}
FITTED: dict[str, Callable[[], Any]] = {
    **{name: lambda make=make: make().fit(ROWS, NUMBER) for name, make in REGRESSORS.items()},
    **{name: lambda make=make: make().fit(ROWS, TWO) for name, make in CLASSIFIERS.items()},
    **{
        f"{name} of three": lambda make=make: make().fit(ROWS, THREE)
        for name, make in CLASSIFIERS.items()
    },
    # XGBoost's own classifier takes no texts.
    "XGBClassifier": lambda: of_xgboost(TWO == "früh"),
    "XGBClassifier of three": lambda: of_xgboost(THREE // 10 - 1),
    "XGBClassifier, softmax": lambda: of_xgboost(THREE // 10 - 1, objective="multi:softmax"),
    "XGBRegressor of poisson": lambda: xgboost.XGBRegressor(objective="count:poisson", **QUICK).fit(
        ROWS, np.abs(NUMBER)
    ),
    "XGBRegressor, stopped early": stopped,
    "Booster of XGBoost": lambda: xgboost.train(
        {"objective": "binary:logistic"}, xgboost.DMatrix(ROWS, TWO == "früh"), 12
    ),
    "Booster of LightGBM": lambda: lightgbm.train(
        {"objective": "poisson", "verbose": -1}, lightgbm.Dataset(ROWS, np.abs(NUMBER)), 12
    ),
    "CatBoostRegressor, Poisson": lambda: catboost.CatBoostRegressor(
        **CAT, loss_function="Poisson"
    ).fit(ROWS, np.abs(NUMBER)),
    "CatBoost of Logloss": lambda: catboost.CatBoost({**CAT, "loss_function": "Logloss"}).fit(
        ROWS, TWO == "früh"
    ),
}
