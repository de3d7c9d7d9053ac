"""Trained in SQL and in Python with the same rows, parameters and seed on one thread: the same trees."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from psycopg import Connection
from sklearn import datasets

from tests.extension.train.rows import (
    Rows,
    assert_alike,
    copy_table,
    diabetes,
    held_out,
    in_order,
    store,
    verified,
)

ROUNDS = 12
Alike = Callable[..., dict[str, Any]]


@pytest.fixture
def alike(connection: Connection, python_side: Callable[..., Any]) -> Alike:
    """Trains in SQL and in Python, with some more parameters there, and compares; returns Python's answer."""

    def run(
        rows: Rows, arrays: dict[str, Any], params: dict[str, Any], in_python: dict[str, Any],
        rounds: int = ROUNDS, **more: Any,
    ) -> dict[str, Any]:  # fmt: skip
        named = "".join(f", {name} => %({name})s" for name in more)
        given = {"source": rows.source, "params": json.dumps({"nthread": 1} | params)}
        scores = connection.execute(
            "SELECT set, metric, best_round, value FROM train_model('m', %(source)s, 'y', %(params)s,"
            f" %(rounds)s{named}, allow_change => true)",
            given | {"rounds": rounds} | more,
        ).fetchall()
        (model,) = connection.execute("SELECT export_model('m')").fetchone()
        found = python_side(
            model, arrays, names=rows.names, params=params | in_python, rounds=rounds,
            categories=rows.categories, early_stopping_rounds=more.get("early_stopping_rounds"),
        )  # fmt: skip
        assert_alike(found, scores)
        return found

    return run


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
    {"lambda": 1e20, "base_score": 0},
    {"base_score": 100, "monotone_constraints": [1, 0, -1, 0, 0, 0, 0, 0, 0, 0]},
    {"monotone_constraints": {"x2": 1, "x5": -1}},
    {"interaction_constraints": [["x0", "x2"], ["x3", "x4", "x8"]]},
], ids=str)  # fmt: skip
def test_diabetes(connection: Connection, alike: Alike, params: Any) -> None:
    features, label = diabetes()
    rows = store(connection, features, y=("real", label))
    in_python = {"seed": 3}
    if isinstance(params.get("monotone_constraints"), list):
        directions = ",".join(map(str, params["monotone_constraints"]))
        in_python["monotone_constraints"] = f"({directions})"
    found = alike(rows, {"features": features, "label": label}, params, in_python, seed=3)
    assert found["names"] == rows.names
    assert verified(connection, "rows") == (len(label), 0, 0)


def test_many_rows_with_nulls_and_weights(connection: Connection, alike: Alike) -> None:
    """More rows than libxgboost is handed at once."""
    random = np.random.default_rng(4)
    features = random.normal(size=(60_000, 8)).astype("f4")
    features[random.random(features.shape) < 0.1] = np.nan
    label = (np.nansum(features[:, :3], axis=1) + random.normal(size=60_000)).astype("f4")
    weight = random.random(60_000).astype("f4")
    rows = store(connection, features, y=("real", label), w=("real", weight))
    alike(rows, {"features": features, "label": label, "weight": weight}, {}, {}, weight="w")


@pytest.mark.parametrize("load", [datasets.load_iris, datasets.load_wine, datasets.load_digits])
def test_classes(connection: Connection, alike: Alike, load: Callable[..., Any]) -> None:
    data = load()
    features, label = data.data.astype("f4"), data.target
    rows = store(connection, features, y=("text", [f"class {code}" for code in label]))
    in_python = {"objective": "multi:softprob", "num_class": len(data.target_names)}
    alike(rows, {"features": features, "label": label.astype("f4")}, {}, in_python)
    (right,) = connection.execute(
        f"SELECT avg((predict_class('m', {', '.join(rows.names)}) = y)::int) FROM rows"
    ).fetchone()
    assert right > 0.95


