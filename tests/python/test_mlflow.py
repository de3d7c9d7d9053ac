"""Models of MLflow are pushed by their URI; skipped unless mlflow is installed."""

from pathlib import Path

import psycopg
import pytest
import xgboost

import pgboost
from tests.python import models

mlflow = pytest.importorskip("mlflow.xgboost")


def test_uri_stands_for_the_model(connection: psycopg.Connection, tmp_path: Path) -> None:
    frame = models.frame()
    model = xgboost.XGBRegressor(n_estimators=5).fit(frame, models.target(frame))
    uri = str(tmp_path / "kept")
    mlflow.save_model(model, uri)
    pgboost.push(connection, "kept", uri)
    assert pgboost.verify(connection, "kept", uri, frame)
    assert pgboost.verify(connection, "kept", model, frame)


def test_what_mlflow_does_not_know(connection: psycopg.Connection, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="none"):
        pgboost.push(connection, "kept", str(tmp_path / "none"))
