"""Categorical features: values from the file's dictionary as text or numbers, or bare codes."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import psycopg
import pytest
import xgboost as xgb

from tests.extension.e2e.golden import Golden, hex_rows, models, release_folders
from tests.extension.e2e.reference import assert_same_bits, floats, model_bytes

# XGBoost before 3.4 loses other characters than ASCII; the golden models of 3.4 have some.
COLOURS = ["red", "green", "", "with space", "O'Hare", 'say "hi"', "back\\slash", "A", "a", "NULL"]
SIZES = [38, -4, 16_777_216, 16_777_217, 7_000_000_000]  # the two in the middle are one f32
ROWS = 400


@dataclass(frozen=True)
class Sold:
    """A table with a text category, an integer category and a number, and a model of it."""

    frame: pd.DataFrame
    booster: xgb.Booster

    @property
    def margins(self) -> np.ndarray:
        """XGBoost's margins of the table's rows."""
        data = xgb.DMatrix(self.frame, enable_categorical=True)
        return self.booster.predict(data, output_margin=True).reshape(ROWS, 1)

    @property
    def records(self) -> list[tuple]:
        """The rows as Python values, None where one is missing."""
        listed = self.frame.astype(object)
        return list(listed.where(listed.notna(), None).itertuples(index=True, name=None))


@pytest.fixture(params=[1, 100], ids=["partition", "one-hot"])
def sold(request: pytest.FixtureRequest, connection: psycopg.Connection) -> Sold:
    """The table as temporary table `sold`, and its model as `m`."""
    draw = np.random.default_rng(8)
    colour = draw.integers(-1, len(COLOURS), ROWS)  # -1 is missing
    size = draw.integers(-1, len(SIZES), ROWS)
    weight = np.where(draw.random(ROWS) < 0.1, np.nan, draw.normal(size=ROWS))
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical.from_codes(colour, pd.Index(COLOURS)),
            "size": pd.Categorical.from_codes(size, pd.Index(SIZES)),
            "weight": weight,
        }
    )
    price = np.cos(3.0 * colour) + np.sin(2.0 * size) + np.nan_to_num(weight) / 3
    booster = xgb.train(
        {"nthread": 1, "max_cat_to_onehot": request.param, "max_depth": 6},
        xgb.DMatrix(frame, label=price, enable_categorical=True),
        10,
    )
    made = Sold(frame, booster)
    connection.execute("CREATE TEMP TABLE sold (id int, colour text, size int8, weight float8);")
    with connection.cursor().copy("COPY sold FROM STDIN") as copy:
        for record in made.records:
            copy.write_row(record)
    connection.execute("SELECT load_model('m', %s)", (model_bytes(booster),))
    return made


def margins(connection: psycopg.Connection, features: str) -> np.ndarray:
    query = f"SELECT predict_margin('m', {features}) FROM sold AS t ORDER BY id"
    return floats([answer for (answer,) in connection.execute(query)])


@pytest.mark.parametrize(
    "features",
    [
        "colour, size, weight",
        "colour::varchar, size::numeric, weight",
        "t",
        "to_jsonb(t)",
    ],
)
def test_values_become_codes(connection: psycopg.Connection, sold: Sold, features: str) -> None:
    assert_same_bits(margins(connection, features), sold.margins)


def test_an_enum_is_text(connection: psycopg.Connection, sold: Sold) -> None:
    labels = ", ".join("'" + colour.replace("'", "''") + "'" for colour in COLOURS)
    connection.execute(f"CREATE TYPE colours AS ENUM ({labels})")
    found = margins(connection, "colour::colours, size, weight")
    connection.execute("DROP TYPE colours")
    assert_same_bits(found, sold.margins)


def test_an_array_has_codes(connection: psycopg.Connection, sold: Sold) -> None:
    """An array has codes, as for XGBoost, and no text to look up."""
    codes = np.column_stack(
        [sold.frame["colour"].cat.codes, sold.frame["size"].cat.codes, sold.frame["weight"]]
    ).astype(np.float64)
    codes[:, :2][codes[:, :2] < 0] = np.nan
    lists = [[None if np.isnan(value) else value for value in row] for row in codes.tolist()]
    found = [
        connection.execute("SELECT predict_margin('m', %s::float8[])", (row,)).fetchone()[0]
        for row in lists
    ]
    assert_same_bits(floats(found), sold.margins)


@pytest.mark.parametrize(
    ("features", "feature"),
    [
        ("'Red', 38, 0.5", "colour"),
        ("'red', 39, 0.5", "size"),
        ("'red ', 38, 0.5", "colour"),
        ("""'{"colour": "Red", "size": 38, "weight": 1}'::jsonb""", "colour"),
    ],
)
def test_an_unknown_category(
    connection: psycopg.Connection, sold: Sold, features: str, feature: str
) -> None:
    query = f"SELECT predict_margin('m', {features})"
    with pytest.raises(
        psycopg.errors.InvalidTextRepresentation, match=f'unknown category .* "{feature}"'
    ):
        connection.execute(query)
    connection.execute("SET pgboost.unknown_category = 'missing'")
    as_null = query
    for unknown in ("'Red'", "'red '", '"Red"'):
        as_null = as_null.replace(unknown, "null")
    as_null = as_null.replace(" 39,", " null,")
    assert connection.execute(query).fetchone() == connection.execute(as_null).fetchone()


def test_text_for_a_number_is_an_error(connection: psycopg.Connection, sold: Sold) -> None:
    with pytest.raises(psycopg.errors.DatatypeMismatch, match='"weight"'):
        connection.execute("SELECT predict('m', 'red', 38, 'heavy'::text)")


def golden_dictionaries() -> list[Golden]:
    """Golden models that carry the values of their categories, or have lost them."""
    every = [model for release in release_folders() for model in models(release)]
    return [model for model in every if "text" in model.record]


def golden_id(model: Golden) -> str:
    return f"{model.path.parent.name}-{model.path.name}"


@pytest.mark.parametrize("model", golden_dictionaries(), ids=golden_id)
def test_dictionaries_of_every_release(connection: psycopg.Connection, model: Golden) -> None:
    text = model.record["text"]
    feature = text["feature"]
    connection.execute("SELECT load_model('m', %s, categories => '{}')", (model.content,))
    columns = ", ".join(
        ("%s::text" if "integer" not in model.path.name else "%s::int8")
        if index == feature
        else "%s::real"
        for index in range(6)
    )
    query = f"SELECT predict_margin('m', {columns})"
    if text.get("lost"):
        with pytest.raises(psycopg.errors.DatatypeMismatch) as caught:
            connection.execute(query, [*map(float, range(feature)), "red", 1.0, 2.0])
        assert "does not carry the names" in caught.value.diag.message_detail
        return
    for line, margin in zip(text["rows"], hex_rows(text["margins"]), strict=True):
        row = [None if np.isnan(value) else float(value) for value in hex_rows([line["row"]])[0]]
        row[feature] = line["value"]
        (found,) = connection.execute(query, row).fetchone()
        assert_same_bits(floats(found), margin)


def test_codes_of_a_model_without_a_dictionary(connection: psycopg.Connection) -> None:
    """Unknown, negative and fractional codes go where XGBoost sends them."""
    draw = np.random.default_rng(4)
    codes = draw.integers(0, 40, size=(500, 1)).astype(np.float32)
    label = np.cos(codes[:, 0] * 2.0)
    kinds = {"feature_types": ["c"], "enable_categorical": True}
    booster = xgb.train(
        {"nthread": 1, "max_cat_to_onehot": 1}, xgb.DMatrix(codes, label=label, **kinds), 8
    )
    load = "SELECT load_model('m', %s, categories => '{}')"
    connection.execute(load, (model_bytes(booster),))
    odd = [40, 63, 64, 1000, -1, -0.5, -0.0, 0.5, 7.9, 16777215, 16777216, 1e9, np.nan]
    asked = np.concatenate([np.arange(40), odd]).astype(np.float32)[:, np.newaxis]
    expected = booster.predict(xgb.DMatrix(asked, **kinds), output_margin=True)
    found = [
        connection.execute("SELECT predict_margin('m', %s::real)", (float(code),)).fetchone()[0]
        for (code,) in asked
    ]
    assert_same_bits(floats(found)[:, 0], expected)
    with pytest.raises(psycopg.errors.DatatypeMismatch):
        connection.execute("SELECT predict('m', 'red'::text)")


def test_a_slice_that_has_lost_its_categories_is_refused_without_them(
    connection: psycopg.Connection,
) -> None:
    draw = np.random.default_rng(5)
    sizes = draw.choice([1, 2, 3, 4], 400)
    frame = pd.DataFrame({"size": pd.Categorical(sizes), "x": draw.normal(size=400)})
    label = np.array([5.0, 10, 0, 30, 5])[sizes]
    data = xgb.DMatrix(frame, label, enable_categorical=True)
    booster = xgb.train({"max_depth": 3, "nthread": 1}, data, 12)
    notices = []
    connection.add_notice_handler(lambda said: notices.append(said.message_primary))
    load = "SELECT load_model('m', %s, categories => %s)"
    connection.execute(load, (bytes(booster.save_raw("ubj")), None))
    assert notices == []
    sliced = bytes(booster[:5].save_raw("ubj"))
    with (
        connection.transaction(),
        pytest.raises(
            psycopg.errors.FeatureNotSupported, match="no categories of feature"
        ) as raised,
    ):
        connection.execute(load, (sliced, None))
    assert "categories => '{}'" in raised.value.diag.message_hint
    connection.execute(load, (sliced, "{}"))
    connection.execute(load, (sliced, json.dumps({"size": [1, 2, 3, 4]})))
    # Since 3.4 a slice has them, so that a file without them is of codes, or was written before.
    later = json.loads(booster[:5].save_raw("json"))
    later["version"] = [3, 4, 0]
    assert notices == []
    connection.execute(load, (json.dumps(later).encode(), None))
    assert notices == ['the file has no categories of feature "size", so its numbers are codes']
    connection.execute(load, (sliced, json.dumps({"size": [1, 2, 3, 4]})))
    query = "SELECT predict('m', size, x) FROM unnest(%s::int[], %s::float8[]) AS t (size, x)"
    found = connection.execute(query, (sizes.tolist(), frame["x"].tolist())).fetchall()
    expected = booster.predict(data, iteration_range=(0, 5))
    assert_same_bits(floats(found), expected.reshape(-1, 1))
