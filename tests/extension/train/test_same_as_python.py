"""Trained in SQL and in Python with the same rows, parameters and seed on one thread: the same trees."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg
import pytest
from sklearn import datasets

from tests.extension.train.rows import copy_table, held_out, in_order, number_columns

ROUNDS = 12


def _trained(
    connection: psycopg.Connection, source: str, params: dict[str, Any], **more: Any
) -> Any:
    """The rows of train_model, and the bytes of the model."""
    named = "".join(f", {name} => %({name})s" for name in more)
    arguments = {"source": source, "params": json.dumps({"nthread": 1} | params), **more}
    scores = connection.execute(
        "SELECT set, metric, best_round, value FROM train_model('m', %(source)s, 'y', "
        f"%(params)s{', rounds => 12' if 'rounds' not in more else ''}{named}, "
        "allow_change => true)",
        arguments,
    ).fetchall()
    (model,) = connection.execute("SELECT export_model('m')").fetchone()
    return scores, model


def _holds(found: dict[str, Any], scores: list[Any]) -> None:
    """Compares the trees and their scores."""
    assert found["same_trees"]
    assert found["differing_margins"] == 0
    for set_name, metric, best_round, value in scores:
        assert best_round == found["rounds"]
        assert value == pytest.approx(found["scores"][set_name][metric], rel=1e-6)


@pytest.mark.parametrize("params", [
    {},
    {"max_depth": 3, "eta": 0.1, "lambda": 2.5, "gamma": 1, "min_child_weight": 3},
    {"subsample": 0.7, "colsample_bytree": 0.6, "colsample_bynode": 0.8},
    {"grow_policy": "lossguide", "max_leaves": 12, "max_depth": 0},
    {"max_bin": 16, "num_parallel_tree": 3, "subsample": 0.5},
    {"objective": "reg:absoluteerror"},
    {"objective": "count:poisson"},
    {"objective": "reg:gamma"},
    {"objective": "reg:tweedie", "tweedie_variance_power": 1.3},
    {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]},
    {"objective": "survival:cox"},
    {"eval_metric": ["mae", "rmse"]},
    {"booster": "dart", "rate_drop": 0.5, "skip_drop": 0.25},
    {"rate_drop": 0.3, "sample_type": "weighted", "normalize_type": "forest", "max_depth": 3},
    {"booster": "gbtree", "one_drop": 1, "num_parallel_tree": 2},
    {"base_score": 100, "monotone_constraints": [1, 0, -1, 0, 0, 0, 0, 0, 0, 0]},
    {"monotone_constraints": {"x2": 1, "x5": -1}},
    {"interaction_constraints": [["x0", "x2"], ["x3", "x4", "x8"]]},
], ids=str)  # fmt: skip
def test_diabetes(
    connection: psycopg.Connection, python_side: Callable[..., Any], params: Any
) -> None:
    data = datasets.load_diabetes()
    features, label = data.data.astype("f4"), data.target.astype("f4")
    copy_table(connection, "rows", number_columns(features) | {"y": ("real", label)})
    names = [f"x{i}" for i in range(features.shape[1])]
    scores, model = _trained(connection, in_order("rows", *names, "y"), params, seed=3)
    if isinstance(params.get("monotone_constraints"), list):
        directions = ",".join(map(str, params["monotone_constraints"]))
        params = params | {"monotone_constraints": f"({directions})"}
    found = python_side(
        model, {"features": features, "label": label}, names=names, params=params | {"seed": 3},
        rounds=ROUNDS,
    )  # fmt: skip
    assert found["names"] == names
    _holds(found, scores)
    verified = connection.execute("SELECT * FROM verify_model('m', 'rows')").fetchone()
    assert verified == (len(label), 0, 0)


def test_many_rows_with_nulls_and_weights(
    connection: psycopg.Connection, python_side: Callable[..., Any]
) -> None:
    """More rows than libxgboost is handed at once."""
    random = np.random.default_rng(4)
    features = random.normal(size=(60_000, 8)).astype("f4")
    features[random.random(features.shape) < 0.1] = np.nan
    label = (np.nansum(features[:, :3], axis=1) + random.normal(size=60_000)).astype("f4")
    weight = random.random(60_000).astype("f4")
    columns = number_columns(features) | {"y": ("real", label), "w": ("real", weight)}
    copy_table(connection, "rows", columns)
    names = [f"x{i}" for i in range(8)]
    source = in_order("rows", *names, "y", "w")
    scores, model = _trained(connection, source, {}, weight="w")
    arrays = {"features": features, "label": label, "weight": weight}
    _holds(python_side(model, arrays, names=names, params={}, rounds=ROUNDS), scores)


@pytest.mark.parametrize("load", [datasets.load_iris, datasets.load_wine, datasets.load_digits])
def test_classes(
    connection: psycopg.Connection, python_side: Callable[..., Any], load: Callable[..., Any]
) -> None:
    data = load()
    features, label = data.data.astype("f4"), data.target
    labels = [f"class {code}" for code in label]
    copy_table(connection, "rows", number_columns(features) | {"y": ("text", labels)})
    names = [f"x{i}" for i in range(features.shape[1])]
    scores, model = _trained(connection, in_order("rows", *names, "y"), {})
    params = {"objective": "multi:softprob", "num_class": len(data.target_names)}
    arrays = {"features": features, "label": label.astype("f4")}
    _holds(python_side(model, arrays, names=names, params=params, rounds=ROUNDS), scores)
    array = ", ".join(names)
    (right,) = connection.execute(
        f"SELECT avg((predict_class('m', {array}) = y)::int) FROM rows"
    ).fetchone()
    assert right > 0.95


def test_two_classes(connection: psycopg.Connection, python_side: Callable[..., Any]) -> None:
    data = datasets.load_breast_cancer()
    features, label = data.data.astype("f4"), data.target
    names = [f"x{i}" for i in range(features.shape[1])]
    texts = [data.target_names[code] for code in label]
    columns = number_columns(features) | {
        "y": ("text", texts),
        "truth": ("boolean", label == 1),
        "number": ("integer", label * 5 - 2),
    }
    copy_table(connection, "rows", columns)
    arrays = {"features": features, "label": (label == 0).astype("f4")}
    params = {"objective": "binary:logistic"}
    # In the order of the texts, malignant follows benign, so it is the one with a probability.
    arrays["label"] = np.array([sorted(data.target_names).index(text) for text in texts], "f4")
    scores, model = _trained(connection, in_order("rows", *names, "y"), {})
    _holds(python_side(model, arrays, names=names, params=params, rounds=ROUNDS), scores)
    (labels,) = connection.execute("SELECT model_info('m') -> 'labels'").fetchone()
    assert labels == ["benign", "malignant"]
    for target, expected in (("truth", ["false", "true"]), ("number", ["-2", "3"])):
        connection.execute(
            "SELECT train_model(%s, %s, %s, %s, 3)",
            (target, in_order("rows", *names, target), target, json.dumps(params)),
        )
        (labels,) = connection.execute("SELECT model_info(%s) -> 'labels'", (target,)).fetchone()
        assert labels == expected


def test_categories(connection: psycopg.Connection, python_side: Callable[..., Any]) -> None:
    random = np.random.default_rng(5)
    colours = ["blue", "green", "grün", "red", "schwarz-weiß"]
    codes = random.integers(0, 5, 3_000)
    number = random.normal(size=3_000).astype("f4")
    label = (number + np.array([3, -1, 2, 0, 7])[codes] + random.normal(size=3_000)).astype("f4")
    texts: list[str | None] = [colours[code] for code in codes]
    features = np.stack([number, codes.astype("f4")], axis=1)
    for missing in range(0, 3_000, 7):
        texts[missing], features[missing, 1] = None, np.nan
    columns = {"x": ("real", number), "colour": ("text", texts), "y": ("real", label)}
    copy_table(connection, "rows", columns)
    scores, model = _trained(
        connection, in_order("rows", "x", "colour", "y"), {"max_cat_to_onehot": 2}
    )
    found = python_side(
        model, {"features": features, "label": label}, names=["x", "colour"], rounds=ROUNDS,
        params={"max_cat_to_onehot": 2}, categories={"colour": colours},
    )  # fmt: skip
    _holds(found, scores)
    (known,) = connection.execute(
        "SELECT categories FROM model_features('m') WHERE feature = 'colour'"
    ).fetchone()
    assert known == colours
    assert connection.execute(
        "SELECT rows, differing, max_ulp FROM verify_model('m', 'rows')"
    ).fetchone() == (3_000, 0, 0)


def test_ranking(connection: psycopg.Connection, python_side: Callable[..., Any]) -> None:
    random = np.random.default_rng(6)
    sizes = random.integers(5, 40, 80)
    group = np.repeat(np.arange(80), sizes)
    features = random.normal(size=(len(group), 4)).astype("f4")
    label = np.clip(np.round(features[:, 0] + 1), 0, 3).astype("f4")
    columns = number_columns(features) | {"y": ("real", label), "q": ("integer", group)}
    copy_table(connection, "rows", columns)
    names = [f"x{i}" for i in range(4)]
    source = in_order("rows", *names, "y", "q")
    params = {"objective": "rank:ndcg", "eval_metric": ["ndcg@5", "ndcg@3"]}
    scores, model = _trained(connection, source, params, qid="q")
    arrays = {"features": features, "label": label, "group": sizes}
    _holds(python_side(model, arrays, names=names, params=params, rounds=ROUNDS), scores)


def test_survival(connection: psycopg.Connection, python_side: Callable[..., Any]) -> None:
    random = np.random.default_rng(7)
    features = random.normal(size=(2_000, 3)).astype("f4")
    lower = np.exp(features[:, 0] + random.normal(size=2_000) * 0.1).astype("f4")
    upper = np.where(random.random(2_000) < 0.3, np.inf, lower).astype("f4")
    ends = [None if np.isinf(end) else end for end in upper]
    columns = number_columns(features) | {"y": ("real", lower), "until": ("real", ends)}
    copy_table(connection, "rows", columns)
    source = in_order("rows", "x0", "x1", "x2", "y", "until")
    scores, model = _trained(connection, source, {}, label_upper_bound="until")
    arrays = {"features": features, "lower": lower, "upper": upper}
    params = {"objective": "survival:aft"}
    found = python_side(model, arrays, names=["x0", "x1", "x2"], params=params, rounds=ROUNDS)
    _holds(found, scores)


def test_early_stopping(connection: psycopg.Connection, python_side: Callable[..., Any]) -> None:
    rows = held_out(connection)
    scores, model = _trained(
        connection, rows.training, {"eta": 0.5}, rounds=200, eval_source=rows.evaluation,
        early_stopping_rounds=4,
    )  # fmt: skip
    found = python_side(
        model,
        rows.arrays,
        names=rows.names,
        params={"eta": 0.5},
        rounds=200,
        early_stopping_rounds=4,
    )
    assert found["rounds"] < 30
    _holds(found, scores)


def test_fraction_for_evaluation_is_chosen_by_the_seed(connection: psycopg.Connection) -> None:
    random = np.random.default_rng(9)
    features = random.normal(size=(2_000, 3)).astype("f4")
    copy_table(connection, "rows", number_columns(features) | {"y": ("real", features[:, 0])})

    def digest(seed: int) -> Any:
        connection.execute(
            "SELECT train_model('m', 'rows', 'y', rounds => 3, eval_fraction => 0.25, seed => %s, "
            "allow_change => true)",
            (seed,),
        )
        return connection.execute(
            "SELECT i ->> 'sha256', (i -> 'metrics' ->> 'train_rows')::int, "
            "(i -> 'metrics' ->> 'eval_rows')::int FROM model_info('m') AS i"
        ).fetchone()

    first, again, other = digest(1), digest(1), digest(2)
    assert first == again
    assert first[0] != other[0]
    assert first[1] + first[2] == 2_000
    assert 400 < first[2] < 600


def test_release_is_the_one_compared_with(
    connection: psycopg.Connection, python_side: Callable[..., Any]
) -> None:
    copy_table(connection, "rows", {"x": ("real", [1.0, 2.0]), "y": ("real", [1.0, 2.0])})
    _, model = _trained(connection, in_order("rows", "x", "y"), {})
    arrays = {"features": np.array([[1], [2]], "f4"), "label": np.array([1, 2], "f4")}
    found = python_side(model, arrays, names=["x"], params={}, rounds=ROUNDS)
    (version,) = connection.execute("SELECT xgboost_version()").fetchone()
    assert found["version"] == version


def test_groups_are_kept_whole_for_evaluation(connection: psycopg.Connection) -> None:
    """Every group has 7 rows, so what is kept is a multiple of 7."""
    query = "SELECT i / 7 AS q, sin(i) AS x, i % 3 AS y FROM generate_series(0, 6999) AS i"
    scores = connection.execute(
        "SELECT set, metric FROM train_model('m', %s, 'y', '{\"eval_metric\": \"ndcg@3\"}', "
        "rounds => 3, qid => 'q', eval_fraction => 0.3, allow_change => true)",
        (query,),
    ).fetchall()
    assert scores == [("train", "ndcg@3"), ("eval", "ndcg@3")]
    (metrics,) = connection.execute("SELECT model_info('m') -> 'metrics'").fetchone()
    assert metrics["train_rows"] + metrics["eval_rows"] == 7_000
    assert metrics["eval_rows"] % 7 == 0
    assert 1_700 < metrics["eval_rows"] < 2_500


def test_weights_of_groups(connection: psycopg.Connection, python_side: Callable[..., Any]) -> None:
    random = np.random.default_rng(10)
    group = np.repeat(np.arange(60), 12)
    features = random.normal(size=(len(group), 3)).astype("f4")
    label = np.clip(np.round(features[:, 0] + 1), 0, 3).astype("f4")
    weight = random.random(60).astype("f4")
    columns = number_columns(features) | {
        "y": ("real", label), "q": ("integer", group), "w": ("real", weight[group]),
    }  # fmt: skip
    copy_table(connection, "rows", columns)
    names = ["x0", "x1", "x2"]
    params = {"objective": "rank:ndcg", "eval_metric": "ndcg@5"}
    source = in_order("rows", *names, "y", "q", "w")
    scores, model = _trained(connection, source, params, qid="q", weight="w")
    arrays = {"features": features, "label": label, "group": np.full(60, 12), "weight": weight}
    found = python_side(model, arrays, names=names, params=params, rounds=ROUNDS)
    _holds(found, scores)
