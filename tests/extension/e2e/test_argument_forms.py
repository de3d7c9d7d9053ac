"""The same features give the same bits, whatever form and type they come in."""

import numpy as np
import psycopg
import pytest
import xgboost as xgb
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.extension.e2e.datasets import Dataset, load
from tests.extension.e2e.reference import answers, assert_same_bits, floats, model_bytes, train

FLOATING = ["float8", "numeric"]
WHOLE = ["int2", "int4", "int8", "numeric", "float4", "float8"]


def ask(
    connection: psycopg.Connection,
    features: sql.Composable,
    table: str,
    call: str = "predict_margin('m', {})",
) -> np.ndarray:
    """Margins for every row, in order."""
    query = sql.SQL(f"SELECT {call} FROM {{}} AS t ORDER BY id")
    answers = connection.execute(query.format(features, sql.Identifier(table)))
    return floats([answer for (answer,) in answers])


def columns(dataset: Dataset, type_name: str) -> sql.Composed:
    """The features as columns of a type."""
    cast = [
        sql.SQL("{}::{}").format(sql.Identifier(name), sql.SQL(type_name)) for name in dataset.names
    ]
    return sql.SQL(", ").join(cast)


def array(dataset: Dataset, type_name: str) -> sql.Composed:
    """The features as one array of a type."""
    listed = sql.SQL(", ").join(sql.Identifier(name) for name in dataset.names)
    return sql.SQL("ARRAY[{}]::{}[]").format(listed, sql.SQL(type_name))


def prepare(
    connection: psycopg.Connection, name: str, objective: str
) -> tuple[Dataset, np.ndarray]:
    """A data set in its table, its model loaded, and the margins that XGBoost gives."""
    dataset = load(name)
    booster = train(dataset, {"objective": objective})
    dataset.store(connection)
    connection.execute("SELECT load_model('m', %s)", (model_bytes(booster),))
    return dataset, answers(booster, dataset.features).margins


@pytest.mark.parametrize(
    ("name", "objective", "types"),
    # A real has been rounded to f32 already, to the value that XGBoost rounds to.
    [("diabetes", "reg:squarederror", [*FLOATING, "float4"]), ("digits", "count:poisson", WHOLE)],
)
def test_columns_and_arrays_of_each_type(
    connection: psycopg.Connection, name: str, objective: str, types: list[str]
) -> None:
    dataset, expected = prepare(connection, name, objective)
    for type_name in types:
        for features in (columns(dataset, type_name), array(dataset, type_name)):
            assert_same_bits(ask(connection, features, name), expected)


@pytest.mark.parametrize("batch", ["on", "off"])
def test_a_function_of_a_model(connection: psycopg.Connection, batch: str) -> None:
    dataset, expected = prepare(connection, "diabetes", "reg:squarederror")
    create = (
        "SELECT create_predict_function('m', 'of_m', output => 'predict_margin', replace => true)"
    )
    (function,) = connection.execute(create).fetchone()
    assert function == f"of_m({','.join(['double precision'] * len(dataset.names))})"
    connection.execute(f"SET pgboost.enable_batch = {batch}")
    for type_name in ["float4", *FLOATING]:
        features = columns(dataset, type_name)
        assert_same_bits(ask(connection, features, "diabetes", "of_m({})"), expected)


@pytest.mark.parametrize("named", [True, False])
def test_a_function_of_more_features_than_arguments(
    connection: psycopg.Connection, named: bool
) -> None:
    rows = np.random.default_rng(3).normal(size=(200, 150)).astype(np.float32)
    names = [f"x{number}" for number in range(150)] if named else None
    matrix = xgb.DMatrix(rows, rows[:, 0] + rows[:, 140], feature_names=names)
    booster = xgb.train({"max_depth": 4}, matrix, 9)
    connection.execute("SELECT load_model('wide', %s)", (model_bytes(booster),))
    (function,) = connection.execute("SELECT create_predict_function('wide')").fetchone()
    assert function == ("wide(jsonb)" if named else "wide(double precision[])")
    # They are read as predict reads them.
    expected = booster.predict(matrix)
    for row, value in zip(rows[:20].astype(float).tolist(), expected, strict=False):
        given = Jsonb(dict(zip(names, row, strict=True))) if names else row
        answer = connection.execute("SELECT wide(%s)", (given,)).fetchone()
        assert np.float32(answer[0]) == value
    connection.execute("SELECT drop_model('wide')")
    assert connection.execute("SELECT to_regproc('wide')").fetchone() == (None,)


