"""A Pipeline predicts in SQL from the table's own columns what it predicts in Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
from sklearn import ensemble, impute
from sklearn import preprocessing as pre
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import FeatureUnion, make_pipeline

import pgboost

ROWS = 800
NUMBERS, TEXTS = ["age", "fare", "size"], ["sex", "port", "deck"]


def passengers() -> pd.DataFrame:
    """Numbers and text, some of each missing."""
    generator = np.random.default_rng(11)
    port = generator.choice(["S", "C", "Q"], ROWS, p=[0.7, 0.2, 0.1]).astype(object)
    port[generator.random(ROWS) < 0.05] = None
    age = np.round(generator.normal(40, 12, ROWS), 1)
    age[generator.random(ROWS) < 0.2] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "fare": np.exp(generator.normal(3, 1, ROWS)),
            "size": generator.integers(0, 6, ROWS),
            "sex": generator.choice(["male", "female"], ROWS),
            "port": port,
            "deck": generator.choice(list("ABCDEF"), ROWS, p=[0.4, 0.3, 0.2, 0.06, 0.02, 0.02]),
        }
    )


def survived(frame: pd.DataFrame) -> np.ndarray:
    score = (frame.age.fillna(30) < 35) + 0.7 * (frame.sex == "male") + 0.3 * np.log(frame.fare)
    score += 0.4 * (frame.port == "C") + 0.2 * (frame.deck == "E")
    noise = np.random.default_rng(12).normal(size=len(frame)) * 0.2
    return np.where(score + noise > 2, "yes", "no")


def forest() -> Any:
    return ensemble.RandomForestClassifier(12, min_samples_leaf=2, random_state=1)


def boosted() -> Any:
    return ensemble.HistGradientBoostingClassifier(max_iter=12, random_state=1)


def imputed(strategy: str, step: Any, **options: Any) -> Any:
    return make_pipeline(impute.SimpleImputer(strategy=strategy, **options), step)


def encoded(encoder: Any, rest: Any = "passthrough") -> Any:
    """The encoder for text, the rest for numbers."""
    text = make_column_selector(dtype_exclude=np.number)
    return make_column_transformer((encoder, text), remainder=rest)


ONE_HOT, ORDINAL = pre.OneHotEncoder, pre.OrdinalEncoder
UNKNOWN = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
PIPELINES: dict[str, Callable[[], Any]] = {
    "one-hot": lambda: make_pipeline(
        encoded(ONE_HOT(handle_unknown="ignore"), imputed("median", pre.StandardScaler())), forest()
    ),
    "one-hot, dense, dropped": lambda: make_pipeline(
        encoded(ONE_HOT(drop="if_binary", sparse_output=False)), boosted()
    ),
    "rare categories": lambda: make_pipeline(
        encoded(
            imputed(
                "constant",
                ONE_HOT(handle_unknown="infrequent_if_exist", min_frequency=80),
                fill_value="none",
            )
        ),
        boosted(),
    ),
    "ordinal": lambda: make_pipeline(
        encoded(imputed("most_frequent", ORDINAL(**UNKNOWN))), boosted()
    ),
    "ordinal, missing": lambda: make_pipeline(
        encoded(ORDINAL(encoded_missing_value=-2, **UNKNOWN)), boosted()
    ),
    "target": lambda: make_pipeline(encoded(pre.TargetEncoder(random_state=1)), boosted()),
    "logarithm": lambda: make_pipeline(
        make_column_transformer((pre.FunctionTransformer(np.log1p), ["fare"]), ("drop", ["size"])),
        forest(),
    ),
    "bins": lambda: make_pipeline(
        make_column_transformer((pre.KBinsDiscretizer(4, encode="ordinal"), ["fare", "size"])),
        forest(),
    ),
    "indicators": lambda: make_pipeline(
        make_column_transformer((impute.SimpleImputer(add_indicator=True), NUMBERS)),
        pre.MinMaxScaler((-1, 2), clip=True),
        forest(),
    ),
    "union and selection": lambda: make_pipeline(
        make_column_transformer((imputed("mean", pre.RobustScaler()), NUMBERS)),
        FeatureUnion([("a", pre.MaxAbsScaler()), ("b", "passthrough")]),
        SelectKBest(k=4),
        ensemble.GradientBoostingClassifier(n_estimators=9, random_state=1),
    ),
    "outliers": lambda: make_pipeline(
        make_column_transformer((imputed("mean", pre.StandardScaler()), NUMBERS)),
        ensemble.IsolationForest(n_estimators=9, random_state=1),
    ),
}


@pytest.mark.parametrize("make", PIPELINES.values(), ids=PIPELINES.keys())
def test_pipelines(connection: psycopg.Connection, make: Callable[[], Any]) -> None:
    frame = passengers()
    model = make().fit(frame, survived(frame))
    pgboost.push(connection, "model", model)  # compares rows next to the thresholds
    found = pgboost.verify(connection, "model", model, frame)
    assert found and found.differing == 0, found
    assert found.classes_differing == 0


@pytest.mark.parametrize("name", ["one-hot", "rare categories", "ordinal", "target"])
def test_an_unknown_category_is_what_it_is_to_the_encoder(
    connection: psycopg.Connection, name: str
) -> None:
    frame = passengers()
    model = PIPELINES[name]().fit(frame, survived(frame))
    pgboost.push(connection, "model", model)
    frame.loc[::3, "deck"] = "Z"
    frame.loc[::7, "port"] = "X"
    found = pgboost.verify(connection, "model", model, frame)
    assert found and found.differing == 0, found


def test_an_unknown_category_is_an_error_where_it_is_one_to_the_encoder(
    connection: psycopg.Connection,
) -> None:
    frame = passengers()
    model = make_pipeline(encoded(ONE_HOT()), boosted()).fit(frame, survived(frame))
    pgboost.push(connection, "model", model)
    with pytest.raises(psycopg.Error, match="Z"):
        connection.execute(
            "SELECT predict('model', r) FROM"
            " (SELECT 1.0 AS age, 2.0 AS fare, 3 AS size, 'male' AS sex, 'S' AS port, 'Z' AS deck) r"
        )


def test_columns_that_are_dropped_are_no_features(connection: psycopg.Connection) -> None:
    frame = passengers()
    pgboost.push(connection, "model", PIPELINES["logarithm"]().fit(frame, survived(frame)))
    row = connection.execute("SELECT model_info('model')->'feature_names'").fetchone()
    assert row == (["fare"],)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (pre.PolynomialFeatures(2), "PolynomialFeatures"),
        (pre.FunctionTransformer(np.square), "square"),
        (impute.SimpleImputer(missing_values=-1), "-1"),
        (pre.KBinsDiscretizer(3), "KBinsDiscretizer"),
    ],
)
def test_what_cannot_be_folded_is_refused_by_name(
    connection: psycopg.Connection, step: Any, reason: str
) -> None:
    frame = passengers()
    model = make_pipeline(make_column_transformer((step, ["fare", "size"])), forest())
    with pytest.raises(pgboost.UnsupportedModelError, match=reason):
        pgboost.push(connection, "model", model.fit(frame, survived(frame)))
