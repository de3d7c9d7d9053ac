"""With the policy `library` an unknown category is what it is to the library: missing, or an error."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from psycopg import Connection
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import lightgbm
import pgboost

ROWS = 300
DRAW = np.random.default_rng(6)
NUMBER = DRAW.normal(size=ROWS).round(2)
CODES = DRAW.integers(-1, 4, ROWS)
OPTIONS = {"max_iter": 9, "min_samples_leaf": 3}
FEW = {"n_estimators": 9, "min_child_samples": 3, "min_data_per_group": 3, "verbose": -1}


def frame(values: list[Any], other: Any = None) -> pd.DataFrame:
    """A category, some of them missing, and every fourth replaced by another if one is given."""
    cells = [None if code < 0 else values[code] for code in CODES]
    if other is not None:
        cells[::4] = [other] * len(cells[::4])
    return pd.DataFrame({"x": NUMBER, "k": pd.Categorical(cells)})


def boosted(kind: Any = HistGradientBoostingRegressor, **options: Any) -> Any:
    return kind(categorical_features="from_dtype", **OPTIONS, **options)


def behind(step: Any, model: Any, name: str = "x") -> Any:
    """Returns a Pipeline whose first feature is what the step gives."""
    others = [one for one in ("x", "k") if one != name]
    columns = make_column_transformer((step, [name]), ("passthrough", others))
    return make_pipeline(columns.set_output(transform="pandas"), model)


TEXTS, NUMBERS = ["a", "b", "c", "d"], [0, 1, 2, 3]
TWO = VotingRegressor([("one", boosted()), ("two", boosted(learning_rate=0.3))])
LIGHT = lightgbm.LGBMRegressor(categorical_feature=[1], **FEW)
# Models with their categories, and another one.
MISSING: dict[str, tuple[Any, list[Any], Any]] = {
    "texts": (boosted(), TEXTS, "z"),
    "numbers": (boosted(), [1, 5, 9, 30], 7),
    "classes": (boosted(HistGradientBoostingClassifier), TEXTS, "z"),
    "behind a step": (behind(StandardScaler(), boosted()), TEXTS, "z"),
    "two models": (TWO, TEXTS, "z"),
    "codes of LightGBM behind a step": (behind(StandardScaler(), LIGHT), NUMBERS, 9),
}


@pytest.mark.parametrize("name", MISSING)
def test_an_unknown_category_is_missing_to_the_library(connection: Connection, name: str) -> None:
    model, values, other = MISSING[name]
    known, rows = frame(values), frame(values, other)
    if values is NUMBERS:
        known, rows = known.astype({"k": float}), rows.astype({"k": float})
    number = CODES * 2.0 + NUMBER
    model.fit(known, np.digitize(number, [0, 3]) if name == "classes" else number)
    pgboost.push(connection, "model", model)
    with pytest.raises(pgboost.InvalidDataError, match="unknown category"):
        pgboost.predict(connection, "model", rows)
    connection.execute("SELECT set_unknown_category('model', 'library')")
    found = pgboost.verify(connection, "model", model, rows)
    assert found.differing == 0 and found.rows == ROWS
    assert np.ptp(model.predict(rows).astype(float)) > 0


@pytest.mark.parametrize("model", [
    make_pipeline(make_column_transformer((OneHotEncoder(), ["k"]), ("passthrough", ["x"])),
                  RandomForestRegressor(4, random_state=1)),
    behind(OneHotEncoder(sparse_output=False), boosted(), "k"),
], ids=["forest", "HistGradientBoosting"])  # fmt: skip
def test_an_encoder_that_refuses_it_does_so_in_sql(connection: Connection, model: Any) -> None:
    model.fit(frame(TEXTS), NUMBER + CODES)
    pgboost.push(connection, "refused", model)
    connection.execute("SELECT set_unknown_category('refused', 'library')")
    with pytest.raises(ValueError, match="unknown categor"):
        model.predict(frame(TEXTS, "z"))
    with pytest.raises(pgboost.InvalidDataError, match="unknown category"):
        pgboost.predict(connection, "refused", frame(TEXTS, "z"))
