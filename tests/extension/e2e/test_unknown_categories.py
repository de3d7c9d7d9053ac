"""The policy of a model for unknown categories: its precedence, its reach, and the count of such rows."""

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from psycopg import Connection, errors

import lightgbm as lgb
from tests.connections import Connect
from tests.extension.e2e.reference import model_bytes

COLOURS = ["blue", "green", "red"]
ROWS = 60
FORMS = {
    "columns": "SELECT predict('m', {}, 1)",
    "row": "SELECT predict('m', t) FROM (SELECT {} AS colour, 1 AS size) AS t",
    "jsonb": "SELECT predict('m', jsonb_build_object('colour', {}, 'size', 1))",
    "batch": "SELECT avg(predict('m', {}, s)) FROM generate_series(1, 1000) AS s",
    "class of a row per model": "SELECT predict(n, {}, 1) FROM (VALUES ('m'), ('m@1')) AS v (n)",
}


def frame() -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(4)
    codes = draw.integers(-1, 3, ROWS)
    colour = pd.Categorical.from_codes(codes, categories=COLOURS)
    columns = pd.DataFrame({"colour": colour, "size": draw.normal(size=ROWS)})
    return columns, codes * 3.0 + columns["size"].to_numpy()


def boosted() -> bytes:
    columns, target = frame()
    data = xgb.DMatrix(columns, target, enable_categorical=True)
    return model_bytes(xgb.train({"nthread": 1}, data, 5))


def light(**params: object) -> bytes:
    given = {"num_threads": 1, "verbose": -1, "min_data_per_group": 1, "cat_smooth": 1}
    given |= {"min_data_in_leaf": 3, **params}
    columns, target = frame()
    booster = lgb.train(given, lgb.Dataset(columns, target), 5)
    return booster.model_to_string().encode()


def encoded() -> bytes:
    """A tree ensemble in which another category has a code."""
    tree = {
        "left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, 0, 0], "threshold": [0, 0, 0],
        "missing_left": [True, False, False], "category_set": [0, -1, -1], "category_sets": [[0]],
        "leaf_values": [0.5, -0.5],
    }  # fmt: skip
    model = {
        "tree_ensemble": 1, "num_features": 2, "feature_names": ["colour", "size"],
        "categories": [COLOURS, None], "unknown_category": [True, False], "trees": [tree],
    }  # fmt: skip
    return json.dumps(model).encode()


MODELS: dict[str, Callable[[], bytes]] = {
    "xgboost": boosted,
    "lightgbm": light,
    "linear": lambda: light(linear_tree=True),
}


def load(connection: Connection, library: str, name: str = "m") -> None:
    connection.execute("SELECT load_model(%s, %s)", (name, MODELS[library]()))


@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("setting", ["error", "missing"])
@pytest.mark.parametrize("policy", [None, "error", "missing", "library"])
def test_the_policy_of_a_model_comes_before_the_setting(
    connection: Connection, library: str, form: str, setting: str, policy: str | None
) -> None:
    load(connection, library)
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


def test_an_open_session_follows_the_policy_and_a_rollback(connect: Connect) -> None:
    owner, other = connect(), connect()
    load(owner, "xgboost")
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


def test_model_info_shows_the_policy_of_all_versions(connection: Connection) -> None:
    load(connection, "xgboost")
    shown = "SELECT model_info('m@2') -> 'unknown_category', model_info('m') -> 'unknown_category'"
    load(connection, "xgboost")
    for policy in ("library", "error", None):
        connection.execute("SELECT set_unknown_category('m', %s)", (policy,))
        assert connection.execute(shown).fetchone() == (policy, policy)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("set_unknown_category('m', 'ignore')", errors.InvalidParameterValue),
        ("set_unknown_category('m', 'MISSING')", errors.InvalidParameterValue),
        ("set_unknown_category('m@1', 'missing')", errors.InvalidParameterValue),
        ("set_unknown_category('n', 'missing')", errors.UndefinedObject),
        ("set_unknown_category(NULL, 'missing')", errors.NullValueNotAllowed),
    ],
)
def test_other_policies_and_models_are_errors(
    connection: Connection, call: str, error: type[Exception]
) -> None:
    load(connection, "xgboost")
    with pytest.raises(error):
        connection.execute(f"SELECT {call}")


def test_a_pinned_prediction_has_no_policy(connection: Connection) -> None:
    load(connection, "xgboost", "pinned")
    connection.execute("SELECT pin_model('pinned@1'), set_unknown_category('pinned', 'missing')")
    with pytest.raises(errors.InvalidTextRepresentation, match="pink"):
        connection.execute("SELECT predict_pinned('pinned@1', 'pink'::text, 1)")
    connection.execute("SELECT unpin_model('pinned@1')")


def test_evaluations_and_exported_functions_follow_the_policy(connection: Connection) -> None:
    load(connection, "lightgbm")
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
    connection: Connection, library: str, features: str
) -> None:
    load(connection, library)
    connection.execute("SET pgboost.track_predictions = on")
    connection.execute("SELECT set_unknown_category('m', 'missing')")
    one_by_one = f"SELECT predict('m', {features}) FROM {VALUES} LIMIT 6"
    assert counted(connection, one_by_one) == (6, 5, 2)
    many = f"SELECT sum(predict('m', {features})) FROM {MANY}"
    assert counted(connection, many) == (600, 500, 200)


def test_categories_with_a_code_for_unknown_ones_are_counted(connection: Connection) -> None:
    connection.execute("SELECT load_model('m', %s)", (encoded(),))
    connection.execute("SET pgboost.track_predictions = on")
    query = f"SELECT sum(predict('m', colour, size::float8)) FROM {MANY}"
    assert counted(connection, query) == (600, 400, 200)
    query = "SELECT predict('m', 'pink'::text, 1)"
    assert counted(connection, query) == (1, 0, 1)


def test_no_row_is_counted_for_numbers_that_are_no_categories(connection: Connection) -> None:
    data = xgb.DMatrix(np.ones((4, 2)), label=np.arange(4), feature_names=["colour", "size"])
    booster = xgb.train({"nthread": 1}, data, 1)
    connection.execute("SELECT load_model('m', %s)", (model_bytes(booster),))
    connection.execute("SET pgboost.track_predictions = on")
    assert counted(connection, "SELECT predict('m', NULL::real, 'NaN'::real)") == (1, 1, 0)
