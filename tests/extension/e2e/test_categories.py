"""Categorical features: values of the file's dictionary or of one given with it, or bare codes."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from psycopg import Connection, errors

from tests.connections import Notice
from tests.extension.e2e.reference import assert_same_bits, floats, model_bytes
from tests.extension.lifecycle.models import constant

# XGBoost before 3.4 loses other characters than ASCII; the golden models of 3.4 have some.
COLOURS = ["red", "green", "", "with space", "O'Hare", 'say "hi"', "back\\slash", "A", "a", "NULL"]
BEYOND_ASCII = "grün"
SIZES = [38, -4, 16_777_216, 16_777_217, 7_000_000_000]  # the two in the middle are one f32
GRADES = [0.1, 2.5, 1e20, -0.5]
ROWS = 400
LOAD = "SELECT load_model('m', %s, categories => %s)"


@dataclass(frozen=True)
class Sold:
    """The rows of the table `sold` as arrays, and XGBoost's margins of them."""

    arrays: list[list[float | None]]
    margins: np.ndarray


@pytest.fixture(params=["partition", "one-hot", "given for categories", "given for numbers"])
def sold(request: pytest.FixtureRequest, connection: Connection) -> Sold:
    """Makes the table `sold`, and a model `m`: of categories that its file names, or that are given."""
    is_given = request.param.startswith("given")
    draw = np.random.default_rng(8)
    categories = {"colour": COLOURS + [BEYOND_ASCII] * is_given, "size": SIZES, "grade": GRADES}
    # -1 is missing.
    codes = {name: draw.integers(-1, len(values), ROWS) for name, values in categories.items()}
    columns = {
        name: [None if code < 0 else categories[name][code] for code in codes[name]]
        for name in categories
    }
    weight = np.where(draw.random(ROWS) < 0.1, np.nan, draw.normal(size=ROWS))
    label = np.cos(3.0 * codes["colour"]) + np.sin(2.0 * codes["size"])
    label += codes["grade"] * np.nan_to_num(weight) / 3
    array = pd.DataFrame(codes).replace(-1, np.nan).assign(weight=weight)
    if is_given:
        kind = "q" if request.param.endswith("numbers") else "c"
        rows = array.to_numpy()
        named = {"feature_names": list(array), "feature_types": [kind, kind, kind, "q"]}
    else:
        array = array.assign(grade=columns["grade"])
        rows, named = array.copy(), {}
        for name in ("colour", "size"):
            rows[name] = pd.Categorical.from_codes(codes[name], pd.Index(categories[name]))
    data = xgb.DMatrix(rows, label, enable_categorical=True, **named)
    params = {"max_cat_to_onehot": 100 if request.param == "one-hot" else 1, "max_depth": 6}
    booster = xgb.train({"nthread": 1, **params}, data, 10)
    connection.execute(
        "CREATE TEMP TABLE sold (id int, colour text, size int8, grade float8, weight float8)"
    )
    arrays = array.astype(object).where(array.notna(), None).to_numpy().tolist()
    with connection.cursor().copy("COPY sold FROM STDIN") as copy:
        for number, row in enumerate(zip(*columns.values(), strict=True)):
            copy.write_row([number, *row, arrays[number][3]])
    given = json.dumps(categories) if is_given else None
    connection.execute(LOAD, (model_bytes(booster), given))
    return Sold(arrays, booster.predict(data, output_margin=True).reshape(ROWS, 1))


def margins(connection: Connection, features: str) -> np.ndarray:
    query = f"SELECT predict_margin('m', {features}) FROM sold AS t ORDER BY id"
    return floats([answer for (answer,) in connection.execute(query)])


@pytest.mark.parametrize(
    "features",
    [
        "colour, size, grade, weight",
        "colour::varchar, size::numeric, grade::numeric, weight",
        "t",
        "to_jsonb(t)",
    ],
)
def test_values_become_codes(connection: Connection, sold: Sold, features: str) -> None:
    assert_same_bits(margins(connection, features), sold.margins)


def test_an_enum_is_text(connection: Connection, sold: Sold) -> None:
    labels = ", ".join("'" + colour.replace("'", "''") + "'" for colour in [*COLOURS, BEYOND_ASCII])
    connection.execute(f"CREATE TYPE colours AS ENUM ({labels})")
    found = margins(connection, "colour::colours, size, grade, weight")
    connection.execute("DROP TYPE colours")
    assert_same_bits(found, sold.margins)


def test_an_array_has_codes(connection: Connection, sold: Sold) -> None:
    """As for XGBoost, and no text to look up."""
    query = "SELECT predict_margin('m', %s::float8[])"
    found = [connection.execute(query, (row,)).fetchone()[0] for row in sold.arrays]
    assert_same_bits(floats(found), sold.margins)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"flavour": ["a"]}, 'no feature "flavour"'),
        ({"f1": "red"}, "must be an array"),
        ({"f1": ["red", 1]}, "all strings or all numbers"),
        ({"f1": ["red", None]}, "strings or numbers"),
        ({"f1": []}, "at least one"),
        ({"f1": ["red"] * 6}, "same category twice"),
        (["red"], "must be an object"),
    ],
)
def test_invalid_categories_are_refused(
    connection: Connection, given: object, message: str
) -> None:
    with pytest.raises(errors.InvalidParameterValue, match=message):
        connection.execute(LOAD, (constant(1), json.dumps(given)))


