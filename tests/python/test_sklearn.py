"""What skl2onnx gets wrong about trees of scikit-learn is put right or refused by name."""

from collections.abc import Callable
from typing import Any

import google.protobuf
import numpy as np
import psycopg
import pytest
from sklearn import ensemble, impute, linear_model, pipeline, preprocessing, tree

import pgboost
from tests.python import models

SMALL = {"max_depth": 5, "random_state": 1}
FOREST = {"n_estimators": 12, **SMALL}
BOOSTED = {"max_iter": 10, "random_state": 1}

REGRESSORS: dict[str, Callable[[], Any]] = {
    "RandomForest": lambda: ensemble.RandomForestRegressor(**FOREST),
    "ExtraTrees": lambda: ensemble.ExtraTreesRegressor(**FOREST),
    "DecisionTree": lambda: tree.DecisionTreeRegressor(**SMALL),
    "ExtraTree": lambda: tree.ExtraTreeRegressor(**SMALL),
    "absolute error": lambda: tree.DecisionTreeRegressor(criterion="absolute_error", **SMALL),
    "monotonic": lambda: ensemble.RandomForestRegressor(monotonic_cst=[1, 0, 0, 0, -1], **FOREST),
    "scaler": lambda: pipeline.make_pipeline(
        preprocessing.StandardScaler(), ensemble.RandomForestRegressor(**FOREST)
    ),
}
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "RandomForest": lambda: ensemble.RandomForestClassifier(**FOREST),
    "ExtraTrees": lambda: ensemble.ExtraTreesClassifier(**FOREST),
    "DecisionTree": lambda: tree.DecisionTreeClassifier(**SMALL),
    "balanced": lambda: ensemble.RandomForestClassifier(class_weight="balanced", **FOREST),
    "scaler": lambda: pipeline.make_pipeline(
        preprocessing.RobustScaler(), tree.DecisionTreeClassifier(**SMALL)
    ),
}


def with_missing(frame: Any) -> Any:
    """A fifth of the values is missing, by a rule that the trees can learn from."""
    return frame.mask(np.random.default_rng(7).random(frame.shape) < 0.2)


def assert_same(connection: psycopg.Connection, model: Any, frame: Any) -> None:
    """What SQL predicts is what Python predicts, for the rows of the frame and for drawn ones."""
    pgboost.push(connection, "model", model)
    found = pgboost.verify(connection, "model", model, frame)
    assert found, found
    assert found.classes_differing == 0


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("make", REGRESSORS.values(), ids=REGRESSORS.keys())
def test_missing_values_go_where_trees_of_regressors_send_them(
    connection: psycopg.Connection, make: Callable[[], Any], missing: bool
) -> None:
    trained = with_missing(models.numbers()) if missing else models.numbers()
    model = make().fit(trained, models.target(models.numbers()))
    assert_same(connection, model, with_missing(models.numbers()))


@pytest.mark.parametrize("classes", [2, 12])
@pytest.mark.parametrize("make", CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
def test_missing_values_go_where_trees_of_classifiers_send_them(
    connection: psycopg.Connection, make: Callable[[], Any], classes: int
) -> None:
    frame = with_missing(models.numbers())
    labels = [f"class {number}" for number in range(classes)]
    weights = np.random.default_rng(3).random(len(frame))
    y = models.classes(models.numbers(), labels)
    assert_same(connection, make().fit(frame, y), frame)
    last = make()
    named = {"sample_weight": weights} if not hasattr(last, "steps") else {}
    assert_same(connection, last.fit(frame, y, **named), frame)


def test_isolation_forests_of_missing_values(connection: psycopg.Connection) -> None:
    frame = with_missing(models.numbers())
    assert_same(
        connection, ensemble.IsolationForest(n_estimators=20, random_state=3).fit(frame), frame
    )


@pytest.mark.skipif(
    int(google.protobuf.__version__.partition(".")[0]) >= 7, reason="skl2onnx needs protobuf 6"
)
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile"])
def test_hist_gradient_boosting(connection: psycopg.Connection, loss: str) -> None:
    frame = with_missing(models.numbers())
    given = {"quantile": 0.8} if loss == "quantile" else {}
    model = ensemble.HistGradientBoostingRegressor(loss=loss, **given, **BOOSTED)
    assert_same(connection, model.fit(frame, models.target(models.numbers())), frame)


def categorical(**options: Any) -> Any:
    return ensemble.HistGradientBoostingClassifier(**options, **BOOSTED)


def test_hist_gradient_boosting_of_categories_is_refused(connection: psycopg.Connection) -> None:
    frame = models.numbers()
    frame["city"] = np.arange(len(frame)) % 5
    y = frame["city"].isin([1, 3]).to_numpy()
    of_list = categorical(categorical_features=["city"]).fit(frame, y)
    frame["city"] = frame["city"].astype("category")
    of_dtype = categorical(categorical_features="from_dtype").fit(frame, y)
    for model in (of_list, of_dtype):
        with pytest.raises(pgboost.UnsupportedModelError, match=r"categorical_features.*LightGBM"):
            pgboost.push(connection, "model", model)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
@pytest.mark.parametrize("scaled", [False, True])
def test_hist_gradient_boosting_of_counts_is_refused(
    connection: psycopg.Connection, loss: str, scaled: bool
) -> None:
    frame = models.numbers()
    model = ensemble.HistGradientBoostingRegressor(loss=loss, **BOOSTED)
    if scaled:
        model = pipeline.make_pipeline(preprocessing.StandardScaler(), model)
    model.fit(frame, np.abs(models.target(frame)) + 1)
    with pytest.raises(pgboost.UnsupportedModelError, match=f"loss='{loss}'.*objective='{loss}'"):
        pgboost.push(connection, "model", model)


def test_what_has_no_such_file_is_refused_in_a_line(connection: psycopg.Connection) -> None:
    frame = models.numbers()
    y = models.classes(frame, ["a", "b"])
    two = np.stack([y, models.classes(frame, ["x", "y"])], axis=1)
    logistic = linear_model.LogisticRegression()
    imputer = impute.SimpleImputer(add_indicator=True)
    forest = ensemble.RandomForestClassifier(**FOREST)
    cases = [
        ("several outputs", forest, two),
        ("several outputs", tree.DecisionTreeClassifier(**SMALL), two),
        ("one class, 7", forest, [7] * len(y)),
        ("its init", ensemble.GradientBoostingClassifier(init=logistic, **FOREST), y),
        ("'exponential'", ensemble.GradientBoostingClassifier(loss="exponential", **FOREST), y),
        ("add_indicator", pipeline.make_pipeline(imputer, forest), y),
    ]
    for reason, model, classes in cases:
        with pytest.raises(pgboost.UnsupportedModelError, match=reason) as raised:
            pgboost.push(
                connection,
                "model",
                model.fit(with_missing(frame) if "add" in reason else frame, classes),
            )
        assert "\n" not in str(raised.value)


def test_an_error_of_the_converter_is_cut(connection: psycopg.Connection) -> None:
    frame = models.numbers()
    model = ensemble.RandomForestRegressor(**FOREST).fit(frame, models.target(frame))
    model.estimators_[0].tree_ = "nonsense " * 100_000
    with pytest.raises(pgboost.PgboostError) as raised:
        pgboost.push(connection, "model", model)
    assert len(str(raised.value)) < 500
