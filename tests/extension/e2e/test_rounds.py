"""Models of the first rounds equal iteration_range, and those before the first round their library."""

from pathlib import Path

import numpy as np
import pytest
import xgboost as xgb
from psycopg import Connection

import catboost
import lightgbm as lgb
from tests.connections import Notice
from tests.extension.e2e import reference
from tests.extension.e2e.conftest import Load
from tests.extension.e2e.reference import Dataset, assert_near, assert_same_bits, column, floats

SQUARED, GAMMA = {"objective": "reg:squarederror"}, {"objective": "reg:gamma"}
CLASSES, DART = (
    {"objective": "multi:softprob", "num_class": 3},
    {"booster": "dart", "rate_drop": 0.4},
)
KINDS = {
    "one output": ("diabetes", SQUARED),
    "parallel trees": ("diabetes", {**SQUARED, "num_parallel_tree": 3, "subsample": 0.6}),
    "classes": ("wine", CLASSES),
    "parallel trees of classes": ("wine", {**CLASSES, "num_parallel_tree": 2, "subsample": 0.6}),
    "dart": ("diabetes", {**GAMMA, **DART}),
    "dart of classes": ("wine", {**CLASSES, **DART}),
}
ROUNDS = 12
# Rows and labels of a model before its first round.
FEW = np.array([[0.0, 1.0], [np.nan, -3.5]], dtype=np.float32)
LABELS = {"multi": [2, 1], "rank": [0, 1], "survival": [1.0, 2.0], "binary": [0, 1]}
PLAIN = """binary:hinge binary:logistic binary:logitraw count:poisson rank:ndcg reg:absoluteerror reg:gamma
    reg:logistic reg:squarederror reg:squaredlogerror reg:tweedie survival:aft survival:cox"""
XGBOOST: dict[str, dict] = {name: {} for name in PLAIN.split()} | {
    "multi:softmax": {"num_class": 3}, "multi:softprob": {"num_class": 3},
    "reg:quantileerror": {"quantile_alpha": [0.25, 0.75]},
}  # fmt: skip
LIGHTGBM: dict[str, dict] = {
    "binary": {}, "multiclass": {"num_class": 3}, "multiclassova": {"num_class": 3}, "poisson": {},
    "regression": {}, "cross_entropy_lambda": {},
}  # fmt: skip


def expected(booster: xgb.Booster, dataset: Dataset, rounds: int, **how: bool) -> np.ndarray:
    data = xgb.DMatrix(dataset.features, feature_names=dataset.names)
    found = booster.predict(data, iteration_range=(0, rounds), **how)
    return found.reshape(len(dataset.features), -1)


def found(connection: Connection, dataset: Dataset, function: str, model: str) -> list:
    query = f"SELECT {function}(%s, t) FROM {dataset.name} AS t ORDER BY id"
    return column(connection, query, (model,))


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_rounds_are_those_of_iteration_range(
    connection: Connection, load: Load, kind: str
) -> None:
    name, params = KINDS[kind]
    dataset = reference.load(name)
    booster = reference.train(dataset, {"max_depth": 4, **params})
    dataset.store(connection)
    for rounds in (1, 5, ROUNDS, None):
        load(booster, "rounds => %s", rounds)
    for version, rounds in ((1, 1), (2, 5), (3, ROUNDS), (4, ROUNDS)):
        model = f"m@{version}"
        margins = expected(booster, dataset, rounds, output_margin=True)
        assert_same_bits(floats(found(connection, dataset, "predict_margin", model)), margins)
        leaves = expected(booster, dataset, rounds, pred_leaf=True)
        assert (np.array(found(connection, dataset, "predict_leaf", model)) == leaves).all()
    used = "SELECT used_rounds, rounds FROM pgboost_models ORDER BY version"
    assert connection.execute(used).fetchall() == [(1, 12), (5, 12), (12, 12), (12, 12)]
    exported = connection.execute("SELECT export_model('m@1')").fetchone()[0]
    assert bytes(exported) == reference.model_bytes(booster)


def halves(dataset: Dataset) -> list[tuple[np.ndarray, np.ndarray]]:
    """Features and target of each half of the rows."""
    parts = np.split(np.arange(len(dataset.features)), 2)
    return [(dataset.features[rows], dataset.target[rows]) for rows in parts]


@pytest.fixture
def stopped(connection: Connection) -> xgb.XGBRegressor:
    """A regressor that stopped early; its table is `diabetes`."""
    dataset = reference.load("diabetes")
    dataset.store(connection)
    model = xgb.XGBRegressor(n_estimators=200, early_stopping_rounds=5, n_jobs=1, random_state=3)
    first, second = halves(dataset)
    model.fit(*first, eval_set=[second], verbose=False)
    model.get_booster().feature_names = dataset.names
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    return model


