"""A batch of `predict(model, jsonb_build_object(...))` reads the object's values without building it."""

import json

import numpy as np
import psycopg
import pytest
import xgboost

import catboost
import lightgbm
from tests.extension.batch.conftest import answer
from tools.cluster.server import Cluster

# Neighbours of real and of double precision, so that a split lies between two of them; doubles in the middle
# of two reals; what JSON has no number for.
ROWS = """
CREATE TABLE readings AS
    SELECT i AS id,
           CASE i % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN i * 1e9 WHEN 3 THEN i * 1e-40
                ELSE (0.1::float8 + (i % 13) * 7.450580596923828e-09)::real END::real AS r,
           CASE i % 8 WHEN 0 THEN '-Infinity' WHEN 1 THEN 1 + (i % 5) * 5.960464477539063e-08
                WHEN 2 THEN i * 1e17 WHEN 3 THEN nullif(i % 7, 3) ELSE 0.3 + (i % 11) * 5.551115123125783e-17
           END::float8 AS d,
           CASE i % 6 WHEN 0 THEN 'NaN' WHEN 1 THEN 0.3 + (i % 5) * 1e-17 WHEN 2 THEN i % 3
                ELSE 1e400 END::numeric AS n,
           (i % 10)::int AS i, 9007199254740992 + i % 5 AS b, nullif(i % 3, 2) = 1 AS o,
           nullif('town ' || i % 4, 'town 3') AS t
      FROM generate_series(1, 4000) AS i;
ANALYZE readings;
"""
NUMBERS = ["r", "d", "n", "i", "b", "o"]
OBJECT = ", ".join(f"'{name}', {name}" for name in NUMBERS)


@pytest.fixture(scope="module", autouse=True)
def tables(cluster: Cluster, dbname: str) -> None:
    """The table, and a model of each library, which splits between neighbours."""
    with cluster.connect(dbname) as connection:
        connection.execute(ROWS)
        texts = connection.execute(
            f"SELECT {', '.join(f'{name}::float8' for name in NUMBERS if name not in 'no')},"
            " CASE WHEN n <= 1 OR n = 'NaN' OR n = 2 THEN n::float8 ELSE 1e38 END, o::int, t FROM readings"
        ).fetchall()
        columns = list(zip(*texts, strict=True))
        order = ["r", "d", "i", "b", "n", "o"]
        numbers = dict(zip(order, columns, strict=False))
        features = np.array([numbers[name] for name in NUMBERS], dtype=np.float64).T
        features[np.isinf(features)] = np.nan
        random = np.random.default_rng(7)
        target = random.normal(size=len(features))
        for name, data in models(features, columns[-1], target).items():
            connection.execute("SELECT load_model(%s, %s)", (name, data))


def models(
    features: np.ndarray, texts: tuple[str | None, ...], target: np.ndarray
) -> dict[str, bytes]:
    """The files of the models."""
    matrix = xgboost.DMatrix(features.astype(np.float32), target, feature_names=NUMBERS)
    exact = {"max_depth": 8, "tree_method": "exact", "min_child_weight": 0}
    leafwise = {"verbose": -1, "min_data_in_leaf": 1, "max_bin": 4000, "min_data_in_bin": 1}
    data = lightgbm.Dataset(features, target, feature_name=NUMBERS)
    rows = [
        [*row[:3], str(int(row[3])), *row[4:], text or "none"]
        for row, text in zip(features.tolist(), texts, strict=True)
    ]
    pool = catboost.Pool(rows, target, cat_features=[3, 6], feature_names=[*NUMBERS, "t"])
    regressor = catboost.CatBoostRegressor(
        iterations=20, verbose=0, one_hot_max_size=20, allow_writing_files=False
    ).fit(pool)
    return {
        "xgboost": bytes(xgboost.train(exact, matrix, 20).save_raw("json")),
        "lightgbm": lightgbm.train(leafwise, data, 30).model_to_string().encode(),
        "catboost": regressor._serialize_model(),
    }


