"""A version may be stored without being deployed."""

import psycopg
import xgboost

import pgboost
from tests.python import models


def test_a_version_is_stored_only(connection: psycopg.Connection) -> None:
    frame = models.frame()
    first = xgboost.XGBRegressor(n_estimators=3).fit(frame, models.target(frame))
    second = xgboost.XGBRegressor(n_estimators=4).fit(frame, models.target(frame))
    assert pgboost.push(connection, "model", first) == 1
    assert pgboost.push(connection, "model", second, deploy=False) == 2
    assert pgboost.verify(connection, "model", first, frame)
    assert pgboost.verify(connection, "model@2", second, frame)
    deployed = [found.version for found in pgboost.models(connection) if found.deployed]
    assert deployed == [1]
