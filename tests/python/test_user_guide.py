"""Every model of trees behind a ColumnTransformer that scikit-learn's user guide shows goes in by one push.

The pipelines are those of its examples, by whose titles they go, over the passengers of test_pipelines.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble, impute, model_selection
from sklearn import preprocessing as pre
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.pipeline import make_pipeline

from tests.python.conftest import Same
from tests.python.test_pipelines import NUMBERS, TEXTS, UNKNOWN, forest, passengers, survived


def rows() -> pd.DataFrame:
    """The passengers; two of the texts are categories to pandas, and another looks like a boolean."""
    frame = passengers().astype({"sex": "category", "deck": "category"})
    return frame.assign(alone=np.where(frame["size"] == 0, "True", "False"))


def count(frame: pd.DataFrame) -> np.ndarray:
    return np.random.default_rng(5).poisson(0.2 + 0.3 * (frame.deck == "F") + 0.1 * frame["size"])


def hist(**options: Any) -> Any:
    return ensemble.HistGradientBoostingRegressor(max_iter=15, random_state=42, **options)


def of_categories(encoder: Any) -> Any:
    """Categorical feature support in gradient boosting; comparing target encoder with other encoders."""
    columns = make_column_transformer(
        (encoder, make_column_selector(dtype_include="category")), ("drop", ["alone", "port"]),
        remainder="passthrough",
    )  # fmt: skip
    return make_pipeline(columns, hist())


def in_time() -> Any:
    """Time-related feature engineering."""
    names = ["sex", "deck", "alone"]
    orders = [["male", "female"], list("FEDCBA"), ["False", "True"]]
    columns = ColumnTransformer(
        [("categorical", pre.OrdinalEncoder(categories=orders), names), ("no", "drop", ["port"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    return make_pipeline(columns, hist(categorical_features=names)).set_output(transform="pandas")


def of_claims(last: Any) -> Any:
    """Poisson regression and non-normal loss."""
    columns = [
        ("categorical", pre.OrdinalEncoder(), ["sex", "deck"]),
        ("numeric", "passthrough", ["fare", "size"]),
    ]
    return make_pipeline(ColumnTransformer(columns, remainder="drop"), last)  # fmt: skip


def of_linear_claims(last: Any) -> Any:
    """The preprocessing that the same example has for linear models."""
    logarithm = make_pipeline(pre.FunctionTransformer(np.log), pre.StandardScaler())
    columns = [
        ("passthrough", "passthrough", ["size"]), ("log", logarithm, ["fare"]),
        ("binned", pre.KBinsDiscretizer(n_bins=10, random_state=0), ["fare"]),
        ("onehot", pre.OneHotEncoder(), ["sex", "deck"]),
    ]  # fmt: skip
    return make_pipeline(ColumnTransformer(columns, remainder="drop"), last)


def of_people(last: Any) -> Any:
    """Permutation importance with multicollinear or correlated features."""
    encoder = pre.OrdinalEncoder(encoded_missing_value=-2, **UNKNOWN)
    parts = [
        ("cat", encoder, [*TEXTS, "size"]),
        ("num", impute.SimpleImputer(strategy="mean"), ["age", "fare"]),
    ]
    return make_pipeline(ColumnTransformer(parts, verbose_feature_names_out=False), last)  # fmt: skip


def of_mixed_types(last: Any) -> Any:
    """Column transformer with mixed types."""
    numeric = make_pipeline(impute.SimpleImputer(strategy="median"), pre.StandardScaler())
    encoder = pre.OneHotEncoder(handle_unknown="ignore")
    text = make_pipeline(impute.SimpleImputer(strategy="most_frequent"), encoder)
    parts = [("num", numeric, NUMBERS[:2]), ("cat", text, [*TEXTS, "size"])]
    return make_pipeline(ColumnTransformer(parts), last)


def tuned() -> Any:
    """Post-tuning the decision threshold for cost-sensitive learning."""
    boosted = of_people(ensemble.HistGradientBoostingClassifier(max_iter=15, random_state=0))
    return model_selection.TunedThresholdClassifierCV(boosted, scoring="balanced_accuracy")


def searched() -> Any:
    """A search over the parameters of a Pipeline."""
    grid = {"randomforestclassifier__max_depth": [3, 5]}
    return model_selection.GridSearchCV(of_mixed_types(forest()), grid, cv=2)


ONE_HOT = pre.OneHotEncoder(sparse_output=False, handle_unknown="ignore")
ORDINAL = pre.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
STAGED = ensemble.GradientBoostingRegressor(n_estimators=15)
EXAMPLES: dict[str, tuple[Callable[[], Any], Callable[[pd.DataFrame], Any]]] = {
    "one-hot": (lambda: of_categories(ONE_HOT), count),
    "ordinal": (lambda: of_categories(ORDINAL), count),
    "target": (lambda: of_categories(pre.TargetEncoder(target_type="continuous")), lambda rows: rows.fare),
    "time": (in_time, count),
    "poisson": (lambda: of_claims(hist(loss="poisson", max_leaf_nodes=12)), count),
    "dependence": (lambda: of_claims(hist(categorical_features=[0, 1])), lambda rows: rows.fare),
    "poisson, as linear": (lambda: of_linear_claims(STAGED), count),
    "outliers": (lambda: of_claims(ensemble.IsolationForest(n_estimators=15, random_state=0)), count),
    "importance": (lambda: of_people(forest()), survived),
    "mixed types": (lambda: of_mixed_types(forest()), survived),
    "search": (searched, survived),
    "threshold": (tuned, survived),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(same: Same, name: str) -> None:
    make, target = EXAMPLES[name]
    frame = rows()
    same(make().fit(frame, target(frame)), frame)