def test_names_that_postgresql_cuts_are_told(connection: psycopg.Connection) -> None:
    name = "n" * 64
    matrix = xgb.DMatrix(np.arange(20.0).reshape(-1, 1), np.arange(20), feature_names=[name])
    booster = xgb.train({"max_depth": 2}, matrix, 3)
    connection.execute("SELECT load_model('long', %s)", (model_bytes(booster),))
    row = sql.SQL("SELECT predict('long', t) FROM (SELECT 3.0 AS {}) AS t").format(
        sql.Identifier(name[:63])
    )
    with pytest.raises(psycopg.errors.UndefinedColumn) as raised, connection.transaction():
        connection.execute(row)
    assert "cuts the names of columns after 63 bytes" in raised.value.diag.message_hint
    (value,) = connection.execute("SELECT predict('long', %s)", (Jsonb({name: 3.0}),)).fetchone()
    assert np.float32(value) == booster.predict(matrix)[3]


def test_a_row_is_matched_by_name(connection: psycopg.Connection) -> None:
    dataset, expected = prepare(connection, "breast_cancer", "binary:logistic")
    assert_same_bits(ask(connection, sql.Identifier("t"), "breast_cancer"), expected)
    reverse = sql.SQL(", ").join(sql.Identifier(name) for name in reversed(dataset.names))
    connection.execute(
        sql.SQL("CREATE TEMP TABLE reordered AS SELECT {}, id, 'extra' AS further FROM {}").format(
            reverse, sql.Identifier("breast_cancer")
        )
    )
    assert_same_bits(ask(connection, sql.Identifier("t"), "reordered"), expected)


def test_an_object_is_matched_by_name(connection: psycopg.Connection) -> None:
    _, expected = prepare(connection, "breast_cancer", "binary:logistic")
    whole = sql.SQL("to_jsonb(t) || jsonb_build_object('further', 1)")
    assert_same_bits(ask(connection, whole, "breast_cancer"), expected)


def test_booleans_are_0_and_1(connection: psycopg.Connection) -> None:
    draw = np.random.default_rng(2)
    table = draw.integers(0, 2, size=(200, 3)).astype(np.float64)
    label = table @ [1.0, -2.0, 0.5] + draw.normal(scale=0.1, size=200)
    booster = xgb.train({"nthread": 1}, xgb.DMatrix(table, label=label), 5)
    connection.execute("SELECT load_model('m', %s)", (model_bytes(booster),))
    expected = answers(booster, table[:50]).margins
    for row, margin in zip(table[:50], expected, strict=True):
        as_columns, as_array = connection.execute(
            "SELECT predict_margin('m', %s::bool, %s::bool, %s::bool),"
            " predict_margin('m', ARRAY[%s, %s, %s]::int2[])",
            (*map(bool, row), *map(int, row)),
        ).fetchone()
        assert_same_bits(floats(as_columns), margin)
        assert_same_bits(floats(as_array), margin)


def test_the_row_needs_every_feature(connection: psycopg.Connection) -> None:
    dataset, _ = prepare(connection, "diabetes", "reg:squarederror")
    missing = dataset.names[4]
    connection.execute(
        sql.SQL("ALTER TABLE diabetes DROP COLUMN {}").format(sql.Identifier(missing))
    )
    for features in (sql.Identifier("t"), sql.SQL("to_jsonb(t)")):
        with pytest.raises(psycopg.errors.UndefinedColumn, match=f'feature "{missing}"'):
            ask(connection, features, "diabetes")


def test_the_number_of_features_must_be_the_models(connection: psycopg.Connection) -> None:
    prepare(connection, "diabetes", "reg:squarederror")
    for features in ("1, 2, 3", "ARRAY[1, 2, 3]"):
        with pytest.raises(psycopg.errors.DataException, match=r'model "m" .*10 features.*3'):
            ask(connection, sql.SQL(features), "diabetes")
