"""Training that continues a version: Python's trees, and refusals of what does not fit the model."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psycopg import Connection
from sklearn import datasets

from tests.connections import Connect
from tests.extension.e2e import golden
from tests.extension.lifecycle.models import one
from tests.extension.train.conftest import Raises
from tests.extension.train.rows import (
    assert_alike,
    copy_table,
    diabetes,
    held_out,
    in_order,
    store,
    verified,
)

ROUNDS = 6
pytestmark = pytest.mark.usefixtures("no_model")
TRAIN = "SELECT set, metric, best_round, value FROM train_model('m', %s, 'y', %s, %s{})"
EXPORT = "SELECT export_model('m')"
INFO = "SELECT model_info('{}')"
Continued = Callable[..., dict[str, Any]]


@pytest.fixture
def continued(connection: Connection, python_side: Callable[..., Any]) -> Continued:
    """Trains in two steps in SQL, with new parameters in the second one, and compares with Python."""

    def run(source: str, arrays: dict[str, Any], names: list[str], **job: Any) -> dict[str, Any]:
        before, params = job.pop("before", {}), job.pop("params", {})
        first = {"nthread": 1} | before
        connection.execute(TRAIN.format(""), (source, json.dumps(first), ROUNDS))
        start = one(connection, EXPORT)
        arguments = source, json.dumps({"nthread": 1} | params), ROUNDS
        more = TRAIN.format(", continue_from => 'm'")
        scores = connection.execute(more, arguments).fetchall()
        model = one(connection, EXPORT)
        objective = before.get("objective", job.pop("objective", "reg:squarederror"))
        params = {"objective": objective, "seed": 0} | job.pop("fixed", {}) | params
        found = python_side(model, arrays, start, names=names, params=params, rounds=ROUNDS, **job)
        assert_alike(found, scores)
        assert found["rounds"] == 2 * ROUNDS
        return found

    return run


@pytest.mark.parametrize(("before", "params"), [
    ({}, {}),
    ({"max_depth": 3}, {"max_depth": 5, "eta": 0.05}),
    ({"subsample": 0.7}, {"subsample": 0.5, "colsample_bytree": 0.6}),
    ({"objective": "reg:absoluteerror"}, {}),
    ({"objective": "count:poisson"}, {"max_bin": 16}),
    ({"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8]},
     {"quantile_alpha": [0.2, 0.8]}),
    ({"num_parallel_tree": 2, "subsample": 0.5}, {"num_parallel_tree": 2, "subsample": 0.5}),
    ({"rate_drop": 0.5}, {"rate_drop": 0.5}),
    ({"base_score": 100}, {"monotone_constraints": {"x2": 1}}),
], ids=str)  # fmt: skip
def test_trees_are_those_of_python(
    connection: Connection, continued: Continued, before: Any, params: Any
) -> None:
    features, label = diabetes()
    rows = store(connection, features, y=("real", label))
    arrays = {"features": features, "label": label}
    continued(rows.source, arrays, rows.names, before=before, params=params)
    assert verified(connection, "rows") == (len(label), 0, 0)


def test_quantiles_are_the_models_own(connection: Connection) -> None:
    """Parameters of the objective are in the model's file."""
    connection.execute(
        "CREATE TABLE waves AS SELECT i AS x, sin(i) AS y FROM generate_series(1, 500) i"
    )
    params = '{"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8], "nthread": 1}'
    source = "SELECT x, y FROM waves ORDER BY x"
    connection.execute(TRAIN.format(""), (source, params, 4))
    digests = []
    for again in (params, '{"nthread": 1}'):
        connection.execute(TRAIN.format(", continue_from => 'm@1'"), (source, again, 4))
        digests += connection.execute("SELECT model_info('m') ->> 'sha256'").fetchone()
    assert digests[0] == digests[1]
    connection.execute("DROP TABLE waves")


@pytest.mark.parametrize("load", [datasets.load_iris, datasets.load_breast_cancer])
def test_classes_keep_their_places(
    connection: Connection, continued: Continued, load: Callable[..., Any]
) -> None:
    """The new rows miss a class and begin with another one."""
    data = load()
    features, label = data.data.astype("f4"), data.target
    rows = store(connection, features, y=("text", [f"class {code}" for code in label]))
    classes = len(data.target_names)
    fixed = {"num_class": classes} if classes > 2 else {}
    objective = "multi:softprob" if classes > 2 else "binary:logistic"
    arrays = {"features": features, "label": label.astype("f4")}
    continued(rows.source, arrays, rows.names, objective=objective, fixed=fixed)
    few = f"SELECT {', '.join(rows.names)}, y FROM rows WHERE y = 'class 1' ORDER BY id"
    connection.execute(TRAIN.format(", continue_from => 'm'"), (few, "{}", 2))
    labels = one(connection, "SELECT model_info('m') -> 'labels'")
    assert labels == [f"class {code}" for code in range(classes)]


