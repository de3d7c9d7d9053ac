"""`push` compares before it deploys: a model that would predict otherwise in the database is not stored."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import MissingIndicator
from sklearn.pipeline import make_pipeline

import catboost
import lightgbm
import pgboost
from pgboost.inputs import Inputs, drawn
from tests.python import models

SMALL = {"n_estimators": 12, "max_depth": 4, "random_state": 1}


def fitted(frame: Any, **options: Any) -> xgboost.XGBRegressor:
    return xgboost.XGBRegressor(**SMALL, **options).fit(frame, models.target(frame))


def versions(connection: psycopg.Connection, name: str) -> list[int]:
    return [found.version for found in pgboost.models(connection) if found.name == name]


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_differing_model_is_not_stored(
    connect: Callable[..., psycopg.Connection], autocommit: bool
) -> None:
    frame, name = models.frame(), f"kept {autocommit}"
    model = models.Changed(**SMALL).fit(frame, models.target(frame))
    with connect(autocommit=autocommit) as connection:
        first = pgboost.push(connection, name, fitted(frame), check=frame)
        missing = int(np.flatnonzero(frame["single"].isna())[0])
        with pytest.raises(pgboost.PredictionsDifferError, match=f"first in row {missing}: "):
            pgboost.push(connection, name, model, check=frame)
        with pytest.raises(ValueError, match="drawn around the model's thresholds"):
            pgboost.push(connection, name, model)
        assert versions(connection, name) == [first]
        assert pgboost.verify(connection, name, fitted(frame), frame)
        # Rows without a missing value are predicted as they are here.
        assert pgboost.push(connection, name, model, check=frame[frame["single"].notna()]) == 2
        assert pgboost.push(connection, name, model, check=False) == 3


def test_drawn_rows_are_around_thresholds() -> None:
    thresholds = np.array([-2.5, 0.25, 7], np.float32)
    rows = drawn(
        Inputs(
            width=3,
            thresholds={0: thresholds},
            dtype=np.float32,
            names=["a", "b", "city"],
            categories={2: [f"city {number}" for number in range(1500)]},
        ),
        ["a", "b", "city"],
    )
    assert len(rows) >= 500
    assert set(rows["city"].dropna()) >= {f"city {number}" for number in range(1500)}
    a = rows["a"].dropna().to_numpy()
    assert 0.02 < rows["a"].isna().mean() < 0.3
    for threshold in thresholds:
        for near in (threshold, np.nextafter(threshold, -np.inf), np.nextafter(threshold, np.inf)):
            assert (a == np.float32(near)).sum() > 10
    intervals = np.bincount(np.searchsorted(thresholds, a), minlength=4)
    assert intervals.min() > 50


def with_categories() -> pd.DataFrame:
    frame = models.frame()
    frame["city"] = pd.Categorical(
        np.array(["Wien", "Graz", "Linz", None])[np.arange(len(frame)) % 4]
    )
    frame["code"] = pd.Categorical(np.arange(len(frame)) % 3 * 10)
    return frame


def of_categories(make: Callable[..., Any], frame: pd.DataFrame) -> Any:
    y = models.target(models.frame()) + 9 * (frame["city"] == "Linz") + 5 * (frame["code"] == 10)
    return make.fit(frame, y)


def test_drawn_rows_that_the_model_does_not_predict(connection: psycopg.Connection) -> None:
    """An indicator of zeros refuses them in a column that had none."""
    rows = pd.DataFrame({"a": np.arange(200) % 3, "b": 1 + np.arange(200) % 5})
    columns = make_column_transformer(
        (MissingIndicator(missing_values=0), ["a", "b"]), ("passthrough", ["b"])
    )
    model = make_pipeline(columns, RandomForestRegressor(5)).fit(rows, rows.a * rows.b)
    with pytest.raises(pgboost.UnsupportedModelError, match="pass some as check"):
        pgboost.push(connection, "zeros", model)
    pgboost.push(connection, "zeros", model, check=rows)


def test_rows_of_categories_are_drawn(connection: psycopg.Connection) -> None:
    frame = with_categories()
    light = lightgbm.LGBMRegressor(verbose=-1, min_data_per_group=5, **SMALL)
    boosted = xgboost.XGBRegressor(enable_categorical=True, **SMALL)
    plain = frame.assign(
        city=frame["city"].astype(object).fillna("none"), code=frame["code"].astype(int)
    )
    one_hot, statistics = (
        catboost.CatBoostRegressor(
            iterations=9, verbose=False, allow_writing_files=False, cat_features=["city", "code"],
            one_hot_max_size=most,
        )
        for most in (9, 2)
    )  # fmt: skip
    all_rows = ((light, frame), (boosted, frame), (one_hot, plain), (statistics, plain))
    for model, rows in all_rows:
        of_categories(model, rows)
        pgboost.push(connection, "city", model)
        assert pgboost.verify(connection, "city", model, rows)


def test_verify_goes_by_the_stored_labels(connection: psycopg.Connection) -> None:
    frame = models.frame()
    model = xgboost.XGBClassifier(**SMALL).fit(frame, models.classes(frame, [0, 1, 2]))
    pgboost.push(connection, "labelled", model, labels=["low", "middle", "high"])
    found = pgboost.verify(connection, "labelled", model, frame)
    assert found
    assert found.classes_differing == 0
    cat = catboost.CatBoostClassifier(iterations=5, verbose=False, allow_writing_files=False)
    cat.fit(frame, models.target(frame) > 0)
    pgboost.push(connection, "of CatBoost", cat)
    assert pgboost.verify(connection, "of CatBoost", cat, frame).classes_differing == 0


def test_differing_classes_are_counted(connection: psycopg.Connection) -> None:
    frame = models.frame()

    class Swapped(lightgbm.LGBMClassifier):
        def predict(self, frame: Any, **options: Any) -> Any:
            return np.where(super().predict(frame, **options) == "a", "b", "a")

    model = Swapped(verbose=-1, **SMALL).fit(frame, models.classes(frame, ["a", "b"]))
    with pytest.raises(pgboost.PredictionsDifferError, match=r"1,000 in their class"):
        pgboost.push(connection, "swapped", model)
    pgboost.push(connection, "swapped", model, check=False)
    found = pgboost.verify(connection, "swapped", model, frame, rtol=1e-3)
    assert not found
    assert found.classes_differing == len(frame)
    assert found.first is not None
    assert found.first.in_sql[0] != found.first.in_python[0]


def test_a_verification_describes_the_differences(connection: psycopg.Connection) -> None:
    frame = models.frame()
    model = fitted(frame)
    pgboost.push(connection, "model", model)
    assert str(pgboost.verify(connection, "model", model, frame)) == "400 rows: all the same"
    other = xgboost.XGBRegressor(**SMALL).fit(frame, models.target(frame) + frame["whole"])
    found = pgboost.verify(connection, "model", other, frame)
    assert not found
    assert found.beyond == found.differing > 0
    assert found.first is not None
    assert found.worst is not None
    (in_sql,), (in_python,) = found.worst.in_sql, found.worst.in_python
    assert found.largest_absolute == pytest.approx(abs(in_sql - in_python))
    expected, ours = other.predict(frame), model.predict(frame)
    assert found.largest_absolute == pytest.approx(np.abs(expected - ours).max())
    assert found.largest_relative == pytest.approx(
        (np.abs(expected - ours) / np.abs(expected)).max()
    )
    assert found.worst.row == np.abs(expected - ours).argmax()
    assert f"400 rows, {found.beyond} beyond the tolerance" in str(found)
    assert f"worst row {found.worst.row}: " in str(found)
    assert pgboost.verify(connection, "model", other, frame, atol=found.largest_absolute * 1.01)
    assert not pgboost.verify(connection, "model", other, frame, atol=found.largest_absolute * 0.99)
    assert pgboost.verify(connection, "model", other, frame, rtol=found.largest_relative * 1.01)


def test_more_features_than_a_table_has_columns(connection: psycopg.Connection) -> None:
    rows = np.random.default_rng(5).normal(size=(120, 1800)).astype(np.float32)
    model = fitted(pd.DataFrame(rows, columns=[f"x{number}" for number in range(1800)]))
    pgboost.push(connection, "wide", model)
    shuffled = pd.DataFrame(rows, columns=[f"x{number}" for number in range(1800)])
    assert pgboost.verify(connection, "wide", model, shuffled)


def test_a_number_that_stands_for_missing_values(connection: psycopg.Connection) -> None:
    frame = models.frame()
    marked = frame.fillna(-999)
    for y in (models.target(frame), models.classes(frame, ["a", "b"]) == "a"):
        make = xgboost.XGBClassifier if y.dtype == bool else xgboost.XGBRegressor
        model = make(missing=-999, **SMALL).fit(marked, y)
        models.assert_same(connection, model, marked)
    # It matters: a number next to it is not missing.
    unmarked = marked.replace(-999, -998)
    assert not np.array_equal(model.predict_proba(marked), model.predict_proba(unmarked))
    with pytest.raises(pgboost.UnsupportedModelError, match="rounds"):
        pgboost.push(connection, "model", model, rounds=3)


@pytest.mark.parametrize(
    "model",
    [
        xgboost.XGBClassifier(**SMALL),
        lightgbm.LGBMClassifier(verbose=-1, **SMALL),
        catboost.CatBoostClassifier(iterations=12, verbose=False, allow_writing_files=False),
    ],
    ids=lambda model: type(model).__name__,
)
def test_rounds_that_are_given_are_compared(connection: psycopg.Connection, model: Any) -> None:
    frame = models.frame()
    model.fit(frame, models.classes(frame, [0, 1]))
    pgboost.push(connection, "rounds", model, rounds=5)
    assert not pgboost.verify(connection, "rounds", model, frame)
