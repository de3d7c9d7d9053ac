"""NULL is a missing value in every form; NaN is one too; infinities are compared as numbers."""

import math

import numpy as np
import psycopg
import pytest
import xgboost as xgb

from tests.extension.e2e.datasets import load
from tests.extension.e2e.reference import answers, assert_same_bits, floats, model_bytes, train


@pytest.fixture
def booster(connection: psycopg.Connection) -> xgb.Booster:
    """A model of four features, loaded as `m`, trained where a third of the values is missing."""
    trained = train(load("iris", missing=0.35), {"objective": "reg:squarederror"})
    connection.execute(
        "SELECT load_model('m', %s, feature_names => '{a,b,c,d}')", (model_bytes(trained),)
    )
    return trained


def patterns() -> np.ndarray:
    """A row for every set of the four features that may be missing."""
    rows = np.tile([5.8, 3.0, 4.35, 1.3], (16, 1))
    for number, row in enumerate(rows):
        row[[number >> bit & 1 == 1 for bit in range(4)]] = np.nan
    return rows


FORMS = {
    "columns": "%(a)s::float8, %(b)s::float8, %(c)s::float8, %(d)s::float8",
    "numeric columns": "%(a)s::numeric, %(b)s::numeric, %(c)s::numeric, %(d)s::numeric",
    "array": "ARRAY[%(a)s, %(b)s, %(c)s, %(d)s]::real[]",
    "numeric array": "ARRAY[%(a)s, %(b)s, %(c)s, %(d)s]::numeric[]",
    "row": "(SELECT t FROM (SELECT %(a)s::float8 AS a, %(b)s::float8 AS b,"
    " %(c)s::float8 AS c, %(d)s::float8 AS d) AS t)",
    "object": "jsonb_build_object('a', %(a)s::float8, 'b', %(b)s::float8,"
    " 'c', %(c)s::float8, 'd', %(d)s::float8)",
}


@pytest.mark.parametrize(
    ("form", "missing"),
    [
        (form, missing)
        for form in FORMS
        for missing in (None, math.nan)
        if missing is None or form != "object"
    ],
)
def test_null_and_nan_are_missing(
    connection: psycopg.Connection, booster: xgb.Booster, form: str, missing: float | None
) -> None:
    rows = patterns()
    for row, margin in zip(rows, answers(booster, rows).margins, strict=True):
        values = [missing if math.isnan(value) else float(value) for value in row]
        query = f"SELECT predict_margin('m', {FORMS[form]})"
        (found,) = connection.execute(query, dict(zip("abcd", values, strict=True))).fetchone()
        assert_same_bits(floats(found), margin)


def test_infinity_is_a_number(connection: psycopg.Connection, booster: xgb.Booster) -> None:
    """As in XGBoost's in-place prediction; only its DMatrix refuses infinities."""
    rows = np.array([[math.inf, 3, -math.inf, 1], [-math.inf] * 4, [math.inf] * 4], np.float32)
    expected = booster.inplace_predict(rows, predict_type="margin")
    for row, margin in zip(rows, expected, strict=True):
        (found,) = connection.execute(
            "SELECT predict_margin('m', %s::float8[])", (row.tolist(),)
        ).fetchone()
        assert_same_bits(floats(found), np.atleast_1d(margin))


def test_a_null_model_gives_null(connection: psycopg.Connection, booster: xgb.Booster) -> None:
    assert connection.execute("SELECT predict(NULL, 1, 2, 3, 4)").fetchone() == (None,)


def test_null_needs_no_type(connection: psycopg.Connection, booster: xgb.Booster) -> None:
    rows = np.array([[np.nan] * 4, [5.8, np.nan, 4.35, np.nan]])
    expected = answers(booster, rows).margins
    for features, margin in zip(
        ("NULL, NULL, NULL, NULL", "5.8, NULL, 4.35, NULL"), expected, strict=True
    ):
        (found,) = connection.execute(f"SELECT predict_margin('m', {features})").fetchone()
        assert_same_bits(floats(found), margin)
