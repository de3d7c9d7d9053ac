"""Columns of arrays, each element of which is a feature."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from psycopg import Connection
from sklearn import datasets

from tests.extension.lifecycle.models import one
from tests.extension.train.conftest import Raises
from tests.extension.train.rows import copy_table, verified

TRAIN = """SELECT set, metric, best_round, value
    FROM train_model('m', %s, 'y', %s, rounds => 6, allow_change => true{})"""
PARAMS = json.dumps({"nthread": 1})


@pytest.fixture
def digits(connection: Connection) -> tuple[np.ndarray, np.ndarray]:
    """A table of images of 64 pixels, one of them missing, and of the same in two dimensions."""
    data = datasets.load_digits()
    features, label = data.data.astype("f4"), data.target
    features[3, 5] = np.nan
    lists = [[None if np.isnan(pixel) else int(pixel) for pixel in row] for row in features]
    squares = [[row[at : at + 8] for at in range(0, 64, 8)] for row in lists]
    columns = {
        "image": ("real[]", lists), "wide": ("double precision[]", lists),
        "square": ("smallint[]", squares), "y": ("integer", label),
    }  # fmt: skip
    copy_table(connection, "digits", columns)
    return features, label


@pytest.mark.parametrize("column", ["image", "wide", "square"])
def test_trees_are_those_of_python(
    connection: Connection, python_side: Callable[..., Any],
    digits: tuple[np.ndarray, np.ndarray], column: str,
) -> None:  # fmt: skip
    features, label = digits
    source = f"SELECT {column} AS image, y FROM digits ORDER BY id"
    params = {"objective": "multi:softprob", "nthread": 1}
    scores = connection.execute(TRAIN.format(""), (source, json.dumps(params))).fetchall()
    (model,) = connection.execute("SELECT export_model('m')").fetchone()
    names = [f"x{number}" for number in range(64)]
    found = python_side(
        model, {"features": features, "label": label.astype("f4")}, names=names,
        params=params | {"num_class": 10}, rounds=6,
    )  # fmt: skip
    assert found["same_trees"]
    assert found["names"] is None, "Python takes no names with brackets"
    named = one(connection, "SELECT array_agg(feature ORDER BY position) FROM model_features('m')")
    assert named == [f"image[{number}]" for number in range(1, 65)]
    assert scores[0][3] == pytest.approx(found["scores"]["train"]["mlogloss"], rel=1e-6)
    assert verified(connection, "digits") == (len(label), 0, 0)


def test_rows_predict_as_arrays_do(
    connection: Connection, digits: tuple[np.ndarray, np.ndarray]
) -> None:
    connection.execute(TRAIN.format(", features => '{image}'"), ("digits", PARAMS))
    differing = (
        "SELECT count(*) FILTER (WHERE predict('m', d) <> predict('m', image)) FROM digits AS d"
    )
    for batches in ("on", "off"):
        connection.execute(f"SET pgboost.enable_batch = {batches}")
        assert one(connection, differing) == 0
    connection.execute("RESET pgboost.enable_batch")
    assert one(
        connection,
        "SELECT bool_and(predict('m', r) = predict('m', d)) FROM digits AS d, "
        "LATERAL (SELECT square AS image) AS r",
    )
    told = connection.execute(
        "SELECT feature, value FROM digits AS d, explain_prediction('m', d, top => 64) "
        "WHERE id = (SELECT min(id) FROM digits) AND feature LIKE 'image%'"
    ).fetchall()
    image = one(connection, "SELECT image FROM digits ORDER BY id LIMIT 1")
    assert told
    for feature, value in told:
        assert float(value) == image[int(feature[6:-1]) - 1]


def test_arrays_beside_other_columns(connection: Connection) -> None:
    """And names of elements in constraints, in the features of a further training, and in profiles."""
    source = (
        "SELECT i AS a, ARRAY[sin(i), i % 5]::float8[] AS v, 'c' || i % 3 AS c, i % 4 = 0 AS b, "
        "ARRAY[i % 7]::bigint[] AS w, i * 2 + i % 5 AS y FROM generate_series(1, 500) AS i"
    )
    params = json.dumps({"nthread": 1, "monotone_constraints": {"v[2]": 1}})
    connection.execute(TRAIN.format(""), (source, params))
    names = connection.execute("SELECT feature FROM model_features('m')").fetchall()
    assert [name for (name,) in names] == ["a", "v[1]", "v[2]", "c", "b", "w[1]"]
    assert verified(connection, source) == (500, 0, 0)
    more = TRAIN.format(", continue_from => 'm'")
    connection.execute(more, (source.replace("SELECT", "SELECT 1 AS more,", 1), PARAMS))
    connection.execute(
        TRAIN.format(", continue_from => 'm', features => '{a,v,c,b,w}'"), (source, PARAMS)
    )
    profiled = connection.execute("SELECT feature, rows FROM feature_baseline('m')").fetchall()
    assert profiled == [(name, 500) for (name,) in names]
    connection.execute(TRAIN.format(", eval_source => %s"), (source, PARAMS, source))
    of_columns = "SELECT predict('m', 3, sin(3)::float8, 3::float8, 'c0'::text, false, 3)"
    of_row = f"SELECT predict('m', r) FROM ({source}) AS r WHERE a = 3"
    assert one(connection, of_row) == one(connection, of_columns)


def test_arrays_are_found_in_the_sources_of_other_functions(
    connection: Connection, digits: tuple[np.ndarray, np.ndarray], raises: Raises
) -> None:
    connection.execute(TRAIN.format(", features => '{image}'"), ("digits", PARAMS))
    for source in ("digits", "SELECT 'x' AS more, y, wide AS image FROM digits"):
        query = "SELECT value FROM evaluate_model('m', %s, 'y') WHERE metric = 'rmse'"
        expected = one(connection, "SELECT sqrt(avg((predict('m', image) - y) ^ 2)) FROM digits")
        assert one(connection, query, (source,)) == pytest.approx(expected, rel=1e-9)
        drifted = connection.execute("SELECT feature, psi FROM feature_drift('m', %s)", (source,))
        indexes = dict(drifted.fetchall())
        assert set(indexes) == {f"image[{i}]" for i in range(1, 65)}
        assert max(indexes.values()) < 1e-12
    compared = "SELECT DISTINCT difference FROM compare_models('m', 'm', 'digits', 'y')"
    assert one(connection, compared) == 0
    short = "SELECT image[1:9] AS image, y FROM digits"
    for call in ("evaluate_model('m', %s, 'y')", "feature_drift('m', %s)"):
        said = raises("22000", f"SELECT * FROM {call}", (short,))
        assert said.message_primary == 'array "image" must have 64 elements, not 9'


def test_null_is_missing(connection: Connection) -> None:
    source = (
        "SELECT CASE WHEN i % 9 > 0 OR i = 1 THEN ARRAY[i, NULLIF(i % 5, 0)] END AS v, i AS y "
        "FROM generate_series(1, 400) AS i"
    )
    connection.execute(TRAIN.format(""), (source, PARAMS))
    assert verified(connection, source) == (400, 0, 0)
    missing = connection.execute("SELECT missing FROM feature_baseline('m')").fetchall()
    assert missing == [(44,), (116,)]
    (row, none) = connection.execute(
        "SELECT predict('m', r), predict('m', NULL::real[]) FROM (SELECT NULL::real[] AS v) AS r"
    ).fetchone()
    assert row == none


@pytest.mark.parametrize(("column", "sqlstate", "message", "detail"), [
    ("CASE i WHEN 3 THEN ARRAY[7] ELSE ARRAY[i, i] END", "22000",
     'an array of column "v" has 1 element, not 2', "The array is {7}."),
    ("CASE i WHEN 3 THEN array_fill(5, ARRAY[100]) ELSE ARRAY[i] END", "22000",
     'an array of column "v" has 100 elements, not 1', ",5,5..."),
    ("CASE WHEN i > 1 THEN ARRAY[i] END", "22000",
     'the array of column "v" is null in the first row', "number of features"),
    ("'{}'::real[]", "22000", 'the array of column "v" is empty in the first row', "features"),
    ("ARRAY[1, 'infinity'::real]", "22003", 'a value of column "v" is infinite', None),
    ("ARRAY['a', 'b']", "42804", 'column "v" of type text[] cannot be a feature', None),
    ("ARRAY[date '2020-01-01', 'infinity']", "22003", 'a value of column "v" is infinite', None),
])  # fmt: skip
def test_invalid_arrays_are_refused(
    raises: Raises, column: str, sqlstate: str, message: str, detail: str | None
) -> None:
    source = f"SELECT {column} AS v, i AS y FROM generate_series(1, 10) AS i"
    said = raises(sqlstate, TRAIN.format(""), (source, PARAMS))
    assert said.message_primary.startswith(message)
    if detail:
        assert detail in said.message_detail


def test_lengths_that_differ_are_errors_everywhere(connection: Connection, raises: Raises) -> None:
    source = "SELECT ARRAY[i, i % 3] AS v, i AS y FROM generate_series(1, 50) AS i"
    other = source.replace("[i, i % 3]", "[i]")
    connection.execute(TRAIN.format(""), (source, PARAMS))
    message = 'an array of column "v" has 1 element, not 2'
    for statement, arguments in (
        (TRAIN.format(", eval_source => %s"), (source, PARAMS, other)),
        (TRAIN.format(", continue_from => 'm'"), (other, PARAMS)),
        ("SELECT * FROM verify_model('m', %s)", (other,)),
    ):
        assert raises("22000", statement, arguments).message_primary == message
    said = raises("22000", f"SELECT predict('m', r) FROM ({other}) AS r")
    assert said.message_primary == 'array "v" must have 2 elements, not 1'
    said = raises("42703", "SELECT predict('m', r) FROM (SELECT ARRAY['a'] AS v) AS r")
    assert said.message_primary == 'feature "v[1]" of model "m" is not in the row'
    raises("42804", TRAIN.format(", weight => 'v'"), (source, PARAMS))
    raises("42804", "SELECT train_model('m', %s, 'v')", (source,))
