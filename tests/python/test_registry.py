"""Models are listed, pulled, renamed and dropped; failures are errors of the package."""

from collections.abc import Callable

import numpy as np
import psycopg
import pytest
import xgboost

import catboost
import lightgbm
import pgboost
from tests.python import models


def booster(rounds: int = 3) -> xgboost.Booster:
    frame = models.frame()
    return xgboost.train({}, xgboost.DMatrix(frame, models.target(frame)), rounds)


def test_versions_are_listed(connection: psycopg.Connection) -> None:
    assert pgboost.push(connection, "listed", booster()) == 1
    assert pgboost.push(connection, "listed", booster(4), metrics={"rmse": np.float32(0.5)}) == 2
    found = [version for version in pgboost.models(connection) if version.name == "listed"]
    assert [(v.version, v.deployed, v.trees) for v in found] == [(1, False, 3), (2, True, 4)]
    info = connection.execute("SELECT model_info('listed') -> 'metrics' ->> 'rmse'").fetchone()
    assert info == ("0.5",)


def test_a_version_is_stored_without_being_deployed(connection: psycopg.Connection) -> None:
    first, second = booster(3), booster(4)
    assert pgboost.push(connection, "stored", first) == 1
    assert pgboost.push(connection, "stored", second, deploy=False) == 2
    assert pgboost.verify(connection, "stored", first, models.frame())
    assert pgboost.verify(connection, "stored@2", second, models.frame())
    found = [
        one.version for one in pgboost.models(connection) if one.name == "stored" and one.deployed
    ]
    assert found == [1]


def test_a_push_stores_the_baseline_of_its_frame(connection: psycopg.Connection) -> None:
    frame = models.frame()
    query = "SELECT max(rows), count(*) FROM feature_baseline(%s)"
    pgboost.push(connection, "based", booster(), check=frame, baseline=True, comment="of March")
    assert connection.execute(query, ("based@1",)).fetchone() == (len(frame), frame.shape[1])
    pgboost.push(connection, "based", booster(4), baseline=frame[:50])
    assert connection.execute(query, ("based@2",)).fetchone() == (50, frame.shape[1])
    info = connection.execute("SELECT model_info('based@1') ->> 'comment'").fetchone()
    assert info == ("of March",)
    with pytest.raises(pgboost.ArgumentError, match="pass a frame or table"):
        pgboost.push(connection, "based", booster(5), baseline=True)
    assert {one.version for one in pgboost.models(connection) if one.name == "based"} == {1, 2}


def test_a_rollback_deploys_the_version_before(connection: psycopg.Connection) -> None:
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


def test_pulled_models_predict_the_same(connection: psycopg.Connection) -> None:
    frame = models.frame()
    y = models.target(frame)
    boosted = booster()
    light = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(frame, y)
    cat = catboost.CatBoostRegressor(iterations=3, verbose=False, allow_writing_files=False)
    cat.fit(frame, y)
    for model in (boosted, light, cat):
        pgboost.push(connection, "back", model)
    matrix = xgboost.DMatrix(frame)
    assert (pgboost.pull(connection, "back@1").predict(matrix) == boosted.predict(matrix)).all()
    assert (pgboost.pull(connection, "back@2").predict(frame) == light.predict(frame)).all()
    assert (pgboost.pull(connection, "back").predict(frame) == cat.predict(frame)).all()


def test_errors_are_also_builtin_exceptions(
    connection: psycopg.Connection, connect: Callable[..., psycopg.Connection]
) -> None:
    with pytest.raises(LookupError, match='model "none" does not exist'):
        pgboost.pull(connection, "none")
    with pytest.raises(TypeError, match="pass a model of XGBoost"):
        pgboost.push(connection, "wrong", {"no": "model"})
    with pytest.raises(ValueError, match="name"):
        pgboost.push(connection, "a@b", booster())
    dump = b'{"name": "tree", "version": "v4", "num_class": 1}'
    with pytest.raises(pgboost.UnsupportedModelError, match="JSON dump of a LightGBM"):
        pgboost.push(connection, "dump", dump)
    connection.execute("DROP ROLE IF EXISTS python_nobody")
    connection.execute("CREATE ROLE python_nobody LOGIN")
    with pytest.raises(PermissionError):
        pgboost.push(connect(user="python_nobody"), "denied", booster())
    with pytest.raises(pgboost.ExtensionMissingError, match="CREATE EXTENSION"):
        pgboost.models(connect(dbname="template1"))
