"""The same features give the same bits, whatever form and type they come in."""

import numpy as np
import pytest
import xgboost as xgb
from psycopg import Connection, errors
from psycopg.types.json import Jsonb

from tests.extension.e2e.datasets import load
from tests.extension.e2e.reference import assert_same_bits, floats, margins, model_bytes, train

# Of each data set the objective, and the types of its numbers: of a real, XGBoost rounds to the same.
DATASETS = {
    "diabetes": ("reg:squarederror", ["float8", "numeric", "float4"]),
    "digits": ("count:poisson", ["int2", "int4", "int8", "numeric", "float4", "float8"]),
    "breast_cancer": ("binary:logistic", ["float8"]),
}


@pytest.mark.parametrize("name", DATASETS)
def test_every_form_and_type_has_the_librarys_margins(connection: Connection, name: str) -> None:
    objective, types = DATASETS[name]
    dataset = load(name)
    booster = train(dataset, {"objective": objective})
    dataset.store(connection)
    connection.execute("SELECT load_model('m', %s)", (model_bytes(booster),))
    expected = margins(booster, dataset.features)
    columns = [f'"{column}"' for column in dataset.names]
    reordered = f"(SELECT {', '.join(reversed(columns))}, id, 'extra' AS further FROM {name})"
    of_names = [
        ("t", name), ("t", reordered), ("to_jsonb(t) || jsonb_build_object('further', 1)", name),
    ]  # fmt: skip
    of_places = [
        (features, name)
        for kind in types
        for features in (
            ", ".join(f"{column}::{kind}" for column in columns),
            f"ARRAY[{', '.join(columns)}]::{kind}[]",
        )
    ]
    for features, table in of_names + of_places:
        query = f"SELECT predict_margin('m', {features}) FROM {table} AS t ORDER BY id"
        found = [answer for (answer,) in connection.execute(query)]
        assert_same_bits(floats(found), expected)


@pytest.mark.parametrize("named", [True, False])
def test_a_function_of_more_features_than_arguments(connection: Connection, named: bool) -> None:
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


def test_cut_names_are_explained(connection: Connection) -> None:
    name = "n" * 64
    matrix = xgb.DMatrix(np.arange(20.0).reshape(-1, 1), np.arange(20), feature_names=[name])
    booster = xgb.train({"max_depth": 2}, matrix, 3)
    connection.execute("SELECT load_model('long', %s)", (model_bytes(booster),))
    with pytest.raises(errors.UndefinedColumn) as raised, connection.transaction():
        connection.execute(f"SELECT predict('long', t) FROM (SELECT 3.0 AS {name[:63]}) AS t")
    assert "cuts the names of columns after 63 bytes" in raised.value.diag.message_hint
    (value,) = connection.execute("SELECT predict('long', %s)", (Jsonb({name: 3.0}),)).fetchone()
    assert np.float32(value) == booster.predict(matrix)[3]
