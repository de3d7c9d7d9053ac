"""A margin per row to start from: equal to XGBoost's base_margin, to the bit."""

import numpy as np
import pytest
import xgboost as xgb
from psycopg import Connection, errors

from tests.extension.e2e import golden
from tests.extension.e2e.datasets import load
from tests.extension.e2e.reference import assert_near, assert_same_bits, floats, model_bytes, train

KINDS = {
    "exposure": ("diabetes", {"objective": "count:poisson"}),
    "identity": ("diabetes", {"objective": "reg:squarederror"}),
    "dart": ("diabetes", {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.3}),
    "binary": ("breast_cancer", {"objective": "binary:logistic"}),
}
FORMS = {"row": "t", "jsonb": "to_jsonb(t)", "columns": "{columns}", "array": "ARRAY[{columns}]"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_sum_begins_with_the_base_margin(connection: Connection, kind: str) -> None:
    name, params = KINDS[kind]
    dataset = load(name)
    booster = train(dataset, params)
    dataset.store(connection)
    connection.execute("SELECT load_model('m', %s)", (model_bytes(booster),))
    rows = len(dataset.features)
    base = np.random.default_rng(2).normal(scale=3, size=rows)
    connection.execute("CREATE TEMP TABLE base (id int, margin float8)")
    with connection.cursor().copy("COPY base FROM STDIN") as copy:
        for number, margin in enumerate(base.tolist()):
            copy.write_row([number, margin])
    data = xgb.DMatrix(dataset.features, feature_names=dataset.names, base_margin=base)
    values = booster.predict(data).reshape(rows, -1)
    columns = ", ".join(f't."{column}"' for column in dataset.names)
    for form in FORMS.values():
        features = form.format(columns=columns)
        query = (
            f"SELECT predict_from('m', margin, {features}), predict_from('m', margin::real, {features})"
            f" FROM {name} AS t JOIN base USING (id) ORDER BY id"
        )
        if form == "t":
            query = query.replace(" t JOIN base USING (id)", " t JOIN base ON t.id = base.id")
            query = query.replace("ORDER BY id", "ORDER BY t.id")
        found = floats(connection.execute(query).fetchall())
        if params["objective"] == "reg:squarederror":
            assert_same_bits(found[:, :1], values)
        assert_near(found, np.repeat(values, 2, axis=1))


def test_one_model_begins_where_another_ends(connection: Connection) -> None:
    dataset = load("diabetes")
    first = train(dataset, {"objective": "reg:squarederror"})
    matrix = xgb.DMatrix(dataset.features, dataset.target, feature_names=dataset.names)
    matrix.set_base_margin(first.predict(matrix, output_margin=True))
    second = xgb.train({"nthread": 1, "max_depth": 3}, matrix, 5)
    dataset.store(connection)
    for name, booster in (("first", first), ("second", second)):
        connection.execute("SELECT load_model(%s, %s)", (name, model_bytes(booster)))
    query = (
        "SELECT predict_from('second', (predict_margin('first', t))[1], t)"
        " FROM diabetes AS t ORDER BY id"
    )
    found = floats(connection.execute(query).fetchall())
    assert_same_bits(found, second.predict(matrix, output_margin=True).reshape(-1, 1))


def test_models_of_other_libraries_have_none(connection: Connection) -> None:
    file = golden.file("lightgbm/4.7.0/regression.txt")
    connection.execute("SELECT load_model('m', %s)", (file,))
    with pytest.raises(errors.FeatureNotSupported, match="cannot begin with a base margin"):
        connection.execute("SELECT predict_from('m', 1, ARRAY[1, 2, 3, 4, 5, 6]::real[])")
