"""LightGBM's models: every row of a table of several types has LightGBM's own double, rounded to real."""

import itertools
import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import psycopg
import pytest

import lightgbm as lgb
from tests.extension.e2e import golden
from tests.extension.e2e.reference import assert_same_bits, floats
from tests.extension.e2e.stored import COLUMNS, ROWS, ask, rounded, store
from tests.extension.formats.frame import KINDS
from tests.extension.formats.lightgbm import (
    COLOURS,
    MODELS,
    SIZES,
    make_frame,
    make_label,
    train,
)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Numbers of all widths, categories of three types, and something missing in each."""
    return make_frame()


@pytest.fixture(scope="module")
def label(frame: pd.DataFrame) -> np.ndarray:
    """A target to which all columns contribute."""
    return make_label(frame)


@pytest.fixture
def stored(connection: psycopg.Connection, frame: pd.DataFrame) -> psycopg.Connection:
    """A connection with the first rows in the table `stored`."""
    return store(connection, frame.head(ROWS))


def load(connection: psycopg.Connection, booster: lgb.Booster) -> None:
    # The frame has columns of float32, which LightGBM widens.
    file = booster.model_to_string().encode()
    connection.execute("SELECT load_model('m', %s, real_input => 'float32')", (file,))


@pytest.mark.parametrize("name", MODELS)
def test_every_row_is_the_same(
    stored: psycopg.Connection, frame: pd.DataFrame, label: np.ndarray, name: str
) -> None:
    booster = train(frame, label, MODELS[name])
    assert_every_row(stored, frame.head(ROWS), booster, MODELS[name]["objective"])


@pytest.mark.parametrize("name", ["regression", "binary", "multiclass", "forest"])
def test_linear_leaves_multiply_doubles(
    connection: psycopg.Connection, frame: pd.DataFrame, label: np.ndarray, name: str
) -> None:
    # Products of 80 decades give LightGBM constants that are no numbers.
    frame = frame.assign(double=frame["double"].clip(-3, 3))
    booster = train(frame, label, {**MODELS[name], "linear_tree": True})
    first = frame.head(ROWS)
    assert_every_row(store(connection, first), first, booster, MODELS[name]["objective"])
    rounded_rows = frame.astype(dict.fromkeys(["double", "exact", "whole", "large"], "float32"))
    raw = [rounded(booster.predict(rows, raw_score=True)) for rows in (frame, rounded_rows)]
    assert (raw[0] != raw[1]).mean() > 0.1, "rows of f32 would do"
    for function in ("predict_contribs", "predict_interactions"):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="linear leaves"):
            ask(connection, function, COLUMNS, 1)


def assert_every_row(
    stored: psycopg.Connection, frame: pd.DataFrame, booster: lgb.Booster, objective: str
) -> None:
    """Margins, values, leaves and classes are LightGBM's, from columns and rows, with and without batches."""
    load(stored, booster)
    raw, predicted = booster.predict(frame, raw_score=True), booster.predict(frame)
    for features in (COLUMNS, "t"):
        found = rounded(ask(stored, "predict_margin", features))
        assert_same_bits(found, rounded(raw))
        assert_same_bits(rounded(ask(stored, "predict_array", features)), rounded(predicted))
    # A row at a time, without batches.
    stored.execute("SET pgboost.enable_batch = off")
    assert_same_bits(rounded(ask(stored, "predict_array", COLUMNS)), rounded(predicted))
    stored.execute("RESET pgboost.enable_batch")
    leaves = booster.predict(frame.iloc[:500], pred_leaf=True).reshape(500, -1).astype(int)
    assert ask(stored, "predict_leaf", COLUMNS, 500) == leaves.tolist()
    if objective in ("binary", "multiclass", "multiclassova"):
        classes = predicted > 0.5 if predicted.ndim == 1 else predicted.argmax(axis=1)
        found = [int(answer) for answer in ask(stored, "predict_class", COLUMNS)]
        assert found == classes.astype(int).tolist()


def test_model_info_and_features(
    stored: psycopg.Connection, frame: pd.DataFrame, label: np.ndarray
) -> None:
    booster = train(frame, label, MODELS["binary"])
    load(stored, booster)
    (info,) = stored.execute("SELECT model_info('m')").fetchone()
    assert (info["format"], info["objective"]) == ("lightgbm text", "binary")
    assert (info["features"], info["trees"], info["rounds"]) == (len(KINDS), 12, 12)
    # Its files do not name the release.
    assert info["library_version"] is None
    assert "xgboost_version" not in info
    features = stored.execute(
        "SELECT feature, type, categories FROM model_features('m')"
    ).fetchall()
    assert [name for name, *_ in features] == list(KINDS)
    assert dict(zip(KINDS, [kind for _, kind, _ in features], strict=True))["size"] == "categorical"
    assert [texts for *_, texts in features][6:8] == [COLOURS, [str(size) for size in SIZES]]
    for kind, name in (("weight", "split"), ("total_gain", "gain")):
        query = "SELECT feature, importance FROM feature_importance('m', %s)"
        found = dict(stored.execute(query, (kind,)).fetchall())
        expected = dict(zip(KINDS, booster.feature_importance(name), strict=True))
        # The file has gains in six digits.
        assert found == pytest.approx(expected, rel=1e-5)


