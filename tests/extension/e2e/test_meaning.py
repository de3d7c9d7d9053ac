"""A version of another quantity takes no name's place, whichever library trained it."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from psycopg import Connection, errors
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    VotingRegressor,
)
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import catboost
import lightgbm as lgb
import pgboost
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


def of_estimator(model: Any, **level: float) -> bytes:
    return pgboost.model_bytes(model.set_params(**level).fit(ROWS, TARGET))


def of_combined(parameter: str, level: float) -> bytes:
    model = COMBINED[parameter].set_params(**{parameter: level})
    target = TARGET[:, None] if isinstance(model, MultiOutputRegressor) else TARGET
    return pgboost.model_bytes(model.fit(ROWS, target))


HISTOGRAM = HistGradientBoostingRegressor(loss="quantile", max_iter=2)
BOOSTED = GradientBoostingRegressor(loss="quantile", n_estimators=2)
LIGHT = lgb.LGBMRegressor(objective="quantile", n_estimators=2, verbose=-1)
PIPELINES = {
    "alpha": LIGHT,
    "quantile_alpha": xgb.XGBRegressor(objective="reg:quantileerror", n_estimators=2),
}
# By parameter, models that combine those of quantiles.
COMBINED = {
    "regressor__alpha": TransformedTargetRegressor(LIGHT, func=np.log1p, inverse_func=np.expm1),
    "estimator__quantile": MultiOutputRegressor(HISTOGRAM),
    "estimator__alpha": GridSearchCV(LIGHT, {"num_leaves": [3]}, cv=2),
    "last__alpha": VotingRegressor([("last", LIGHT)]),
}
MAKERS = {
    "xgboost": of_xgboost,
    "lightgbm": of_lightgbm,
    "catboost": of_catboost,
    "expectiles": lambda level: of_catboost(level, "Expectile"),
    "histogram": lambda level: of_estimator(HISTOGRAM, quantile=level),
    "boosted": lambda level: of_estimator(BOOSTED, alpha=level),
    "pipeline of lightgbm": lambda level: of_pipeline("alpha", level),
    "pipeline of xgboost": lambda level: of_pipeline("quantile_alpha", level),
    "pipeline of catboost": lambda level: of_pipeline_of_catboost(f"Quantile:alpha={level}"),
    **{
        type(model).__name__: partial(of_combined, parameter)
        for parameter, model in COMBINED.items()
    },
}


def of_pipeline(parameter: str, level: float | list[float]) -> bytes:
    last = PIPELINES[parameter].set_params(**{parameter: level})
    return of_estimator(make_pipeline(StandardScaler(), last))


def of_pipeline_of_catboost(loss: str) -> bytes:
    model = catboost.CatBoostRegressor(
        loss_function=loss, iterations=2, allow_writing_files=False, verbose=0
    )
    return of_estimator(make_pipeline(StandardScaler(), model))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_other_quantiles(connection: Connection, make: Callable[[float], bytes]) -> None:
    load = "SELECT load_model('m', %s)"
    for _ in range(2):
        connection.execute(load, (make(0.5),))
    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="other quantiles") as raised:
        connection.execute(load, (make(0.9),))
    assert "of [0.5]; version 3 has" in raised.value.diag.message_detail
    connection.execute("SELECT load_model('m', %s, allow_change => true)", (make(0.9),))


@pytest.mark.parametrize(
    "make",
    [
        lambda levels: of_pipeline("quantile_alpha", levels),
        lambda levels: of_pipeline_of_catboost("MultiQuantile:alpha=" + ",".join(map(str, levels))),
    ],
    ids=["xgboost", "catboost"],
)
def test_other_quantiles_of_several(connection: Connection, make: Callable[..., bytes]) -> None:
    load = "SELECT load_model('m', %s)"
    for _ in range(2):
        connection.execute(load, (make([0.25, 0.5]),))
    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="other quantiles"):
        connection.execute(load, (make([0.25, 0.75]),))


def test_another_threshold_of_classes_is_a_notice(connection: Connection) -> None:
    notices: list[str] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_detail or ""))
    forest = RandomForestClassifier(2, random_state=0)
    tuned = {at: FixedThresholdClassifier(forest, threshold=at) for at in (0.5, 0.3)}
    for model in (forest, tuned[0.5], tuned[0.3]):
        content = pgboost.model_bytes(model.fit(ROWS, TARGET > 9))
        connection.execute("SELECT load_model('m', %s)", (content,))
    said = "predict_class gives the second class above 0.5 in version 2, above 0.3 in version 3."
    assert notices == [said]


def test_labels_that_become_texts_are_a_notice(connection: Connection) -> None:
    notices: list[str] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_detail or ""))
    data = xgb.QuantileDMatrix(ROWS, TARGET > 9)
    content = model_bytes(xgb.train({"objective": "binary:logistic"}, data, 2))
    for parameters in ("{}", '{"label_type": "text"}', '{"label_type": "text"}'):
        load = "SELECT load_model('m', %s, params => %s)"
        connection.execute(load, (content, parameters))
    assert notices == ["In Python, they are numbers of version 1, texts of version 2."]


def test_the_same_quantile_of_another_library(connection: Connection) -> None:
    names = "feature_names => '{a,b}'"
    others = {"expectiles", *(type(model).__name__ for model in COMBINED.values())}
    for make in [make for name, make in MAKERS.items() if name not in others]:
        connection.execute(f"SELECT load_model('m', %s, {names})", (make(0.25),))
    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="other quantiles"):
        connection.execute(f"SELECT load_model('m', %s, {names})", (of_xgboost(0.75),))


def test_another_loss_of_an_estimator(connection: Connection) -> None:
    losses = {"criterion": DecisionTreeRegressor(), "loss": HISTOGRAM}
    for number, (parameter, model) in enumerate(losses.items()):
        load = f"SELECT load_model('m{number}', %s)"
        connection.execute(load, (of_estimator(model, **{parameter: "squared_error"}),))
        other = of_estimator(model, **{parameter: "absolute_error"})
        with pytest.raises(errors.ObjectNotInPrerequisiteState, match="another objective"):
            connection.execute(load, (other,))


def categorical(categories: list) -> bytes:
    rows = pd.DataFrame({"k": pd.Categorical(np.resize(categories, 60)), "x": np.arange(60.0)})
    data = xgb.DMatrix(rows, np.arange(60) % len(categories), enable_categorical=True)
    return model_bytes(xgb.train({"max_depth": 3}, data, 2))


def test_a_training_with_other_categories_is_a_notice_and_with_numbers_refused(
    connection: Connection,
) -> None:
    notices: list[tuple] = []
    of = lambda notice: notices.append((notice.message_primary, notice.message_detail))  # noqa: E731
    connection.add_notice_handler(of)
    load = "SELECT load_model('m', %s)"
    for categories in (["a", "c"], ["a", "c", "d"], ["a", "b", "c"]):
        connection.execute(load, (categorical(categories),))
    connection.execute("SELECT rollback_model('m'), set_alias('m@2', 'x'), set_alias('m@3', 'x')")
    codes = 'In an array, code 1 of feature "k" is "{}" in version {} and "{}" in version {}.'
    message = 'version {} of model "m" has other codes of categories than version {}'
    forth = (message.format(3, 2), codes.format("c", 2, "b", 3))
    assert notices == [forth, (message.format(2, 3), codes.format("b", 3, "c", 2)), forth]
    with pytest.raises(
        errors.ObjectNotInPrerequisiteState, match="other values of a feature"
    ) as no:
        connection.execute(load, (categorical([1, 2]),))
    assert no.value.diag.message_detail == (
        'Version 2 has texts as feature "k"; version 4 has numbers as feature "k".'
    )
    assert "allow_change => true" in no.value.diag.message_hint
    connection.execute("SELECT load_model('m', %s, allow_change => true)", (categorical([1, 2]),))


def of_feature(categories: list[int] | None, *, is_number: bool = False) -> bytes:
    """A model that tests a number, the code of a category, or one of these categories."""
    kind = {} if is_number else {"category_set": [0, -1, -1], "category_sets": [[1]]}
    tree = {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0] * 3, "threshold": [0] * 3,
            "leaf_values": [1, 0]}  # fmt: skip
    file = {"tree_ensemble": 1, "feature_names": ["k"], "trees": [tree | kind]}
    return json.dumps(file | ({"categories": [categories]} if categories else {})).encode()


def test_codes_are_told_from_numbers_that_are_categories(connection: Connection) -> None:
    load = "SELECT load_model('m', %s)"
    connection.execute(load, (of_feature(None),))
    with pytest.raises(errors.ObjectNotInPrerequisiteState) as refused:
        connection.execute(load, (of_feature([10, 20]),))
    assert refused.value.diag.message_detail == (
        'Version 1 has codes as feature "k"; version 2 has categories as feature "k".'
    )
    for file in (of_feature([0, 1]), of_feature(None, is_number=True), of_feature([10, 20])):
        connection.execute(load, (file,))


def test_categories_of_catboost_may_be_texts_or_numbers(connection: Connection) -> None:
    rows = pd.DataFrame({"k": np.resize(["a", "c"], 60), "x": np.arange(60.0)})
    model = catboost.CatBoostRegressor(
        iterations=2, one_hot_max_size=9, cat_features=["k"], allow_writing_files=False, verbose=0
    )
    hashed = model.fit(rows, np.arange(60) % 2)._serialize_model()
    for other in (["a", "c"], [1, 2]):
        for file in (hashed, categorical(other), hashed):
            connection.execute("SELECT load_model('m', %s)", (file,))


def test_a_policy_that_two_libraries_take_otherwise_is_a_notice(connection: Connection) -> None:
    notices: list[str] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_hint or ""))
    names = "feature_names => '{a,b}'"
    load = f"SELECT load_model('m', %s, {names})"
    connection.execute(load, (of_xgboost(0.5),))
    connection.execute("SELECT set_unknown_category('m', 'library')")
    connection.execute(load, (of_lightgbm(0.5),))
    assert [hint for hint in notices if "set_unknown_category" in hint]
