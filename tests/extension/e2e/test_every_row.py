"""Each row of a table has the predictions of the model's library: XGBoost's, LightGBM's and CatBoost's.

The margins are the library's own, rounded to real, and so are the values but for XGBoost's last digits.
"""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from psycopg import Connection, errors

from tests.extension.e2e.reference import assert_near, assert_same_bits
from tests.extension.formats import catboost, lightgbm, xgboost
from tests.extension.formats.frame import COLUMNS, ask, rounded, store
from tests.extension.formats.model import LEAVES

LIBRARIES = {"xgboost": xgboost, "lightgbm": lightgbm, "catboost": catboost}
CASES = [(library, name) for library, module in LIBRARIES.items() for name in module.TESTED]
# Of those that a model is trained on; all of XGBoost's, for a rule that is wrong once in a thousand rows.
ROWS = {"xgboost": xgboost.ROWS, "lightgbm": 5_000, "catboost": 5_000}


@cache
def training(library: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A library's rows and their target."""
    frame = LIBRARIES[library].make_frame()
    return frame, LIBRARIES[library].make_label(frame)


@pytest.mark.parametrize(("library", "name"), CASES)
def test_every_row_is_the_same(connection: Connection, library: str, name: str) -> None:
    frame, label = training(library)
    params = LIBRARIES[library].TESTED[name]
    model = LIBRARIES[library].train(frame, label, params)
    assert_every_row(connection, library, model, frame.head(ROWS[library]), params)


@pytest.mark.parametrize("name", ["regression", "binary", "multiclass", "forest"])
def test_linear_leaves_multiply_doubles(connection: Connection, name: str) -> None:
    frame, label = training("lightgbm")
    # Products of 80 decades give LightGBM constants that are no numbers.
    frame = frame.assign(double=frame["double"].clip(-3, 3))
    params = {**lightgbm.MODELS[name], "linear_tree": True}
    booster = lightgbm.train(frame, label, params)
    assert_every_row(connection, "lightgbm", booster, frame.head(ROWS["lightgbm"]), params)
    rounded_rows = frame.astype(dict.fromkeys(["double", "exact", "whole", "large"], "float32"))
    raw = [rounded(booster.predict(rows, raw_score=True)) for rows in (frame, rounded_rows)]
    assert (raw[0] != raw[1]).mean() > 0.1, "rows of f32 would do"
    for function in ("predict_contribs", "predict_interactions"):
        with pytest.raises(errors.FeatureNotSupported, match="linear leaves"):
            ask(connection, function, COLUMNS, 1)


def assert_every_row(
    connection: Connection, library: str, model: Any, frame: pd.DataFrame, params: dict
) -> None:
    """The library's predictions from columns and rows, with and without batches, by each kind of file."""
    module = LIBRARIES[library]
    expected = module.predictions(model, frame, params)
    margins, values = rounded(expected.margins), rounded(expected.values)
    assert_same = assert_near if library == "xgboost" else assert_same_bits
    columns = ", ".join(module.KINDS)
    store(connection, frame, module.KINDS)
    for file in module.files(model):
        connection.execute(f"SELECT load_model('m', %s{module.ARGUMENTS})", (file,))
        for features in (columns, "t"):
            assert_same_bits(rounded(ask(connection, "predict_margin", features)), margins)
            assert_same(rounded(ask(connection, "predict_array", features)), values)
    connection.execute("SET pgboost.enable_batch = off")
    assert_same_bits(rounded(ask(connection, "predict_margin", columns)), margins)
    assert_same(rounded(ask(connection, "predict_array", columns)), values)
    connection.execute("RESET pgboost.enable_batch")
    assert ask(connection, "predict_leaf", columns, LEAVES) == expected.leaves
    if expected.classes is not None:
        assert ask(connection, "predict_class", columns) == expected.classes
    if values.shape[1] == 1:
        assert_same(rounded(ask(connection, "predict", columns)), values)
