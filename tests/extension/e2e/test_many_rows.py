"""A hundred thousand rows per model, to find a rule that is wrong once in a thousand rows."""

import math

import numpy as np
import psycopg
import pytest
import xgboost as xgb

from tests.extension.e2e.reference import (
    answers,
    assert_near,
    assert_same_bits,
    floats,
    model_bytes,
)

ROWS = 100_000
FEATURES = 8
MODELS = {
    "regression": ({"objective": "reg:squarederror", "max_depth": 8}, 40),
    "exact": ({"objective": "reg:squarederror", "tree_method": "exact", "max_depth": 6}, 10),
    "logistic": ({"objective": "binary:logistic", "max_depth": 4}, 60),
    "softprob": ({"objective": "multi:softprob", "num_class": 4, "max_depth": 6}, 10),
    "poisson": ({"objective": "count:poisson", "max_depth": 7}, 20),
    "forest": ({"objective": "reg:squarederror", "num_parallel_tree": 20, "subsample": 0.5,
                "eta": 1}, 1),
}  # fmt: skip


def table() -> np.ndarray:
    """Rows on a grid, so that many values lie on thresholds, with gaps and extremes."""
    draw = np.random.default_rng(12)
    rows = np.round(draw.normal(size=(ROWS, FEATURES)), 2).astype(np.float32)
    rows[:, 1] = draw.integers(-5, 6, ROWS)
    rows[:, 2] = draw.normal(size=ROWS) * 10.0 ** draw.integers(-30, 30, ROWS)
    rows[draw.random(rows.shape) < 0.15] = np.nan
    return rows


@pytest.mark.parametrize("name", MODELS)
def test_every_row_is_the_same(connection: psycopg.Connection, name: str) -> None:
    params, rounds = MODELS[name]
    rows = table()
    whole = np.nan_to_num(rows)
    label = whole[:, 0] * whole[:, 1] + np.isnan(rows[:, 3]) + np.sin(whole[:, 4] * 3)
    label = np.abs(np.floor(label)) % params.get("num_class", 2)
    sample = slice(0, 20_000)
    data = xgb.DMatrix(rows[sample], label=label[sample])
    booster = xgb.train({"nthread": 1, "seed": 1, **params}, data, rounds)
    expected = answers(booster, rows)
    columns = ", ".join(f"f{index}" for index in range(FEATURES))
    kinds = columns.replace(",", " float4,") + " float4"
    connection.execute(f"CREATE TEMP TABLE many (id int, {kinds})")
    with connection.cursor().copy("COPY many FROM STDIN") as copy:
        for number, row in enumerate(rows.tolist()):
            copy.write_row([number, *(None if math.isnan(value) else value for value in row)])
    connection.execute("SELECT load_model('m', %s)", (model_bytes(booster),))
    query = f"SELECT predict_margin('m', {columns}), predict_array('m', {columns}) FROM many"
    found = connection.execute(f"{query} ORDER BY id").fetchall()
    assert_same_bits(floats([margins for margins, _ in found]), expected.margins)
    assert_near(floats([values for _, values in found]), expected.values)
