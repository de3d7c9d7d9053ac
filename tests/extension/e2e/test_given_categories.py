"""Categories that are given in addition to the file are read as the file's own are."""

import json

import numpy as np
import psycopg
import pytest
import xgboost as xgb
from psycopg import errors

from tests.extension.e2e.reference import assert_same_bits, floats, model_bytes

COLOURS = ["red", "grün", "", 'say "hi"', "O'Hare", "null"]
SIZES = [38, -4, 7_000_000_000]
GRADES = [0.1, 2.5, 1e20, -0.5]
NAMES = ["colour", "size", "grade", "weight"]
GIVEN = {"colour": COLOURS, "size": SIZES, "grade": GRADES}
ROWS = 300


@pytest.fixture(params=["c", "q"], ids=["categories", "numbers"])
def codes(request: pytest.FixtureRequest, connection: psycopg.Connection) -> xgb.Booster:
    """A model that was trained on codes, as categories or as numbers; its rows are table `sold`."""
    draw = np.random.default_rng(6)
    columns = [draw.integers(0, len(values), ROWS) for values in GIVEN.values()]
    features = np.column_stack([*columns, draw.normal(size=ROWS)]).astype(np.float32)
    target = (
        np.cos(3 * features[:, 0]) + np.sin(2 * features[:, 1]) + features[:, 2] * features[:, 3]
    )
    data = xgb.DMatrix(
        features, target, feature_names=NAMES, feature_types=[request.param] * 3 + ["q"],
        enable_categorical=True,
    )  # fmt: skip
    booster = xgb.train({"nthread": 1, "max_depth": 5, "max_cat_to_onehot": 3}, data, 8)
    booster.margins = booster.predict(data, output_margin=True).reshape(-1, 1)
    connection.execute(
        "CREATE TEMP TABLE sold (id int, colour text, size int8, grade float8, weight float8)"
    )
    with connection.cursor().copy("COPY sold FROM STDIN") as copy:
        for number, row in enumerate(features.tolist()):
            values = [listed[int(code)] for listed, code in zip(GIVEN.values(), row, strict=False)]
            copy.write_row([number, *values, row[3]])
    return booster


def load(connection: psycopg.Connection, booster: xgb.Booster, given: object) -> None:
    connection.execute(
        "SELECT load_model('m', %s, categories => %s)", (model_bytes(booster), json.dumps(given))
    )


@pytest.mark.parametrize(
    "features",
    [
        "colour, size, grade, weight",
        "colour, size::numeric, grade::numeric, weight",
        "t",
        "to_jsonb(t)",
    ],
)
def test_values_become_codes(
    connection: psycopg.Connection, codes: xgb.Booster, features: str
) -> None:
    load(connection, codes, GIVEN)
    query = f"SELECT predict_margin('m', {features}) FROM sold AS t ORDER BY id"
    found = floats([answer for (answer,) in connection.execute(query)])
    assert_same_bits(found, codes.margins)


def test_errors_are_those_of_the_files_own(
    connection: psycopg.Connection, codes: xgb.Booster
) -> None:
    load(connection, codes, GIVEN)
    with pytest.raises(
        errors.InvalidTextRepresentation, match='category "Red" for feature "colour"'
    ):
        connection.execute("SELECT predict('m', 'Red'::text, 38, 0.1, 1)")
    with pytest.raises(errors.DatatypeMismatch):
        connection.execute("SELECT predict('m', 1, 38, 0.1, 1)")
    listed = "SELECT categories FROM model_features('m') ORDER BY position LIMIT 1"
    assert connection.execute(listed).fetchone()[0] == COLOURS


def test_each_version_has_its_own(connection: psycopg.Connection, codes: xgb.Booster) -> None:
    connection.execute("SELECT drop_model(name) FROM pgboost_models WHERE version = 1")
    load(connection, codes, {"colour": COLOURS})
    load(connection, codes, {"colour": list(reversed(COLOURS))})
    query = "SELECT predict_margin('m@{}', colour, size, 1, weight) FROM sold ORDER BY id"
    query = query.replace("size, 1", "(size < 0)::int, 1")
    first, second = (
        floats([answer for (answer,) in connection.execute(query.format(version))])
        for version in (1, 2)
    )
    assert (first != second).any()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"flavour": ["a"]}, 'no feature "flavour"'),
        ({"colour": "red"}, "must be an array"),
        ({"colour": ["red", 1]}, "all strings or all numbers"),
        ({"colour": ["red", None]}, "strings or numbers"),
        ({"colour": []}, "at least one"),
        ({"colour": ["red"] * 6}, "same category twice"),
        (["red"], "must be an object"),
    ],
)
def test_invalid_categories_are_refused(
    connection: psycopg.Connection, codes: xgb.Booster, given: object, message: str
) -> None:
    with pytest.raises(errors.InvalidParameterValue, match=message):
        load(connection, codes, given)


def test_fewer_categories_than_codes_are_refused(connection: psycopg.Connection) -> None:
    features = np.arange(12, dtype=np.float32).reshape(-1, 1)
    data = xgb.DMatrix(
        features, np.cos(3 * features[:, 0]), feature_types=["c"], enable_categorical=True
    )
    booster = xgb.train({"nthread": 1, "max_cat_to_onehot": 1, "min_child_weight": 0}, data, 3)
    with pytest.raises(errors.InvalidParameterValue, match="has 5 categories, but splits on code"):
        load(connection, booster, {"f0": list(range(5))})
    load(connection, booster, {"f0": list(range(100, 112))})
    found = connection.execute(
        "SELECT array_agg(predict('m', 100 + i) ORDER BY i) FROM generate_series(0, 11) AS i"
    ).fetchone()
    assert_same_bits(floats(found[0]), booster.predict(data))


def test_the_files_own_are_not_replaced(connection: psycopg.Connection) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"colour": pandas.Categorical(["a", "b"] * 20)})
    data = xgb.DMatrix(frame, [0, 1] * 20, enable_categorical=True)
    booster = xgb.train({"nthread": 1}, data, 1)
    with pytest.raises(errors.InvalidParameterValue, match="the model file has the categories"):
        load(connection, booster, {"colour": ["a", "b"]})
