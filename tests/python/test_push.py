"""Models and connections that `push` takes, and the life of the versions that it stores."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
import xgboost
from psycopg import Connection
from sklearn import ensemble, model_selection, pipeline

import catboost
import lightgbm
import pgboost
from tests.python import models
from tests.python.conftest import Refused, Same
from tests.python.models import FITTED, FRAME, NUMBER, QUICK, QUIET

BOOSTED: dict[str, Callable[[], Any]] = {
    "XGBoost": lambda: xgboost.XGBRegressor(**QUICK),
    "LightGBM": lambda: lightgbm.LGBMRegressor(**QUIET),
    "CatBoost": lambda: catboost.CatBoostRegressor(**models.CAT),
    "scikit-learn": lambda: ensemble.GradientBoostingRegressor(**QUICK),
}


def booster(rounds: int = 3) -> xgboost.Booster:
    return xgboost.train({}, xgboost.DMatrix(FRAME, NUMBER), rounds)


def versions(connection: Connection, name: str) -> list[tuple[int, bool, int]]:
    """Version, whether it is deployed, and trees."""
    found = pgboost.models(connection)
    return [(one.version, one.deployed, one.trees) for one in found if one.name == name]


@pytest.mark.parametrize("name", FITTED)
def test_predictions_have_the_bits_and_labels_of_the_object(identical: Same, name: str) -> None:
    assert identical(FITTED[name](), FRAME).rows == len(FRAME)


@pytest.mark.parametrize("stopping", [None, 2])
@pytest.mark.parametrize("kind", [xgboost.XGBRegressor, xgboost.XGBClassifier])
def test_linear_boosters(identical: Same, kind: type[Any], stopping: int | None) -> None:
    """They have no rounds, so all of the model counts where they stopped early."""
    target = NUMBER if kind is xgboost.XGBRegressor else models.THREE // 10 - 1
    model = kind(booster="gblinear", n_estimators=40, early_stopping_rounds=stopping)
    model.fit(FRAME, target, eval_set=[(FRAME[:50], target[:50])], verbose=False)
    for one in (model, model.get_booster()):
        identical(one, FRAME)


def test_categories_given_by_hand(connection: Connection) -> None:
    cities = ["Graz", "Linz", "Wien"]
    frame = FRAME.assign(city=np.arange(len(FRAME)) % 3)
    types = {"feature_types": ["q"] * 5 + ["c"], "enable_categorical": True}
    matrix = xgboost.DMatrix(frame.astype(np.float32), NUMBER, **types)
    model = xgboost.train({"max_depth": 4}, matrix, num_boost_round=9)
    pgboost.push(connection, "city", model, categories={"city": cities})
    row = frame.iloc[0].astype(float).to_dict() | {"city": cities[frame["city"][0]]}
    names = ", ".join(f"%s::{'text' if name == 'city' else 'real'}" for name in row)
    (value,) = connection.execute(f"SELECT predict('city', {names})", list(row.values())).fetchone()
    assert np.float32(value) == model.predict(matrix)[0]


@pytest.mark.parametrize("make", BOOSTED.values(), ids=BOOSTED.keys())
def test_searches_and_pipelines_of_one_step(
    connection: Connection, same: Same, make: Callable[[], Any]
) -> None:
    frame = models.numbers()
    alone = pipeline.Pipeline([("nothing", "passthrough"), ("model", make())])
    grid = model_selection.GridSearchCV(alone, {"model__learning_rate": [0.1, 0.3]}, cv=2)
    random = model_selection.RandomizedSearchCV(make(), {"learning_rate": [0.1]}, n_iter=1, cv=2)
    for search in (grid, random):
        same(search.fit(frame, models.target(frame)), frame)
        assert pgboost.verify(connection, "model", search.best_estimator_, frame)


def test_a_search_that_was_not_refitted(refused: Refused) -> None:
    grid = model_selection.GridSearchCV(
        xgboost.XGBRegressor(**QUICK), {"max_depth": [2]}, cv=2, refit=False
    )
    refused("refit=True", grid.fit(FRAME, NUMBER))


def test_files_are_compared_by_their_library(
    connection: Connection, refused: Refused, tmp_path: Path
) -> None:
    names = ("XGBRegressor", "LGBMRegressor", "CatBoostClassifier")
    boosted, light, cat = (FITTED[name]() for name in names)
    boosted.save_model(tmp_path / "model.json")
    light.booster_.save_model(tmp_path / "model.txt")
    cat.save_model(str(tmp_path / "model.cbm"))
    for suffix, model in (("json", boosted), ("txt", light), ("cbm", cat)):
        path = tmp_path / f"model.{suffix}"
        for given in (path, str(path), path.read_bytes(), bytearray(path.read_bytes())):
            pgboost.push(connection, suffix, given)
            assert pgboost.verify(connection, suffix, model, FRAME)
    refused("", b"no model", pgboost.InvalidModelError)
    dump = b'{"name": "tree", "version": "v4", "num_class": 1}'
    refused("JSON dump of a LightGBM", dump)


def test_a_file_of_a_tree_ensemble_is_not_compared(
    connection: Connection, refused: Refused
) -> None:
    frame = models.numbers()
    model = ensemble.RandomForestRegressor(**QUICK).fit(frame, models.target(frame))
    pgboost.push(connection, "forest", model)
    content = pgboost.pull(connection, "forest")
    refused("check=False", content)
    assert pgboost.push(connection, "ensemble", content, check=False) == 1
    assert pgboost.verify(connection, "ensemble", model, frame)


def test_the_uri_of_a_model_in_mlflow(connection: Connection, same: Same, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow.xgboost")
    model, uri = FITTED["XGBRegressor"](), str(tmp_path / "kept")
    mlflow.save_model(model, uri)
    same(uri, FRAME)
    assert pgboost.verify(connection, "model", model, FRAME)


def test_a_path_of_no_file_is_named(refused: Refused, tmp_path: Path) -> None:
    refused("none", str(tmp_path / "none"), pgboost.PgboostError)


@pytest.mark.parametrize(
    ("file", "named"),
    [("saved_model.pb", "from_tensorflow"), ("x.txt", "push a file"), (None, "push")],
)
def test_a_directory_without_a_model_is_named(
    refused: Refused, tmp_path: Path, file: str | None, named: str
) -> None:
    if file is not None:
        (tmp_path / file).write_bytes(b"")
    refused(f"is a directory .*{named}", tmp_path)


@pytest.mark.parametrize("model", [None, {"no": "model"}, np.arange(3), object], ids=repr)
def test_other_models_are_named_in_one_error(refused: Refused, model: Any) -> None:
    accepted = (
        "(?s)pass a model of XGBoost.*InterpretML or YDF, a search or a Pipeline of one, the path"
    )
    refused(accepted, model, TypeError)


@pytest.mark.parametrize("call", [pgboost.models, lambda c: pgboost.pull(c, "model")])
def test_other_connections_are_named_in_one_error(
    connection: Connection, call: Callable[[Any], Any]
) -> None:
    for given in (psycopg.AsyncConnection(connection.pgconn), connection.cursor(), None):
        kind = type(given).__qualname__
        with pytest.raises(TypeError, match=rf"{kind}: pass a connection of psycopg .*string"):
            call(given)


def test_versions_are_listed(connection: Connection) -> None:
    assert pgboost.push(connection, "listed", booster()) == 1
    assert pgboost.push(connection, "listed", booster(4), metrics={"rmse": np.float32(0.5)}) == 2
    assert versions(connection, "listed") == [(1, False, 3), (2, True, 4)]
    info = connection.execute("SELECT model_info('listed') -> 'metrics' ->> 'rmse'").fetchone()
    assert info == ("0.5",)


def test_a_version_is_stored_without_being_deployed(connection: Connection) -> None:
    first, second = booster(3), booster(4)
    assert pgboost.push(connection, "stored", first) == 1
    assert pgboost.push(connection, "stored", second, deploy=False) == 2
    assert pgboost.verify(connection, "stored", first, FRAME)
    assert pgboost.verify(connection, "stored@2", second, FRAME)
    assert versions(connection, "stored") == [(1, True, 3), (2, False, 4)]


def test_a_push_stores_the_baseline_of_its_frame(connection: Connection) -> None:
    query = "SELECT max(rows), count(*) FROM feature_baseline(%s)"
    pgboost.push(connection, "based", booster(), check=FRAME, baseline=True, comment="of March")
    assert connection.execute(query, ("based@1",)).fetchone() == FRAME.shape
    pgboost.push(connection, "based", booster(4), baseline=FRAME[:50])
    assert connection.execute(query, ("based@2",)).fetchone() == (50, FRAME.shape[1])
    info = connection.execute("SELECT model_info('based@1') ->> 'comment'").fetchone()
    assert info == ("of March",)
    with pytest.raises(pgboost.ArgumentError, match="pass a frame or table"):
        pgboost.push(connection, "based", booster(5), baseline=True)
    assert len(versions(connection, "based")) == 2


def test_a_rollback_deploys_the_version_before(connection: Connection) -> None:
    for rounds in (3, 4):
        pgboost.push(connection, "rolled", booster(rounds))
    pgboost.deploy(connection, "rolled@1", comment="slower")
    assert pgboost.rollback(connection, "rolled", comment="not slower") == 2
    assert pgboost.rollback(connection, "rolled") == 1
    with pytest.raises(pgboost.DatabaseError, match="no earlier deployment"):
        pgboost.rollback(connection, "rolled")
    query = "SELECT version, comment FROM pgboost_deployments WHERE name = 'rolled' ORDER BY number"
    assert connection.execute(query).fetchall() == [
        (1, None), (2, None), (1, "slower"), (2, "not slower"), (1, None)
    ]  # fmt: skip


def test_pulled_models_predict_the_same(connection: Connection) -> None:
    light, cat = (FITTED[name]() for name in ("LGBMRegressor", "CatBoostRegressor"))
    sent = [(booster(), xgboost.DMatrix(FRAME)), (light, FRAME), (cat, FRAME)]
    for model, _ in sent:
        pgboost.push(connection, "back", model)
    for version, (model, rows) in enumerate(sent, 1):
        pulled = pgboost.pull(connection, f"back@{version}" if version < 3 else "back")
        assert (pulled.predict(rows) == model.predict(rows)).all()


def test_versions_are_managed(connection: Connection) -> None:
    model = FITTED["XGBRegressor"]()
    for _ in range(2):
        pgboost.push(connection, "managed", model)
    pgboost.deploy(connection, "managed@1")
    pgboost.set_alias(connection, "managed@2", "challenger")
    found = pgboost.predict(connection, "managed@challenger", FRAME)
    np.testing.assert_array_equal(found, model.predict(FRAME))
    pgboost.drop_alias(connection, "managed@challenger")
    with pytest.raises(LookupError, match="challenger"):
        pgboost.predict(connection, "managed@challenger", FRAME)
    pgboost.drop(connection, "managed@2")
    pgboost.rename(connection, "managed", "renamed")
    assert [one[:2] for one in versions(connection, "renamed")] == [(1, True)]
    pgboost.drop(connection, "renamed")
    assert versions(connection, "renamed") == []


def test_errors_are_also_builtin_exceptions(
    connection: Connection, connect: Callable[..., Connection]
) -> None:
    with pytest.raises(LookupError, match='model "none" does not exist'):
        pgboost.pull(connection, "none")
    with pytest.raises(ValueError, match="name"):
        pgboost.push(connection, "a@b", booster())
    with pytest.raises(PermissionError):
        pgboost.push(connect("python_nobody", new=True), "denied", booster())
    with pytest.raises(pgboost.ExtensionMissingError, match="CREATE EXTENSION"):
        pgboost.models(connect(dbname="template1"))
