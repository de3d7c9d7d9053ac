"""evaluate_model and compare_models have scikit-learn's figures, or an error.

scikit-learn is given the predictions that SQL gives, so that what is compared are the metrics alone: to 1e-9,
with and without weights, as a whole and for each value of a column. Where scikit-learn has no answer it
raises; SQL then has NULL or an error, and the tests say which.
"""

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import xgboost as xgb
from psycopg import Connection, errors
from scipy import stats
from sklearn import metrics

from tests.connections import make_table
from tests.extension.e2e.reference import model_bytes
from tools.cluster import Cluster

# scikit-learn's scores of a model's values, each computed when it is called, since some raise.
Scores = dict[str, Callable[[], float]]


NUMBERS: dict[str, Callable[..., float]] = {
    "rmse": metrics.root_mean_squared_error,
    "mse": metrics.mean_squared_error,
    "mae": metrics.mean_absolute_error,
    "mape": metrics.mean_absolute_percentage_error,
    "r2": metrics.r2_score,
}


def of_numbers(truth: np.ndarray, values: np.ndarray, weight: np.ndarray) -> Scores:
    return {
        name: partial(score, truth, values[:, 0], sample_weight=weight)
        for name, score in NUMBERS.items()
    }


def of_quantiles(
    truth: np.ndarray, values: np.ndarray, weight: np.ndarray, levels: list[float]
) -> Scores:
    each = {
        f"quantile@{level}": partial(
            metrics.mean_pinball_loss, truth, column, alpha=level, sample_weight=weight
        )
        for level, column in zip(levels, values.T, strict=True)
    }
    return {"quantile": lambda: float(np.mean([score() for score in each.values()])), **each}


def of_two_classes(
    truth: np.ndarray, values: np.ndarray, weight: np.ndarray, probabilities: bool = True
) -> Scores:
    (score,) = values.T
    given = {"sample_weight": weight}
    found = {
        "error": partial(metrics.zero_one_loss, truth, score > 0.5, **given),
        "auc": partial(metrics.roc_auc_score, truth, score, **given),
        "aucpr": partial(metrics.average_precision_score, truth, score, **given),
        **_of_labels(truth, score > 0.5, weight, "binary"),
    }
    if probabilities:
        found["logloss"] = partial(metrics.log_loss, truth, score, **given)
    return found


def of_classes(truth: np.ndarray, values: np.ndarray, weight: np.ndarray) -> Scores:
    """Of the probabilities of all classes, or of the class alone."""
    count = values.shape[1]
    given = values.argmax(axis=1) if count > 1 else values[:, 0].astype(int)
    found = {
        "merror": partial(metrics.zero_one_loss, truth, given, sample_weight=weight),
        **_of_labels(truth, given, weight, "macro"),
    }
    if count > 1:

        def loss() -> float:
            with warnings.catch_warnings(action="ignore"):  # probabilities of 32 bits
                return metrics.log_loss(truth, values, sample_weight=weight, labels=range(count))

        found["mlogloss"] = loss
    return found


def _of_labels(truth: np.ndarray, given: np.ndarray, weight: np.ndarray, average: str) -> Scores:
    arguments = {"sample_weight": weight, "average": average, "zero_division": 0}
    return {
        "precision": partial(metrics.precision_score, truth, given, **arguments),
        "recall": partial(metrics.recall_score, truth, given, **arguments),
        "f1": partial(metrics.f1_score, truth, given, **arguments),
    }


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
    "number": of_numbers,
    "count": of_numbers,
    "quantiles": partial(of_quantiles, levels=LEVELS),
    "binary": of_two_classes,
    "raw": partial(of_two_classes, probabilities=False),
    "classes": of_classes,
    "class": of_classes,
}
ARGUMENTS = {
    "ranking": ", qid => 'query'",
}
WEIGHTS = {"equal": "1", "drawn": "weight"}
EXTREME = {
    "all zero": "0",
    "zero of a class": "CASE WHEN class = 2 THEN 0 ELSE 1 + mod(id, 3) END",
    "zero of two classes": "CASE WHEN class < 2 THEN 0 ELSE 1 END",
    "zero of most rows": "CASE WHEN id > 3 THEN 0 ELSE 2.5 END",
    "tiny": "1e-30 * (1 + mod(id, 3))",
    "large": "3e38",
}
CASES = [(name, weight) for name in SCORES for weight in WEIGHTS.values()]
CASES += [(name, weight) for name in ("number", "binary", "classes") for weight in EXTREME.values()]
RANKED = "SELECT * FROM t ORDER BY id"


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
        rows = zip(range(ROWS), *columns.values(), strict=True)
        make_table(connection, "t", f"id int, {declared}", rows)
        for name, params in MODELS.items():
            data = xgb.DMatrix(features, label=targets[target_of(name)])
            if name == "ranking":
                data.set_group(np.unique(groups, return_counts=True)[1])
            booster = xgb.train({"nthread": 1, "max_depth": 3, **params}, data, 8)
            connection.execute("SELECT load_model(%s, %s)", (name, model_bytes(booster)))