def test_the_best_rounds_are_those_of_the_wrapper(
    connection: Connection, load: Load, notices: list[Notice], stopped: xgb.XGBRegressor
) -> None:
    booster = stopped.get_booster()
    load(booster, "best_iteration => true")
    assert not notices
    dataset = reference.load("diabetes")
    wrapped = stopped.predict(dataset.features)
    assert_same_bits(floats(found(connection, dataset, "predict", "m")), wrapped)

    load(booster)
    (notice,) = notices
    best = stopped.best_iteration + 1
    assert notice.severity == "WARNING"
    assert notice.message.startswith(f"early stopping found the first {best} of ")
    assert f"rounds => {best} to use" in notice.hint
    whole = expected(booster, dataset, 0).ravel()
    assert_same_bits(floats(found(connection, dataset, "predict", "m")), whole)
    assert (whole != wrapped).any()
    rounds = booster.num_boosted_rounds()
    load(booster, "rounds => %s", rounds)
    assert len(notices) == 1
    kept = "SELECT used_rounds, best_rounds FROM pgboost_models ORDER BY version"
    assert connection.execute(kept).fetchall() == [(best, best), (rounds, best), (rounds, best)]
    assert connection.execute("SELECT model_info('m') -> 'best_rounds'").fetchone() == (best,)


@pytest.mark.parametrize("file_format", ["cbm", "json"])
def test_catboost_says_its_best_rounds_and_uses_all(
    connection: Connection, load: Load, notices: list[Notice], tmp_path: Path, file_format: str
) -> None:
    """As CatBoost's predict does, since its training decides which rounds a file has."""
    dataset = reference.load("diabetes")
    dataset.store(connection)
    options = {"use_best_model": False, "verbose": False, "allow_writing_files": False}
    model = catboost.CatBoostRegressor(iterations=300, **options)
    first, second = halves(dataset)
    model.fit(*first, eval_set=second)
    best = model.best_iteration_ + 1
    assert best < model.tree_count_
    model.save_model(str(tmp_path / "model"), format=file_format)
    content = (tmp_path / "model").read_bytes()
    load(content)
    load(content, "best_iteration => true")
    assert notices == []
    kept = "SELECT used_rounds, best_rounds FROM pgboost_models ORDER BY version"
    assert connection.execute(kept).fetchall() == [(300, best), (best, best)]
    query = f"SELECT predict(%s, ARRAY[{dataset.columns}]::float8[]) FROM {dataset.name} AS t ORDER BY id"
    for version, end in ((1, 300), (2, best)):
        in_sql = floats(column(connection, query, (f"m@{version}",)))
        wanted = model.predict(dataset.features, ntree_end=end).astype(np.float32)
        assert_same_bits(in_sql, wanted)


def of_few(connection: Connection, function: str) -> np.ndarray:
    query = f"SELECT {function}('m', ARRAY[%s, %s]::real[])"
    rows = [[None if np.isnan(value) else value for value in row] for row in FEW.tolist()]
    answers = [connection.execute(query, row).fetchone()[0] for row in rows]
    return floats(answers).reshape(len(FEW), -1)


@pytest.mark.parametrize("booster", ["gbtree", "dart", "gblinear"])
@pytest.mark.parametrize("base_score", [None, 0.3])
@pytest.mark.parametrize("objective", XGBOOST)
def test_xgboost_before_the_first_round(
    connection: Connection, load: Load, objective: str, base_score: float | None, booster: str
) -> None:
    data = xgb.DMatrix(FEW, LABELS.get(objective.partition(":")[0], [0.25, 0.75]))
    if objective == "survival:aft":
        data.set_float_info("label_lower_bound", np.ones(2))
        data.set_float_info("label_upper_bound", np.ones(2))
    params = {"objective": objective, "booster": booster, **XGBOOST[objective]}
    trained = xgb.train(params | ({"base_score": base_score} if base_score else {}), data, 0)
    load(trained)
    matrix = xgb.DMatrix(FEW)
    margins = trained.predict(matrix, output_margin=True).reshape(len(FEW), -1)
    assert_same_bits(of_few(connection, "predict_margin"), margins)
    assert_near(of_few(connection, "predict_array"), trained.predict(matrix).reshape(len(FEW), -1))


@pytest.mark.parametrize("objective", LIGHTGBM)
def test_lightgbm_before_the_first_round(
    connection: Connection, load: Load, objective: str
) -> None:
    data = lgb.Dataset(np.arange(40.0).reshape(20, 2), np.arange(20) % 2)
    params = {"objective": objective, "verbosity": -1, **LIGHTGBM[objective]}
    booster = lgb.Booster(params, data)
    load(booster)
    for function, raw in (("predict_margin", True), ("predict_array", False)):
        wanted = booster.predict(FEW, raw_score=raw).reshape(len(FEW), -1)
        assert_near(of_few(connection, function), wanted.astype(np.float32))
