"""LightGBM's models: their description, codes of categories, and the sizes of trees in a file."""

import itertools
import re
from collections.abc import Callable

import numpy as np
import pytest
from psycopg import Connection, errors

import lightgbm as lgb
from tests.extension.e2e import golden
from tests.extension.e2e.reference import assert_same_bits, floats
from tests.extension.formats.frame import KINDS, rounded
from tests.extension.formats.lightgbm import COLOURS, MODELS, SIZES, make_frame, make_label, train


def load(connection: Connection, booster: lgb.Booster) -> None:
    connection.execute("SELECT load_model('m', %s)", (booster.model_to_string().encode(),))


def test_model_info_and_features(connection: Connection) -> None:
    frame = make_frame()
    booster = train(frame, make_label(frame), MODELS["binary"])
    load(connection, booster)
    (info,) = connection.execute("SELECT model_info('m')").fetchone()
    assert (info["format"], info["objective"]) == ("lightgbm text", "binary")
    assert (info["features"], info["trees"], info["rounds"]) == (len(KINDS), 12, 12)
    # Its files do not name the release.
    assert info["library_version"] is None
    assert "xgboost_version" not in info
    query = "SELECT feature, type, categories FROM model_features('m')"
    features = connection.execute(query).fetchall()
    assert [name for name, *_ in features] == list(KINDS)
    assert dict(zip(KINDS, [kind for _, kind, _ in features], strict=True))["size"] == "categorical"
    assert [texts for *_, texts in features][6:8] == [COLOURS, [str(size) for size in SIZES]]
    for kind, name in (("weight", "split"), ("total_gain", "gain")):
        query = "SELECT feature, importance FROM feature_importance('m', %s)"
        found = dict(connection.execute(query, (kind,)).fetchall())
        expected = dict(zip(KINDS, booster.feature_importance(name), strict=True))
        # The file has gains in six digits.
        assert found == pytest.approx(expected, rel=1e-5)


def test_codes_without_categories(connection: Connection) -> None:
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
    connection: Connection, edit: Callable[[str], str]
) -> None:
    """They may be absent, and nothing follows the last tree that is found by its size."""
    text = edit(golden.file("lightgbm/4.7.0/regression.txt").decode())
    connection.execute("SELECT load_model('m', %s)", (text.encode(),))
    rows = np.random.default_rng(5).normal(size=(20, 6))
    query = "SELECT predict('m', %s::float8[])"
    found = [connection.execute(query, (row,)).fetchone() for row in rows.tolist()]
    assert_same_bits(floats(found), rounded(lgb.Booster(model_str=text).predict(rows)))


def test_an_error_tells_its_line_and_tree(connection: Connection) -> None:
    text = golden.file("lightgbm/4.7.0/regression.txt").decode()
    wrong = text.replace("leaf_value=", "leaf_value=x ", 1)
    with pytest.raises(errors.InvalidBinaryRepresentation, match='"leaf_value"') as caught:
        connection.execute("SELECT load_model('m', %s)", (wrong.encode(),))
    assert re.fullmatch(r"The error is at tree 0, line \d+\.", caught.value.diag.message_detail)
    cut = text[: text.index("end of trees")]
    with pytest.raises(errors.InvalidBinaryRepresentation, match="ends before"):
        connection.execute("SELECT load_model('m', %s)", (cut.encode(),))
