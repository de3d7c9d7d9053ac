"""The functions that each kind of model has, and the hints of those that it has not."""

import re
from typing import Any

import numpy as np
import pytest
import xgboost
from psycopg import Connection, errors
from sklearn.ensemble import IsolationForest

import catboost
import lightgbm
import pgboost
from tests.python.models import SILENT

ROWS = np.random.default_rng(1).normal(size=(200, 2))
NUMBER = np.abs(ROWS[:, 0]) + ROWS[:, 1] ** 2
CLASS = np.arange(200) % 3
PAIR = np.stack([NUMBER, NUMBER + 1], 1)
GROUPS = np.repeat(np.arange(20), 10)


def boosted(objective: str, target: Any, **options: Any) -> Any:
    data = xgboost.DMatrix(ROWS, target, **options.pop("data", {}))
    return xgboost.train({"objective": objective, "max_depth": 2, **options}, data, 2)


def cat(loss: str, target: Any, **options: Any) -> Any:
    return catboost.CatBoost({"iterations": 2, "loss_function": loss, **SILENT}).fit(
        ROWS, target, **options
    )


VALUE = {"predict", "predict_array", "predict_margin"}
SEVERAL = {"predict_array", "predict_margin"}
CLASSES = {"predict_class", "predict_proba"}
MODELS: dict[str, tuple[Any, set[str]]] = {
    "regression": (boosted("reg:squarederror", NUMBER), VALUE),
    "counts": (boosted("count:poisson", NUMBER), VALUE),
    "binary": (boosted("binary:logistic", CLASS % 2), VALUE | CLASSES),
    "margins of two classes": (boosted("binary:logitraw", CLASS % 2), VALUE | {"predict_class"}),
    "hinge": (boosted("binary:hinge", CLASS % 2), VALUE | {"predict_class"}),
    "multiclass": (boosted("multi:softprob", CLASS, num_class=3), SEVERAL | CLASSES),
    "number of a class": (boosted("multi:softmax", CLASS, num_class=3), VALUE | {"predict_class"}),
    "one against the rest": (cat("MultiClassOneVsAll", CLASS), SEVERAL | CLASSES),
    "ranking": (boosted("rank:ndcg", CLASS, data={"qid": GROUPS}), VALUE),
    "pairs": (cat("YetiRank", CLASS, group_id=GROUPS), VALUE),
    "survival": (boosted("survival:cox", NUMBER), VALUE),
    "quantile": (lightgbm.LGBMRegressor(
        n_estimators=2, objective="quantile", verbose=-1).fit(ROWS, NUMBER), VALUE),
    "quantiles": (boosted("reg:quantileerror", NUMBER, quantile_alpha=[0.1, 0.9]), SEVERAL),
    "targets": (boosted("reg:squarederror", PAIR), SEVERAL),
    "labels": (cat("MultiLogloss", (ROWS > 0).astype(int)), SEVERAL),
    "uncertainty": (cat("RMSEWithUncertainty", NUMBER), SEVERAL),
    "isolation": (IsolationForest(n_estimators=3, random_state=1).fit(ROWS), VALUE | {"predict_class"}),
}  # fmt: skip
FUNCTIONS = [*VALUE, *CLASSES]
EVALUATIONS = {
    "evaluate_model": "evaluate_model('m', 'SELECT 0.1 AS f0, 0.2 AS f1, 1 AS y', 'y')",
    "permutation_importance": "permutation_importance('m', 'SELECT 0.1 AS f0, 0.2 AS f1, 1 AS y', 'y')",
    "partial_dependence": "partial_dependence('m', 'SELECT 0.1 AS f0, 0.2 AS f1', 'f0')",
}


@pytest.mark.parametrize("kind", MODELS)
def test_hints_name_functions_that_the_model_has(connection: Connection, kind: str) -> None:
    model, expected = MODELS[kind]
    pgboost.push(connection, "m", model, feature_names=["f0", "f1"], check=False)
    calls = {name: f"{name}('m', 0.1, 0.2)" for name in FUNCTIONS} | EVALUATIONS
    hints = {}
    for name, call in calls.items():
        try:
            with connection.transaction():
                connection.execute(f"SELECT {call}")
        except errors.WrongObjectType as error:
            hints[name] = error.diag.message_hint or ""
        except errors.DatabaseError as error:
            assert name in EVALUATIONS, error
    assert {*FUNCTIONS} - {*hints} == expected
    for hint in hints.values():
        named = re.findall(r"predict\w*", hint)
        assert named and {*named} <= expected, hint
