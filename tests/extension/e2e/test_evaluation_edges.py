"""evaluate_model with extreme weights, targets and groups: scikit-learn's figures, or an error.

Where scikit-learn has no answer it raises; SQL then has NULL or an error, and the tests say which.
"""

import warnings
from collections.abc import Callable, Iterator

import numpy as np
import psycopg
import pytest
import xgboost as xgb
from psycopg import errors
from sklearn import metrics

from tests.extension.e2e import scores
from tests.extension.e2e.reference import model_bytes
from tests.extension.e2e.scores import Scores
from tools.cluster import Cluster

ROWS = 60
WEIGHTS = {
    "all": "0",
    "of a class": "CASE WHEN y = 1 THEN 0 ELSE 1 + mod(id, 3) END",
    "of two classes": "CASE WHEN y < 2 THEN 0 ELSE 1 END",
    "of most rows": "CASE WHEN id > 3 THEN 0 ELSE 2.5 END",
    "tiny": "1e-30 * (1 + mod(id, 3))",
    "large": "3e38",
}
OBJECTIVES = {
    "number": {"objective": "reg:squarederror"},
    "binary": {"objective": "binary:logistic"},
    "classes": {"objective": "multi:softprob", "num_class": 3},
    "ranking": {"objective": "rank:ndcg"},
    "quantiles": {"objective": "reg:quantileerror", "quantile_alpha": [0.5]},
}


@pytest.fixture(scope="module", autouse=True)
def rows(cluster: Cluster, dbname: str) -> None:
    """A table of two features, a target of three classes and groups of four rows; a model of each kind."""
    draw = np.random.default_rng(5)
    features = np.round(draw.normal(size=(ROWS, 2)), 2).astype(np.float32)
    target = np.clip(np.floor(features[:, 0] * 1.5 + draw.normal(size=ROWS) + 1), 0, 2)
    with cluster.connect(dbname) as connection:
        connection.execute("CREATE TABLE t (id int, a real, b real, y int, q int)")
        for number, (row, value) in enumerate(zip(features.tolist(), target, strict=True)):
            values = (number, *row, int(value), number // 4)
            connection.execute("INSERT INTO t VALUES (%s, %s, %s, %s, %s)", values)
        for name, params in OBJECTIVES.items():
            label = (target > 0).astype(int) if name == "binary" else target
            data = xgb.DMatrix(features, label=label, feature_names=["a", "b"])
            if name == "ranking":
                data.set_group([4] * (ROWS // 4))
            booster = xgb.train({"nthread": 1, "max_depth": 2, **params}, data, 5)
            connection.execute("SELECT load_model(%s, %s)", (name, model_bytes(booster)))


@pytest.fixture
def unwarned() -> Iterator[None]:
    """scikit-learn warns of what is not defined."""
    with warnings.catch_warnings(action="ignore"):
        yield


def evaluate(
    connection: psycopg.Connection, name: str, weight: str, target: str = "y", more: str = ""
) -> dict[str, float | None]:
    source = f"SELECT *, {target} AS target, {weight} AS weight FROM t ORDER BY q, id"
    query = f"SELECT metric, value FROM evaluate_model(%s, %s, 'target', weight => 'weight'{more})"
    return dict(connection.execute(query, (name, source)).fetchall())


def read(connection: psycopg.Connection, name: str, weight: str) -> tuple[np.ndarray, ...]:
    query = f"SELECT y, predict_array(%s, a, b), ({weight})::float8 FROM t ORDER BY q, id"
    truth, values, weights = zip(*connection.execute(query, (name,)).fetchall(), strict=True)
    return (
        np.array(truth),
        np.array(values, np.float32).astype(np.float64),
        np.array(weights, np.float64),
    )


SCORES: dict[str, Callable[..., Scores]] = {
    "number": scores.of_numbers,
    "binary": lambda truth, *rows: scores.of_two_classes(truth > 0, *rows),
    "classes": scores.of_classes,
}


def answer(score: Callable[[], float]) -> float | None:
    """scikit-learn's score, or None if it has none."""
    try:
        value = float(score())
    except (ValueError, ZeroDivisionError):
        return None
    return None if np.isnan(value) else value


def same(found: float | None, wanted: float | None) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return found == pytest.approx(wanted, rel=1e-8, abs=1e-12)


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", SCORES)
def test_weights_of_zero_and_large_ones(
    connection: psycopg.Connection, name: str, weights: str
) -> None:
    target = "(y > 0)::int" if name == "binary" else "y"
    found = evaluate(connection, name, WEIGHTS[weights], target)
    expected = SCORES[name](*read(connection, name, WEIGHTS[weights]))
    assert set(found) == set(expected)
    for metric, score in expected.items():
        wanted = answer(score)
        # Without a row of the class, scikit-learn warns and calls the average precision 0: it is not defined.
        if metric == "aucpr" and wanted == 0:
            wanted = None
        assert same(found[metric], wanted), metric


def test_without_any_weight_there_is_nothing_to_compare(connection: psycopg.Connection) -> None:
    source = "SELECT *, 0 AS weight FROM t"
    query = """SELECT baseline_value, candidate_value, difference
        FROM compare_models('number', 'number', %s, 'y', weight => 'weight')"""
    assert connection.execute(query, (source,)).fetchall() == [(None, None, None)] * 2


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("'NaN'::float8", "is not a number, so it cannot be a weight"),
        ("'Infinity'::float8", "is too large to be a weight"),
        ("'-Infinity'::float8", "is negative, so it cannot be a weight"),
        ("1e308", "is too large to be a weight"),
        ("4e38::float8", "is too large to be a weight"),
        ("-1", "is negative, so it cannot be a weight"),
        ("NULL::real", "is null, so it cannot be a weight"),
    ],
)
@pytest.mark.parametrize("name", ["number", "binary", "classes"])
def test_invalid_weights_are_refused(
    connection: psycopg.Connection, name: str, weight: str, message: str
) -> None:
    target = "(y > 0)::int" if name == "binary" else "y"
    one = f"CASE WHEN id = 7 THEN {weight} ELSE 1 END"
    with pytest.raises(errors.DataException, match=message):
        evaluate(connection, name, one, target)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("number", ""),
        ("quantiles", ", quantile_alpha => '{0.5}'"),
        ("ranking", ", qid => 'q'"),
    ],
)
def test_targets_that_are_no_numbers_are_refused_as_by_scikit_learn(
    connection: psycopg.Connection, name: str, more: str, value: str
) -> None:
    for of_type in ("float8", "real", "numeric"):
        target = f"CASE WHEN id = 7 THEN '{value}' ELSE y::{of_type} END"
        what = "is not a number" if value == "NaN" else "is infinite"
        with pytest.raises(
            errors.DataException, match=f'"target" {what}, so it cannot be a target'
        ):
            evaluate(connection, name, "1", target, more)
    truth = [float(value), 1.0]
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        metrics.mean_squared_error(truth, [1.0, 1.0])
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        metrics.mean_pinball_loss(truth, [1.0, 1.0])
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        metrics.ndcg_score([truth], [[1.0, 2.0]])


