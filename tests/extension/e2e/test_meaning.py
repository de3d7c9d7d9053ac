"""A version of other quantiles takes no name's place, whichever library trained it."""

from collections.abc import Callable

import numpy as np
import pytest
import xgboost as xgb
from psycopg import Connection, errors

import catboost
import lightgbm as lgb
from tests.extension.e2e.reference import model_bytes

ROWS = np.arange(40.0).reshape(20, 2)
TARGET = np.arange(20.0)


def of_xgboost(level: float) -> bytes:
    params = {"objective": "reg:quantileerror", "quantile_alpha": level}
    return model_bytes(xgb.train(params, xgb.QuantileDMatrix(ROWS, TARGET), 2))


def of_lightgbm(level: float) -> bytes:
    params = {"objective": "quantile", "alpha": level, "verbosity": -1, "min_data_in_leaf": 1}
    return lgb.train(params, lgb.Dataset(ROWS, TARGET), 2).model_to_string().encode()


def of_catboost(level: float, objective: str = "Quantile") -> bytes:
    # Quantile takes the median by default, Expectile nothing.
    is_default = level == 0.5 and objective == "Quantile"
    loss = objective if is_default else f"{objective}:alpha={level}"
    model = catboost.CatBoost({
        "loss_function": loss, "iterations": 2, "allow_writing_files": False, "verbose": 0,
    })  # fmt: skip
    return model.fit(ROWS, TARGET)._serialize_model()


MAKERS = {
    "xgboost": of_xgboost,
    "lightgbm": of_lightgbm,
    "catboost": of_catboost,
    "expectiles": lambda level: of_catboost(level, "Expectile"),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_other_quantiles(connection: Connection, make: Callable[[float], bytes]) -> None:
    load = "SELECT load_model('m', %s)"
    for _ in range(2):
        connection.execute(load, (make(0.5),))
    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="other quantiles") as raised:
        connection.execute(load, (make(0.9),))
    assert "of [0.5]; version 3 has" in raised.value.diag.message_detail
    connection.execute("SELECT load_model('m', %s, allow_change => true)", (make(0.9),))


def test_the_same_quantile_of_another_library(connection: Connection) -> None:
    names = "feature_names => '{a,b}'"
    for make in (of_xgboost, of_lightgbm, of_catboost):
        connection.execute(f"SELECT load_model('m', %s, {names})", (make(0.25),))
    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="other quantiles"):
        connection.execute(f"SELECT load_model('m', %s, {names})", (of_xgboost(0.75),))