def target_of(name: str) -> str:
    """The column that a model learned."""
    others = {"quantiles": "number", "binary": "two", "raw": "two", "classes": "class"}
    return others.get(name, name)


def read(connection: Connection, name: str, weight: str = "1") -> tuple[np.ndarray, ...]:
    """Target, values, weight and part of each row."""
    query = f"SELECT {target_of(name)}, predict_array(%s, f0, f1, f2, f3), ({weight})::float8, part"
    found = connection.execute(f"{query} FROM t ORDER BY id", (name,)).fetchall()
    truth, values, weights, part = zip(*found, strict=True)
    values = np.array(values, dtype=np.float32).astype(np.float64)
    return np.array(truth), values, np.array(weights, np.float64), np.array(part)


def evaluated(
    connection: Connection, name: str, source: str = "t", target: str = "", more: str = ""
) -> dict[tuple[str | None, str], float | None]:
    """The result of evaluate_model, by slice and metric."""
    arguments = ARGUMENTS.get(name, "") + more
    query = f"SELECT slice, metric, value FROM evaluate_model(%s, %s, %s{arguments})"
    found = connection.execute(query, (name, source, target or target_of(name)))
    return {(part, metric): value for part, metric, value in found}


def weighted(
    connection: Connection, name: str, weight: str
) -> dict[tuple[str | None, str], float | None]:
    source = f"SELECT *, {weight} AS given FROM t ORDER BY id"
    return evaluated(connection, name, source, more=", weight => 'given'")


def near(found: float | None, score: Callable[[], float]) -> bool:
    """Returns whether a metric is scikit-learn's, or NULL where it has none."""
    try:
        with warnings.catch_warnings(action="ignore"):
            wanted = float(score())
    except (ValueError, ZeroDivisionError):
        wanted = np.nan
    if found is None or np.isnan(wanted):
        return found is None and bool(np.isnan(wanted))
    return found == pytest.approx(wanted, rel=TOLERANCE, abs=TOLERANCE)


@pytest.mark.parametrize(("name", "weight"), CASES)
def test_metrics_are_those_of_scikit_learn(connection: Connection, name: str, weight: str) -> None:
    found = weighted(connection, name, weight)
    expected = SCORES[name](*read(connection, name, weight)[:3])
    assert {metric for _, metric in found} == set(expected)
    for metric, score in expected.items():
        value = found[None, metric]
        # Without a row of the class, scikit-learn warns and calls the average precision 0: it is not defined.
        assert near(value, score) or (metric == "aucpr" and (value, score()) == (None, 0)), metric
    if weight == "1":
        assert evaluated(connection, name) == pytest.approx(found, rel=TOLERANCE)


@pytest.mark.parametrize("name", SCORES)
def test_each_value_of_by_has_its_own_metrics(connection: Connection, name: str) -> None:
    truth, values, weight, part = read(connection, name, "weight")
    found = evaluated(connection, name, more=", weight => 'weight', slice_by => 'part'")
    assert {name for name, _ in found} == {"0", "1", "2"}
    for number in range(3):
        own = part == number
        for metric, score in SCORES[name](truth[own], values[own], weight[own]).items():
            assert near(found[str(number), metric], score), metric


