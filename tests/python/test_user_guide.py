"""Every model of trees behind a ColumnTransformer that scikit-learn's user guide shows goes in by one push.

The pipelines are those of its examples, by whose titles they go; the data have their columns, generated.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
from sklearn import ensemble, impute, model_selection
from sklearn import preprocessing as pre
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.pipeline import make_pipeline

from tests.python.models import assert_same

ROWS = 600
SEASONS, WEATHERS = ["fall", "spring", "summer", "winter"], ["clear", "misty", "rain"]


def bikes() -> pd.DataFrame:
    """Bike sharing demand: hours with weather."""
    generator = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "season": pd.Categorical(generator.choice(SEASONS, ROWS)),
            "weather": pd.Categorical(generator.choice(WEATHERS, ROWS)),
            "hour": generator.integers(0, 24, ROWS),
            "temp": np.round(generator.normal(15, 8, ROWS), 1),
            "humidity": np.round(generator.random(ROWS), 2),
            "workingday": generator.choice(["True", "False"], ROWS),
        }
    )


def rented(frame: pd.DataFrame) -> np.ndarray:
    daily = np.exp(-((frame.hour - 17) ** 2) / 20) * 200 * (frame.workingday == "True")
    return np.asarray(daily + frame.temp.clip(0) * 5 + 30 * (frame.weather == "clear"), float)


def claims() -> pd.DataFrame:
    """Poisson regression and non-normal loss: motor policies."""
    generator = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "VehBrand": generator.choice(["B1", "B2", "B12"], ROWS),
            "Area": generator.choice(list("ABCDEF"), ROWS),
            "VehAge": generator.integers(0, 25, ROWS),
            "DrivAge": generator.integers(18, 90, ROWS),
            "BonusMalus": generator.integers(50, 150, ROWS),
            "Density": np.round(np.exp(generator.normal(6, 2, ROWS)) + 1),
        }
    )


def frequency(frame: pd.DataFrame) -> np.ndarray:
    generator = np.random.default_rng(5)
    return generator.poisson(0.2 + 0.01 * (frame.BonusMalus - 50) + 0.3 * (frame.Area == "F"))


def people() -> pd.DataFrame:
    """Permutation importance, and column transformer with mixed types: the Titanic's passengers."""
    generator = np.random.default_rng(6)
    frame = pd.DataFrame(
        {
            "embarked": generator.choice(["S", "C", "Q"], ROWS).astype(object),
            "sex": generator.choice(["female", "male"], ROWS),
            "pclass": generator.integers(1, 4, ROWS),
            "age": np.round(generator.normal(30, 12, ROWS), 1),
            "fare": np.exp(generator.normal(3, 1, ROWS)),
        }
    )
    frame.loc[::9, "embarked"] = None
    frame.loc[::5, "age"] = np.nan
    return frame


def survived(frame: pd.DataFrame) -> np.ndarray:
    noise = np.random.default_rng(7).normal(size=len(frame)) * 0.4
    return np.where((frame.sex == "female") + (frame.pclass == 1) + noise > 0.9, "yes", "no")


CATEGORICAL = make_column_selector(dtype_include="category")
UNKNOWN = {"handle_unknown": "use_encoded_value", "unknown_value": -1}


def hist(**options: Any) -> Any:
    return ensemble.HistGradientBoostingRegressor(max_iter=15, random_state=42, **options)


def of_categories(encoder: Any) -> Any:
    """Categorical feature support in gradient boosting; comparing target encoder with other encoders."""
    columns = make_column_transformer(
        (encoder, CATEGORICAL), ("drop", ["workingday"]), remainder="passthrough"
    )
    return make_pipeline(columns, hist())


