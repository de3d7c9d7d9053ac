"""Columns that are left out, dropped or of other types: SQL predicts as Python does, or push refuses."""

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
import xgboost
from sklearn import calibration, compose, ensemble, feature_selection, impute, multioutput, tree
from sklearn import preprocessing as pre
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.utils._param_validation import InvalidParameterError

import pgboost
from tests.python import estimators
from tests.python.estimators import NUMBERS, TEXTS
from tests.python.models import assert_same

FOREST, TREE = estimators.FOREST, estimators.TREE


def leaving(last: Any) -> Any:
    """Returns a Pipeline that does not read the text column `t`."""
    encoder = pre.OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(make_column_transformer((encoder, ["s"]), ("passthrough", NUMBERS)), last)


COMBINED: dict[str, tuple[Callable[[], Any], str]] = {
    "voting": (lambda: ensemble.VotingRegressor([("a", leaving(FOREST))]), "number"),
    "soft voting": (
        lambda: ensemble.VotingClassifier(
            [("a", leaving(TREE)), ("b", leaving(TREE))], voting="soft"
        ),
        "three",
    ),
    "stacking": (lambda: ensemble.StackingRegressor([("a", leaving(FOREST))], cv=2), "number"),
    "calibrated": (lambda: calibration.CalibratedClassifierCV(leaving(TREE), cv=2), "two"),
    "targets": (lambda: multioutput.MultiOutputRegressor(leaving(FOREST)), "numbers"),
    "transformed": (
        lambda: compose.TransformedTargetRegressor(
            leaving(FOREST), func=np.log1p, inverse_func=np.expm1
        ),
        "number",
    ),
}


@pytest.mark.parametrize(("make", "kind"), COMBINED.values(), ids=COMBINED.keys())
def test_a_text_column_that_no_member_reads_is_no_feature(
    connection: psycopg.Connection, make: Callable[[], Any], kind: str
) -> None:
    rows = estimators.frame()
    model = make().fit(rows, estimators.target(rows, kind))
    assert_same(connection, model, rows)
    names = connection.execute("SELECT model_info('model')->'feature_names'").fetchone()
    assert names == (["a", "b", "n", "s"],)
    predicted = connection.execute(
        "SELECT predict_array('model', r) FROM (SELECT 1.0 AS a, 2.0 AS b, 3 AS n, 'b' AS s, 'x' AS t) r"
    ).fetchone()
    assert predicted is not None


DROPPED: dict[str, Callable[[], Any]] = {
    "selection": lambda: make_pipeline(
        make_column_transformer((pre.OneHotEncoder(), TEXTS), ("passthrough", NUMBERS)),
        feature_selection.SelectKBest(feature_selection.f_regression, k=1),
        FOREST,
    ),
    "rare categories": lambda: make_pipeline(
        make_column_transformer(
            (pre.OneHotEncoder(drop="first", min_frequency=0.9, handle_unknown="ignore"), ["s"]),
            ("passthrough", NUMBERS),
        ),
        FOREST,
    ),
}


@pytest.mark.parametrize("make", DROPPED.values(), ids=DROPPED.keys())
def test_an_encoder_of_whose_features_none_is_left(
    connection: psycopg.Connection, make: Callable[[], Any]
) -> None:
    rows = estimators.frame()
    assert_same(connection, make().fit(rows, rows.b), rows)


ONE_COLUMN: dict[str, Callable[[], Any]] = {
    "bagging": lambda: ensemble.BaggingRegressor(max_features=0.4, random_state=1),
    "repeated": lambda: ensemble.BaggingRegressor(bootstrap_features=True, random_state=1),
    "isolation": lambda: ensemble.IsolationForest(n_estimators=9, max_features=1, random_state=1),
}


@pytest.mark.parametrize("make", ONE_COLUMN.values(), ids=ONE_COLUMN.keys())
@pytest.mark.parametrize("width", [2, 3])
def test_trees_that_see_one_column(
    connection: psycopg.Connection, make: Callable[[], Any], width: int
) -> None:
    rows = estimators.frame()
    assert_same(connection, make().fit(rows[NUMBERS[:width]], rows.b), rows[NUMBERS[:width]])