def test_the_type_and_order_of_columns_do_not_matter(connection: Connection) -> None:
    missing = [f"nullif(f{index}, {index - 1})" for index in range(FEATURES)]
    doubles = ", ".join(f"{value} AS f{index}" for index, value in enumerate(missing))
    reals = [f"{value}::real AS f{index}" for index, value in enumerate(missing)]
    sources = [f"SELECT number, {doubles} FROM t", f"SELECT number, {', '.join(reals)} FROM t"]
    sources.append(f"SELECT {', '.join(reversed(reals))}, number FROM t")
    first, *others = (evaluated(connection, "number", source) for source in sources)
    assert first
    assert others == [first, first]


@pytest.mark.parametrize("weight", ["", ", weight => 'weight'"])
@pytest.mark.parametrize("by", ["", ", slice_by => 'part'"])
def test_areas_are_the_same_from_a_temporary_file(
    connection: Connection, weight: str, by: str
) -> None:
    connection.execute("CREATE TEMP TABLE many AS SELECT t.* FROM t, generate_series(1, 40)")
    query = f"SELECT * FROM evaluate_model('binary', 'many', 'two'{weight}{by})"
    connection.execute("SET work_mem = '64MB'")
    in_memory = connection.execute(query).fetchall()
    connection.execute("SET work_mem = '64kB'")
    assert connection.execute(query).fetchall() == in_memory
    connection.execute("SET temp_file_limit = '64kB'")
    with pytest.raises(errors.ConfigurationLimitExceeded):
        connection.execute(query)


@pytest.mark.parametrize(("weight", "message"), [
    ("'NaN'::float8", "is not a number, so it cannot be a weight"),
    ("'Infinity'::float8", "is too large to be a weight"),
    ("'-Infinity'::float8", "is negative, so it cannot be a weight"),
    ("1e308", "is too large to be a weight"),
    ("4e38::float8", "is too large to be a weight"),
    ("-1", "is negative, so it cannot be a weight"),
    ("NULL::real", "is null, so it cannot be a weight"),
])  # fmt: skip
def test_invalid_weights_are_refused(connection: Connection, weight: str, message: str) -> None:
    with pytest.raises(errors.DataException, match=message):
        weighted(connection, "number", f"CASE WHEN id = 7 THEN {weight} ELSE 1 END")


def test_without_any_weight_there_is_nothing_to_compare(connection: Connection) -> None:
    source = "SELECT *, 0 AS given FROM t"
    query = """SELECT baseline_value, candidate_value, difference
        FROM compare_models('number', 'number', %s, 'number', weight => 'given')"""
    assert connection.execute(query, (source,)).fetchall() == [(None, None, None)] * 2


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("name", ["number", "quantiles", "ranking"])
def test_targets_that_are_no_numbers_are_refused_as_by_scikit_learn(
    connection: Connection, name: str, value: str
) -> None:
    what = "is not a number" if value == "NaN" else "is infinite"
    message = f'"target" {what}, so it cannot be a target'
    for of_type in ("float8", "real", "numeric"):
        target = f"CASE WHEN id = 7 THEN '{value}' ELSE {target_of(name)}::{of_type} END"
        with pytest.raises(errors.DataException, match=message):
            evaluated(
                connection, name, f"SELECT *, {target} AS target FROM t ORDER BY id", "target"
            )
    truth = [float(value), 1.0]
    for refuse in (
        lambda: metrics.mean_squared_error(truth, [1.0, 1.0]),
        lambda: metrics.mean_pinball_loss(truth, [1.0, 1.0]),
        lambda: metrics.ndcg_score([truth], [[1.0, 2.0]]),
    ):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            refuse()


def test_targets_at_the_end_of_double_precision(connection: Connection) -> None:
    source = "SELECT *, number * 1e200 AS target FROM t"
    found = evaluated(connection, "number", source, "target")
    truth, values, weight, _ = read(connection, "number")
    for metric, score in of_numbers(truth * 1e200, values, weight).items():
        assert near(found[None, metric], score), metric


