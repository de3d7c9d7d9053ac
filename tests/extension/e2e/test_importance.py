"""feature_importance is equal to Booster.get_score, and NULL if a file does not have it."""

import numpy as np
import pytest
from psycopg import Connection

from tests.connections import Notice
from tests.extension.e2e import golden
from tests.extension.e2e.datasets import load
from tests.extension.e2e.reference import model_bytes, train


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
def test_importance(connection: Connection, name: str, params: dict, kind: str) -> None:
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


@pytest.mark.parametrize(
    ("file", "kinds"),
    [
        ("catboost/*/depthwise.cbm", ["weight", "cover", "total_cover"]),
        ("onnx/*/forest_classes.onnx", ["weight"]),
        ("lightgbm/*/binary.txt", ["weight", "gain", "cover", "total_gain", "total_cover"]),
    ],
)
def test_missing_importances_are_null_with_a_notice(
    connection: Connection, notices: list[Notice], file: str, kinds: list[str]
) -> None:
    content = golden.file(golden.names(file)[-1])
    connection.execute("SELECT load_model('m', %s)", (content,))
    features = len(connection.execute("SELECT model_features('m')").fetchall())
    for kind in ("weight", "gain", "cover", "total_gain", "total_cover"):
        query = "SELECT importance FROM feature_importance('m', %s)"
        found = connection.execute(query, (kind,)).fetchall()
        assert len(found) == features
        if kind in kinds:
            assert not notices
            assert found[0][0] > 0
            assert None not in {importance for (importance,) in found}
        else:
            missing = "covers" if "cover" in kind else "gains"
            allowed = " or ".join(f"'{name}'" for name in kinds)
            message = f'the file of model "m" has no {missing}'
            hint = f"Pass importance_type => {allowed}."
            assert notices == [Notice("NOTICE", message, None, hint)]
            assert {importance for (importance,) in found} == {None}
        notices.clear()
