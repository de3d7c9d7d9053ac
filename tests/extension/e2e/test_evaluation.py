"""evaluate_model and compare_models have scikit-learn's figures.

scikit-learn is given the predictions that SQL gives, so that what is compared are the metrics alone: to 1e-9,
with and without weights, as a whole and for each value of a column.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import psycopg
import pytest
import xgboost as xgb
from psycopg import errors
from scipy import stats
from sklearn import metrics

from tests.extension.e2e import scores
from tests.extension.e2e.reference import model_bytes
from tests.extension.e2e.scores import Scores
from tools.cluster import Cluster

ROWS = 5_000
FEATURES = 4
LEVELS = [0.1, 0.5, 0.9]
GROUPS = 100
TOLERANCE = 1e-9

MODELS = {
    "number": {"objective": "reg:squarederror"},
    "count": {"objective": "count:poisson"},
    "quantiles": {"objective": "reg:quantileerror", "quantile_alpha": LEVELS},
    "binary": {"objective": "binary:logistic"},
    "raw": {"objective": "binary:logitraw"},
    "classes": {"objective": "multi:softprob", "num_class": 4},
    "class": {"objective": "multi:softmax", "num_class": 4},
    "ranking": {"objective": "rank:ndcg"},
}


SCORES: dict[str, Callable[..., Scores]] = {
    "number": scores.of_numbers,
    "count": scores.of_numbers,
    "quantiles": partial(scores.of_quantiles, levels=LEVELS),
    "binary": scores.of_two_classes,
    "raw": partial(scores.of_two_classes, probabilities=False),
    "classes": scores.of_classes,
    "class": scores.of_classes,
}
NAMES = list(SCORES)
ARGUMENTS = {"quantiles": f", quantile_alpha => '{{{','.join(map(str, LEVELS))}}}'"}


@pytest.fixture(scope="module", autouse=True)
def rows(cluster: Cluster, dbname: str) -> None:
    """A table `t` with features, a target of each kind, weights, groups and parts; and the models."""
    draw = np.random.default_rng(11)
    features = np.round(draw.normal(size=(ROWS, FEATURES)), 1).astype(np.float32)
    number = np.round(features[:, 0] * 2 + features[:, 1] + draw.normal(size=ROWS) + 20, 3)
    targets = {
        "number": number,
        "count": np.floor(np.abs(number)),
        "two": (number > 20).astype(int),
        "class": np.clip(np.floor(number - 18), 0, 3).astype(int),
        "ranking": np.clip(np.floor(number - 18), 0, 4).astype(int),
    }
    groups = np.sort(draw.integers(0, GROUPS, ROWS))
    columns = {**{f"f{i}": features[:, i] for i in range(FEATURES)}, **targets}
    columns |= {"weight": np.round(draw.random(ROWS) * 3, 2), "part": draw.integers(0, 3, ROWS)}
    columns["query"] = groups
    with cluster.connect(dbname) as connection:
        declared = ", ".join(
            f"{name} {'integer' if values.dtype.kind == 'i' else 'float8'}"
            for name, values in columns.items()
        )
        connection.execute(f"CREATE TABLE t (id int, {declared})")
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            for number_of_row, row in enumerate(zip(*columns.values(), strict=True)):
                copy.write_row([number_of_row, *(value.item() for value in row)])
        for name, params in MODELS.items():
            data = xgb.DMatrix(features, label=targets[target_of(name)])
            if name == "ranking":
                data.set_group(np.unique(groups, return_counts=True)[1])
            booster = xgb.train({"nthread": 1, "max_depth": 3, **params}, data, 8)
            connection.execute("SELECT load_model(%s, %s)", (name, model_bytes(booster)))


def target_of(name: str) -> str:
    """The column that a model learned."""
    return {"quantiles": "number", "binary": "two", "raw": "two", "classes": "class"}.get(
        name, name
    )


def read(connection: psycopg.Connection, name: str) -> tuple[np.ndarray, ...]:
    """Target, values, weight and part of each row."""
    found = connection.execute(
        f"SELECT {target_of(name)}, predict_array('{name}', f0, f1, f2, f3), weight, part"
        " FROM t ORDER BY id"
    ).fetchall()
    truth, values, weight, part = zip(*found, strict=True)
    values = np.array(values, dtype=np.float32).astype(np.float64)
    return np.array(truth), values, np.array(weight), np.array(part)


def evaluated(connection: psycopg.Connection, name: str, arguments: str = "") -> dict:
    """The result of evaluate_model, by slice and metric."""
    query = (
        f"SELECT slice, metric, value FROM evaluate_model('{name}', 't', '{target_of(name)}'"
        f"{ARGUMENTS.get(name, '')}{arguments})"
    )
    return {(part, metric): value for part, metric, value in connection.execute(query)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_are_those_of_scikit_learn(
    connection: psycopg.Connection, name: str, weighted: bool
) -> None:
    truth, values, weight, _ = read(connection, name)
    weight = weight if weighted else np.ones(ROWS)
    found = evaluated(connection, name, ", weight => 'weight'" if weighted else "")
    expected = SCORES[name](truth, values, weight)
    assert {metric for _, metric in found} == set(expected)
    for metric, score in expected.items():
        assert found[None, metric] == pytest.approx(score(), rel=TOLERANCE, abs=TOLERANCE), metric


@pytest.mark.parametrize("name", NAMES)
def test_each_value_of_by_has_its_own_metrics(connection: psycopg.Connection, name: str) -> None:
    truth, values, weight, part = read(connection, name)
    found = evaluated(connection, name, ", weight => 'weight', slice_by => 'part'")
    assert {name for name, _ in found} == {"0", "1", "2"}
    for number in range(3):
        own = part == number
        for metric, score in SCORES[name](truth[own], values[own], weight[own]).items():
            given = found[str(number), metric]
            assert given == pytest.approx(score(), rel=TOLERANCE, abs=TOLERANCE), metric


def test_the_type_and_order_of_columns_do_not_matter(connection: psycopg.Connection) -> None:
    missing = [f"nullif(f{index}, {index - 1})" for index in range(FEATURES)]
    doubles = ", ".join(f"{value} AS f{index}" for index, value in enumerate(missing))
    reals = [f"{value}::real AS f{index}" for index, value in enumerate(missing)]
    query = "SELECT array_agg(value) FROM evaluate_model('number', %s, 'number')"
    sources = [f"SELECT number, {doubles} FROM t", f"SELECT number, {', '.join(reals)} FROM t"]
    sources.append(f"SELECT {', '.join(reversed(reals))}, number FROM t")
    first, *others = (connection.execute(query, (source,)).fetchone() for source in sources)
    assert first
    assert others == [first, first]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("by", ["", ", slice_by => 'part'"])
def test_areas_are_the_same_from_a_temporary_file(
    connection: psycopg.Connection, weighted: bool, by: str
) -> None:
    weight = ", weight => 'weight'" if weighted else ""
    connection.execute("CREATE TEMP TABLE many AS SELECT t.* FROM t, generate_series(1, 40)")
    query = f"SELECT * FROM evaluate_model('binary', 'many', 'two'{weight}{by})"
    connection.execute("SET work_mem = '64MB'")
    in_memory = connection.execute(query).fetchall()
    connection.execute("SET work_mem = '64kB'")
    assert connection.execute(query).fetchall() == in_memory
    connection.execute("SET temp_file_limit = '64kB'")
    with pytest.raises(errors.ConfigurationLimitExceeded):
        connection.execute(query)
    connection.execute("RESET temp_file_limit; RESET work_mem; DROP TABLE many")


def test_rankings_are_those_of_scikit_learn(connection: psycopg.Connection) -> None:
    found = connection.execute(
        "SELECT metric, value FROM evaluate_model('ranking',"
        " 'SELECT * FROM t ORDER BY query', 'ranking', qid => 'query')"
    ).fetchall()
    read_rows = connection.execute(
        "SELECT query, ranking, predict('ranking', f0, f1, f2, f3) FROM t"
    ).fetchall()
    query, truth, score = (np.array(column) for column in zip(*read_rows, strict=True))
    for metric, cut in {"ndcg": None, "ndcg@10": 10}.items():
        each = [
            metrics.ndcg_score([truth[query == q]], [score[query == q]], k=cut)
            for q in np.unique(query)
        ]
        assert dict(found)[metric] == pytest.approx(np.mean(each), rel=TOLERANCE)


def test_groups_must_be_given_consecutive_and_fit_into_memory(
    connection: psycopg.Connection,
) -> None:
    query = "SELECT * FROM evaluate_model('ranking', %s, 'ranking', qid => %s)"
    with pytest.raises(errors.InvalidParameterValue, match="needs groups"):
        connection.execute(query, ("t", None))
    apart = "SELECT *, id % 2 AS odd FROM t ORDER BY id"
    with pytest.raises(errors.InvalidParameterValue, match="not next to each other"):
        connection.execute(query, (apart, "odd"))
    connection.execute("SET work_mem = '64kB'")
    with pytest.raises(errors.ProgramLimitExceeded, match="work_mem"):
        connection.execute(query, ("SELECT *, 1 AS one FROM t", "one"))
    connection.execute("RESET work_mem")


def test_comparison_is_a_paired_one(connection: psycopg.Connection) -> None:
    truth, values, *_ = read(connection, "binary")
    connection.execute("SELECT load_model('binary', export_model('binary'), rounds => 3)")
    later = read(connection, "binary")[1]
    connection.execute("SELECT deploy_model('binary@1')")
    found = {
        row[0]: row[1:]
        for row in connection.execute(
            "SELECT * FROM compare_models('binary@1', 'binary@2', 't', 'two')"
        )
    }
    chances = [np.where(truth == 1, p[:, 0], 1 - p[:, 0]) for p in (values, later)]
    a, b = (-np.log(chance) for chance in chances)
    check(found["logloss"], a, b)
    wrong = [(p[:, 0] > 0.5) != truth for p in (values, later)]
    check(found["error"], *(side.astype(float) for side in wrong))
    changed = (values[:, 0] > 0.5) != (later[:, 0] > 0.5)
    assert found["changed"][2] == pytest.approx(changed.mean(), rel=TOLERANCE)
    assert found["changed"][5] + found["changed"][6] == changed.sum()


def check(found: tuple, a: np.ndarray, b: np.ndarray) -> None:
    """The means, their difference and its interval, and the rows on each side."""
    difference = b - a
    half = stats.norm.ppf(0.975) * difference.std(ddof=1) / np.sqrt(len(a))
    mean = difference.mean()
    expected = [a.mean(), b.mean(), mean, mean - half, mean + half]
    assert list(found[:5]) == pytest.approx(expected, rel=1e-8)
    assert found[5:7] == ((difference < 0).sum(), (difference > 0).sum())
    low, high = mean - half, mean + half
    better = "candidate" if high < 0 else "baseline"
    assert found[7] == (f"{better} is better" if low > 0 or high < 0 else "no difference")