def in_time() -> Any:
    """Time-related feature engineering."""
    names = ["weather", "season", "workingday"]
    orders = [WEATHERS, SEASONS, ["False", "True"]]
    columns = ColumnTransformer(
        [("categorical", pre.OrdinalEncoder(categories=orders), names)],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    return make_pipeline(columns, hist(categorical_features=names)).set_output(transform="pandas")


def of_dependence() -> Any:
    """Partial dependence and individual conditional expectation plots."""
    names = ["season", "weather", "workingday"]
    columns = ColumnTransformer(
        [("cat", pre.OrdinalEncoder(), names), ("num", "passthrough", ["hour", "temp", "humidity"])]
    )
    return make_pipeline(columns, hist(categorical_features=[0, 1, 2]))


def of_claims(last: Any) -> Any:
    columns = ColumnTransformer(
        [
            ("categorical", pre.OrdinalEncoder(), ["VehBrand", "Area"]),
            ("numeric", "passthrough", ["VehAge", "DrivAge", "BonusMalus", "Density"]),
        ],
        remainder="drop",
    )
    return make_pipeline(columns, last)


def of_linear_claims(last: Any) -> Any:
    """The preprocessing that the same example has for linear models."""
    columns = ColumnTransformer(
        [
            ("passthrough", "passthrough", ["BonusMalus"]),
            ("binned", pre.KBinsDiscretizer(n_bins=10, random_state=0), ["VehAge", "DrivAge"]),
            (
                "log",
                make_pipeline(pre.FunctionTransformer(np.log), pre.StandardScaler()),
                ["Density"],
            ),
            ("onehot", pre.OneHotEncoder(), ["VehBrand", "Area"]),
        ],
        remainder="drop",
    )
    return make_pipeline(columns, last)


def of_people(last: Any) -> Any:
    encoder = pre.OrdinalEncoder(encoded_missing_value=-1, **UNKNOWN)
    columns = ColumnTransformer(
        [
            ("cat", encoder, ["pclass", "sex", "embarked"]),
            ("num", impute.SimpleImputer(strategy="mean"), ["age", "fare"]),
        ],
        verbose_feature_names_out=False,
    )
    return make_pipeline(columns, last)


def of_mixed_types(last: Any) -> Any:
    numeric = make_pipeline(impute.SimpleImputer(strategy="median"), pre.StandardScaler())
    text = make_pipeline(
        impute.SimpleImputer(strategy="most_frequent"), pre.OneHotEncoder(handle_unknown="ignore")
    )
    columns = ColumnTransformer(
        [("num", numeric, ["age", "fare"]), ("cat", text, ["embarked", "sex", "pclass"])]
    )
    return make_pipeline(columns, last)


def forest() -> Any:
    return ensemble.RandomForestClassifier(15, random_state=42)


def tuned() -> Any:
    """Post-tuning the decision threshold for cost-sensitive learning."""
    boosted = of_people(ensemble.HistGradientBoostingClassifier(max_iter=15, random_state=0))
    return model_selection.TunedThresholdClassifierCV(boosted, scoring="balanced_accuracy")


def searched() -> Any:
    """A search over the parameters of a Pipeline."""
    grid = {"randomforestclassifier__max_depth": [3, 5]}
    return model_selection.GridSearchCV(of_mixed_types(forest()), grid, cv=2)


Example = tuple[Callable[[], Any], Callable[[], pd.DataFrame], Callable[[pd.DataFrame], Any]]
EXAMPLES: dict[str, Example] = {
    "categories, one-hot": (
        lambda: of_categories(pre.OneHotEncoder(sparse_output=False, handle_unknown="ignore")),
        bikes,
        rented,
    ),
    "categories, ordinal": (
        lambda: of_categories(
            pre.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
        ),
        bikes,
        rented,
    ),
    "categories, target": (
        lambda: of_categories(pre.TargetEncoder(target_type="continuous")),
        bikes,
        rented,
    ),
    "time": (in_time, bikes, rented),
    "dependence": (of_dependence, bikes, rented),
    "poisson": (lambda: of_claims(hist(loss="poisson", max_leaf_nodes=12)), claims, frequency),
    "poisson, as linear": (
        lambda: of_linear_claims(ensemble.GradientBoostingRegressor(n_estimators=15)),
        claims,
        frequency,
    ),
    "outliers": (
        lambda: of_claims(ensemble.IsolationForest(n_estimators=15, random_state=0)),
        claims,
        frequency,
    ),
    "importance": (lambda: of_people(forest()), people, survived),
    "mixed types": (lambda: of_mixed_types(forest()), people, survived),
    "search": (searched, people, survived),
    "threshold": (tuned, people, survived),
}


@pytest.mark.parametrize(("make", "frame", "target"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_examples(
    connection: psycopg.Connection,
    make: Callable[[], Any],
    frame: Callable[[], pd.DataFrame],
    target: Callable[[pd.DataFrame], Any],
) -> None:
    rows = frame()
    assert_same(connection, make().fit(rows, target(rows)), rows)