def test_categories_keep_their_codes(
    connection: Connection, continued: Continued, raises: Raises
) -> None:
    random = np.random.default_rng(5)
    colours = ["blue", "green", "grün", "red"]
    codes = random.integers(0, 4, 3_000)
    number = random.normal(size=3_000).astype("f4")
    label = (number + np.array([3, -1, 2, 0])[codes] + random.normal(size=3_000)).astype("f4")
    texts = [colours[code] for code in codes]
    columns = {"x": ("real", number), "colour": ("text", texts), "y": ("real", label)}
    copy_table(connection, "rows", columns)
    arrays = {"features": np.stack([number, codes.astype("f4")], axis=1), "label": label}
    params = {"max_cat_to_onehot": 2}
    source = in_order("rows", "x", "colour", "y")
    both = {"before": params, "params": params}
    continued(source, arrays, ["x", "colour"], categories={"colour": colours}, **both)
    assert verified(connection, "rows") == (3_000, 0, 0)
    red = "SELECT x, colour, y FROM rows WHERE colour = 'red'"
    call = TRAIN.format(", continue_from => 'm@1'")
    connection.execute(call, (red, "{}", 1))
    (known,) = connection.execute(
        "SELECT categories FROM model_features('m') WHERE feature = 'colour'"
    ).fetchone()
    assert known == colours
    said = raises("22P02", call, ("SELECT x, 'pink' AS colour, y FROM rows", "{}", 1))
    assert said.message_primary == 'source has a value of column "colour" that is not in the model'
    said = raises("22023", call, ("SELECT x, 1 AS colour, y FROM rows", "{}", 1))
    assert said.message_detail == 'Its feature "colour" is text, and the column is not.'
    said = raises("22023", call, ("SELECT 'a' AS x, colour, y FROM rows", "{}", 1))
    assert said.message_detail == 'Its feature "x" is a number, and the column is text.'


def test_early_stopping_counts_all_rounds(
    connection: Connection, python_side: Callable[..., Any]
) -> None:
    rows = held_out(connection)
    connection.execute(TRAIN.format(""), (rows.training, '{"eta": 0.1, "nthread": 1}', 3))
    start = one(connection, EXPORT)
    more = ", continue_from => 'm', early_stopping_rounds => 4, eval_source => %s"
    arguments = rows.training, '{"eta": 0.5, "nthread": 1}', 200, rows.evaluation
    scores = connection.execute(TRAIN.format(more), arguments).fetchall()
    job = {"names": rows.names, "params": {"eta": 0.5}, "rounds": 200, "early_stopping_rounds": 4}
    found = python_side(one(connection, EXPORT), rows.arrays, start, **job)
    assert found["same_trees"]
    assert 3 < found["rounds"] < 40
    assert {row[2] for row in scores} == {found["rounds"]}
    assert scores[1][3] == pytest.approx(found["scores"]["eval"]["rmse"], rel=1e-6)


def test_rounds_that_predictions_leave_out_are_left_out(
    connection: Connection, python_side: Callable[..., Any]
) -> None:
    """A model that was loaded with the rounds that early stopping found best."""
    features, label = diabetes()
    rows = store(connection, features, y=("real", label))
    connection.execute(TRAIN.format(""), (rows.source, '{"nthread": 1}', 8))
    start = one(connection, EXPORT)
    connection.execute("SELECT load_model('m', %s, rounds => 5)", (start,))
    more = TRAIN.format(", continue_from => 'm'")
    connection.execute(more, (rows.source, '{"nthread": 1}', ROUNDS))
    job = {"names": rows.names, "params": {}, "rounds": ROUNDS, "start_rounds": 5}
    arrays = {"features": features, "label": label}
    found = python_side(one(connection, EXPORT), arrays, start, **job)
    assert found["same_trees"]
    assert found["rounds"] == 5 + ROUNDS


@pytest.fixture
def plain(connection: Connection) -> str:
    """A model `base` of the features a and b, with two versions; gives its source."""
    connection.execute("DROP TABLE IF EXISTS rows")
    connection.execute(
        "CREATE TABLE rows AS SELECT i AS a, i % 7 AS b, i * 2 AS y, i % 3 = 0 AS flag "
        "FROM generate_series(1, 300) AS i"
    )
    source = "SELECT a, b, y FROM rows"
    connection.execute("SELECT drop_model('base') FROM pgboost_models WHERE name = 'base' LIMIT 1")
    for rounds in (2, 3):
        connection.execute("SELECT train_model('base', %s, 'y', rounds => %s)", (source, rounds))
    return source


CALL = "SELECT train_model('next', {}, rounds => 2, continue_from => 'base')"


@pytest.mark.parametrize(("call", "detail"), [
    ("'rows', 'y', '{\"objective\": \"reg:gamma\"}'", "Its objective is reg:squarederror, not reg:gamma."),
    ("'rows', 'y', '{\"base_score\": 1}'", "The model has a base score, which base_score cannot change."),
    ("'rows', 'y', features => '{a,b,flag}'", 'It has no feature "flag".'),
    ("'rows', 'y', features => '{a}'", 'It has the feature "b", which is not among the features.'),
    ("'SELECT a, b::text, y FROM rows', 'y'", 'Its feature "b" is a number, and the column is text.'),
])  # fmt: skip
def test_disagreements_with_the_model_are_refused(
    raises: Raises, plain: str, call: str, detail: str
) -> None:
    said = raises("22023", CALL.format(call))
    assert said.message_primary == 'training cannot continue from model "base@2"'
    assert said.message_detail == detail
    assert "continue_from" in said.message_hint


