"""Random objects as features and random arguments of training: a result, or an error of a user's class."""

import json
import random
from collections import Counter
from typing import Any

import psycopg
import pytest

from tests.extension.lifecycle.models import grown, load
from tests.state import TIMES
from tools.cluster import Cluster

OBJECTS = 5000 * TIMES
FEATURES = [f"f{number + 1}" for number in range(10)]
# Numbers, texts that to_jsonb writes for them, and values that are no features.
NUMBERS = [0, -0.0, 1, -1, 0.5, 1e-45, 1e-320, 1e38, 3.5e38, -1e400, 1e400, 2**24 + 1, 2**70, 0.1]
SPECIAL = ["NaN", "Infinity", "-Infinity", None, True, False]
WRONG = ["", "1", "nan", "text", "\x01", "é" * 50, [], [1], {}, {"f1": 1}, [[[]]]]


@pytest.fixture(scope="module", autouse=True)
def model(cluster: Cluster, dbname: str) -> None:
    """A model of ten features."""
    with cluster.connect(dbname) as connection:
        load(connection, "m", grown(20, 5))


def random_value(generator: random.Random, wrong: float) -> Any:
    kind = generator.random()
    if kind < wrong:
        return generator.choice(WRONG)
    return generator.choice(NUMBERS + SPECIAL) if kind < 0.6 else generator.uniform(-2, 2)


def text_of(content: dict[str, Any]) -> str:
    """JSON with numbers of any size: Python writes 1e400 as Infinity, which is none."""
    return json.dumps(content).replace("-Infinity,", "-1e400,").replace(": Infinity,", ": 1e400,")


def random_object(generator: random.Random) -> str:
    """An object that is valid in two of three cases."""
    odd = generator.random() < 0.33
    names = [name for name in FEATURES if not odd or generator.random() < 0.97]
    generator.shuffle(names)
    values = {name: random_value(generator, 0.03 if odd else 0.0) for name in names}
    if odd and generator.random() < 0.3:
        values |= {"": 1, "other": [1, {"f1": 2}], "F1": 3, "f1 ": 4}
    return text_of(values | {"last": 0})


def answer(connection: psycopg.Connection, query: str, content: str) -> Any:
    try:
        return connection.execute(query, (content,)).fetchone()
    except psycopg.Error as error:
        assert error.sqlstate is not None and error.sqlstate[:2] in ("22", "42", "54"), content
        return error.sqlstate


@pytest.mark.usefixtures("internal_errors")
def test_objects_and_rows_are_the_same(connection: psycopg.Connection) -> None:
    generator, compared = random.Random(TIMES), 0
    columns = ", ".join(f"{name} text" for name in FEATURES)
    numbers = ", ".join(f"{name}::numeric::double precision AS {name}" for name in FEATURES)
    # The row form of the same values; booleans are 1 and 0 there, too.
    row = (
        f"SELECT predict('m', r) FROM (SELECT {numbers} FROM jsonb_to_record(replace(replace(%s,"
        f"'true', '1'), 'false', '0')::jsonb) AS x ({columns})) AS r"
    )
    for _ in range(OBJECTS):
        content = random_object(generator)
        by_object = answer(connection, "SELECT predict('m', %s::text::jsonb)", content)
        if not isinstance(by_object, str):
            by_row = answer(connection, row, content)
            assert by_row in (by_object, "22003"), content
            compared += by_row == by_object
    assert compared > OBJECTS // 4


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
