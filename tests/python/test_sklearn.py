"""Estimators of trees of scikit-learn predict in SQL what they predict in Python, or are refused by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
import xgboost
from sklearn import (
    calibration,
    compose,
    ensemble,
    impute,
    linear_model,
    multioutput,
    pipeline,
    preprocessing,
    tree,
)

import catboost
import lightgbm
import pgboost
from tests.python import models
from tests.python.models import assert_same

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
    """Removes a fifth of the values."""
    return frame.mask(np.random.default_rng(7).random(frame.shape) < 0.2)


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


def with_categories() -> Any:
    """Returns numbers, some missing, a category of text, and one of numbers."""
    frame = with_missing(models.numbers())
    generator = np.random.default_rng(5)
    city = generator.choice(["Rome", "Oslo", "Bern", "Riga"], len(frame)).astype(object)
    city[generator.random(len(frame)) < 0.1] = None
    return frame.assign(city=pd.Categorical(city), zone=np.arange(len(frame)) % 5)


LOSSES = ["squared_error", "absolute_error", "quantile", "poisson", "gamma"]


@pytest.mark.parametrize("loss", LOSSES)
def test_hist_gradient_boosting(connection: psycopg.Connection, loss: str) -> None:
    frame = with_categories()
    given = {"quantile": 0.8} if loss == "quantile" else {}
    model = ensemble.HistGradientBoostingRegressor(loss=loss, **given, **BOOSTED)
    assert_same(connection, model.fit(frame, np.abs(models.target(models.numbers())) + 1), frame)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("categorical", ["from_dtype", ["zone", "city"], None])
def test_hist_gradient_boosting_of_categories(
    connection: psycopg.Connection, categorical: Any, classes: int
) -> None:
    frame = with_categories() if categorical else with_missing(models.numbers())
    y = models.classes(models.numbers(), list("abcd")[:classes])
    model = ensemble.HistGradientBoostingClassifier(categorical_features=categorical, **BOOSTED)
    assert_same(connection, model.fit(frame, y), frame)


# Of two classes and of numbers, test_parameters.py has all of these.
OF_CLASSES: dict[str, Any] = {
    "boosting": ensemble.GradientBoostingClassifier(**FOREST),
    # Of few rows, so that members lack classes.
    "bagging": ensemble.BaggingClassifier(max_samples=0.02, max_features=0.6, random_state=2),
    "AdaBoost": ensemble.AdaBoostClassifier(tree.DecisionTreeClassifier(max_depth=3)),
}


@pytest.mark.parametrize("name", OF_CLASSES)
def test_ensembles_of_several_classes(connection: psycopg.Connection, name: str) -> None:
    frame = models.numbers()
    model = OF_CLASSES[name].fit(frame, models.classes(frame, list("abcde")))
    assert_same(connection, model, frame)


NUMBERS = [
    ("forest", ensemble.RandomForestRegressor(**FOREST)),
    ("boosted", ensemble.HistGradientBoostingRegressor(max_iter=9)),
    ("staged", ensemble.GradientBoostingRegressor(**FOREST)),
]
CLASSES = [
    ("forest", ensemble.RandomForestClassifier(**FOREST)),
    ("tree", tree.DecisionTreeClassifier(**SMALL)),
]
CALIBRATED = {"ensemble": False, "cv": 3}
COMBINED: dict[str, tuple[Callable[[], Any], int]] = {
    "voting, LightGBM": (
        lambda: ensemble.VotingRegressor(
            [*NUMBERS, ("light", lightgbm.LGBMRegressor(n_estimators=9, verbose=-1))],
            weights=[1, 2, 0.5, 1],
        ),
        0,
    ),
    "voting, classes": (
        lambda: ensemble.VotingClassifier(CLASSES, voting="soft", weights=[3, 1]),
        4,
    ),
    "calibrated boosting": (
        lambda: calibration.CalibratedClassifierCV(
            ensemble.HistGradientBoostingClassifier(max_iter=9), **CALIBRATED
        ),
        2,
    ),
    "calibrated boosting on folds": (
        lambda: calibration.CalibratedClassifierCV(
            ensemble.GradientBoostingClassifier(**FOREST), cv=3
        ),
        2,
    ),
    "voting of boosted": (
        lambda: ensemble.VotingClassifier(
            [
                ("staged", ensemble.GradientBoostingClassifier(loss="exponential", **FOREST)),
                ("boosted", ensemble.HistGradientBoostingClassifier(max_iter=9)),
                ("light", lightgbm.LGBMClassifier(n_estimators=9, verbose=-1)),
            ],
            voting="soft",
        ),
        2,
    ),
}


@pytest.mark.parametrize(("make", "classes"), COMBINED.values(), ids=COMBINED.keys())
def test_estimators_that_combine_others(
    connection: psycopg.Connection, make: Callable[[], Any], classes: int
) -> None:
    # LightGBM changes a name with a space.
    frame = models.numbers().rename(columns={"Double precision": "double"})
    y = models.classes(frame, list("abcd")[:classes]) if classes else models.target(frame)
    y = y if classes else np.abs(y) + 1
    assert_same(connection, make().fit(frame, y), frame)


def behind_steps(last: Any, texts: Any, *numbers: Any) -> Any:
    columns = compose.make_column_transformer(
        (pipeline.make_pipeline(*numbers), compose.make_column_selector(dtype_include=np.number)),
        (texts, ["city"]),
    )
    return pipeline.make_pipeline(columns, last)


def of_trees(last: Any) -> Any:
    ordinal = preprocessing.OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
    )
    return behind_steps(last, ordinal, impute.SimpleImputer(add_indicator=True))


def of_a_line(last: Any, *numbers: Any) -> Any:
    return behind_steps(last, preprocessing.OneHotEncoder(handle_unknown="ignore"), *numbers)


SCALED = [preprocessing.StandardScaler(), impute.SimpleImputer(add_indicator=True)]
HISTOGRAMS = ("trees", of_trees(ensemble.HistGradientBoostingRegressor(max_iter=9)))
LINES: dict[str, Callable[[], Any]] = {
    # As in scikit-learn's example of stacking.
    "stacked": lambda: ensemble.StackingRegressor(
        [
            HISTOGRAMS,
            ("forest", of_trees(ensemble.RandomForestRegressor(**FOREST))),
            ("line", of_a_line(linear_model.LassoCV(), *SCALED)),
        ],
        linear_model.RidgeCV(),
        cv=2,
    ),
    "imputed first": lambda: ensemble.VotingRegressor(
        [HISTOGRAMS, ("line", of_a_line(linear_model.Ridge(), *SCALED[::-1]))], weights=[1, 3]
    ),
    "targets": lambda: multioutput.MultiOutputRegressor(
        of_a_line(linear_model.Ridge(), impute.SimpleImputer(), preprocessing.MinMaxScaler())
    ),
    "exponential": lambda: compose.TransformedTargetRegressor(
        of_a_line(linear_model.HuberRegressor(), *SCALED), func=np.log, inverse_func=np.exp
    ),
    "classes": lambda: ensemble.VotingClassifier(
        [
            ("trees", of_trees(ensemble.HistGradientBoostingClassifier(max_iter=9))),
            ("line", of_a_line(linear_model.LogisticRegression(), *SCALED)),
        ],
        voting="soft",
    ),
    "calibrated classes": lambda: calibration.CalibratedClassifierCV(
        of_a_line(linear_model.LogisticRegression(), *SCALED), cv=2
    ),
    "without steps": lambda: ensemble.VotingRegressor(
        [*NUMBERS, ("line", linear_model.LinearRegression())]
    ),
    "voting before steps": lambda: pipeline.make_pipeline(
        *SCALED[::-1],
        ensemble.VotingRegressor(
            [
                ("forest", ensemble.RandomForestRegressor(**FOREST)),
                (
                    "line",
                    pipeline.make_pipeline(
                        preprocessing.MaxAbsScaler(), linear_model.BayesianRidge()
                    ),
                ),
            ]
        ),
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_linear_members_behind_steps(connection: psycopg.Connection, name: str) -> None:
    frame = models.numbers().astype(float)
    frame = frame if name == "without steps" else with_missing(frame)
    city = np.array(["Rome", "Oslo", "Bern", "Riga"], object)[np.arange(len(frame)) % 4]
    y = np.exp(models.target(models.numbers()) / 20) + (city == "Rome")
    y = np.c_[y, -y] if name == "targets" else y
    if "steps" not in name:
        frame = frame.assign(city=city)
    model = LINES[name]()
    assert_same(connection, model.fit(frame, y > 1 if "classes" in name else y), frame)
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="linear leaves"):
        connection.execute(
            "SELECT predict_contribs('model', array_fill(NULL::real, ARRAY[%s]))", [frame.shape[1]]
        )


@pytest.mark.parametrize(
    ("last", "classes"), [(linear_model.LogisticRegression(), 2), (linear_model.Ridge(), 0)]
)
def test_leaves_as_features_of_a_linear_model(
    connection: psycopg.Connection, last: Any, classes: int
) -> None:
    frame = models.numbers()
    y = models.classes(frame, ["no", "yes"]) if classes else models.target(frame)
    embedding = ensemble.RandomTreesEmbedding(n_estimators=8, max_depth=4, random_state=3)
    steps = [preprocessing.StandardScaler()] if classes else []
    assert_same(connection, pipeline.make_pipeline(*steps, embedding, last).fit(frame, y), frame)
    with pytest.raises(pgboost.UnsupportedModelError, match="before a linear model alone"):
        forest = ensemble.RandomForestRegressor(**FOREST)
        pgboost.model_bytes(pipeline.make_pipeline(embedding, forest).fit(frame, frame["whole"]))


def linear_of_logarithms() -> Any:
    line = pipeline.make_pipeline(
        preprocessing.FunctionTransformer(np.arcsinh), linear_model.LinearRegression()
    )
    return ensemble.VotingRegressor([("line", line)])


def test_a_mean_of_probabilities_is_a_classifiers_in_every_function(
    connection: psycopg.Connection,
) -> None:
    frame = models.numbers().rename(columns={"Double precision": "double"})
    y = models.classes(frame, ["no", "yes"])
    model = calibration.CalibratedClassifierCV(CLASSES[0][1], cv=3).fit(frame, y)
    pgboost.push(connection, "mean", model)
    columns = ", ".join(f"%s::float8 AS {name}" for name in frame)
    given = f"(SELECT {columns}) AS f"
    row = frame.iloc[0].astype(float).tolist()
    probable = connection.execute(f"SELECT predict_proba('mean', f) FROM {given}", row).fetchone()
    assert probable is not None
    assert probable[0] == pytest.approx(
        dict(zip(["no", "yes"], model.predict_proba(frame[:1])[0], strict=True)), rel=1e-6
    )
    # Contributions are of each member's margin.
    found = connection.execute(
        f"SELECT predict_margin('mean', f), predict_contribs('mean', f) FROM {given}", row
    ).fetchone()
    assert found is not None
    margins, contributions = found
    sums = np.reshape(contributions, (3, -1)).sum(axis=1)
    assert sums == pytest.approx(margins, rel=1e-4, abs=1e-6)
    connection.execute(f"CREATE TABLE scored AS SELECT {columns}, %s AS target", [*row, y[0]])
    error = connection.execute(
        "SELECT value FROM evaluate_model('mean', 'SELECT * FROM scored', 'target')"
        " WHERE metric = 'error'"
    ).fetchone()
    assert error == (float(model.predict(frame[:1])[0] != y[0]),)
    with pytest.raises(psycopg.Error) as raised:
        connection.execute(f"SELECT (explain_prediction('mean', f)).* FROM {given}", row)
    assert not raised.value.sqlstate.startswith("XX")


@pytest.mark.parametrize(
    "make",
    [
        lambda: ensemble.GradientBoostingRegressor(**FOREST),
        lambda: ensemble.HistGradientBoostingRegressor(loss="poisson", max_iter=9),
        lambda: ensemble.RandomForestRegressor(**FOREST),
        lambda: xgboost.XGBRegressor(n_estimators=9, max_depth=3),
        lambda: catboost.CatBoostRegressor(iterations=9, verbose=False, allow_writing_files=False),
    ],
)
def test_a_regressor_for_each_target(
    connection: psycopg.Connection, make: Callable[[], Any]
) -> None:
    frame = models.numbers()
    y = np.abs(np.stack([models.target(frame), frame["single"], frame["whole"]], axis=1))
    model = multioutput.MultiOutputRegressor(make()).fit(frame, y)
    assert_same(connection, model, frame)


def test_several_targets_and_columns_without_names(connection: psycopg.Connection) -> None:
    values = models.numbers().to_numpy()
    y = np.stack([models.target(models.numbers()), values[:, 0]], axis=1)
    assert_same(connection, ensemble.RandomForestRegressor(**FOREST).fit(values, y), values)


def test_forests_are_explained_by_their_covers(connection: psycopg.Connection) -> None:
    frame = models.numbers()
    model = ensemble.RandomForestRegressor(**FOREST).fit(frame, models.target(frame))
    pgboost.push(connection, "model", model)
    row = connection.execute(
        "SELECT c, predict('model', f) FROM (SELECT 1.5::real AS single, 0.5 AS \"Double precision\","
        " 2 AS whole, 1 AS flag, -0.25 AS other) f, predict_contribs('model', f) c"
    ).fetchone()
    assert row is not None
    contributions, predicted = row
    assert contributions[-1] == pytest.approx(
        np.mean([t.tree_.value[0] for t in model.estimators_])
    )
    assert sum(contributions) == pytest.approx(predicted, rel=1e-5)


def test_models_without_a_tree_ensemble_are_refused_in_one_line(
    connection: psycopg.Connection,
) -> None:
    frame = models.numbers()
    y = models.classes(frame, ["a", "b"])
    logistic = linear_model.LogisticRegression()
    one, number = tree.DecisionTreeClassifier(), models.target(frame)
    boosted = ensemble.GradientBoostingClassifier(**FOREST)
    voting = {"voting": "soft"}
    cases = [
        ("one class, 7", ensemble.RandomForestClassifier(**FOREST), [7] * len(y)),
        ("VotingClassifier averages what is no sum",
         ensemble.VotingClassifier([("a", boosted), ("b", one)], **voting), y),
        ("LogisticRegression is no model", logistic, y),
        ("takes column 0 from a step that is no straight line", linear_of_logarithms(), number),
        ("takes what is no sum", ensemble.StackingClassifier([("a", boosted)], logistic, cv=2), y),
        ("LinearRegression is no model of trees", linear_model.LinearRegression(), number),
        ("ClassifierChain", multioutput.ClassifierChain(one), np.stack([y, y], axis=1) == "a"),
        ("method='isotonic', .* sigmoid",
         calibration.CalibratedClassifierCV(one, method="isotonic", **CALIBRATED), y),
    ]  # fmt: skip
    for reason, model, classes in cases:
        with pytest.raises(pgboost.UnsupportedModelError, match=reason) as raised:
            pgboost.push(connection, "model", model.fit(frame, classes))
        assert "\n" not in str(raised.value)
