"""Every function that scores gives XGBoost's own numbers, for models of many objectives."""

import numpy as np
import psycopg
import pytest
from psycopg import sql

from tests.extension.e2e.datasets import Dataset, load
from tests.extension.e2e.reference import (
    answers,
    assert_near,
    assert_same_bits,
    floats,
    model_bytes,
    train,
)

MODELS = [
    ("iris", {"objective": "multi:softprob", "num_class": 3}),
    ("iris", {"objective": "multi:softmax", "num_class": 3}),
    ("iris", {"objective": "rank:pairwise"}),
    ("wine", {"objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 3,
              "subsample": 0.5}),
    ("wine", {"objective": "rank:ndcg", "tree_method": "exact"}),
    ("digits", {"objective": "multi:softprob", "num_class": 10}),
    ("digits", {"objective": "count:poisson"}),
    ("breast_cancer", {"objective": "binary:logistic"}),
    ("breast_cancer", {"objective": "binary:logistic", "base_score": 0.25, "tree_method": "exact"}),
    ("breast_cancer", {"objective": "binary:logitraw"}),
    ("breast_cancer", {"objective": "binary:hinge"}),
    ("breast_cancer", {"objective": "reg:logistic", "grow_policy": "lossguide", "max_leaves": 11}),
    ("diabetes", {"objective": "reg:squarederror"}),
    ("diabetes", {"objective": "reg:squarederror", "tree_method": "exact", "gamma": 40000}),
    ("diabetes", {"objective": "reg:absoluteerror"}),
    ("diabetes", {"objective": "reg:pseudohubererror", "huber_slope": 20}),
    ("diabetes", {"objective": "reg:squaredlogerror"}),
    ("diabetes", {"objective": "reg:gamma"}),
    ("diabetes", {"objective": "reg:tweedie"}),
    ("diabetes", {"objective": "survival:cox"}),
    ("diabetes", {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]}),
]  # fmt: skip


def column_list(dataset: Dataset) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(name) for name in dataset.names)


def ask(connection: psycopg.Connection, function: str, dataset: Dataset) -> list:
    """The function's answer for every row, in order, with the features as columns."""
    query = sql.SQL("SELECT {}('m', {}) FROM {} ORDER BY id").format(
        sql.Identifier(function), column_list(dataset), sql.Identifier(dataset.name)
    )
    return [answer for (answer,) in connection.execute(query)]


def names_of(parameters: tuple[str, dict]) -> str:
    dataset, params = parameters
    return "-".join([dataset, params["objective"].replace(":", "_"), str(len(params))])


@pytest.mark.parametrize("model", MODELS, ids=names_of)
@pytest.mark.parametrize("file_format", ["json", "ubj"])
def test_margins_values_and_leaves(
    connection: psycopg.Connection, model: tuple[str, dict], file_format: str
) -> None:
    dataset = load(model[0])
    booster = train(dataset, model[1])
    expected = answers(booster, dataset.features)
    dataset.store(connection)
    connection.execute("SELECT load_model('m', %s)", (model_bytes(booster, file_format),))
    assert_same_bits(floats(ask(connection, "predict_margin", dataset)), expected.margins)
    assert_near(floats(ask(connection, "predict_array", dataset)), expected.values)
    assert np.array_equal(ask(connection, "predict_leaf", dataset), expected.leaves)
    if expected.values.shape[1] == 1:
        single = floats(ask(connection, "predict", dataset))
        assert_near(single, expected.values[:, 0])
    else:
        with pytest.raises(psycopg.errors.WrongObjectType, match="predict cannot be used"):
            ask(connection, "predict", dataset)


@pytest.mark.parametrize(
    ("name", "objective"),
    [
        ("iris", "multi:softprob"),
        ("wine", "multi:softmax"),
        ("digits", "multi:softprob"),
        ("breast_cancer", "binary:logistic"),
        ("breast_cancer", "binary:logitraw"),
        ("breast_cancer", "binary:hinge"),
    ],
)
def test_classes(connection: psycopg.Connection, name: str, objective: str) -> None:
    dataset = load(name)
    params = {"objective": objective}
    if objective.startswith("multi:"):
        params["num_class"] = len(dataset.labels)
    booster = train(dataset, params)
    expected = answers(booster, dataset.features)
    if objective.startswith("multi:"):
        winners = expected.margins.argmax(axis=1)
    else:
        # A probability of more than a half is a margin above 0; a hinge's value is 0 or 1.
        winners = (expected.margins[:, 0] > 0).astype(int)
        if objective == "binary:logistic":
            assert np.array_equal(winners, expected.values[:, 0] > 0.5)
    dataset.store(connection)
    connection.execute(
        "SELECT load_model('m', %s, labels => %s)", (model_bytes(booster), dataset.labels)
    )
    classes = ask(connection, "predict_class", dataset)
    assert classes == [dataset.labels[winner] for winner in winners]
    connection.execute("SELECT load_model('m', %s, allow_change => true)", (model_bytes(booster),))
    assert ask(connection, "predict_class", dataset) == [str(winner) for winner in winners]


def test_a_model_saved_after_early_stopping_uses_all_trees(connection: psycopg.Connection) -> None:
    """As Booster.predict does; only scikit-learn's wrapper stops at the best iteration."""
    dataset = load("breast_cancer")
    whole = train(dataset, {"objective": "binary:logistic"})
    whole.set_attr(best_iteration="3", best_score="0.1")
    dataset.store(connection)
    connection.execute("SELECT load_model('m', %s)", (model_bytes(whole),))
    expected = answers(whole, dataset.features)
    assert_same_bits(floats(ask(connection, "predict_margin", dataset)), expected.margins)
    assert len(ask(connection, "predict_leaf", dataset)[0]) == 12
