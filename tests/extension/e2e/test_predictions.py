"""Rows have the predictions of their model's library, whatever form and type their features come in.

The margins are the library's own, rounded to real, and so are the values but for XGBoost's last digits.
"""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from psycopg import Connection, errors
from psycopg.types.json import Jsonb

import lightgbm as lgb
import pgboost
from catboost import CatBoostClassifier
from tests.connections import make_table
from tests.extension.e2e import golden, reference
from tests.extension.e2e.conftest import Load
from tests.extension.e2e.reference import assert_near, assert_same_bits, column, floats, train
from tests.extension.formats import catboost, lightgbm, xgboost
from tests.extension.formats.frame import COLUMNS, LEAVES, ask, rounded, store

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

    def assert_form(features: str) -> None:
        assert_same_bits(rounded(ask(connection, "predict_margin", features)), margins)
        assert_same(rounded(ask(connection, "predict_array", features)), values)

    for file in module.files(model):
        connection.execute(f"SELECT load_model('m', %s{module.ARGUMENTS})", (file,))
        assert_form(columns)
        assert_form("t")
    connection.execute("SET pgboost.enable_batch = off")
    assert_form(columns)
    connection.execute("RESET pgboost.enable_batch")
    assert ask(connection, "predict_leaf", columns, LEAVES) == expected.leaves
    if expected.classes is not None:
        assert ask(connection, "predict_class", columns) == expected.classes
    if values.shape[1] == 1:
        assert_same(rounded(ask(connection, "predict", columns)), values)


WRAPPERS = {
    "xgboost": lambda: xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1),
    "lightgbm": lambda: lgb.LGBMClassifier(n_estimators=5, num_leaves=7, n_jobs=1, verbose=-1),
    "catboost": lambda: CatBoostClassifier(
        iterations=5, depth=3, thread_count=1, verbose=False, allow_writing_files=False),
}  # fmt: skip


@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
@pytest.mark.parametrize("library", WRAPPERS)
def test_probabilities_are_the_wrappers(connection: Connection, library: str, name: str) -> None:
    dataset = reference.load(name)
    model = WRAPPERS[library]().fit(dataset.features, dataset.target.astype(int))
    dataset.store(connection)
    pgboost.push(connection, "m", model)
    query = f"SELECT predict_proba('m', ARRAY[{dataset.columns}]) FROM {name} AS t ORDER BY id"
    found = column(connection, query)
    labels = [str(label) for label in model.classes_]
    assert all(sorted(row) == sorted(labels) for row in found)
    given = np.array([[row[label] for label in labels] for row in found])
    assert np.allclose(given, model.predict_proba(dataset.features), rtol=3e-7, atol=1e-9)
    # Summed by class, in batches as by row.
    connection.execute("SET pgboost.enable_batch = off")
    assert found == column(connection, query)


# Of each data set the objective, and the types of its numbers: of a real, XGBoost rounds to the same.
DATASETS = {
    "diabetes": ("reg:squarederror", ["float8", "numeric", "float4"]),
    "digits": ("count:poisson", ["int2", "int4", "int8", "numeric", "float4", "float8"]),
    "breast_cancer": ("binary:logistic", ["float8"]),
}


@pytest.mark.parametrize("name", DATASETS)
def test_every_form_and_type_has_the_librarys_margins(
    connection: Connection, load: Load, name: str
) -> None:
    objective, types = DATASETS[name]
    dataset = reference.load(name)
    booster = train(dataset, {"objective": objective})
    dataset.store(connection)
    load(booster)
    columns = [f'"{one}"' for one in dataset.names]
    reordered = f"(SELECT {', '.join(reversed(columns))}, id, 'extra' AS further FROM {name})"
    forms = [
        ("t", name),
        ("t", reordered),
        ("to_jsonb(t) || jsonb_build_object('further', 1)", name),
    ]
    for kind in types:
        forms.append((", ".join(f"{one}::{kind}" for one in columns), name))
        forms.append((f"ARRAY[{', '.join(columns)}]::{kind}[]", name))
    for features, table in forms:
        query = f"SELECT predict_margin('m', {features}) FROM {table} AS t ORDER BY id"
        found = floats(column(connection, query))
        assert_same_bits(found, reference.margins(booster, dataset.features))