def test_fewer_categories_than_codes_are_refused(connection: Connection) -> None:
    features = np.arange(12, dtype=np.float32).reshape(-1, 1)
    data = xgb.DMatrix(
        features, np.cos(3 * features[:, 0]), feature_types=["c"], enable_categorical=True
    )
    booster = xgb.train({"nthread": 1, "max_cat_to_onehot": 1, "min_child_weight": 0}, data, 3)
    with pytest.raises(errors.InvalidParameterValue, match="has 5 categories, but splits on code"):
        connection.execute(LOAD, (model_bytes(booster), json.dumps({"f0": list(range(5))})))
    connection.execute(LOAD, (model_bytes(booster), json.dumps({"f0": list(range(100, 112))})))
    query = "SELECT array_agg(predict('m', 100 + i) ORDER BY i) FROM generate_series(0, 11) AS i"
    assert_same_bits(floats(connection.execute(query).fetchone()[0]), booster.predict(data))


def test_codes_of_a_model_without_a_dictionary(connection: Connection) -> None:
    """Unknown, negative and fractional codes go where XGBoost sends them."""
    draw = np.random.default_rng(4)
    codes = draw.integers(0, 40, size=(500, 1)).astype(np.float32)
    label = np.cos(codes[:, 0] * 2.0)
    kinds = {"feature_types": ["c"], "enable_categorical": True}
    booster = xgb.train(
        {"nthread": 1, "max_cat_to_onehot": 1}, xgb.DMatrix(codes, label=label, **kinds), 8
    )
    connection.execute(LOAD, (model_bytes(booster), "{}"))
    odd = [40, 63, 64, 1000, -1, -0.5, -0.0, 0.5, 7.9, 16777215, 16777216, 1e9, np.nan]
    asked = np.concatenate([np.arange(40), odd]).astype(np.float32)[:, np.newaxis]
    expected = booster.predict(xgb.DMatrix(asked, **kinds), output_margin=True)
    query = "SELECT predict_margin('m', %s::real)"
    found = [connection.execute(query, (code,)).fetchone()[0] for (code,) in asked.tolist()]
    assert_same_bits(floats(found)[:, 0], expected)
    with pytest.raises(errors.DatatypeMismatch):
        connection.execute("SELECT predict('m', 'red'::text)")


def test_a_slice_that_has_lost_its_categories_is_refused_without_them(
    connection: Connection, notices: list[Notice]
) -> None:
    draw = np.random.default_rng(5)
    sizes = draw.choice([1, 2, 3, 4], 400)
    frame = pd.DataFrame({"size": pd.Categorical(sizes), "x": draw.normal(size=400)})
    label = np.array([5.0, 10, 0, 30, 5])[sizes]
    data = xgb.DMatrix(frame, label, enable_categorical=True)
    booster = xgb.train({"max_depth": 3, "nthread": 1}, data, 12)
    connection.execute(LOAD, (bytes(booster.save_raw("ubj")), None))
    assert notices == []
    sliced = bytes(booster[:5].save_raw("ubj"))
    refused = pytest.raises(errors.FeatureNotSupported, match="no categories of feature")
    with connection.transaction(), refused as raised:
        connection.execute(LOAD, (sliced, None))
    assert "categories => '{}'" in raised.value.diag.message_hint
    # Codes in place of the categories are another meaning.
    with connection.transaction(), pytest.raises(errors.ObjectNotInPrerequisiteState):
        connection.execute(LOAD, (sliced, "{}"))
    load = LOAD.replace(")", ", allow_change => true)")
    connection.execute(load, (sliced, "{}"))
    connection.execute(load, (sliced, json.dumps({"size": [1, 2, 3, 4]})))
    # Since 3.4 a slice has them, so that a file without them is of codes, or was written before.
    later = json.loads(booster[:5].save_raw("json"))
    later["version"] = [3, 4, 0]
    assert notices == []
    connection.execute(load, (json.dumps(later).encode(), None))
    (notice,) = notices
    assert notice.message == (
        'the file has no categories of feature "size", so its numbers are codes'
    )
    connection.execute(load, (sliced, json.dumps({"size": [1, 2, 3, 4]})))
    query = "SELECT predict('m', size, x) FROM unnest(%s::int[], %s::float8[]) AS t (size, x)"
    found = connection.execute(query, (sizes.tolist(), frame["x"].tolist())).fetchall()
    expected = booster.predict(data, iteration_range=(0, 5))
    assert_same_bits(floats(found), expected.reshape(-1, 1))
