"""Everything that `push` takes as a model and as a connection; one error names what it does not take."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
import xgboost
from sklearn import ensemble, model_selection, pipeline

import catboost
import lightgbm
import pgboost
from tests.python import models

SMALL = {"n_estimators": 5, "max_depth": 3}
CAT = {"iterations": 5, "verbose": False, "allow_writing_files": False}

BOOSTED: dict[str, Callable[[], Any]] = {
    "XGBoost": lambda: xgboost.XGBRegressor(**SMALL),
    "LightGBM": lambda: lightgbm.LGBMRegressor(verbose=-1, **SMALL),
    "CatBoost": lambda: catboost.CatBoostRegressor(**CAT),
    "scikit-learn": lambda: ensemble.GradientBoostingRegressor(**SMALL),
}


@pytest.mark.parametrize("make", BOOSTED.values(), ids=BOOSTED.keys())
def test_searches_and_pipelines_of_one_step(
    connection: psycopg.Connection, make: Callable[[], Any]
) -> None:
    frame = models.numbers()
    y = models.target(frame)
    alone = pipeline.Pipeline([("nothing", "passthrough"), ("model", make())])
    grid = model_selection.GridSearchCV(alone, {"model__learning_rate": [0.1, 0.3]}, cv=2)
    random = model_selection.RandomizedSearchCV(make(), {"learning_rate": [0.1]}, n_iter=1, cv=2)
    for search in (grid, random):
        search.fit(frame, y)
        pgboost.push(connection, "found", search)
        assert pgboost.verify(connection, "found", search, frame)
        assert pgboost.verify(connection, "found", search.best_estimator_, frame)


def test_a_search_that_was_not_refitted(connection: psycopg.Connection) -> None:
    frame = models.numbers()
    grid = model_selection.GridSearchCV(
        xgboost.XGBRegressor(**SMALL), {"max_depth": [2]}, cv=2, refit=False
    )
    grid.fit(frame, models.target(frame))
    with pytest.raises(pgboost.UnsupportedModelError, match="refit=True"):
        pgboost.push(connection, "found", grid)


def test_files_are_compared_by_their_library(
    connection: psycopg.Connection, tmp_path: Path
) -> None:
    frame = models.frame()
    y = models.target(frame)
    boosted = xgboost.XGBRegressor(**SMALL).fit(frame, y)
    light = lightgbm.LGBMRegressor(verbose=-1, **SMALL).fit(frame, y)
    cat = catboost.CatBoostClassifier(**CAT).fit(frame, y > 0)
    boosted.save_model(tmp_path / "model.json")
    light.booster_.save_model(tmp_path / "model.txt")
    cat.save_model(str(tmp_path / "model.cbm"))
    for suffix, model in (("json", boosted), ("txt", light), ("cbm", cat)):
        path = tmp_path / f"model.{suffix}"
        for given in (path, str(path), path.read_bytes(), bytearray(path.read_bytes())):
            pgboost.push(connection, suffix, given)
            assert pgboost.verify(connection, suffix, model, frame)
    with pytest.raises(pgboost.InvalidModelError):
        pgboost.push(connection, "file", b"no model")


def test_a_file_of_a_tree_ensemble_is_not_compared(connection: psycopg.Connection) -> None:
    frame = models.numbers()
    model = ensemble.RandomForestRegressor(**SMALL).fit(frame, models.target(frame))
    pgboost.push(connection, "forest", model)
    content = pgboost.pull(connection, "forest")
    with pytest.raises(pgboost.UnsupportedModelError, match="check=False"):
        pgboost.push(connection, "ensemble", content)
    assert pgboost.push(connection, "ensemble", content, check=False) == 1
    assert pgboost.verify(connection, "ensemble", model, frame)


def test_the_uri_of_a_model_in_mlflow(connection: psycopg.Connection, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow.xgboost")
    frame = models.frame()
    model = xgboost.XGBRegressor(n_estimators=5).fit(frame, models.target(frame))
    uri = str(tmp_path / "kept")
    mlflow.save_model(model, uri)
    pgboost.push(connection, "kept", uri)
    assert pgboost.verify(connection, "kept", uri, frame)
    assert pgboost.verify(connection, "kept", model, frame)


def test_a_path_of_no_file_is_named(connection: psycopg.Connection, tmp_path: Path) -> None:
    with pytest.raises(pgboost.PgboostError, match="none"):
        pgboost.push(connection, "kept", str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("file", "named"),
    [("saved_model.pb", "from_tensorflow"), ("x.txt", "push a file"), (None, "push")],
)
def test_a_directory_without_a_model_is_named(
    connection: psycopg.Connection, tmp_path: Path, file: str | None, named: str
) -> None:
    if file is not None:
        (tmp_path / file).write_bytes(b"")
    with pytest.raises(pgboost.UnsupportedModelError, match=f"is a directory .*{named}"):
        pgboost.push(connection, "kept", tmp_path)


@pytest.mark.parametrize("model", [None, {"no": "model"}, np.arange(3), object], ids=repr)
def test_other_models_are_named_in_one_error(connection: psycopg.Connection, model: Any) -> None:
    accepted = "InterpretML or YDF, a search or a Pipeline of one, the path"
    with pytest.raises(TypeError, match=accepted):
        pgboost.push(connection, "model", model)


@pytest.mark.parametrize("call", [pgboost.models, lambda c: pgboost.pull(c, "model")])
def test_other_connections_are_named_in_one_error(
    connection: psycopg.Connection, call: Callable[[Any], Any]
) -> None:
    for given in (psycopg.AsyncConnection(connection.pgconn), connection.cursor(), None):
        kind = type(given).__qualname__
        with pytest.raises(TypeError, match=rf"{kind}: pass a connection of psycopg .*string"):
            call(given)
