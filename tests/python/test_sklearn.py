"""Estimators of trees of scikit-learn predict in SQL what they predict in Python, or are refused by name.

So do those that leave out columns, drop them, or have columns of other types.
"""

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
import xgboost
from psycopg import Connection
from sklearn import (
    calibration,
    compose,
    ensemble,
    feature_selection,
    impute,
    linear_model,
    multioutput,
    tree,
)
from sklearn import preprocessing as pre
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.utils._param_validation import InvalidParameterError

import catboost
import lightgbm
import pgboost
from tests.python import estimators, models
from tests.python.conftest import Refused, Same
from tests.python.estimators import NUMBERS, TEXTS

SMALL = {"max_depth": 5, "random_state": 1}
FOREST = {"n_estimators": 12, **SMALL}
BOOSTED = {"max_iter": 10, "random_state": 1}
FRAME = models.numbers()
NUMBER = models.target(FRAME)
# LightGBM changes a name with a space.
NAMED = FRAME.rename(columns={"Double precision": "double"})
GAPS = FRAME.mask(np.random.default_rng(7).random(FRAME.shape) < 0.2)
REGRESSORS: dict[str, Any] = {
    "RandomForest": ensemble.RandomForestRegressor(**FOREST),
    "ExtraTrees": ensemble.ExtraTreesRegressor(**FOREST),
    "DecisionTree": tree.DecisionTreeRegressor(**SMALL),
    "ExtraTree": tree.ExtraTreeRegressor(**SMALL),
    "absolute error": tree.DecisionTreeRegressor(criterion="absolute_error", **SMALL),
    "monotonic": lambda: ensemble.RandomForestRegressor(monotonic_cst=[1, 0, 0, 0, -1], **FOREST),
    "scaler": make_pipeline(pre.StandardScaler(), ensemble.RandomForestRegressor(**FOREST)),
}
CLASSIFIERS: dict[str, Any] = {
    "RandomForest": ensemble.RandomForestClassifier(**FOREST),
    "ExtraTrees": ensemble.ExtraTreesClassifier(**FOREST),
    "DecisionTree": tree.DecisionTreeClassifier(**SMALL),
    "balanced": ensemble.RandomForestClassifier(class_weight="balanced", **FOREST),
    "scaler": make_pipeline(pre.RobustScaler(), tree.DecisionTreeClassifier(**SMALL)),
}


@pytest.mark.parametrize("rows", [FRAME, GAPS], ids=["complete", "missing"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_missing_values_go_where_trees_of_regressors_send_them(
    same: Same, name: str, rows: pd.DataFrame
) -> None:
    # An earlier release of scikit-learn has no such constraint.
    model = REGRESSORS[name]() if name == "monotonic" else REGRESSORS[name]
    same(model.fit(rows, NUMBER), GAPS)


@pytest.mark.parametrize("classes", [2, 12])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_missing_values_go_where_trees_of_classifiers_send_them(
    same: Same, name: str, classes: int
) -> None:
    y = models.classes(FRAME, [f"class {number}" for number in range(classes)])
    same(CLASSIFIERS[name].fit(GAPS, y), GAPS)
    weights = np.random.default_rng(3).random(len(GAPS))
    if name != "scaler":
        same(CLASSIFIERS[name].fit(GAPS, y, sample_weight=weights), GAPS)


def test_isolation_forests_of_missing_values(same: Same) -> None:
    same(ensemble.IsolationForest(n_estimators=20, random_state=3).fit(GAPS), GAPS)


def with_categories() -> pd.DataFrame:
    """Numbers, some missing, a category of text, and one of numbers."""
    generator = np.random.default_rng(5)
    city = generator.choice(models.CITIES, len(GAPS)).astype(object)
    city[generator.random(len(GAPS)) < 0.1] = None
    return GAPS.assign(city=pd.Categorical(city), zone=np.arange(len(GAPS)) % 5)


@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "quantile", "poisson", "gamma"]
)
def test_hist_gradient_boosting(same: Same, loss: str) -> None:
    frame = with_categories()
    given = {"quantile": 0.8} if loss == "quantile" else {}
    model = ensemble.HistGradientBoostingRegressor(loss=loss, **given, **BOOSTED)
    same(model.fit(frame, np.abs(NUMBER) + 1), frame)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("categorical", ["from_dtype", ["zone", "city"], None])