def test_a_bagging_of_two_targets(connection: psycopg.Connection) -> None:
    rows = estimators.frame()
    model = ensemble.BaggingRegressor(max_features=0.7, random_state=1)
    assert_same(connection, model.fit(rows[NUMBERS], rows[["a", "b"]]), rows[NUMBERS])


def date_rows() -> pd.DataFrame:
    days = [datetime.date(2026, 1, 1 + day % 9) for day in range(estimators.ROWS)]
    stamps = pd.to_datetime(pd.Series(days))
    return estimators.frame().assign(d=pd.Series(days, dtype=object), c=stamps.astype("category"))


def encoded(column: str) -> Any:
    columns = make_column_transformer((pre.OneHotEncoder(), [column]), ("passthrough", ["a"]))
    return make_pipeline(columns, FOREST)


REFUSED: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "OneHotEncoder has the category datetime.date": (lambda: encoded("d"), ["a", "d"]),
    "OneHotEncoder has the category": (lambda: encoded("c"), ["a", "c"]),
    "HistGradientBoostingRegressor has the category": (
        lambda: ensemble.HistGradientBoostingRegressor(categorical_features="from_dtype"),
        ["a", "c"],
    ),
    "RandomTreesEmbedding is no model of trees": (
        lambda: ensemble.RandomTreesEmbedding(4),
        ["a", "b"],
    ),
    "SimpleImputer has missing_values='x'": (
        lambda: make_pipeline(
            make_column_transformer(
                (impute.SimpleImputer(missing_values="x", strategy="most_frequent"), ["s"]),
                ("drop", ["a"]),
            ),
            pre.OrdinalEncoder(),
            FOREST,
        ),
        ["a", "s"],
    ),
    "VotingRegressor is not scored as a step": (
        lambda: make_pipeline(ensemble.VotingRegressor([("a", FOREST)]), FOREST),
        ["a", "b"],
    ),
    "BaggingClassifier is one of DecisionTreeRegressor": (
        lambda: ensemble.BaggingClassifier(tree.DecisionTreeRegressor()),
        ["a", "n"],
    ),
    "n_estimators|no trees|predict": (
        lambda: make_pipeline(pre.StandardScaler(), xgboost.XGBRegressor(n_estimators=0)),
        ["a", "b"],
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_unsupported_columns_are_refused_by_name(
    connection: psycopg.Connection, reason: str
) -> None:
    make, columns = REFUSED[reason]
    rows = date_rows()
    try:
        model = make().fit(rows[columns], rows.n)
    except InvalidParameterError:
        pytest.skip("scikit-learn before 1.4 has no categories of other types than numbers")
    with pytest.raises(pgboost.PgboostError, match=reason):
        pgboost.push(connection, "model", model)


IN_LESS: dict[str, Callable[[], Any]] = {
    "uint8": lambda: make_pipeline(pre.FunctionTransformer(np.log1p), FOREST),
    "int16": lambda: make_pipeline(pre.FunctionTransformer(np.square), FOREST),
    "float32": lambda: make_pipeline(
        pre.FunctionTransformer(np.log1p), xgboost.XGBRegressor(n_estimators=9)
    ),
}


@pytest.mark.parametrize("kind", IN_LESS)
def test_computations_in_less_than_doubles_are_refused(
    connection: psycopg.Connection, kind: str
) -> None:
    rows = pd.DataFrame({"x": np.arange(256) / (7 if kind == "float32" else 1)}).astype(kind)
    model = IN_LESS[kind]().fit(rows, np.sin(np.arange(256.0)))
    with pytest.raises(pgboost.UnsupportedModelError, match=kind):
        pgboost.push(connection, "model", model, check=rows)
    wide = rows.astype(float)
    assert_same(connection, IN_LESS[kind]().fit(wide, np.sin(np.arange(256.0))), wide)


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_steps_that_give_frames(connection: psycopg.Connection, output: str) -> None:
    encoder = pre.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (encoder, TEXTS),
        (pre.PolynomialFeatures(), ["a"]),
        (pre.KBinsDiscretizer(3, encode="ordinal"), ["b"]),
    )
    model = make_pipeline(columns, pre.MinMaxScaler(), FOREST).set_output(transform=output)
    rows = estimators.frame()
    assert_same(connection, model.fit(rows, rows.n), rows)
