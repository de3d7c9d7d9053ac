"""partial_dependence and permutation_importance are scikit-learn's, for the same models and rows.

What depends on a random order cannot be equal: of few rows, a permuted metric is that of one of all orders,
and of many the mean is near scikit-learn's.
"""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from psycopg import Connection, errors
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.inspection import partial_dependence, permutation_importance

import lightgbm as lgb
from tests.connections import make_table
from tests.extension.e2e.reference import model_bytes
from tools.cluster import Cluster

ROWS = 600
REGIONS = ["east", "north", "south", "west"]
FEATURES = ["few", "many", "gaps", "region"]


def frame() -> pd.DataFrame:
    """Columns: numbers of few values, of many, with missing ones, texts; targets and weights."""
    draw = np.random.default_rng(7)
    few = np.round(draw.normal(size=ROWS) * 2) / 2
    many = draw.normal(3, 2, ROWS)
    gaps = np.where(draw.random(ROWS) < 0.2, np.nan, np.floor(draw.random(ROWS) * 6))
    region = np.array(REGIONS)[draw.integers(0, 4, ROWS)]
    y = few * np.nan_to_num(gaps, nan=3) + np.abs(many) + (region == "north") * 3
    table = pd.DataFrame({"few": few, "many": many, "gaps": gaps, "region": region, "y": y})
    table["two"] = (y > y.mean()).astype(int)
    table["three"] = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    table["weight"] = np.round(draw.random(ROWS) * 3, 2)
    return table


TABLE = frame()


