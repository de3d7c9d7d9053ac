"""`push` compares before it deploys: a model that would predict otherwise in the database is not stored."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost
from psycopg import Connection
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import MissingIndicator
from sklearn.pipeline import make_pipeline

import catboost
import lightgbm
import pgboost
from pgboost.inputs import Inputs, drawn
from tests.python import models
from tests.python.conftest import Refused, Same
from tests.python.models import FRAME, NUMBER

SMALL = {"n_estimators": 12, "max_depth": 4, "random_state": 1}


def fitted(frame: Any, **options: Any) -> xgboost.XGBRegressor:
    return xgboost.XGBRegressor(**SMALL, **options).fit(frame, models.target(frame))


def versions(connection: Connection, name: str) -> list[int]:
    return [found.version for found in pgboost.models(connection) if found.name == name]


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_differing_model_is_not_stored(
    connect: Callable[..., Connection], autocommit: bool
) -> None:
    name = f"kept {autocommit}"
    model = models.Changed(**SMALL).fit(FRAME, NUMBER)
    with connect(autocommit=autocommit) as connection:
        first = pgboost.push(connection, name, fitted(FRAME), check=FRAME)
        missing = int(np.flatnonzero(FRAME["single"].isna())[0])
        with pytest.raises(pgboost.PredictionsDifferError, match=f"first in row {missing}: "):
            pgboost.push(connection, name, model, check=FRAME)
        with pytest.raises(ValueError, match="drawn around the model's thresholds"):
            pgboost.push(connection, name, model)
        assert versions(connection, name) == [first]
        assert pgboost.verify(connection, name, fitted(FRAME), FRAME)
        # Rows without a missing value are predicted as they are here.
        assert pgboost.push(connection, name, model, check=FRAME[FRAME["single"].notna()]) == 2
        assert pgboost.push(connection, name, model, check=False) == 3


def test_drawn_rows_are_around_thresholds() -> None:
    thresholds = np.array([-2.5, 0.25, 7], np.float32)
    names, cities = ["a", "b", "city"], [f"city {number}" for number in range(1500)]
    given = {"width": 3, "thresholds": {0: thresholds}, "dtype": np.float32, "names": names}
    rows = drawn(Inputs(**given, categories={2: cities}), names)
    assert len(rows) >= 500
    assert set(rows["city"].dropna()) >= set(cities)
    a = rows["a"].dropna().to_numpy()
    assert 0.02 < rows["a"].isna().mean() < 0.3
    for threshold in thresholds:
        for near in (threshold, np.nextafter(threshold, -np.inf), np.nextafter(threshold, np.inf)):
            assert (a == np.float32(near)).sum() > 10
    intervals = np.bincount(np.searchsorted(thresholds, a), minlength=4)
    assert intervals.min() > 50


def test_drawn_rows_that_the_model_does_not_predict(
    connection: Connection, refused: Refused
) -> None:
    """An indicator of zeros refuses them in a column that had none."""
    rows = pd.DataFrame({"a": np.arange(200) % 3, "b": 1 + np.arange(200) % 5})
    columns = make_column_transformer(
        (MissingIndicator(missing_values=0), ["a", "b"]), ("passthrough", ["b"])
    )
    model = make_pipeline(columns, RandomForestRegressor(5)).fit(rows, rows.a * rows.b)
    refused("pass some as check", model)
    pgboost.push(connection, "model", model, check=rows)


def test_rows_of_categories_are_drawn(same: Same) -> None:
    city = pd.Categorical(np.resize(np.array(["Wien", "Graz", "Linz", None]), len(FRAME)))
    frame = FRAME.assign(city=city, code=pd.Categorical(np.arange(len(FRAME)) % 3 * 10))
    texts, codes = frame.city.astype(object).fillna("none"), frame.code.astype(int)
    y = NUMBER + 9 * (texts == "Linz") + 5 * (codes == 10)
    for model in (
        lightgbm.LGBMRegressor(verbose=-1, min_data_per_group=5, **SMALL),
        xgboost.XGBRegressor(enable_categorical=True, **SMALL),
    ):
        same(model.fit(frame, y), frame)
    plain = frame.assign(city=texts, code=codes)
    for most in (9, 2):
        options = {"cat_features": ["city", "code"], "one_hot_max_size": most, **models.SILENT}
        same(catboost.CatBoostRegressor(iterations=9, **options).fit(plain, y), plain)


def test_verify_goes_by_the_stored_labels(connection: Connection, same: Same) -> None:
    model = xgboost.XGBClassifier(**SMALL).fit(FRAME, models.classes(FRAME, [0, 1, 2]))
    pgboost.push(connection, "labelled", model, labels=["low", "middle", "high"])
    found = pgboost.verify(connection, "labelled", model, FRAME)
    assert found and found.classes_differing == 0
    cat = catboost.CatBoostClassifier(iterations=5, **models.SILENT).fit(FRAME, NUMBER > 0)
    same(cat, FRAME)


def test_differing_classes_are_counted(connection: Connection) -> None:
    class Swapped(lightgbm.LGBMClassifier):
        def predict(self, frame: Any, **options: Any) -> Any:
            return np.where(super().predict(frame, **options) == "a", "b", "a")

    model = Swapped(verbose=-1, **SMALL).fit(FRAME, models.classes(FRAME, ["a", "b"]))
    with pytest.raises(pgboost.PredictionsDifferError, match=r"1,000 in their class"):
        pgboost.push(connection, "swapped", model)
    pgboost.push(connection, "swapped", model, check=False)
    found = pgboost.verify(connection, "swapped", model, FRAME, rtol=1e-3)
    assert not found
    assert found.classes_differing == len(FRAME)
    assert found.first is not None
    assert found.first.in_sql[0] != found.first.in_python[0]


def test_a_verification_describes_the_differences(connection: Connection) -> None:
    model = fitted(FRAME)
    pgboost.push(connection, "model", model)
    assert str(pgboost.verify(connection, "model", model, FRAME)) == "400 rows: all the same"
    other = xgboost.XGBRegressor(**SMALL).fit(FRAME, NUMBER + FRAME["whole"])
    found = pgboost.verify(connection, "model", other, FRAME)
    assert not found
    assert found.beyond == found.differing > 0
    assert found.first is not None and found.worst is not None
    (in_sql,), (in_python,) = found.worst.in_sql, found.worst.in_python
    assert found.largest_absolute == pytest.approx(abs(in_sql - in_python))
    expected, ours = other.predict(FRAME), model.predict(FRAME)
    apart = np.abs(expected - ours)
    assert found.largest_absolute == pytest.approx(apart.max())
    assert found.largest_relative == pytest.approx((apart / np.abs(expected)).max())
    assert found.worst.row == apart.argmax()
    assert f"400 rows, {found.beyond} beyond the tolerance" in str(found)
    assert f"worst row {found.worst.row}: " in str(found)
    shown = str(replace(found.worst, row=7, in_sql=[0.5] * 5, in_python=[1.0] * 4))
    assert shown == "row 7: (0.5, 0.5, 0.5, 0.5, ...) in SQL, (1, 1, 1, 1) in Python"
    two = xgboost.XGBRegressor(**SMALL).fit(FRAME, np.column_stack([NUMBER, NUMBER]))
    with pytest.raises(pgboost.PredictionsDifferError, match=r"has 2 outputs, and .* version 1$"):
        pgboost.verify(connection, "model", two, FRAME)
    assert pgboost.verify(connection, "model", other, FRAME, atol=found.largest_absolute * 1.01)
    assert not pgboost.verify(connection, "model", other, FRAME, atol=found.largest_absolute * 0.99)
    assert pgboost.verify(connection, "model", other, FRAME, rtol=found.largest_relative * 1.01)


def test_more_features_than_a_table_has_columns(same: Same) -> None:
    values = np.random.default_rng(5).normal(size=(120, 1800)).astype(np.float32)
    rows = pd.DataFrame(values, columns=[f"x{number}" for number in range(1800)])
    same(fitted(rows), rows)


def test_a_number_that_stands_for_missing_values(refused: Refused, same: Same) -> None:
    marked = FRAME.fillna(-999)
    for y in (NUMBER, models.classes(FRAME, ["a", "b"]) == "a"):
        make = xgboost.XGBClassifier if y.dtype == bool else xgboost.XGBRegressor
        model = make(missing=-999, **SMALL).fit(marked, y)
        same(model, marked)
    # It matters: a number next to it is not missing.
    unmarked = marked.replace(-999, -998)
    assert not np.array_equal(model.predict_proba(marked), model.predict_proba(unmarked))
    refused("rounds", model, rounds=3)


@pytest.mark.parametrize("model", [
    xgboost.XGBClassifier(**SMALL),
    lightgbm.LGBMClassifier(verbose=-1, **SMALL),
    catboost.CatBoostClassifier(iterations=12, **models.SILENT),
], ids=lambda model: type(model).__name__)  # fmt: skip
def test_rounds_that_are_given_are_compared(connection: Connection, model: Any) -> None:
    model.fit(FRAME, models.classes(FRAME, [0, 1]))
    pgboost.push(connection, "rounds", model, rounds=5)
    assert not pgboost.verify(connection, "rounds", model, FRAME)