@pytest.mark.parametrize("named", [True, False])
def test_a_function_of_more_features_than_arguments(
    connection: Connection, load: Load, named: bool
) -> None:
    rows = np.random.default_rng(3).normal(size=(200, 150)).astype(np.float32)
    names = [f"x{number}" for number in range(150)] if named else None
    matrix = xgb.DMatrix(rows, rows[:, 0] + rows[:, 140], feature_names=names)
    booster = xgb.train({"max_depth": 4}, matrix, 9)
    load(booster, name="wide")
    (function,) = connection.execute("SELECT create_predict_function('wide')").fetchone()
    assert function == ("wide(jsonb)" if named else "wide(double precision[])")
    # They are read as predict reads them.
    for row, value in zip(rows[:20].astype(float).tolist(), booster.predict(matrix), strict=False):
        given = Jsonb(dict(zip(names, row, strict=True))) if names else row
        answer = connection.execute("SELECT wide(%s)", (given,)).fetchone()
        assert np.float32(answer[0]) == value
    connection.execute("SELECT drop_model('wide')")
    assert connection.execute("SELECT to_regproc('wide')").fetchone() == (None,)


def test_cut_names_are_explained(connection: Connection, load: Load) -> None:
    name = "n" * 64
    matrix = xgb.DMatrix(np.arange(20.0).reshape(-1, 1), np.arange(20), feature_names=[name])
    booster = xgb.train({"max_depth": 2}, matrix, 3)
    load(booster)
    with pytest.raises(errors.UndefinedColumn) as raised, connection.transaction():
        connection.execute(f"SELECT predict('m', t) FROM (SELECT 3.0 AS {name[:63]}) AS t")
    assert "cuts the names of columns after 63 bytes" in raised.value.diag.message_hint
    (value,) = connection.execute("SELECT predict('m', %s)", (Jsonb({name: 3.0}),)).fetchone()
    assert np.float32(value) == booster.predict(matrix)[3]


SQUARED = {"objective": "reg:squarederror"}
STARTED = {
    "exposure": ("diabetes", {"objective": "count:poisson"}),
    "identity": ("diabetes", SQUARED),
    "dart": ("diabetes", {**SQUARED, "booster": "dart", "rate_drop": 0.3}),
    "binary": ("breast_cancer", {"objective": "binary:logistic"}),
}


@pytest.mark.parametrize("kind", STARTED)
def test_the_sum_begins_with_the_base_margin(connection: Connection, load: Load, kind: str) -> None:
    name, params = STARTED[kind]
    dataset = reference.load(name)
    booster = train(dataset, params)
    dataset.store(connection)
    load(booster)
    base = np.random.default_rng(2).normal(scale=3, size=len(dataset.features))
    make_table(connection, "pg_temp.base", "number int, margin float8", enumerate(base))
    data = xgb.DMatrix(dataset.features, feature_names=dataset.names, base_margin=base)
    values = booster.predict(data).reshape(-1, 1)
    for features in ("t", "to_jsonb(t)", dataset.columns, f"ARRAY[{dataset.columns}]"):
        query = (
            f"SELECT predict_from('m', margin, {features}), predict_from('m', margin::real, {features})"
            f" FROM {name} AS t JOIN base ON number = id ORDER BY id"
        )
        found = floats(connection.execute(query).fetchall())
        if params["objective"] == "reg:squarederror":
            assert_same_bits(found[:, :1], values)
        assert_near(found, np.repeat(values, 2, axis=1))


def test_one_model_begins_where_another_ends(connection: Connection, load: Load) -> None:
    dataset = reference.load("diabetes")
    first = train(dataset, SQUARED)
    matrix = xgb.DMatrix(dataset.features, dataset.target, feature_names=dataset.names)
    matrix.set_base_margin(first.predict(matrix, output_margin=True))
    second = xgb.train({"nthread": 1, "max_depth": 3}, matrix, 5)
    dataset.store(connection)
    load(first, name="first")
    load(second, name="second")
    query = (
        "SELECT predict_from('second', (predict_margin('first', t))[1], t)"
        " FROM diabetes AS t ORDER BY id"
    )
    found = floats(connection.execute(query).fetchall())
    assert_same_bits(found, second.predict(matrix, output_margin=True).reshape(-1, 1))


def test_models_of_other_libraries_have_no_base_margin(connection: Connection, load: Load) -> None:
    load(golden.file("lightgbm/4.7.0/regression.txt"))
    with pytest.raises(errors.FeatureNotSupported, match="cannot begin with a base margin"):
        connection.execute("SELECT predict_from('m', 1, ARRAY[1, 2, 3, 4, 5, 6]::real[])")
