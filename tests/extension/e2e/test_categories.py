"""Categorical features: values of the file's dictionary or of one given with it, or bare codes.

Unknown ones go by the policy of the model: its precedence, its reach, and the count of such rows.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from psycopg import Connection, IsolationLevel, errors

import lightgbm as lgb
from tests.connections import Connect, Notice, make_table
from tests.extension.e2e.conftest import Load
from tests.extension.e2e.reference import assert_same_bits, column, floats, model_bytes
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
    arrays = array.astype(object).where(array.notna(), None).to_numpy().tolist()
    declared = "id int, colour text, size int8, grade float8, weight float8"
    weights = [row[3] for row in arrays]
    rows = zip(range(ROWS), *columns.values(), weights, strict=True)
    make_table(connection, "pg_temp.sold", declared, rows)
    given = json.dumps(categories) if is_given else None
    connection.execute(LOAD, (model_bytes(booster), given))
    return Sold(arrays, booster.predict(data, output_margin=True).reshape(ROWS, 1))


def margins(connection: Connection, features: str) -> np.ndarray:
    query = f"SELECT predict_margin('m', {features}) FROM sold AS t ORDER BY id"
    return floats(column(connection, query))


@pytest.mark.parametrize("features", [
    "colour, size, grade, weight", "colour::varchar, size::numeric, grade::numeric, weight", "t",
    "to_jsonb(t)",
])  # fmt: skip
def test_values_become_codes(connection: Connection, sold: Sold, features: str) -> None:
    assert_same_bits(margins(connection, features), sold.margins)


def test_an_array_has_codes(connection: Connection, sold: Sold) -> None:
    """As for XGBoost, and no text to look up."""
    query = "SELECT predict_margin('m', %s::float8[])"
    found = [connection.execute(query, (row,)).fetchone()[0] for row in sold.arrays]
    assert_same_bits(floats(found), sold.margins)


@pytest.mark.parametrize(("given", "message"), [
    ({"flavour": ["a"]}, 'no feature "flavour"'),
    ({"f1": "red"}, "must be an array"),
    ({"f1": ["red", 1]}, "all strings or all numbers"),
    ({"f1": ["red", None]}, "strings or numbers"),
    ({"f1": []}, "at least one"),
    ({"f1": ["red"] * 6}, "same category twice"),
    (["red"], "must be an object"),
])  # fmt: skip
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


KNOWN = ["blue", "green", "red"]
TRAINED = 60
FORMS = {
    "columns": "SELECT predict('m', {}, 1)",
    "row": "SELECT predict('m', t) FROM (SELECT {} AS colour, 1 AS size) AS t",
    "jsonb": "SELECT predict('m', jsonb_build_object('colour', {}, 'size', 1))",
    "batch": "SELECT avg(predict('m', {}, s)) FROM generate_series(1, 1000) AS s",
    "class of a row per model": "SELECT predict(n, {}, 1) FROM (VALUES ('m'), ('m@1')) AS v (n)",
}


def frame() -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(4)
    codes = draw.integers(-1, 3, TRAINED)
    colour = pd.Categorical.from_codes(codes, categories=KNOWN)
    columns = pd.DataFrame({"colour": colour, "size": draw.normal(size=TRAINED)})
    return columns, codes * 3.0 + columns["size"].to_numpy()


def boosted() -> xgb.Booster:
    columns, target = frame()
    return xgb.train({"nthread": 1}, xgb.DMatrix(columns, target, enable_categorical=True), 5)


def light(**params: object) -> lgb.Booster:
    given = {"num_threads": 1, "verbose": -1, "min_data_per_group": 1, "cat_smooth": 1}
    given |= {"min_data_in_leaf": 3, **params}
    return lgb.train(given, lgb.Dataset(*frame()), 5)


def encoded() -> bytes:
    """A tree ensemble in which another category has a code."""
    tree = {
        "left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, 0, 0], "threshold": [0, 0, 0],
        "missing_left": [True, False, False], "category_set": [0, -1, -1], "category_sets": [[0]],
        "leaf_values": [0.5, -0.5],
    }  # fmt: skip
    model = {
        "tree_ensemble": 1, "num_features": 2, "feature_names": ["colour", "size"],
        "categories": [KNOWN, None], "unknown_category": [True, False], "trees": [tree],
    }  # fmt: skip
    return json.dumps(model).encode()


MODELS: dict[str, Callable[[], Any]] = {
    "xgboost": boosted,
    "lightgbm": light,
    "linear": lambda: light(linear_tree=True),
}


@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("setting", ["error", "missing"])
@pytest.mark.parametrize("policy", [None, "error", "missing", "library"])
def test_the_policy_of_a_model_comes_before_the_setting(
    connection: Connection, library: str, form: str, setting: str, policy: str | None
) -> None:
    connection.execute("SELECT load_model('m', %s)", (model_bytes(MODELS[library]()),))
    connection.execute("SELECT set_unknown_category('m', %s)", (policy,))
    connection.execute(f"SET pgboost.unknown_category = {setting}")
    of_library = "error" if library == "xgboost" else "missing"
    query = FORMS[form]
    known = connection.execute(query.format("NULL::text")).fetchall()
    if {None: setting, "library": of_library}.get(policy, policy) == "missing":
        assert connection.execute(query.format("'pink'::text")).fetchall() == known
        return
    with pytest.raises(errors.InvalidTextRepresentation, match="pink") as failed:
        connection.execute(query.format("'pink'::text"))
    hint = failed.value.diag.message_hint or ""
    assert ("set_unknown_category" in hint) == (policy is not None)


def test_an_open_session_follows_the_policy_and_a_rollback(connect: Connect, load: Load) -> None:
    owner, other = connect(), connect()
    load(boosted())
    query = FORMS["columns"].format("'pink'")
    with pytest.raises(errors.InvalidTextRepresentation):
        other.execute(query)
    owner.execute("BEGIN")
    owner.execute("SELECT set_unknown_category('m', 'missing')")
    owner.execute(query)
    with pytest.raises(errors.InvalidTextRepresentation):
        other.execute(query)
    owner.execute("ROLLBACK")
    with pytest.raises(errors.InvalidTextRepresentation):
        owner.execute(query)
    owner.execute("SELECT set_unknown_category('m', 'missing')")
    other.execute(query)
    owner.execute("SELECT rename_model('m', 'renamed')")
    other.execute(query.replace("'m'", "'renamed'"))
    owner.execute("SELECT drop_model('renamed')")


def test_a_policy_that_an_old_snapshot_does_not_see_holds_for_the_next(
    connect: Connect, load: Load
) -> None:
    owner, other = connect(), connect(autocommit=False)
    other.isolation_level = IsolationLevel.REPEATABLE_READ
    load(boosted())
    query = FORMS["columns"].format("'pink'")
    other.execute("SELECT 1")
    owner.execute("SELECT set_unknown_category('m', 'missing')")
    with pytest.raises(errors.InvalidTextRepresentation):
        other.execute(query)
    other.rollback()
    other.execute(query)


def test_model_info_shows_the_policy_of_all_versions(connection: Connection, load: Load) -> None:
    load(boosted())
    shown = "SELECT model_info('m@2') -> 'unknown_category', model_info('m') -> 'unknown_category'"
    load(boosted())
    for policy in ("library", "error", None):
        connection.execute("SELECT set_unknown_category('m', %s)", (policy,))
        assert connection.execute(shown).fetchone() == (policy, policy)


@pytest.mark.parametrize(("arguments", "error"), [
    ("'m', 'ignore'", errors.InvalidParameterValue), ("'m', 'MISSING'", errors.InvalidParameterValue),
    ("'m@1', 'missing'", errors.InvalidParameterValue), ("'n', 'missing'", errors.UndefinedObject),
    ("NULL, 'missing'", errors.NullValueNotAllowed),
])  # fmt: skip
def test_other_policies_and_models_are_errors(
    connection: Connection, load: Load, arguments: str, error: type[Exception]
) -> None:
    load(boosted())
    with pytest.raises(error):
        connection.execute(f"SELECT set_unknown_category({arguments})")


def test_a_pinned_prediction_has_no_policy(connection: Connection, load: Load) -> None:
    load(boosted(), name="pinned")
    connection.execute("SELECT pin_model('pinned@1'), set_unknown_category('pinned', 'missing')")
    with pytest.raises(errors.InvalidTextRepresentation, match="pink"):
        connection.execute("SELECT predict_pinned('pinned@1', 'pink'::text, 1)")
    connection.execute("SELECT unpin_model('pinned@1')")


def test_evaluations_and_exported_functions_follow_the_policy(
    connection: Connection, load: Load
) -> None:
    load(light())
    source = "SELECT ''pink'' AS colour, 1 AS size, 2 AS y"
    calls = [
        f"evaluate_model('m', '{source}', 'y')", f"partial_dependence('m', '{source}', 'size')",
        f"permutation_importance('m', '{source}', 'y')",
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(errors.InvalidTextRepresentation):
            connection.execute(f"SELECT {call}")
    script = "SELECT export_model_sql('m', 'exported', 'pg_temp')"
    (without,) = connection.execute(script).fetchone()
    connection.execute("SELECT set_unknown_category('m', 'library')")
    for call in calls:
        connection.execute(f"SELECT {call}")
    (exported,) = connection.execute(script).fetchone()
    connection.execute("SELECT set_unknown_category('m', 'missing')")
    assert connection.execute(script).fetchone() == (exported,) != (without,)


def counted(connection: Connection, query: str) -> tuple[int, ...]:
    """Rows, those with a missing value and those with an unknown category, that a statement counts."""
    connection.execute("SELECT pg_stat_pgboost_reset()")
    connection.execute(query)
    columns = "sum(rows)::int, sum(missing_rows)::int, sum(unknown_rows)::int"
    return connection.execute(f"SELECT {columns} FROM pg_stat_pgboost").fetchone()


VALUES = (
    "(VALUES ('red', 1::float8), ('pink', 2), (NULL, 3), ('red', NULL), ('gold', NULL), ('blue', 'NaN'))"
    " AS v (colour, size)"
)
MANY = f"(SELECT v.* FROM {VALUES}, generate_series(1, 100)) AS v"


@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize("features", ["colour, size::float8", "v", "to_jsonb(v)"])
def test_rows_with_unknown_categories_are_counted(
    connection: Connection, load: Load, library: str, features: str
) -> None:
    load(MODELS[library]())
    connection.execute("SET pgboost.track_predictions = on")
    connection.execute("SELECT set_unknown_category('m', 'missing')")
    one_by_one = f"SELECT predict('m', {features}) FROM {VALUES} LIMIT 6"
    assert counted(connection, one_by_one) == (6, 5, 2)
    many = f"SELECT sum(predict('m', {features})) FROM {MANY}"
    assert counted(connection, many) == (600, 500, 200)


def test_categories_with_a_code_for_unknown_ones_are_counted(
    connection: Connection, load: Load
) -> None:
    load(encoded())
    connection.execute("SET pgboost.track_predictions = on")
    query = f"SELECT sum(predict('m', colour, size::float8)) FROM {MANY}"
    assert counted(connection, query) == (600, 400, 200)
    query = "SELECT predict('m', 'pink'::text, 1)"
    assert counted(connection, query) == (1, 0, 1)


def test_no_row_is_counted_for_numbers_that_are_no_categories(
    connection: Connection, load: Load
) -> None:
    data = xgb.DMatrix(np.ones((4, 2)), label=np.arange(4), feature_names=["colour", "size"])
    booster = xgb.train({"nthread": 1}, data, 1)
    load(booster)
    connection.execute("SET pgboost.track_predictions = on")
    assert counted(connection, "SELECT predict('m', NULL::real, 'NaN'::real)") == (1, 1, 0)


def test_elements_of_an_array_are_no_categories(connection: Connection) -> None:
    file = encoded().replace(b'"colour"', b'"image[1]"').replace(b'"size"', b'"image[2]"')
    connection.execute("SELECT load_model('m', %s)", (file,))
    with pytest.raises(errors.DatatypeMismatch):
        connection.execute("SELECT predict('m', t) FROM (SELECT '{1,2}'::real[] AS image) AS t")
