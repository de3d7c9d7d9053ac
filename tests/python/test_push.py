"""Every library's model predicts in the database as its object does."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
import xgboost

import catboost
import lightgbm
import pgboost
from tests.python import models

SMALL = {"n_estimators": 12, "max_depth": 4, "random_state": 1}
CAT = {
    "iterations": 12,
    "depth": 4,
    "random_seed": 1,
    "verbose": False,
    "allow_writing_files": False,
}
TEXTS = ["late", "on time", "früh"]


def verified(connection: psycopg.Connection, model: Any, frame: Any) -> pgboost.Verification:
    pgboost.push(connection, "model", model)
    found = pgboost.verify(connection, "model", model, frame)
    assert found.rows == len(frame)
    return found


def to_the_bit(found: pgboost.Verification) -> bool:
    return found.differing == 0 and found.classes_differing == 0


def xgboost_booster(frame: pd.DataFrame) -> xgboost.Booster:
    matrix = xgboost.DMatrix(frame, models.target(frame))
    return xgboost.train({"max_depth": 4}, matrix, num_boost_round=9)


REGRESSORS: dict[str, Callable[[], Any]] = {
    "XGBRegressor": lambda: xgboost.XGBRegressor(**SMALL),
    "XGBRegressor of poisson": lambda: xgboost.XGBRegressor(objective="count:poisson", **SMALL),
    "XGBRFRegressor": lambda: xgboost.XGBRFRegressor(**SMALL),
    "LGBMRegressor": lambda: lightgbm.LGBMRegressor(verbose=-1, **SMALL),
    "LGBMRegressor of rf": lambda: lightgbm.LGBMRegressor(
        boosting_type="rf", bagging_freq=1, bagging_fraction=0.6, verbose=-1, **SMALL
    ),
    "LGBMRegressor of linear trees": lambda: lightgbm.LGBMRegressor(
        linear_tree=True, verbose=-1, **SMALL
    ),
    "CatBoostRegressor": lambda: catboost.CatBoostRegressor(**CAT),
    "CatBoostRegressor lossguide": lambda: catboost.CatBoostRegressor(
        grow_policy="Lossguide", **CAT
    ),
    "CatBoost": lambda: catboost.CatBoost({**CAT, "loss_function": "RMSE"}),
}

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "XGBClassifier": lambda: xgboost.XGBClassifier(**SMALL),
    "LGBMClassifier": lambda: lightgbm.LGBMClassifier(verbose=-1, **SMALL),
    "LGBMClassifier of linear trees": lambda: lightgbm.LGBMClassifier(
        linear_tree=True, verbose=-1, **SMALL
    ),
    "CatBoostClassifier": lambda: catboost.CatBoostClassifier(**CAT),
}


@pytest.mark.parametrize("make", REGRESSORS.values(), ids=REGRESSORS.keys())
def test_regressors_predict_the_same_bits(
    connection: psycopg.Connection, make: Callable[[], Any]
) -> None:
    frame = models.frame()
    y = np.abs(models.target(frame))
    assert to_the_bit(verified(connection, make().fit(frame, y), frame))


@pytest.mark.parametrize("labels", [TEXTS, TEXTS[:2]], ids=["three", "two"])
@pytest.mark.parametrize("make", CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
def test_classifiers_predict_the_same_bits_and_labels(
    connection: psycopg.Connection, make: Callable[[], Any], labels: list[str]
) -> None:
    frame = models.frame()
    model = make()
    # XGBoost's own classifier takes no texts.
    given = list(range(len(labels))) if "XGB" in type(model).__name__ else labels
    assert to_the_bit(verified(connection, model.fit(frame, models.classes(frame, given)), frame))


def test_booster_uses_all_rounds(connection: psycopg.Connection) -> None:
    frame = models.frame()
    assert to_the_bit(verified(connection, xgboost_booster(frame), frame))


def test_wrapper_that_stopped_early_uses_its_best_iteration(connection: psycopg.Connection) -> None:
    frame = models.frame()
    noise = np.random.default_rng(3).normal(size=len(frame))
    model = xgboost.XGBRegressor(n_estimators=200, early_stopping_rounds=30, learning_rate=1.0)
    model.fit(frame[:300], noise[:300], eval_set=[(frame[300:], noise[300:])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    assert to_the_bit(verified(connection, model, frame))


@pytest.mark.parametrize("stopping", [None, 2])
@pytest.mark.parametrize("kind", [xgboost.XGBRegressor, xgboost.XGBClassifier])
def test_linear_boosters(
    connection: psycopg.Connection, kind: type[xgboost.XGBModel], stopping: int | None
) -> None:
    """They have no rounds, so all of the model counts where they stopped early."""
    frame = models.frame().astype(np.float32)
    is_classifier = kind is xgboost.XGBClassifier
    y = models.classes(frame, [0, 1, 2]) if is_classifier else models.target(frame)
    model = kind(booster="gblinear", n_estimators=40, early_stopping_rounds=stopping)
    model.fit(frame, y, eval_set=[(frame[:50], y[:50])], verbose=False)
    assert to_the_bit(verified(connection, model, frame))
    booster = model.get_booster()
    assert to_the_bit(verified(connection, booster, frame))


def test_categories_are_the_texts_of_the_frame(connection: psycopg.Connection) -> None:
    frame = models.frame()
    frame["city"] = pd.Categorical(
        np.array(["Wien", "Graz", "Linz", None])[np.arange(len(frame)) % 4]
    )
    y = models.target(frame.drop(columns="city")) + 9 * (frame["city"] == "Linz")
    model = lightgbm.LGBMRegressor(verbose=-1, min_data_per_group=5, **SMALL).fit(frame, y)
    assert to_the_bit(verified(connection, model, frame))


def test_categories_given_by_hand(connection: psycopg.Connection) -> None:
    frame = models.frame()
    cities = ["Graz", "Linz", "Wien"]
    frame["city"] = np.arange(len(frame)) % 3
    matrix = xgboost.DMatrix(
        frame.astype(np.float32),
        models.target(frame),
        feature_types=["q"] * 5 + ["c"],
        enable_categorical=True,
    )
    booster = xgboost.train({"max_depth": 4}, matrix, num_boost_round=9)
    pgboost.push(connection, "city", booster, categories={"city": cities})
    row = frame.iloc[0].astype(float).to_dict() | {"city": cities[frame["city"][0]]}
    names = ", ".join(f"%s::{'text' if name == 'city' else 'real'}" for name in row)
    (value,) = connection.execute(f"SELECT predict('city', {names})", list(row.values())).fetchone()
    assert np.float32(value) == booster.predict(matrix)[0]


def test_arrays_match_by_position(connection: psycopg.Connection) -> None:
    rows = models.numbers().to_numpy()
    model = xgboost.XGBRegressor(**SMALL).fit(rows, rows.sum(axis=1))
    assert to_the_bit(verified(connection, model, rows))


def test_more_columns_than_arguments_can_be(connection: psycopg.Connection) -> None:
    rows = np.random.default_rng(5).normal(size=(200, 130)).astype(np.float32)
    model = xgboost.XGBRegressor(**SMALL).fit(rows, rows.sum(axis=1))
    assert to_the_bit(verified(connection, model, rows))