def test_targets_at_the_end_of_double_precision(connection: psycopg.Connection) -> None:
    with warnings.catch_warnings(action="ignore"):
        found = evaluate(connection, "number", "1", "y * 1e200")
        truth, values, weight = read(connection, "number", "1")
        expected = scores.of_numbers(truth * 1e200, values, weight)
        for metric, score in expected.items():
            assert same(found[metric], answer(score)), metric


def test_a_group_of_one_row_is_refused_as_by_scikit_learn(connection: psycopg.Connection) -> None:
    with pytest.raises(ValueError, match="more than 1 document"):
        metrics.ndcg_score([[1]], [[0.5]])
    query = "SELECT metric, value FROM evaluate_model('ranking', %s, 'y', qid => 'q')"
    alone = "SELECT a, b, y, CASE WHEN id = {} THEN 1000 ELSE q END AS q FROM t ORDER BY 4, id"
    for number, place in ((0, 16), (ROWS - 1, 16)):
        with pytest.raises(errors.DataException, match=f"group {place} of the source has one row"):
            connection.execute(query, (alone.format(number),))
    kept = f"""SELECT * FROM (SELECT *, count(*) OVER (PARTITION BY q) AS rows
        FROM ({alone.format(0)}) AS s) AS t WHERE rows > 1 ORDER BY q"""
    found = dict(connection.execute(query, (kept,)).fetchall())
    read_rows = connection.execute(
        "SELECT q, y, predict('ranking', a, b) FROM t WHERE id > 0"
    ).fetchall()
    groups, truth, score = (np.array(column) for column in zip(*read_rows, strict=True))
    each = [
        metrics.ndcg_score([truth[groups == q]], [score[groups == q]]) for q in np.unique(groups)
    ]
    assert found["ndcg"] == pytest.approx(np.mean(each), rel=1e-9)


def test_groups_of_weight_zero_do_not_count(connection: psycopg.Connection) -> None:
    weighted = evaluate(connection, "ranking", "(q > 5)::int", "y", ", qid => 'q'")
    query = "SELECT metric, value FROM evaluate_model('ranking', %s, 'y', qid => 'q')"
    some = connection.execute(query, ("SELECT * FROM t WHERE q > 5 ORDER BY q",)).fetchall()
    assert weighted == dict(some)
    none = evaluate(connection, "ranking", "0", "y", ", qid => 'q'")
    assert none == {"ndcg": None, "ndcg@10": None}