# Labels of two classes, and the types of columns that have them, with their values.
FLOATS, LARGE = ["0.1", "2.5"], ["9007199254740992", "9007199254740993"]
DAYS, AT = ["2020-01-31", "2021-06-30"], ["2020-01-31 12:30:00", "2021-06-30 00:00:00.25"]
TARGETS: list[tuple[list[str], dict[str, list[str]]]] = [
    (["false", "true"], {"boolean": ["f", "t"], "integer": ["0", "1"], "text": ["False", "TRUE"]}),
    (["no", "yes"], {"boolean": ["f", "t"], "real": ["0", "1"], "varchar": ["no", "yes"]}),
    (FLOATS, dict.fromkeys(("real", "float8", "text"), FLOATS) | {"numeric": ["0.10", "2.50"]}),
    (["1.0", "2.0"], {"smallint": ["1", "2"], "numeric": ["1.00", "2"], "text": ["1", "2.00"]}),
    # As CatBoost has floats, which it rounds.
    (["0.00000010000000116860974", "0.10000000149011612"], {
        one: ["1e-07", "0.1"] for one in ("real", "float8", "numeric", "text")}),
    (["1e-07", "1e+16"], {one: ["1e-7", "1e16"] for one in ("real", "float8", "numeric")}),
    (["01", "1"], {"text": ["01", "1"], "char(4)": ["01", "1"]}),
    (LARGE, dict.fromkeys(("bigint", "numeric", "text"), LARGE)),
    (DAYS, dict.fromkeys(("date", "timestamp", "text"), DAYS)),
    # As NumPy has days.
    ([f"{day} 00:00:00" for day in DAYS], {"date": DAYS, "timestamp": DAYS}),
    (AT, {"timestamp": AT, "timestamp(3)": AT}),
    ([f"{at}+00:00" for at in AT], {"timestamptz": [f"{at}+00" for at in AT]}),
    ([f"{at}+02" for at in AT], {"timestamptz": [f"{at}+02" for at in AT]}),
    (["10:00:00", "11:30:00"], {"time": ["10:00", "11:30"], "interval": ["10 hours", "690 min"]}),
    ([f"00000000-0000-0000-0000-00000000000{one}" for one in "ab"], {
        "uuid": [f"00000000-0000-0000-0000-00000000000{one}" for one in "AB"]}),
    (["a", "b"], {"\"char\"": ["a", "b"], "name": ["a", "b"], "char(3)": ["a", "b"]}),
    (["10.0.0.1", "10.0.0.2"], {"inet": ["10.0.0.1", "10.0.0.2"]}),
]  # fmt: skip
TYPED = [(labels, *one) for labels, types in TARGETS for one in types.items()]


@pytest.mark.parametrize("style", ["ISO, MDY", "German, DMY"])
@pytest.mark.parametrize(("labels", "of_type", "values"), TYPED)
def test_labels_are_found_in_a_column_of_any_type(
    connection: Connection, labels: list[str], of_type: str, values: list[str], style: str
) -> None:
    query = (
        "SELECT load_model('labels', export_model('binary'), labels => %s, allow_change => true)"
    )
    connection.execute(query, (labels,))
    connection.execute("SELECT set_config('timezone', 'Asia/Tokyo', false)")
    # The values are read by the other style.
    value = f"(ARRAY['{values[0]}', '{values[1]}']::text[]::{of_type}[])[two + 1]"
    connection.execute(f"CREATE TEMP VIEW typed AS SELECT *, {value} AS y FROM t")
    connection.execute("SELECT set_config('datestyle', %s, false)", (style,))
    assert evaluated(connection, "labels", "typed", "y") == evaluated(connection, "binary")


@pytest.mark.parametrize("value", ["DATE '1970-01-01'", "DATE '1970-01-02'", "TIME '10:00'"])
def test_times_are_no_numbers_of_classes(connection: Connection, value: str) -> None:
    source = f"SELECT *, {value} AS y FROM t"
    with pytest.raises(errors.DatatypeMismatch, match="cannot be the target"):
        evaluated(connection, "classes", source, "y")
    query = "SELECT load_model('labels', export_model('binary'), labels => '{no,yes}', allow_change => true)"
    connection.execute(query)
    with pytest.raises(errors.InvalidTextRepresentation, match="is not a class of the model"):
        evaluated(connection, "labels", source, "y")


