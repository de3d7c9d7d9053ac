"""Models with only the first rounds used are equal to iteration_range."""

from pathlib import Path

import numpy as np
import pytest
import xgboost as xgb
from psycopg import Connection

import catboost
from tests.connections import Notice
from tests.extension.e2e.datasets import Dataset, load
from tests.extension.e2e.reference import assert_same_bits, floats, model_bytes

KINDS = {
    "one output": ("diabetes", {"objective": "reg:squarederror"}),
    "parallel trees": (
        "diabetes",
        {"objective": "reg:squarederror", "num_parallel_tree": 3, "subsample": 0.6},
    ),
    "classes": ("wine", {"objective": "multi:softprob", "num_class": 3}),
    "parallel trees of classes": (
        "wine",
        {"objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2, "subsample": 0.6},
    ),
    "dart": ("diabetes", {"objective": "reg:gamma", "booster": "dart", "rate_drop": 0.4}),
    "dart of classes": (
        "wine",
        {"objective": "multi:softprob", "num_class": 3, "booster": "dart", "rate_drop": 0.4},
    ),
}
ROUNDS = 12


def trained(kind: str) -> tuple[Dataset, xgb.Booster]:
    name, params = KINDS[kind]
    dataset = load(name)
    data = xgb.DMatrix(dataset.features, dataset.target, feature_names=dataset.names)
    return dataset, xgb.train({"nthread": 1, "seed": 3, "max_depth": 4, **params}, data, ROUNDS)


def expected(booster: xgb.Booster, dataset: Dataset, rounds: int, **how: bool) -> np.ndarray:
    data = xgb.DMatrix(dataset.features, feature_names=dataset.names)
    found = booster.predict(data, iteration_range=(0, rounds), **how)
    return found.reshape(len(dataset.features), -1)


def found(connection: Connection, dataset: Dataset, function: str, model: str) -> list:
    query = f"SELECT {function}(%s, t) FROM {dataset.name} AS t ORDER BY id"
    return [answer for (answer,) in connection.execute(query, (model,))]


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_rounds_are_those_of_iteration_range(connection: Connection, kind: str) -> None:
    dataset, booster = trained(kind)
    dataset.store(connection)
    content = model_bytes(booster)
    connection.execute("SELECT drop_model(name) FROM pgboost_models WHERE version = 1")
    for rounds in (1, 5, ROUNDS, None):
        connection.execute("SELECT load_model('m', %s, rounds => %s)", (content, rounds))
    for version, rounds in ((1, 1), (2, 5), (3, ROUNDS), (4, ROUNDS)):
        model = f"m@{version}"
        margins = expected(booster, dataset, rounds, output_margin=True)
        assert_same_bits(floats(found(connection, dataset, "predict_margin", model)), margins)
        leaves = expected(booster, dataset, rounds, pred_leaf=True)
        assert (np.array(found(connection, dataset, "predict_leaf", model)) == leaves).all()
    used = "SELECT array_agg(used_rounds || ' of ' || rounds ORDER BY version) FROM pgboost_models"
    assert connection.execute(used).fetchone()[0] == [
        "1 of 12", "5 of 12", "12 of 12", "12 of 12",
    ]  # fmt: skip
    exported = connection.execute("SELECT export_model('m@1')").fetchone()[0]
    assert bytes(exported) == content


@pytest.fixture
def stopped(connection: Connection) -> xgb.XGBRegressor:
    """A regressor that stopped early; its table is `diabetes`."""
    dataset = load("diabetes")
    dataset.store(connection)
    model = xgb.XGBRegressor(n_estimators=200, early_stopping_rounds=5, n_jobs=1, random_state=3)
    half = len(dataset.features) // 2
    model.fit(
        dataset.features[:half], dataset.target[:half],
        eval_set=[(dataset.features[half:], dataset.target[half:])], verbose=False,
    )  # fmt: skip
    model.get_booster().feature_names = dataset.names
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    return model


def test_the_best_rounds_are_those_of_the_wrapper(
    connection: Connection, notices: list[Notice], stopped: xgb.XGBRegressor
) -> None:
    content = model_bytes(stopped.get_booster())
    connection.execute("SELECT load_model('m', %s, best_iteration => true)", (content,))
    assert not notices
    dataset = load("diabetes")
    wrapped = stopped.predict(dataset.features)
    assert_same_bits(floats(found(connection, dataset, "predict", "m")), wrapped)

    connection.execute("SELECT load_model('m', %s)", (content,))
    (notice,) = notices
    best = stopped.best_iteration + 1
    assert notice.severity == "WARNING"
    assert notice.message.startswith(f"early stopping found the first {best} of ")
    assert "best_iteration => true" in notice.hint
    whole = stopped.get_booster().predict(
        xgb.DMatrix(dataset.features, feature_names=dataset.names), iteration_range=(0, 0)
    )
    assert_same_bits(floats(found(connection, dataset, "predict", "m")), whole)
    assert (whole != wrapped).any()
    rounds = stopped.get_booster().num_boosted_rounds()
    connection.execute("SELECT load_model('m', %s, rounds => %s)", (content, rounds))
    assert len(notices) == 1
    kept = (
        "SELECT used_rounds, best_rounds FROM pgboost_models WHERE name = 'm' ORDER BY version DESC"
    )
    found_rounds = connection.execute(f"{kept} LIMIT 3").fetchall()
    assert found_rounds == [(rounds, best), (rounds, best), (best, best)]
    assert connection.execute("SELECT model_info('m') -> 'best_rounds'").fetchone() == (best,)


@pytest.mark.parametrize("file_format", ["cbm", "json"])
def test_catboost_says_its_best_rounds_and_uses_all(
    connection: Connection, notices: list[Notice], tmp_path: Path, file_format: str
) -> None:
    """As CatBoost's predict does, since its training decides which rounds a file has."""
    dataset = load("diabetes")
    dataset.store(connection)
    half = len(dataset.features) // 2
    model = catboost.CatBoostRegressor(
        iterations=300, use_best_model=False, verbose=False, allow_writing_files=False
    )
    model.fit(
        dataset.features[:half], dataset.target[:half],
        eval_set=(dataset.features[half:], dataset.target[half:]),
    )  # fmt: skip
    best = model.best_iteration_ + 1
    assert best < model.tree_count_
    model.save_model(str(tmp_path / "model"), format=file_format)
    content = (tmp_path / "model").read_bytes()
    connection.execute("SELECT drop_model(name) FROM pgboost_models WHERE name = 'm' AND deployed")
    connection.execute("SELECT load_model('m', %s)", (content,))
    connection.execute("SELECT load_model('m', %s, best_iteration => true)", (content,))
    assert notices == []
    kept = "SELECT used_rounds, best_rounds FROM pgboost_models WHERE name = 'm' ORDER BY version"
    assert connection.execute(kept).fetchall() == [(300, best), (best, best)]
    columns = [f"t.{name}" for name in dataset.names]
    query = f"SELECT predict(%s, ARRAY[{', '.join(columns)}]::float8[]) FROM {dataset.name} AS t ORDER BY id"
    for version, end in ((1, 300), (2, best)):
        found = floats([value for (value,) in connection.execute(query, (f"m@{version}",))])
        wanted = model.predict(dataset.features, ntree_end=end).astype(np.float32)
        assert_same_bits(found, wanted)