def test_two_classes(connection: Connection, alike: Alike) -> None:
    data = datasets.load_breast_cancer()
    features, label = data.data.astype("f4"), data.target
    texts = [data.target_names[code] for code in label]
    # In the order of the texts, malignant follows benign, so it is the one with a probability.
    places = np.array([sorted(data.target_names).index(text) for text in texts], "f4")
    targets = {"y": ("text", texts), "truth": ("boolean", label == 1)}
    store(connection, features, **targets, number=("integer", label * 5 - 2))
    names = [f"x{i}" for i in range(features.shape[1])]
    params = {"objective": "binary:logistic"}
    rows = Rows(names, in_order("rows", *names, "y"))
    alike(rows, {"features": features, "label": places}, {}, params)
    labels = "SELECT model_info(%s) -> 'labels'"
    assert connection.execute(labels, ("m",)).fetchone() == (["benign", "malignant"],)
    for target, expected in (("truth", ["false", "true"]), ("number", ["-2", "3"])):
        connection.execute(
            "SELECT train_model(%s, %s, %s, %s, 3)",
            (target, in_order("rows", *names, target), target, json.dumps(params)),
        )
        assert connection.execute(labels, (target,)).fetchone() == (expected,)


def test_categories(connection: Connection, alike: Alike) -> None:
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
    rows = Rows(["x", "colour"], in_order("rows", *columns), {"colour": colours})
    alike(rows, {"features": features, "label": label}, {"max_cat_to_onehot": 2}, {})
    query = "SELECT categories FROM model_features('m') WHERE feature = 'colour'"
    assert connection.execute(query).fetchone() == (colours,)
    assert verified(connection, "rows") == (3_000, 0, 0)


@pytest.mark.parametrize("metric", [["ndcg@5", "ndcg@3"], "ndcg@5"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rankings(connection: Connection, alike: Alike, metric: Any, weighted: bool) -> None:
    """Of groups of any size, of which each has a weight."""
    random = np.random.default_rng(6)
    sizes = random.integers(5, 40, 80)
    group = np.repeat(np.arange(80), sizes)
    features = random.normal(size=(len(group), 4)).astype("f4")
    label = np.clip(np.round(features[:, 0] + 1), 0, 3).astype("f4")
    weight = random.random(80).astype("f4")
    arrays = {"features": features, "label": label, "group": sizes}
    columns = {"y": ("real", label), "q": ("integer", group)}
    if weighted:
        arrays["weight"], columns["w"] = weight, ("real", weight[group])
    rows = store(connection, features, **columns)
    params = {"objective": "rank:ndcg", "eval_metric": metric}
    alike(rows, arrays, params, {}, qid="q", **({"weight": "w"} if weighted else {}))


def test_survival(connection: Connection, alike: Alike) -> None:
    random = np.random.default_rng(7)
    features = random.normal(size=(2_000, 3)).astype("f4")
    lower = np.exp(features[:, 0] + random.normal(size=2_000) * 0.1).astype("f4")
    upper = np.where(random.random(2_000) < 0.3, np.inf, lower).astype("f4")
    ends = [None if np.isinf(end) else end for end in upper]
    rows = store(connection, features, y=("real", lower), until=("real", ends))
    arrays = {"features": features, "lower": lower, "upper": upper}
    alike(rows, arrays, {}, {"objective": "survival:aft"}, label_upper_bound="until")


def test_early_stopping(connection: Connection, alike: Alike) -> None:
    rows = held_out(connection)
    found = alike(
        Rows(rows.names, rows.training), rows.arrays, {"eta": 0.5}, {}, rounds=200,
        eval_source=rows.evaluation, early_stopping_rounds=4,
    )  # fmt: skip
    assert found["rounds"] < 30


def test_fraction_for_evaluation_is_chosen_by_the_seed(connection: Connection) -> None:
    random = np.random.default_rng(9)
    features = random.normal(size=(2_000, 3)).astype("f4")
    store(connection, features, y=("real", features[:, 0]))

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


def test_release_is_the_one_compared_with(connection: Connection, alike: Alike) -> None:
    numbers = np.array([1, 2], "f4")
    rows = store(connection, numbers[:, None], y=("real", numbers))
    found = alike(rows, {"features": numbers[:, None], "label": numbers}, {}, {})
    assert connection.execute("SELECT xgboost_version()").fetchone() == (found["version"],)


def test_groups_are_kept_whole_for_evaluation(connection: Connection) -> None:
    """Every group has 7 rows, so a multiple of 7 is kept."""
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