def ndcg(connection: Connection, where: str, cut: int | None = None) -> float:
    """scikit-learn's mean over the groups of some rows."""
    query = f"SELECT query, ranking, predict('ranking', f0, f1, f2, f3) FROM t WHERE {where}"
    groups, truth, score = map(np.array, zip(*connection.execute(query).fetchall(), strict=True))
    each = [
        metrics.ndcg_score([truth[groups == group]], [score[groups == group]], k=cut)
        for group in np.unique(groups)
    ]
    return float(np.mean(each))


def test_rankings_are_those_of_scikit_learn(connection: Connection) -> None:
    found = evaluated(connection, "ranking", RANKED)
    for metric, cut in {"ndcg": None, "ndcg@10": 10}.items():
        assert found[None, metric] == pytest.approx(ndcg(connection, "true", cut), rel=TOLERANCE)


@pytest.mark.parametrize("digits", [1, 0, -15])
def test_values_that_differ_in_a_last_digit_are_apart(connection: Connection, digits: int) -> None:
    """As values of a column and as groups, whatever digits the session shows."""
    source = "SELECT *, 1 + part / 1e15::float8 AS fine, 1 + query / 1e15::float8 AS near FROM t ORDER BY id"
    expected = evaluated(connection, "ranking", RANKED)
    connection.execute(f"SET extra_float_digits = {digits}")
    slices = "SELECT count(DISTINCT slice) FROM evaluate_model('number', %s, 'number', slice_by => 'fine')"
    assert connection.execute(slices, (source,)).fetchone() == (3,)
    query = "SELECT metric, value FROM evaluate_model('ranking', %s, 'ranking', qid => 'near')"
    found = connection.execute(query, (source,), binary=True).fetchall()
    assert {(None, metric): value for metric, value in found} == expected


def test_groups_must_be_given_consecutive_and_fit_into_memory(connection: Connection) -> None:
    query = "SELECT * FROM evaluate_model('ranking', %s, 'ranking', qid => %s)"
    with pytest.raises(errors.InvalidParameterValue, match="needs groups"):
        connection.execute(query, ("t", None))
    apart = "SELECT *, id % 2 AS odd FROM t ORDER BY id"
    with pytest.raises(errors.InvalidParameterValue, match="not next to each other"):
        connection.execute(query, (apart, "odd"))
    connection.execute("SET work_mem = '64kB'")
    with pytest.raises(errors.ProgramLimitExceeded, match="work_mem"):
        connection.execute(query, ("SELECT *, 1 AS one FROM t", "one"))


def test_a_group_of_one_row_is_refused_as_by_scikit_learn(connection: Connection) -> None:
    with pytest.raises(ValueError, match="more than 1 document"):
        metrics.ndcg_score([[1]], [[0.5]])
    alone = (
        "SELECT t.*, CASE WHEN id = {} THEN 1000 ELSE query END AS place FROM t ORDER BY place, id"
    )
    message = f"group {GROUPS + 1} of the source has one row"
    for number in (0, ROWS - 1):
        source = (
            f"SELECT f0, f1, f2, f3, ranking, place AS query FROM ({alone.format(number)}) AS s"
        )
        with pytest.raises(errors.DataException, match=message):
            evaluated(connection, "ranking", source)
    found = evaluated(connection, "ranking", RANKED.replace("ORDER", "WHERE id > 0 ORDER"))
    assert found[None, "ndcg"] == pytest.approx(ndcg(connection, "id > 0"), rel=TOLERANCE)


def test_groups_of_weight_zero_do_not_count(connection: Connection) -> None:
    some = evaluated(connection, "ranking", RANKED.replace("ORDER", "WHERE query > 50 ORDER"))
    assert weighted(connection, "ranking", "(query > 50)::int") == some
    none = weighted(connection, "ranking", "0")
    assert none == {(None, "ndcg"): None, (None, "ndcg@10"): None}


def test_comparison_is_a_paired_one(connection: Connection) -> None:
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