CALLS = {
    "xgboost": f"predict('xgboost', jsonb_build_object({OBJECT}))",
    "lightgbm": f"predict('lightgbm', jsonb_build_object({OBJECT}, 'more', t))",
    "catboost": f"predict('catboost', jsonb_build_object({OBJECT}, 't', coalesce(t, 'none')))",
    "a float as a category": "predict('catboost', jsonb_build_object('r', r, 'd', d, 'n', n, 'i', i::float8,"
    " 'b', b, 'o', o, 't', coalesce(t, 'none')))",
    "model of a column": f"predict(CASE WHEN i > 5 THEN 'xgboost' ELSE 'lightgbm' END,"
    f" jsonb_build_object({OBJECT}))",
    "computed": "predict('xgboost', jsonb_build_object('r', r * 2, 'd', d + r, 'n', n, 'i', i, 'b', b,"
    " 'o', o))",
}
# Those that a batch leaves to jsonb_build_object, and those that are errors.
OTHERS = {
    "two of a key": f"predict('xgboost', jsonb_build_object({OBJECT}, 'r', d))",
    "key of a column": f"predict('xgboost', jsonb_build_object({OBJECT}, t, d))",
    "constant": "predict('xgboost', jsonb_build_object('r', 1, 'd', d, 'n', n, 'i', i, 'b', b, 'o', o))",
    "variadic": "predict('xgboost', jsonb_build_object(VARIADIC ARRAY['r', r, 'd', d]))",
    "absent feature": "predict('xgboost', jsonb_build_object('r', r, 'd', d))",
    "NULL as a key": f"predict('xgboost', jsonb_build_object({OBJECT}, NULL, d))",
    "text for a number": "predict('xgboost', jsonb_build_object('r', t, 'd', d, 'n', n, 'i', i, 'b', b,"
    " 'o', o))",
    "a date": f"predict('xgboost', jsonb_build_object({OBJECT}, 'at', date '2024-01-01' + id))",
}


@pytest.mark.parametrize("digits", [3, 1, 0, -15])
@pytest.mark.parametrize("call", [*CALLS, *OTHERS])
def test_unbuilt_objects_give_the_same(
    connection: psycopg.Connection, call: str, digits: int
) -> None:
    connection.execute(f"SET extra_float_digits = {digits}")
    query = f"SELECT id, {(CALLS | OTHERS)[call]} FROM readings ORDER BY id"
    expected = answer(connection, query, "off")
    assert answer(connection, query, "on") == expected
    assert call in OTHERS or len({row[1] for row in expected}) > 5


@pytest.mark.parametrize("call", CALLS)
def test_no_object_is_built(connection: psycopg.Connection, call: str) -> None:
    statement = f"EXPLAIN (VERBOSE, COSTS OFF, FORMAT json) SELECT sum({CALLS[call]}) FROM readings"
    (((aggregate,),),) = connection.execute(statement).fetchall()
    batch = aggregate["Plan"]["Plans"][0]
    assert batch["Custom Plan Provider"] == "BatchPredict"
    assert "jsonb" not in json.dumps(batch["Plans"])


NUMBER = {"threshold": [0.1, 0, 0]}
CATEGORY = {"threshold": [0, 0, 0], "category_set": [0, -1, -1], "category_sets": [[1]]}
REALS = {
    "number": (NUMBER, None, "float32", (2, 1)),
    "category": (CATEGORY, [0.25, 0.1], "float32", (2, 1)),
    "category of float32": (CATEGORY, [0.25, float(np.float32(0.1))], "decimal", (1, 2)),
}


@pytest.mark.parametrize("batch", ["on", "off"])
@pytest.mark.parametrize("kind", REALS)
def test_a_real_in_an_object_is_its_decimal(
    connection: psycopg.Connection, kind: str, batch: str
) -> None:
    """A column is the float32 of the training, or of a category; jsonb has the decimal, also unbuilt."""
    split, categories, real_input, expected = REALS[kind]
    tree = {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, 0, 0], "leaf_values": [1, 2]}
    file = {"tree_ensemble": 1, "feature_names": ["x"], "trees": [tree | split]}
    file |= {"categories": [categories]} if categories else {}
    load = "SELECT load_model('stump', %s, real_input => %s, allow_change => true)"
    connection.execute(load, (json.dumps(file).encode(), real_input))
    connection.execute("SET pgboost.unknown_category = 'missing'")
    connection.execute(f"SET pgboost.enable_batch = {batch}")
    x = "(0.1 + 0 * id)::real"
    calls = f"predict('stump', {x}), predict('stump', jsonb_build_object('x', {x}))"
    assert connection.execute(f"SELECT DISTINCT {calls} FROM readings").fetchall() == [expected]
