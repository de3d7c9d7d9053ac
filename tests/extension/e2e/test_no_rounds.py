"""A model before its first round predicts as its library does."""

import numpy as np
import pytest
import xgboost as xgb
from psycopg import Connection

import lightgbm as lgb
from tests.extension.e2e.reference import assert_near, assert_same_bits, floats, model_bytes

ROWS = np.array([[0.0, 1.0], [np.nan, -3.5]], dtype=np.float32)
LABELS = {"multi": [2, 1], "rank": [0, 1], "survival": [1.0, 2.0], "binary": [0, 1]}
XGBOOST = [
    {"objective": "binary:hinge"},
    {"objective": "binary:logistic"},
    {"objective": "binary:logitraw"},
    {"objective": "count:poisson"},
    {"objective": "multi:softmax", "num_class": 3},
    {"objective": "multi:softprob", "num_class": 3},
    {"objective": "rank:ndcg"},
    {"objective": "reg:absoluteerror"},
    {"objective": "reg:gamma"},
    {"objective": "reg:logistic"},
    {"objective": "reg:quantileerror", "quantile_alpha": [0.25, 0.75]},
    {"objective": "reg:squarederror"},
    {"objective": "reg:squaredlogerror"},
    {"objective": "reg:tweedie"},
    {"objective": "survival:aft"},
    {"objective": "survival:cox"},
]
LIGHTGBM = [
    {"objective": "binary"},
    {"objective": "multiclass", "num_class": 3},
    {"objective": "multiclassova", "num_class": 3},
    {"objective": "poisson"},
    {"objective": "regression"},
    {"objective": "cross_entropy_lambda"},
]


def found(connection: Connection, function: str) -> np.ndarray:
    queries = [f"SELECT {function}('m', ARRAY[%s, %s]::real[])" for _ in ROWS]
    rows = [[None if np.isnan(value) else value for value in row] for row in ROWS.tolist()]
    answers = [connection.execute(*one).fetchone()[0] for one in zip(queries, rows, strict=True)]
    return floats(answers).reshape(len(ROWS), -1)


@pytest.mark.parametrize("booster", ["gbtree", "dart", "gblinear"])
@pytest.mark.parametrize("base_score", [None, 0.3])
@pytest.mark.parametrize("params", XGBOOST, ids=lambda params: params["objective"])
def test_xgboost(
    connection: Connection, params: dict, base_score: float | None, booster: str
) -> None:
    kind = params["objective"].partition(":")[0]
    data = xgb.DMatrix(ROWS, LABELS.get(kind, [0.25, 0.75]))
    if params["objective"] == "survival:aft":
        data.set_float_info("label_lower_bound", np.ones(2))
        data.set_float_info("label_upper_bound", np.ones(2))
    given = {} if base_score is None else {"base_score": base_score}
    trained = xgb.train(params | given | {"booster": booster}, data, 0)
    connection.execute("SELECT load_model('m', %s)", (model_bytes(trained),))
    matrix = xgb.DMatrix(ROWS)
    margins = trained.predict(matrix, output_margin=True).reshape(len(ROWS), -1)
    assert_same_bits(found(connection, "predict_margin"), margins)
    assert_near(found(connection, "predict_array"), trained.predict(matrix).reshape(len(ROWS), -1))


@pytest.mark.parametrize("params", LIGHTGBM, ids=lambda params: params["objective"])
def test_lightgbm(connection: Connection, params: dict) -> None:
    data = lgb.Dataset(np.arange(40.0).reshape(20, 2), np.arange(20) % 2)
    booster = lgb.Booster(params | {"verbosity": -1}, data)
    connection.execute("SELECT load_model('m', %s)", (booster.model_to_string().encode(),))
    for function, raw in (("predict_margin", True), ("predict_array", False)):
        expected = booster.predict(ROWS, raw_score=raw).reshape(len(ROWS), -1)
        assert_near(found(connection, function), expected.astype(np.float32))
