"""Models of several labels, targets or quantiles predict in SQL what they predict in Python; a function that
does not give their values names those that do."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg
import pytest
import xgboost
from sklearn import ensemble, multiclass, multioutput, pipeline, preprocessing, tree

import catboost
import lightgbm
import pgboost
from tests.python import models

FRAME = models.numbers().rename(columns={"Double precision": "double"})
NUMBER = models.target(FRAME)
LABELS = np.stack([np.median(NUMBER) < NUMBER, FRAME["single"] > 0, FRAME["whole"] > 1], 1) * 1
TARGETS = np.stack([NUMBER, FRAME["single"]], 1)
CLASSES = np.stack([models.classes(FRAME, list("abc")), models.classes(FRAME, list("xyz"))], 1)
CAT: dict[str, Any] = {"iterations": 5, "verbose": False, "allow_writing_files": False}
TREES: dict[str, Any] = {"n_estimators": 5, "max_depth": 3}
VECTORS = {"multi_strategy": "multi_output_tree"}
FOREST = ensemble.RandomForestClassifier(**TREES, random_state=1)


def many(model: Any) -> Any:
    return multioutput.MultiOutputClassifier(model)


OF_LABELS: dict[str, Any] = {
    "MultiLogloss": catboost.CatBoostClassifier(loss_function="MultiLogloss", **CAT),
    "MultiCrossEntropy": catboost.CatBoostClassifier(loss_function="MultiCrossEntropy", **CAT),
    "MultiLogloss of CatBoost": catboost.CatBoost({"loss_function": "MultiLogloss", **CAT}),
    "XGBClassifier": xgboost.XGBClassifier(**TREES),
    "XGBRFClassifier": xgboost.XGBRFClassifier(**TREES),
    "vectors": xgboost.XGBClassifier(**TREES, **VECTORS),
    "forest": FOREST,
    "extra trees": ensemble.ExtraTreesClassifier(**TREES, random_state=1),
    "tree": tree.DecisionTreeClassifier(max_depth=3),
    "a forest in a Pipeline": pipeline.make_pipeline(preprocessing.StandardScaler(), FOREST),
    "a forest for each": many(FOREST),
    "a forest against the rest": multiclass.OneVsRestClassifier(FOREST),
    "LightGBM against the rest": multiclass.OneVsRestClassifier(
        lightgbm.LGBMClassifier(n_estimators=5, verbose=-1)
    ),
    "XGBoost for each": many(xgboost.XGBClassifier(**TREES)),
    "LightGBM for each": many(lightgbm.LGBMClassifier(n_estimators=5, verbose=-1)),
    "boosting for each": many(ensemble.GradientBoostingClassifier(**TREES)),
    "histograms for each": many(ensemble.HistGradientBoostingClassifier(max_iter=5)),
}
OF_TARGETS: dict[str, Any] = {
    "MultiRMSE": catboost.CatBoostRegressor(loss_function="MultiRMSE", **CAT),
    "XGBRegressor": xgboost.XGBRegressor(**TREES),
    "vectors of numbers": xgboost.XGBRegressor(**TREES, **VECTORS),
    "a forest of numbers": ensemble.RandomForestRegressor(**TREES),
    "boosting of numbers": multioutput.MultiOutputRegressor(
        ensemble.GradientBoostingRegressor(**TREES)
    ),
}
FITTED: dict[str, Callable[[], Any]] = {
    **{name: lambda model=model: model.fit(FRAME, LABELS) for name, model in OF_LABELS.items()},
    **{name: lambda model=model: model.fit(FRAME, TARGETS) for name, model in OF_TARGETS.items()},
}


def shares(model: Any) -> Any:
    """Returns the probability of each label."""
    if isinstance(model, catboost.CatBoost):
        return model.predict(FRAME, prediction_type="Probability")
    found = model.predict_proba(FRAME)
    return np.stack([of[:, 1] for of in found], 1) if isinstance(found, list) else found


@pytest.mark.parametrize("name", FITTED)
def test_predict_array_equals_the_library(connection: psycopg.Connection, name: str) -> None:
    model = FITTED[name]()
    pgboost.push(connection, "model", model)
    assert pgboost.verify(connection, "model", model, FRAME)
    expected = shares(model) if name in OF_LABELS else model.predict(FRAME)
    found = pgboost.predict(connection, "model", FRAME)
    np.testing.assert_allclose(found, np.float32(expected), rtol=3e-7, atol=1e-7)
    # A row has the labels whose probability is above a half.
    if name in OF_LABELS and type(model) is not catboost.CatBoost:
        assert ((found > 0.5) == (np.asarray(model.predict(FRAME)) == 1)).mean() > 0.999


@pytest.mark.parametrize("name", ["XGBClassifier", "MultiRMSE", "forest"])
def test_the_hint_names_a_function_that_gives_the_values(
    connection: psycopg.Connection, name: str
) -> None:
    pgboost.push(connection, "model", FITTED[name]())
    connection.commit()
    given = ", ".join(f"1 AS {column}" for column in FRAME)
    for function in ("predict", "predict_class", "predict_proba"):
        with pytest.raises(psycopg.errors.WrongObjectType) as raised:
            connection.execute(f"SELECT {function}('model', f) FROM (SELECT {given}) f")
        connection.rollback()
        named = re.findall(r"predict\w*", raised.value.diag.message_hint or "")
        assert named == ["predict_array"], function
        connection.execute(f"SELECT predict_array('model', f) FROM (SELECT {given}) f")


@pytest.mark.parametrize(
    ("model", "instead"),
    [
        (multioutput.ClassifierChain(FOREST), "push each of its estimators_"),
        (multioutput.RegressorChain(ensemble.RandomForestRegressor(3)), "push each of its est"),
        (multiclass.OneVsRestClassifier(FOREST), "push each of its estimators_"),
        (multiclass.OneVsOneClassifier(FOREST), "push each of its estimators_"),
    ],
)
def test_what_is_refused_has_members_to_push(model: Any, instead: str) -> None:
    target = LABELS if "Chain" in type(model).__name__ else CLASSES[:, 0]
    with pytest.raises(pgboost.UnsupportedModelError, match=instead):
        pgboost.model_bytes(model.fit(FRAME, target))


@pytest.mark.parametrize("model", [FOREST, many(FOREST), tree.DecisionTreeClassifier()])
def test_outputs_of_more_classes_are_refused(model: Any) -> None:
    with pytest.raises(pgboost.UnsupportedModelError, match="one of 3 classes: push a classifier"):
        pgboost.model_bytes(model.fit(FRAME, CLASSES))
