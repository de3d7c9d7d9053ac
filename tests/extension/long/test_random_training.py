"""Random parameters and arguments of training: a model, or an error of a user's class in the same backend."""

import json
import random
from collections import Counter
from typing import Any

import psycopg
import pytest

from tests.times import TIMES

TRAININGS = 200 * TIMES
SECONDS = 20

NAMES = [
    "eta", "gamma", "max_depth", "max_leaves", "min_child_weight", "max_delta_step", "subsample",
    "colsample_bytree", "lambda", "alpha", "scale_pos_weight", "rate_drop", "one_drop", "skip_drop",
    "grow_policy", "max_bin", "num_parallel_tree", "base_score", "num_class", "nthread", "booster",
    "tweedie_variance_power", "huber_slope", "quantile_alpha", "expectile_alpha", "tree_method",
    "aft_loss_distribution", "lambdarank_pair_method", "eval_metric", "monotone_constraints",
    "interaction_constraints", "seed", "rounds", "max_cat_to_onehot", "device", "updater", "verbosity",
]  # fmt: skip
OBJECTIVES = [
    "reg:squarederror", "reg:logistic", "binary:logistic", "binary:hinge", "multi:softmax",
    "multi:softprob", "count:poisson", "reg:gamma", "reg:tweedie", "reg:quantileerror",
    "reg:expectileerror", "rank:ndcg", "rank:pairwise", "survival:cox", "survival:aft", "reg:none",
]  # fmt: skip
VALUES = [
    0, 1, 2, 3, 64, 65, -1, 0.5, 0.1, 1e-7, 1e38, 1e39, 2**31, 2**63, -(2**70), True, False, None, "",
    "gbtree", "lossguide", "normal", "topk", "rmse", "auc", "mlogloss", "ndcg@5", "hist", "a", "é", "1",
    "dart", [], [0.1, 0.9], [0.5] * 70, [["a", "b"]], [[]], {"a": 1}, {"a": -1, "z": 1}, {"b": 9}, {},
]  # fmt: skip
SOURCES = [
    "rows",
    "SELECT a, b, y FROM rows LIMIT 3",
    "SELECT y, a FROM rows",
    "no_such",
    "SELECT 1",
]


@pytest.fixture(scope="module", autouse=True)
def table(cluster: Any, dbname: str) -> None:
    with cluster.connect(dbname) as connection:
        connection.execute(
            "CREATE TABLE rows AS SELECT random() AS a, CASE WHEN i % 7 > 0 THEN i END AS b, "
            "'word ' || i % 4 AS w, i % 3 AS y FROM generate_series(1, 200) AS i"
        )


@pytest.mark.usefixtures("internal_errors")
def test_random_parameters(connection: psycopg.Connection) -> None:
    generator, outcomes = random.Random(TIMES), Counter()
    backend = connection.info.backend_pid
    connection.execute(f"SET statement_timeout = '{SECONDS}s'")
    for _ in range(TRAININGS):
        params = {
            name: generator.choice(VALUES)
            for name in generator.sample(NAMES, generator.randrange(3))
        }
        params["objective"] = generator.choice(OBJECTIVES)
        source = generator.choice(SOURCES[:2] if generator.random() < 0.9 else SOURCES)
        call = "SELECT * FROM train_model('x', %s, 'y', %s, rounds => 2, allow_change => true)"
        try:
            connection.execute(call, (source, json.dumps(params))).fetchall()
            outcomes["trained"] += 1
        except psycopg.Error as error:
            outcomes[error.sqlstate] += 1
            # Refusals of libxgboost itself are 38000; no training of 200 rows may take long.
            allowed = ("22", "42", "54", "38", "0A", "53")
            assert error.sqlstate and error.sqlstate.startswith(allowed), (params, error)
    assert connection.execute("SELECT pg_backend_pid()").fetchone() == (backend,)
    assert outcomes["trained"] > TRAININGS // 10, outcomes
