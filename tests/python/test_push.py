"""Every library's model predicts in the database as its object does, to the bit."""

from typing import Any

import numpy as np
import psycopg
import pytest
import xgboost

import pgboost
from tests.python import models
from tests.python.fitted import FITTED, NUMBER, ROWS


def assert_same_bits(connection: psycopg.Connection, model: Any) -> None:
    pgboost.push(connection, "model", model)
    found = pgboost.verify(connection, "model", model, ROWS)
    assert (found.rows, found.differing, found.classes_differing) == (len(ROWS), 0, 0)


@pytest.mark.parametrize("name", FITTED)
def test_predictions_have_the_same_bits_and_labels(
    connection: psycopg.Connection, name: str
) -> None:
    assert_same_bits(connection, FITTED[name]())


@pytest.mark.parametrize("stopping", [None, 2])
@pytest.mark.parametrize("kind", [xgboost.XGBRegressor, xgboost.XGBClassifier])
def test_linear_boosters(
    connection: psycopg.Connection, kind: type[xgboost.XGBModel], stopping: int | None
) -> None:
    """They have no rounds, so all of the model counts where they stopped early."""
    target = NUMBER if kind is xgboost.XGBRegressor else models.classes(ROWS, [0, 1, 2])
    model = kind(booster="gblinear", n_estimators=40, early_stopping_rounds=stopping)
    model.fit(ROWS, target, eval_set=[(ROWS[:50], target[:50])], verbose=False)
    for one in (model, model.get_booster()):
        assert_same_bits(connection, one)


def test_categories_given_by_hand(connection: psycopg.Connection) -> None:
    cities = ["Graz", "Linz", "Wien"]
    frame = ROWS.assign(city=np.arange(len(ROWS)) % 3)
    matrix = xgboost.DMatrix(
        frame.astype(np.float32), NUMBER, feature_types=["q"] * 5 + ["c"], enable_categorical=True
    )
    booster = xgboost.train({"max_depth": 4}, matrix, num_boost_round=9)
    pgboost.push(connection, "city", booster, categories={"city": cities})
    row = frame.iloc[0].astype(float).to_dict() | {"city": cities[frame["city"][0]]}
    names = ", ".join(f"%s::{'text' if name == 'city' else 'real'}" for name in row)
    (value,) = connection.execute(f"SELECT predict('city', {names})", list(row.values())).fetchone()
    assert np.float32(value) == booster.predict(matrix)[0]