def coded(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[FEATURES].assign(region=pd.Categorical(rows["region"], categories=REGIONS))


def boosted(target: str, **params: Any) -> tuple[bytes, Callable]:
    data = xgb.DMatrix(coded(TABLE), TABLE[target], enable_categorical=True)
    booster = xgb.train({"nthread": 1, "max_depth": 3, "seed": 1, **params}, data, 12)
    matrix = lambda rows: xgb.DMatrix(coded(rows), enable_categorical=True)  # noqa: E731
    return model_bytes(booster), lambda rows: booster.predict(matrix(rows))


def light(**params: Any) -> tuple[bytes, Callable]:
    data = lgb.Dataset(coded(TABLE), TABLE["y"])
    given = {"num_threads": 1, "num_leaves": 8, "verbose": -1, "min_data_per_group": 5, **params}
    booster = lgb.train(given, data, 12)
    return booster.model_to_string().encode(), lambda rows: booster.predict(coded(rows))


MODELS = {
    "number": boosted("y"),
    "binary": boosted("two", objective="binary:logistic"),
    "classes": boosted("three", objective="multi:softprob", num_class=3),
    "class": boosted("three", objective="multi:softmax", num_class=3),
    "light": light(),
    "linear": light(linear_tree=True),
}
TARGETS = {"binary": "two", "classes": "three", "class": "three"}


class Fitted(BaseEstimator):
    """The predictions of a trained model as an estimator's."""

    def __init__(self, predictor: Callable) -> None:
        self.predictor = predictor
        self.classes_ = np.arange(3)

    def fit(self, *_: Any) -> "Fitted":
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


class Regression(RegressorMixin, Fitted):
    def predict(self, rows: pd.DataFrame) -> np.ndarray:
        return self.predictor(rows)


class Classification(ClassifierMixin, Fitted):
    def predict_proba(self, rows: pd.DataFrame) -> np.ndarray:
        values = self.predictor(rows).astype(np.float64)
        return values if values.ndim == 2 else np.column_stack([1 - values, values])

    def predict(self, rows: pd.DataFrame) -> np.ndarray:
        return self.predict_proba(rows).argmax(axis=1)


def estimator(name: str) -> Fitted:
    kind = Classification if name in TARGETS else Regression
    fitted = kind(MODELS[name][1])
    fitted.classes_ = np.arange(2 if name == "binary" else 3)
    return fitted


@pytest.fixture(scope="module", autouse=True)
def models(cluster: Cluster, dbname: str) -> None:
    with cluster.connect(dbname) as connection:
        kinds = {column: "text" if column == "region" else "float8" for column in TABLE}
        kinds |= {"two": "int", "three": "int"}
        declared = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        rows = TABLE.astype(object).where(TABLE.notna(), None)
        make_table(connection, "t", declared, rows.itertuples(index=False))
        for name, (file, _) in MODELS.items():
            connection.execute("SELECT load_model(%s, %s)", (name, file))


def of_sql(connection: Connection, arguments: str) -> dict[str, list[tuple]]:
    """By output: the values of the features, and the average."""
    query = f"SELECT * FROM partial_dependence({arguments})"
    found: dict[str, list[tuple]] = {}
    for output, *point in connection.execute(query):
        found.setdefault(output, []).append(tuple(point))
    return found


def number(text: str | None) -> Any:
    if text is None:
        return np.nan
    return text if text in REGIONS else float(text)


CASES = [
    (["few"], 100, False), (["many"], 100, False), (["many"], 7, True), (["gaps"], 100, True),
    (["region"], 3, False), (["few", "many"], 9, False), (["region", "many"], 5, True),
    (["many", "gaps"], 8, False),
]  # fmt: skip


@pytest.mark.parametrize("name", ["number", "binary", "classes", "light", "linear"])
@pytest.mark.parametrize(("features", "points", "weighted"), CASES)
def test_averages_are_those_of_scikit_learn(
    connection: Connection, name: str, features: list[str], points: int, weighted: bool
) -> None:
    expected = partial_dependence(
        estimator(name), TABLE[FEATURES], features, grid_resolution=points, method="brute",
        kind="average", categorical_features=[f for f in features if f == "region"] or None,
        sample_weight=TABLE["weight"].to_numpy() if weighted else None,
    )  # fmt: skip
    second = f", '{features[1]}'" if len(features) > 1 else ", NULL"
    weight = ", weight => 'weight'" if weighted else ""
    found = of_sql(connection, f"'{name}', 't', '{features[0]}'{second}, {points}{weight}")
    grids = [list(grid) for grid in expected["grid_values"]]
    grid = [(one, other) for one in grids[0] for other in (grids[1] if grids[1:] else [np.nan])]
    for average, (_, rows) in zip(expected["average"], found.items(), strict=True):
        assert len(rows) == len(grid)
        for (one, other, value), point, wanted in zip(rows, grid, np.ravel(average), strict=True):
            for text, wanted_value in zip((one, other), point, strict=True):
                if isinstance(wanted_value, str):
                    assert text == wanted_value
                else:
                    assert number(text) == pytest.approx(wanted_value, rel=1e-12, nan_ok=True)
            assert value == pytest.approx(wanted, rel=2e-6, abs=1e-7)


def test_outputs_have_the_names_that_explanations_give_them(connection: Connection) -> None:
    for name, outputs in (("number", ["0"]), ("binary", ["1"]), ("classes", ["0", "1", "2"])):
        assert list(of_sql(connection, f"'{name}', 't', 'few'")) == outputs


def test_percentiles_are_those_of_scikit_learn(connection: Connection) -> None:
    for percentiles in ([0, 1], [0.3, 0.45], [0.0, 0.001]):
        expected = partial_dependence(
            estimator("number"), TABLE[FEATURES], ["many"], percentiles=tuple(percentiles),
            grid_resolution=5, method="brute",
        )  # fmt: skip
        found = of_sql(
            connection, f"'number', 't', 'many', points => 5, percentiles => ARRAY{percentiles}"
        )
        values = [float(value) for value, _, _ in found["0"]]
        assert values == pytest.approx(expected["grid_values"][0], rel=1e-12)


def test_a_missing_value_comes_last_among_many_values(connection: Connection) -> None:
    source = "SELECT few, CASE WHEN random() > 0.1 THEN many END AS many, gaps, region FROM t"
    *others, last = of_sql(connection, f"'number', '{source}', 'many', points => 5")["0"]
    assert last[0] is None
    assert len(others) == 5
    assert all(value is not None for value, _, _ in others)


def test_rows_beyond_work_mem_have_the_same_averages(connection: Connection) -> None:
    source = "'number', 'SELECT t.* FROM t, generate_series(1, 9)', 'many', points => 6"
    before = of_sql(connection, source)
    ranks = "SELECT * FROM permutation_importance('number', 't', 'y')"
    importance = connection.execute(ranks).fetchall()
    connection.execute("SET work_mem = '64kB'")
    assert of_sql(connection, source) == before
    assert connection.execute(ranks).fetchall() == importance


METRICS = {
    "number": ["rmse", "mse", "mae", "mape", "r2"],
    "binary": ["logloss", "error", "precision", "recall", "f1", "auc", "aucpr"],
    "class": ["merror", "precision", "recall", "f1"],
    "classes": ["mlogloss"],
    "linear": ["rmse"],
}
HIGHER_IS_BETTER = {"r2", "precision", "recall", "f1", "auc", "aucpr"}
FEW = (
    "VALUES (0.5, 1.0, 4, 'north', 9.0, 1, 2), (-1.5, 2.5, NULL, 'east', -1.0, 0, 0),"
    " (1.5, 4.0, 5, 'south', 12.0, 1, 2), (-0.5, 0.5, 0, 'west', 1.5, 0, 1)"
)
NAMED = "few, many, gaps, region, y, two, three"


PAIRS = [(name, metric) for name in METRICS for metric in METRICS[name]]


@pytest.mark.parametrize(
    ("name", "metric", "feature"),
    [(*pair, FEATURES[place % len(FEATURES)]) for place, pair in enumerate(PAIRS)],
)
def test_a_permuted_metric_is_that_of_an_order_of_the_rows(
    connection: Connection, name: str, metric: str, feature: str
) -> None:
    target = TARGETS.get(name, "y")
    rows = f"SELECT * FROM ({FEW}) AS v ({NAMED})"
    connection.execute(f"CREATE TEMPORARY TABLE few AS {rows}")
    connection.execute("ALTER TABLE few ADD place int GENERATED ALWAYS AS IDENTITY")

    def measured(order: tuple[int, ...]) -> float:
        """The metric with the feature's values in that order."""
        sides = {column: "o" if column == feature else "t" for column in NAMED.split(", ")}
        columns = ", ".join(f"{side}.{column}" for column, side in sides.items())
        source = (
            f"SELECT {columns} FROM few AS t JOIN few AS o"
            f" ON o.place = (ARRAY[{', '.join(map(str, order))}])[t.place] ORDER BY t.place"
        )
        query = f"SELECT metric, value FROM evaluate_model('{name}', '{source}', '{target}')"
        return dict(connection.execute(query).fetchall())[metric]

    base = measured((1, 2, 3, 4))
    sign = -1 if metric in HIGHER_IS_BETTER else 1
    possible = {round(sign * (measured(order) - base), 9) for order in permutations((1, 2, 3, 4))}
    found = set()
    for seed in range(40):
        query = (
            f"SELECT importance, stddev FROM permutation_importance('{name}', 'few', '{target}',"
            f" '{metric}', 1, seed => {seed}) WHERE feature = '{feature}'"
        )
        importance, deviation = connection.execute(query).fetchone()
        assert deviation == 0
        found.add(round(importance, 9))
    assert found <= possible
    # Forty draws of 24 orders meet most of them.
    assert len(found) >= len(possible) / 2


@pytest.mark.parametrize(("name", "metric", "scoring"), [
    ("number", "rmse", "neg_root_mean_squared_error"), ("number", "r2", "r2"),
    ("binary", "error", "accuracy"), ("binary", "auc", "roc_auc"),
    ("classes", "mlogloss", "neg_log_loss"), ("light", "mae", "neg_mean_absolute_error"),
])  # fmt: skip
def test_importances_are_near_those_of_scikit_learn(
    connection: Connection, name: str, metric: str, scoring: str
) -> None:
    target, repeats = TARGETS.get(name, "y"), 40
    expected = permutation_importance(
        estimator(name), TABLE[FEATURES], TABLE[target], scoring=scoring, n_repeats=repeats,
        random_state=1,
    )  # fmt: skip
    query = (
        f"SELECT * FROM permutation_importance('{name}', 't', '{target}', '{metric}', {repeats})"
    )
    found = connection.execute(query).fetchall()
    assert [row[1] for row in found] == sorted((row[1] for row in found), reverse=True)
    for place, feature in enumerate(FEATURES):
        mean, deviation = next(row[1:] for row in found if row[0] == feature)
        wanted, spread = expected["importances_mean"][place], expected["importances_std"][place]
        assert mean == pytest.approx(wanted, abs=5 * spread * (2 / repeats) ** 0.5 + 1e-12)
        assert deviation == pytest.approx(spread, rel=0.6, abs=1e-12)


def test_a_seed_repeats_and_an_unused_feature_has_no_importance(connection: Connection) -> None:
    data = xgb.DMatrix(TABLE[["few", "many"]].assign(many=0.0), TABLE["y"])
    booster = xgb.train({"nthread": 1}, data, 3)
    connection.execute("SELECT load_model('unused', %s)", (model_bytes(booster),))
    query = "SELECT * FROM permutation_importance('unused', 't', 'y', seed => {})"
    first = connection.execute(query.format(1)).fetchall()
    assert first == connection.execute(query.format(1)).fetchall()
    assert first != connection.execute(query.format(2)).fetchall()
    assert first[1] == ("many", 0, 0)


def test_groups_of_a_ranking_stay_together(connection: Connection) -> None:
    data = xgb.DMatrix(TABLE[["few", "many"]], TABLE["three"], qid=np.arange(ROWS) // 20)
    booster = xgb.train({"nthread": 1, "objective": "rank:ndcg"}, data, 5)
    connection.execute("SELECT load_model('ranks', %s)", (model_bytes(booster),))
    source = "SELECT few, many, three, (row_number() OVER () - 1) / 20 AS query FROM t"
    query = f"SELECT * FROM permutation_importance('ranks', '{source}', 'three', qid => 'query')"
    found = connection.execute(query).fetchall()
    assert all(0 < importance < 1 for _, importance, _ in found)


INVALID, MISSING = errors.InvalidParameterValue, errors.UndefinedColumn
FLAT = "SELECT few, CASE WHEN many > 7 THEN many ELSE 1 END AS many, gaps, region FROM t"
DEPENDENCE = {
    "'t', 'fw'": (MISSING, 'no feature "fw"'),
    "'t', 'few', 'few'": (INVALID, "different"),
    "'t', 'few', points => 1": (INVALID, "least 2"),
    "'t', 'few', points => NULL": (errors.NullValueNotAllowed, "points"),
    "'t', 'many', points => 2147483647": (errors.ProgramLimitExceeded, "work_mem"),
    "'t', 'few', percentiles => '{0.5}'": (INVALID, "percentiles"),
    "'t', 'few', percentiles => '{0.5,0.5}'": (INVALID, "percentiles"),
    "'t', 'few', percentiles => '{0.5,NaN}'": (INVALID, "percentiles"),
    "'t', 'few', percentiles => '{0.5,NULL}'": (INVALID, "percentiles"),
    f"'{FLAT}', 'many', points => 2": (errors.DataException, "equal or infinite"),
    "'SELECT few, many, gaps FROM t', 'few'": (MISSING, "region"),
    "'SELECT * FROM t WHERE false', 'few'": (errors.DataException, "no rows"),
    "'t', 'few', weight => 'region'": (errors.DatatypeMismatch, "weight"),
}
IMPORTANCE = {
    "'t', 'y', 'auc'": (INVALID, 'metric: "auc"'),
    "'t', 'y', repeats => 0": (INVALID, "least 1"),
    "'t', 'y', seed => NULL": (errors.NullValueNotAllowed, "seed"),
    "'t', 'y', qid => 'few'": (INVALID, "rankings"),
    "'t', 'region'": (errors.DatatypeMismatch, "target"),
}
CALLS = {
    **{f"partial_dependence('number', {given})": found for given, found in DEPENDENCE.items()},
    **{f"permutation_importance('number', {given})": found for given, found in IMPORTANCE.items()},
    "partial_dependence('class', 't', 'few')": (errors.WrongObjectType, "partial_dependence"),
}


@pytest.mark.parametrize("call", CALLS)
def test_impossible_calls_are_errors(connection: Connection, call: str) -> None:
    error, message = CALLS[call]
    with pytest.raises(error, match=message):
        connection.execute(f"SELECT * FROM {call}")


MORE = "SELECT few + n AS few, many, gaps, region, y FROM t, generate_series(1, 10) AS n"


def test_any_number_of_repeats_can_be_cancelled(connection: Connection) -> None:
    connection.execute("SET statement_timeout = '1s'")
    query = "SELECT * FROM permutation_importance('number', 't', 'y', repeats => 2147483647)"
    with pytest.raises(errors.QueryCanceled):
        connection.execute(query)
    connection.execute("RESET statement_timeout")


@pytest.mark.parametrize("call", [
    f"permutation_importance('number', '{MORE}', 'y')",
    f"partial_dependence('number', '{MORE}', 'many', 'few', 8000)",
    "partial_dependence('number', 't', 'many', points => 9000)",
])  # fmt: skip
def test_more_than_work_mem_is_an_error(connection: Connection, call: str) -> None:
    connection.execute("SET work_mem = '64kB'")
    with pytest.raises(errors.ProgramLimitExceeded, match="work_mem"):
        connection.execute(f"SELECT {call}")
