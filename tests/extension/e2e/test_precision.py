"""A model that compares doubles does so in every form and type that holds them."""

import numpy as np
import psycopg
import pytest

import lightgbm as lgb
from tests.extension.e2e.reference import assert_same_bits, floats

ROWS = 2000


def as_they_are(table: np.ndarray) -> np.ndarray:
    return table


def decimals(table: np.ndarray) -> np.ndarray:
    """The few digits of each real."""
    return np.array([[float(str(number)) for number in row] for row in table.astype(np.float32)])


# Successive moments lie closer together than numbers of f32 do there, and shares between them.
FORMS = {
    "columns of double precision": ("moment::float8, share", as_they_are),
    "columns of bigint and numeric": ("moment::bigint, share::numeric", as_they_are),
    "columns of real": ("moment::real, share::real", decimals),
    "an array of double precision": ("ARRAY[moment, share]", as_they_are),
    "an array of numeric": ("ARRAY[moment, share]::numeric[]", as_they_are),
    "an array of real": ("ARRAY[moment, share]::real[]", decimals),
    "a row": ("t", as_they_are),
    "jsonb": ("to_jsonb(t)", as_they_are),
}


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    draw = np.random.default_rng(7)
    return np.column_stack([1e9 + draw.integers(0, 400, ROWS), draw.uniform(size=ROWS)])


@pytest.fixture(scope="module")
def booster(table: np.ndarray) -> lgb.Booster:
    label = np.sin(table[:, 0] / 3) + 10 * (table[:, 1] > 1 / 3)
    params = {"objective": "regression", "verbosity": -1, "min_data_in_leaf": 2, "num_threads": 1}
    names = ["moment", "share"]
    booster = lgb.train(params, lgb.Dataset(table, label, feature_name=names), 50)
    # Values that are rounded first take other ways.
    singles = booster.predict(table.astype(np.float32))
    assert np.mean(booster.predict(table) != singles) > 0.1
    return booster


@pytest.mark.parametrize("batch", ["on", "off"])
@pytest.mark.parametrize("form", FORMS)
def test_forms_and_types(
    connection: psycopg.Connection, table: np.ndarray, booster: lgb.Booster, form: str, batch: str
) -> None:
    connection.execute("CREATE TEMP TABLE t (id int, moment float8, share float8)")
    with connection.cursor().copy("COPY t FROM STDIN") as copy:
        for number, row in enumerate(table.tolist()):
            copy.write_row((number, *row))
    connection.execute("SELECT load_model('m', %s)", (booster.model_to_string().encode(),))
    connection.execute(f"SET pgboost.enable_batch = {batch}")
    features, seen = FORMS[form]
    found = connection.execute(f"SELECT predict('m', {features}) FROM t ORDER BY id")
    expected = booster.predict(seen(table)).astype(np.float32)
    assert_same_bits(floats(found.fetchall()), expected.reshape(-1, 1))