def test_hist_gradient_boosting_of_categories(same: Same, categorical: Any, classes: int) -> None:
    frame = with_categories() if categorical else GAPS
    model = ensemble.HistGradientBoostingClassifier(categorical_features=categorical, **BOOSTED)
    same(model.fit(frame, models.classes(FRAME, list("abcd")[:classes])), frame)


OF_OBJECTS: dict[str, list[Any]] = {
    "integers": [0, 1, 2, 3], "large integers": [2**60, 2**60 + 1, 2**60 + 2, 3],
    "floats": [0.5, 1.0, 2.0, 3.5], "booleans": [True, False],
    "numbers and NaN": [0, 1, np.nan, 3], "numbers and None": [0, 1, 2, None],
    "texts and NaN": ["a", "b", "c", np.nan], "texts and None": ["a", "b", "c", None],
}  # fmt: skip


@pytest.mark.parametrize("kind", OF_OBJECTS)
def test_hist_gradient_boosting_of_objects(
    identical: Same, connection: Connection, kind: str
) -> None:
    """scikit-learn takes nothing else for categories of objects, and None for another than NaN."""
    values, places = OF_OBJECTS[kind], np.arange(200) % len(OF_OBJECTS[kind])
    code = pd.Series([values[place] for place in places], dtype=object)
    frame = pd.DataFrame({"code": code, "number": np.arange(200) % 7.0})
    model = ensemble.HistGradientBoostingRegressor(categorical_features=["code"], max_iter=9)
    model.fit(frame, places**2 % 5)
    if kind == "floats" and not hasattr(model, "_preprocessor"):
        pytest.skip("before 1.4 scikit-learn takes their whole part for the category")
    identical(model, frame)
    identical(model, frame, check=frame)
    types = {"b": "boolean", "t": "text", "f": "numeric"}
    written = [None if pd.isna(value) else str(value) for value in code]
    table = f"CREATE TEMPORARY TABLE coded (code {types.get(kind[0], 'numeric')}, number real)"
    connection.execute(f"DROP TABLE IF EXISTS coded; {table}")
    with connection.cursor() as cursor:
        rows = list(zip(written, frame["number"], strict=True))
        cursor.executemany("INSERT INTO coded VALUES (%s, %s)", rows)
    identical(model, "coded", check="coded")
    of_array = ensemble.HistGradientBoostingRegressor(categorical_features=[0], max_iter=9)
    identical(of_array.fit(frame.to_numpy(), places**2 % 5), frame.to_numpy())


# Of two classes and of numbers, test_parameters.py has all of these.
OF_CLASSES: dict[str, Any] = {
    "boosting": ensemble.GradientBoostingClassifier(**FOREST),
    # Of few rows, so that members lack classes.
    "bagging": ensemble.BaggingClassifier(max_samples=0.02, max_features=0.6, random_state=2),
    "AdaBoost": ensemble.AdaBoostClassifier(tree.DecisionTreeClassifier(max_depth=3)),
}


@pytest.mark.parametrize("name", OF_CLASSES)
def test_ensembles_of_several_classes(same: Same, name: str) -> None:
    same(OF_CLASSES[name].fit(FRAME, models.classes(FRAME, list("abcde"))), FRAME)


