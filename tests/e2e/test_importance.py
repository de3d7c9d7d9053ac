"""feature_importance gives what Booster.get_score gives, for every kind."""

import numpy as np
import psycopg
import pytest

from tests.e2e.datasets import load
from tests.e2e.reference import model_bytes, train


@pytest.mark.parametrize("kind", ["weight", "gain", "cover", "total_gain", "total_cover"])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("breast_cancer", {"objective": "binary:logistic"}),
        ("wine", {"objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2}),
        ("diabetes", {"objective": "reg:squarederror", "tree_method": "exact", "gamma": 40000}),
        ("diabetes", {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.5}),
        (
            "wine",
            {"objective": "multi:softprob", "num_class": 3, "multi_strategy": "multi_output_tree"},
        ),
    ],
    ids=["logistic", "softprob", "pruned", "dart", "vectors"],
)
def test_importance(connection: psycopg.Connection, name: str, params: dict, kind: str) -> None:
    dataset = load(name)
    booster = train(dataset, params)
    connection.execute("SELECT load_model('m', %s)", (model_bytes(booster),))
    query = "SELECT feature, importance FROM feature_importance('m', %s)"
    found = dict(connection.execute(query, (kind,)).fetchall())
    score = booster.get_score(importance_type=kind)
    expected = [score.get(feature, 0.0) for feature in dataset.names]
    given = [found.pop(feature, 0.0) for feature in dataset.names]
    assert not found
    assert np.allclose(given, expected, rtol=1e-5, atol=0)