def test_unseen_categories(
    stored: psycopg.Connection, frame: pd.DataFrame, label: np.ndarray
) -> None:
    load(stored, train(frame, label, MODELS["regression"]))
    unseen = "0, 0, 0, 0, 0, 0, 'Red', 30, true"
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="colour"):
        stored.execute(f"SELECT predict('m', {unseen})")
    stored.execute("SET pgboost.unknown_category = missing")
    missing = unseen.replace("'Red'", "NULL::text")
    query = f"SELECT predict('m', {unseen}) = predict('m', {missing})"
    assert stored.execute(query).fetchone() == (True,)


def test_codes_without_categories(connection: psycopg.Connection) -> None:
    """A model of a matrix takes the codes themselves, from columns of any type."""
    draw = np.random.default_rng(4)
    table = np.column_stack([draw.normal(size=500), draw.integers(0, 60, 500)])
    params = {"objective": "regression", "verbosity": -1, "min_data_per_group": 5, "num_threads": 1}
    data = lgb.Dataset(table, np.cos(table[:, 1]) + table[:, 0], categorical_feature=[1])
    booster = lgb.train(params, data, 5)
    load(connection, booster)
    codes = [0, 7, 59, 60, 31, 1e9, 3e9, -1, -0.5, 7.9, np.inf, -np.inf, np.nan]
    rows = np.array(list(itertools.product([-0.3, np.nan], codes)))
    query = "SELECT predict('m', %s::float8, %s::float8)"
    found = [connection.execute(query, tuple(row)).fetchone() for row in rows.tolist()]
    assert_same_bits(floats(found), rounded(booster.predict(rows)))
    query = "SELECT predict('m', -0.3, 7::int2), predict('m', -0.3, 7::int8), predict('m', -0.3, 7)"
    assert len(set(connection.execute(query).fetchone())) == 1


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: re.sub(r"tree_sizes=.*\n", "", text),
        lambda text: re.sub(r"version=.*\n|tree_sizes=.*\n", "", text),
        lambda text: re.sub(r"(tree_sizes=.*)\n", r"\g<1>7\n", text),
    ],
)
def test_sizes_of_trees_count_as_for_lightgbm(
    connection: psycopg.Connection, edit: Callable[[str], str]
) -> None:
    """They may be absent, and nothing follows the last tree that is found by its size."""
    text = edit(golden.file("lightgbm/4.7.0/regression.txt").decode())
    connection.execute("SELECT load_model('m', %s)", (text.encode(),))
    rows = np.random.default_rng(5).normal(size=(20, 6))
    query = "SELECT predict('m', %s::float8[])"
    found = [connection.execute(query, (row,)).fetchone() for row in rows.tolist()]
    assert_same_bits(floats(found), rounded(lgb.Booster(model_str=text).predict(rows)))


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        (lambda text: text.replace("version=v4", "version=v9", 1), "v9"),
        (lambda _: '{"name": "tree", "version": "v4", "num_class": 1}', "JSON dump of a LightGBM"),
    ],
)
def test_unsupported_models_are_refused_by_name(
    connection: psycopg.Connection, edit: object, word: str
) -> None:
    text = golden.file("lightgbm/4.7.0/regression.txt").decode()
    with pytest.raises(psycopg.errors.FeatureNotSupported, match=re.escape(word)):
        connection.execute("SELECT load_model('m', %s)", (edit(text).encode(),))


def test_an_error_tells_its_line_and_tree(connection: psycopg.Connection) -> None:
    text = golden.file("lightgbm/4.7.0/regression.txt").decode()
    wrong = text.replace("leaf_value=", "leaf_value=x ", 1)
    with pytest.raises(psycopg.errors.InvalidBinaryRepresentation, match='"leaf_value"') as caught:
        connection.execute("SELECT load_model('m', %s)", (wrong.encode(),))
    assert re.fullmatch(r"The error is at tree 0, line \d+\.", caught.value.diag.message_detail)
    cut = text[: text.index("end of trees")]
    with pytest.raises(psycopg.errors.InvalidBinaryRepresentation, match="ends before"):
        connection.execute("SELECT load_model('m', %s)", (cut.encode(),))