LIGHT = {"n_estimators": 9, "verbose": -1}
MEMBERS = [
    ("forest", ensemble.RandomForestRegressor(**FOREST)),
    ("boosted", ensemble.HistGradientBoostingRegressor(max_iter=9)),
    ("staged", ensemble.GradientBoostingRegressor(**FOREST)),
]
CLASSES = [
    ("forest", ensemble.RandomForestClassifier(**FOREST)),
    ("tree", tree.DecisionTreeClassifier(**SMALL)),
]
STAGED = ensemble.GradientBoostingClassifier(loss="exponential", **FOREST)
HISTOGRAMS = ensemble.HistGradientBoostingClassifier(max_iter=9)
CALIBRATED = {"ensemble": False, "cv": 3}
# Estimators with the number of their classes.
COMBINED: dict[str, tuple[Any, int]] = {
    "voting, LightGBM": (ensemble.VotingRegressor(
        [*MEMBERS, ("light", lightgbm.LGBMRegressor(**LIGHT))], weights=[1, 2, 0.5, 1]), 0),
    "voting, classes": (ensemble.VotingClassifier(CLASSES, voting="soft", weights=[3, 1]), 4),
    "calibrated boosting": (calibration.CalibratedClassifierCV(HISTOGRAMS, **CALIBRATED), 2),
    "calibrated boosting on folds": (
        calibration.CalibratedClassifierCV(ensemble.GradientBoostingClassifier(**FOREST), cv=3), 2),
    "voting of boosted": (ensemble.VotingClassifier(
        [("staged", STAGED), ("boosted", HISTOGRAMS), ("light", lightgbm.LGBMClassifier(**LIGHT))],
        voting="soft"), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", COMBINED)
def test_estimators_that_combine_others(same: Same, name: str) -> None:
    model, classes = COMBINED[name]
    y = models.classes(NAMED, list("abcd")[:classes]) if classes else np.abs(NUMBER) + 1
    same(model.fit(NAMED, y), NAMED)


def behind_steps(last: Any, texts: Any, *numbers: Any) -> Any:
    columns = make_column_transformer(
        (make_pipeline(*numbers), compose.make_column_selector(dtype_include=np.number)),
        (texts, ["city"]),
    )
    return make_pipeline(columns, last)


def of_trees(last: Any) -> Any:
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    ordinal = pre.OrdinalEncoder(encoded_missing_value=-2, **unknown)
    return behind_steps(last, ordinal, impute.SimpleImputer(add_indicator=True))


def of_a_line(last: Any, *numbers: Any) -> Any:
    return behind_steps(last, pre.OneHotEncoder(handle_unknown="ignore"), *numbers)


SCALED = [pre.StandardScaler(), impute.SimpleImputer(add_indicator=True)]
TREES = ("trees", of_trees(ensemble.HistGradientBoostingRegressor(max_iter=9)))
LOGISTIC = linear_model.LogisticRegression()
LINES: dict[str, Any] = {
    # As in scikit-learn's example of stacking.
    "stacked": ensemble.StackingRegressor(
        [TREES, ("forest", of_trees(ensemble.RandomForestRegressor(**FOREST))),
         ("line", of_a_line(linear_model.LassoCV(), *SCALED))],
        linear_model.RidgeCV(), cv=2),
    "imputed first": ensemble.VotingRegressor(
        [TREES, ("line", of_a_line(linear_model.Ridge(), *SCALED[::-1]))], weights=[1, 3]),
    "targets": multioutput.MultiOutputRegressor(
        of_a_line(linear_model.Ridge(), impute.SimpleImputer(), pre.MinMaxScaler())),
    "exponential": compose.TransformedTargetRegressor(
        of_a_line(linear_model.HuberRegressor(), *SCALED), func=np.log, inverse_func=np.exp),
    "classes": ensemble.VotingClassifier(
        [("trees", of_trees(HISTOGRAMS)), ("line", of_a_line(LOGISTIC, *SCALED))], voting="soft"),
    "calibrated classes": calibration.CalibratedClassifierCV(of_a_line(LOGISTIC, *SCALED), cv=2),
    "without steps": ensemble.VotingRegressor([*MEMBERS, ("line", linear_model.LinearRegression())]),
    "voting before steps": make_pipeline(*SCALED[::-1], ensemble.VotingRegressor([
        MEMBERS[0], ("line", make_pipeline(pre.MaxAbsScaler(), linear_model.BayesianRidge())),
    ])),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_linear_members_behind_steps(connection: Connection, same: Same, name: str) -> None:
    frame = (FRAME if name == "without steps" else GAPS).astype(float)
    city = np.array(models.CITIES, object)[np.arange(len(frame)) % 4]
    y = np.exp(NUMBER / 20) + (city == "Rome")
    y = np.c_[y, -y] if name == "targets" else y
    if "steps" not in name:
        frame = frame.assign(city=city)
    same(LINES[name].fit(frame, y > 1 if "classes" in name else y), frame)
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="linear leaves"):
        connection.execute(
            "SELECT predict_contribs('model', array_fill(NULL::real, ARRAY[%s]))", [frame.shape[1]]
        )


@pytest.mark.parametrize("classes", [2, 0])
def test_leaves_as_features_of_a_linear_model(same: Same, classes: int) -> None:
    y = models.classes(FRAME, ["no", "yes"]) if classes else NUMBER
    embedding = ensemble.RandomTreesEmbedding(n_estimators=8, max_depth=4, random_state=3)
    steps = [pre.StandardScaler()] if classes else []
    last = linear_model.LogisticRegressionCV(Cs=3) if classes else linear_model.Ridge()
    same(make_pipeline(*steps, embedding, last).fit(FRAME, y), FRAME)
    with pytest.raises(pgboost.UnsupportedModelError, match="before a linear model alone"):
        forest = ensemble.RandomForestRegressor(**FOREST)
        pgboost.model_bytes(make_pipeline(embedding, forest).fit(FRAME, FRAME["whole"]))


def test_a_mean_of_probabilities_is_a_classifiers_in_every_function(
    connection: Connection, same: Same
) -> None:
    y = models.classes(NAMED, ["no", "yes"])
    model = calibration.CalibratedClassifierCV(CLASSES[0][1], cv=3).fit(NAMED, y)
    same(model, NAMED)
    columns = ", ".join(f"%s::float8 AS {name}" for name in NAMED)
    row = NAMED.iloc[0].astype(float).tolist()

    def one(query: str) -> Any:
        return connection.execute(f"SELECT {query} FROM (SELECT {columns}) AS f", row).fetchone()

    expected = dict(zip(["no", "yes"], model.predict_proba(NAMED[:1])[0], strict=True))
    assert one("predict_proba('model', f)")[0] == pytest.approx(expected, rel=1e-6)
    # Contributions are of each member's margin.
    margins, contributions = one("predict_margin('model', f), predict_contribs('model', f)")
    sums = np.reshape(contributions, (3, -1)).sum(axis=1)
    assert sums == pytest.approx(margins, rel=1e-4, abs=1e-6)
    connection.execute(f"CREATE TABLE scored AS SELECT {columns}, %s AS target", [*row, y[0]])
    error = connection.execute(
        "SELECT value FROM evaluate_model('model', 'SELECT * FROM scored', 'target')"
        " WHERE metric = 'error'"
    ).fetchone()
    assert error == (float(model.predict(NAMED[:1])[0] != y[0]),)
    with pytest.raises(psycopg.Error) as raised:
        one("(explain_prediction('model', f)).*")
    assert not raised.value.sqlstate.startswith("XX")


@pytest.mark.parametrize("make", [
    lambda: ensemble.GradientBoostingRegressor(**FOREST), lambda: ensemble.RandomForestRegressor(**FOREST),
    lambda: ensemble.HistGradientBoostingRegressor(loss="poisson", max_iter=9),
    lambda: xgboost.XGBRegressor(n_estimators=9, max_depth=3),
    lambda: catboost.CatBoostRegressor(iterations=9, **models.SILENT),
])  # fmt: skip
def test_a_regressor_for_each_target(same: Same, make: Callable[[], Any]) -> None:
    y = np.abs(np.stack([NUMBER, FRAME["single"], FRAME["whole"]], axis=1))
    same(multioutput.MultiOutputRegressor(make()).fit(FRAME, y), FRAME)


def test_several_targets_and_columns_without_names(same: Same) -> None:
    values = FRAME.to_numpy()
    y = np.stack([NUMBER, values[:, 0]], axis=1)
    same(ensemble.RandomForestRegressor(**FOREST).fit(values, y), values)


def test_forests_are_explained_by_their_covers(connection: Connection, same: Same) -> None:
    model = ensemble.RandomForestRegressor(**FOREST).fit(FRAME, NUMBER)
    same(model, FRAME)
    contributions, predicted = connection.execute(
        "SELECT c, predict('model', f) FROM (SELECT 1.5::real AS single, 0.5 AS \"Double precision\","
        " 2 AS whole, 1 AS flag, -0.25 AS other) f, predict_contribs('model', f) c"
    ).fetchone()
    root = np.mean([one.tree_.value[0] for one in model.estimators_])
    assert contributions[-1] == pytest.approx(root)
    assert sum(contributions) == pytest.approx(predicted, rel=1e-5)


@pytest.mark.parametrize("name", ["DecisionTree", "absolute error"])
def test_gains_are_the_importances_of_a_tree(connection: Connection, same: Same, name: str) -> None:
    model = REGRESSORS[name].fit(FRAME, NUMBER)
    same(model, FRAME)
    query = "SELECT importance FROM feature_importance('model', 'total_gain')"
    gains = np.array(connection.execute(query).fetchall())[:, 0]
    assert gains / gains.sum() == pytest.approx(sorted(model.feature_importances_)[::-1], rel=1e-5)


def test_models_without_a_tree_ensemble_are_refused_in_one_line(refused: Refused) -> None:
    y = models.classes(FRAME, ["a", "b"])
    one, boosted = tree.DecisionTreeClassifier(), ensemble.GradientBoostingClassifier(**FOREST)
    logarithm = make_pipeline(pre.FunctionTransformer(np.arcsinh), linear_model.LinearRegression())
    cases = [
        ("one class, 7", ensemble.RandomForestClassifier(**FOREST), [7] * len(y)),
        ("VotingClassifier averages what is no sum",
         ensemble.VotingClassifier([("a", boosted), ("b", one)], voting="soft"), y),
        ("LogisticRegression is no model", LOGISTIC, y),
        ("takes column 0 from a step that is no straight line",
         ensemble.VotingRegressor([("line", logarithm)]), NUMBER),
        ("takes what is no sum", ensemble.StackingClassifier([("a", boosted)], LOGISTIC, cv=2), y),
        ("LinearRegression is no model of trees", linear_model.LinearRegression(), NUMBER),
        ("ClassifierChain", multioutput.ClassifierChain(one), np.stack([y, y], axis=1) == "a"),
        ("method='isotonic', .* sigmoid",
         calibration.CalibratedClassifierCV(one, method="isotonic", **CALIBRATED), y),
    ]  # fmt: skip
    for reason, model, classes in cases:
        refused(rf"\A.*{reason}.*\Z", model.fit(FRAME, classes))


ROWS = estimators.frame()
TREE, MEMBER = estimators.TREE, estimators.FOREST


def leaving(last: Any) -> Any:
    """Returns a Pipeline that does not read the text column `t`."""
    encoder = pre.OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(make_column_transformer((encoder, ["s"]), ("passthrough", NUMBERS)), last)


LEAVING: dict[str, tuple[Any, str]] = {
    "voting": (ensemble.VotingRegressor([("a", leaving(MEMBER))]), "number"),
    "soft voting": (ensemble.VotingClassifier(
        [(name, leaving(TREE)) for name in "ab"], voting="soft"), "three"),
    "stacking": (ensemble.StackingRegressor([("a", leaving(MEMBER))], cv=2), "number"),
    "calibrated": (calibration.CalibratedClassifierCV(leaving(TREE), cv=2), "two"),
    "targets": (multioutput.MultiOutputRegressor(leaving(MEMBER)), "numbers"),
    "transformed": (compose.TransformedTargetRegressor(
        leaving(MEMBER), func=np.log1p, inverse_func=np.expm1), "number"),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAVING)
def test_a_text_column_that_no_member_reads_is_no_feature(
    connection: Connection, same: Same, name: str
) -> None:
    model, kind = LEAVING[name]
    same(model.fit(ROWS, estimators.target(ROWS, kind)), ROWS)
    row = "SELECT 1.0 AS a, 2.0 AS b, 3 AS n, 'b' AS s, 'x' AS t"
    names, predicted = connection.execute(
        f"SELECT model_info('model')->'feature_names', predict_array('model', r) FROM ({row}) r"
    ).fetchone()
    assert names == ["a", "b", "n", "s"]
    assert predicted is not None


PASSED = ("passthrough", NUMBERS)
DROPPED: dict[str, Any] = {
    "selection": make_pipeline(make_column_transformer((pre.OneHotEncoder(), TEXTS), PASSED),
        feature_selection.SelectKBest(feature_selection.f_regression, k=1), MEMBER),
    "rare categories": make_pipeline(make_column_transformer((pre.OneHotEncoder(drop="first",
        min_frequency=0.9, handle_unknown="ignore"), ["s"]), PASSED), MEMBER),
}  # fmt: skip


@pytest.mark.parametrize("name", DROPPED)
def test_an_encoder_of_whose_features_none_is_left(same: Same, name: str) -> None:
    same(DROPPED[name].fit(ROWS, ROWS.b), ROWS)


ONE_COLUMN: dict[str, Any] = {
    "bagging": ensemble.BaggingRegressor(max_features=0.4, random_state=1),
    "repeated": ensemble.BaggingRegressor(bootstrap_features=True, random_state=1),
    "isolation": ensemble.IsolationForest(n_estimators=9, max_features=1, random_state=1),
}


@pytest.mark.parametrize("name", ONE_COLUMN)
@pytest.mark.parametrize("width", [2, 3])
def test_trees_that_see_one_column(same: Same, name: str, width: int) -> None:
    rows = ROWS[NUMBERS[:width]]
    same(ONE_COLUMN[name].fit(rows, ROWS.b), rows)


def test_a_bagging_of_two_targets(same: Same) -> None:
    model = ensemble.BaggingRegressor(max_features=0.7, random_state=1)
    same(model.fit(ROWS[NUMBERS], ROWS[["a", "b"]]), ROWS[NUMBERS])


def odd_rows() -> pd.DataFrame:
    days = [datetime.date(2026, 1, 1 + day % 9) for day in range(estimators.ROWS)]
    stamps = pd.to_datetime(pd.Series(days))
    large = np.arange(estimators.ROWS, dtype=np.uint64) % 9 + np.uint64(2**63)
    both = pd.Series(np.resize([None, np.nan, "x"], len(ROWS)), dtype=object)
    return ROWS.assign(
        d=pd.Series(days, dtype=object), c=stamps.astype("category"), u=large, m=both
    )


def encoded(column: str) -> Any:
    columns = make_column_transformer((pre.OneHotEncoder(), [column]), ("passthrough", ["a"]))
    return make_pipeline(columns, MEMBER)


IMPUTER = impute.SimpleImputer(missing_values="x", strategy="most_frequent")
REFUSED: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "OneHotEncoder has the category datetime.date": (lambda: encoded("d"), ["a", "d"]),
    "OneHotEncoder has the category": (lambda: encoded("c"), ["a", "c"]),
    "OneHotEncoder tells None from nan, which are NULL both": (lambda: encoded("m"), ["a", "m"]),
    "OneHotEncoder has the category 9223372036854775808, which is beyond SQL's bigint": (
        lambda: encoded("u"), ["a", "u"]),
    "HistGradientBoostingRegressor has the category": (
        lambda: ensemble.HistGradientBoostingRegressor(categorical_features="from_dtype"), ["a", "c"]),
    "RandomTreesEmbedding is no model of trees": (lambda: ensemble.RandomTreesEmbedding(4), ["a", "b"]),
    "SimpleImputer has missing_values='x'": (lambda: make_pipeline(
        make_column_transformer((IMPUTER, ["s"]), ("drop", ["a"])), pre.OrdinalEncoder(), MEMBER),
        ["a", "s"]),
    "VotingRegressor is not scored as a step": (
        lambda: make_pipeline(ensemble.VotingRegressor([("a", MEMBER)]), MEMBER), ["a", "b"]),
    "BaggingClassifier is one of DecisionTreeRegressor": (
        lambda: ensemble.BaggingClassifier(tree.DecisionTreeRegressor()), ["a", "n"]),
    "n_estimators|no trees|predict": (
        lambda: make_pipeline(pre.StandardScaler(), xgboost.XGBRegressor(n_estimators=0)), ["a", "b"]),
}  # fmt: skip


@pytest.mark.parametrize("reason", REFUSED)
def test_unsupported_columns_are_refused_by_name(refused: Refused, reason: str) -> None:
    make, columns = REFUSED[reason]
    rows = odd_rows()
    try:
        model = make().fit(rows[columns], rows.n)
    except InvalidParameterError:
        pytest.skip("scikit-learn before 1.4 has no categories of other types than numbers")
    refused(reason, model, pgboost.PgboostError)


IN_LESS: dict[str, Any] = {
    "uint8": make_pipeline(pre.FunctionTransformer(np.log1p), MEMBER),
    "int16": make_pipeline(pre.FunctionTransformer(np.square), MEMBER),
    "float32": make_pipeline(
        pre.FunctionTransformer(np.log1p), xgboost.XGBRegressor(n_estimators=9)
    ),
}


@pytest.mark.parametrize("kind", IN_LESS)
def test_computations_in_less_than_doubles_are_refused(
    refused: Refused, same: Same, kind: str
) -> None:
    target = np.sin(np.arange(256.0))
    rows = pd.DataFrame({"x": np.arange(256) / (7 if kind == "float32" else 1)}).astype(kind)
    for given in (rows, rows.to_numpy()):
        refused(kind, IN_LESS[kind].fit(given, target), check=given)
    wide = rows.astype(float)
    same(IN_LESS[kind].fit(wide, target), wide)


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_steps_that_give_frames(same: Same, output: str) -> None:
    columns = make_column_transformer(
        (pre.OneHotEncoder(handle_unknown="ignore", sparse_output=False), TEXTS),
        (pre.PolynomialFeatures(), ["a"]),
        (pre.KBinsDiscretizer(3, encode="ordinal"), ["b"]),
    )
    model = make_pipeline(columns, pre.MinMaxScaler(), MEMBER).set_output(transform=output)
    same(model.fit(ROWS, ROWS.n), ROWS)