def test_features_are_found_by_name(connection: Connection, raises: Raises, plain: str) -> None:
    """In the model's order, whatever further columns there are."""
    digests = []
    for source in (plain, "rows", "SELECT y, 1 AS more, b, a FROM rows"):
        connection.execute(CALL.format("%s, 'y', '{\"nthread\": 1}'"), (source,))
        digests += connection.execute("SELECT model_info('next') ->> 'sha256'").fetchone()
    assert len(set(digests)) == 1
    # A boolean target is the number 0 or 1 to this model.
    connection.execute(CALL.format("'rows', 'flag', features => '{a,b}'"))
    said = raises("42703", CALL.format("'SELECT a, y FROM rows', 'y'"))
    assert said.message_primary == 'column "b" is not in the source'


def test_lineage_is_kept_with_the_version(connection: Connection, plain: str) -> None:
    call = "SELECT best_round FROM train_model('base', %s, 'y', rounds => 4, continue_from => %s)"
    for model, number, rounds in (("base@1", 1, 6), ("base", 3, 10)):
        assert connection.execute(call, (plain, model)).fetchone() == (rounds,)
        info = one(connection, INFO.format("base"))
        assert info["parameters"]["continue_from"] == f"base@{number}"
        assert info["parameters"]["rounds"] == 4
        assert info["rounds"] == info["metrics"]["best_round"] == rounds
    connection.execute("SELECT set_alias('base@2', 'best')")
    connection.execute(call, (plain, "base@best"))
    info = one(connection, INFO.format("base"))
    assert info["parameters"]["continue_from"] == "base@2"


def test_labels_that_are_numbers(connection: Connection, raises: Raises, plain: str) -> None:
    """Equal numbers are the same class; a model without labels numbers its classes from 0."""
    source = "SELECT a, b, CASE WHEN flag THEN 3 ELSE -2 END AS y FROM rows"
    train = "SELECT train_model('numbered', %s, 'y', '{{\"objective\": \"binary:logistic\"}}', 2{})"
    connection.execute(train.format(""), (source,))
    more = train.format(", continue_from => 'numbered'")
    connection.execute(more, (source.replace("-2", "-2.0::numeric"),))
    assert one(connection, INFO.format("numbered"))["labels"] == ["-2", "3"]
    said = raises("22P02", more, (source.replace("-2", "0"),))
    assert said.message_primary == 'source has a value of column "y" that is not in the model'
    connection.execute(
        "SELECT load_model('numbered', export_model('numbered'), allow_change => true)"
    )
    connection.execute(more, ("SELECT a, b, flag AS y FROM rows",))
    assert one(connection, INFO.format("numbered"))["labels"] is None
    raises("22P02", more, ("SELECT a, b, 2 AS y FROM rows",))


def test_only_who_may_read_the_model_continues_it(
    connection: Connection, connect: Connect, raises: Raises, plain: str
) -> None:
    """A privilege to predict is not one to read the trees, which the new model would have."""
    heir = connect("heir", new=True)
    connection.execute("GRANT EXECUTE ON FUNCTION train_model, load_model TO heir")
    connection.execute("GRANT SELECT ON rows TO heir")
    call = "SELECT train_model('theirs', %s, 'y', rounds => 2, continue_from => 'base')"
    said = raises("42501", call, (plain,), on=heir)
    assert said.message_primary == 'permission denied for model "base"'
    connection.execute("SELECT grant_model('base', 'heir')")
    said = raises("42501", call, (plain,), on=heir)
    assert said.message_primary == 'must be owner of model "base"'
    raises("42704", call.replace("'base'", "'nowhere'"), (plain,))
    raises("42704", call.replace("'base'", "'base@9'"), (plain,))
    assert not connection.execute("SELECT 1 FROM pgboost_models WHERE name = 'theirs'").fetchall()


# Models that have no trees of XGBoost.
FOREIGN = {
    "Its format is lightgbm text.": golden.file("lightgbm/4.7.0/regression.txt"),
    "It is a linear model, without trees.": (
        Path(__file__).parents[1] / "sql/models/linear.json"
    ).read_bytes(),
}


@pytest.mark.parametrize("detail", FOREIGN)
@pytest.mark.usefixtures("plain")
def test_models_without_trees_of_xgboost_are_refused(
    connection: Connection, raises: Raises, detail: str
) -> None:
    connection.execute("SELECT load_model('foreign', %s)", (FOREIGN[detail],))
    call = "SELECT train_model('next', 'rows', 'y', continue_from => 'foreign')"
    assert raises("22023", call).message_detail == detail
    connection.execute("SELECT drop_model('foreign')")
