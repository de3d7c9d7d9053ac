"""Models are trained from Python, with progress, and by scikit-learn's estimators."""

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
import psycopg
import psycopg2
import pytest
import xgboost
from psycopg import Connection
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import pgboost
from pgboost.estimators import PgboostClassifier, PgboostRegressor
from tests.python import models
from tools.cluster import Cluster

FRAME = models.frame()
TARGET = models.target(FRAME)
ROWS = FRAME.assign(target=TARGET)


@pytest.fixture(scope="module", autouse=True)
def trainer(cluster: Cluster, dbname: str) -> Iterator[None]:
    """Creates the extension in the environment's database."""
    with cluster.connect(dbname) as connection:
        connection.execute("CREATE SCHEMA training")
        connection.execute("CREATE EXTENSION pgboost_train SCHEMA training")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cluster.environment(dbname).items():
            patch.setenv(name, value)
        yield


def test_a_frame_a_table_and_a_query(connection: Connection) -> None:
    """Both train the same model, and its metric is that of its predictions."""
    query = "SELECT i::real AS x, i % 7 AS y FROM generate_series(1, 500) AS i"
    connection.execute(f"CREATE TABLE numbers AS {query}")
    frame = pd.DataFrame({"x": np.arange(1, 501, dtype=np.float32)}).assign(y=np.arange(1, 501) % 7)
    options = {"params": {"max_depth": 3}, "rounds": 5, "seed": 1}
    for version, source in enumerate((frame, "numbers", query), 1):
        found = pgboost.train(connection, "numbers", source, "y", deploy=version == 1, **options)
        assert found[["set", "metric", "best_round"]].to_numpy().tolist() == [["train", "rmse", 5]]
        predicted = pgboost.predict(connection, f"numbers@{version}", frame[["x"]])
        rmse = np.sqrt(np.mean((predicted - frame["y"]) ** 2))
        assert found["value"][0] == pytest.approx(rmse, rel=1e-5)
        assert pgboost.predict(connection, "numbers", frame)[:5] == pytest.approx(predicted[:5])
    assert [v.deployed for v in pgboost.models(connection)] == [True, False, False]
    with pytest.raises(ValueError, match='Perhaps you mean "max_depth"'):
        pgboost.train(connection, "numbers", frame, "y", {"max_dept": 3})


@pytest.mark.filterwarnings("ignore:identifier .* will be truncated")
def test_names_that_postgresql_cuts_are_found_again(connection: Connection) -> None:
    long = FRAME.rename(columns={"single": "single " + "é" * 40})
    model = PgboostRegressor(connection, "cut", rounds=3).fit(long, TARGET)
    expected = PgboostRegressor(connection, "whole", rounds=3).fit(FRAME, TARGET).predict(FRAME)
    np.testing.assert_array_equal(model.predict(long), expected)
    twins = long.assign(**{"single " + "é" * 41: 0.0})
    with pytest.raises(pgboost.InvalidDataError, match="no column 'single éé"):
        pgboost.predict(connection, model.model_, twins)


def test_parameters_of_a_wrapper_may_be_given(connection: Connection) -> None:
    """They have NaN, which JSON has not, as the number that is missing."""
    params = xgboost.XGBRegressor(max_depth=2).get_params()
    assert np.isnan(params["missing"])
    pgboost.train(connection, "wrapper", ROWS, "target", params, rounds=2)


@pytest.mark.parametrize("driver", [psycopg, psycopg2])
def test_arguments_may_be_numpys_and_any_iterables(driver: object) -> None:
    connection = driver.connect("")
    params = {"max_depth": np.int64(2), "monotone_constraints": np.array([1, 0])}
    given = {"rounds": np.int64(3), "features": FRAME.columns[1:3].to_numpy()}
    pgboost.train(connection, "numpys", ROWS, "target", params, **given)
    pgboost.train(connection, "numpys", ROWS, "target", features={"other": 1}.keys())
    versions = [version for version in pgboost.models(connection) if version.name == "numpys"]
    assert [version.features for version in versions] == [2, 1]
    connection.close()


@pytest.mark.parametrize("driver", [psycopg, psycopg2])
def test_progress_is_shown(driver: object, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pd.concat([ROWS] * 50)
    connection = driver.connect("")
    pgboost.train(connection, "shown", rows, "target", rounds=400, progress=True)
    shown = capsys.readouterr().err
    assert re.search(r"training: .*\b[1-9]\d*/400\b", shown), shown
    connection.rollback()
    assert "shown" not in {version.name for version in pgboost.models(connection)}
    connection.close()


@parametrize_with_checks(
    [kind(rounds=4, allow_change=True) for kind in (PgboostRegressor, PgboostClassifier)]
)
def test_scikit_learns_checks(estimator: object, check: object) -> None:
    check(estimator)


def test_an_estimator_predicts_with_its_version(connection: Connection) -> None:
    first = PgboostRegressor(connection, "own", rounds=3).fit(FRAME, TARGET)
    second = PgboostRegressor(connection, "own", rounds=9, deploy=False).fit(FRAME, TARGET)
    assert (first.model_, second.model_) == ("own@1", "own@2")
    for model in (first, second):
        own = pgboost.predict(connection, model.model_, FRAME)
        np.testing.assert_array_equal(model.predict(FRAME), own)
    np.testing.assert_array_equal(first.predict(FRAME), pgboost.predict(connection, "own", FRAME))
    assert first.score(FRAME, TARGET) < second.score(FRAME, TARGET)
    weighted = PgboostRegressor(connection, "own", rounds=3)
    weighted.fit(FRAME, TARGET, sample_weight=np.where(TARGET > 0, 1.0, 1e-6))
    assert weighted.predict(FRAME).mean() > first.predict(FRAME).mean()


def test_text_and_classes_of_other_orders(connection: Connection) -> None:
    """Classes are sorted as numbers in Python and as texts in SQL."""
    city = pd.Series(np.resize(["Graz", "Linz", None], len(FRAME)), dtype=object)
    classes = np.where(city == "Graz", 10, np.where(city == "Linz", 9, -1))
    rows = FRAME.assign(city=city)
    model = clone(PgboostClassifier(connection, "city", rounds=5)).fit(rows, classes)
    assert list(model.classes_) == [-1, 9, 10]
    np.testing.assert_array_equal(model.predict(rows), classes)
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1, rtol=1e-5)
    in_sql = pgboost.predict_class(connection, "city", rows)
    np.testing.assert_array_equal(in_sql.astype(int), classes)


def test_a_search_of_parameters(connection: Connection) -> None:
    model = PgboostRegressor(connection, "searched", deploy=False)
    search = GridSearchCV(model, {"rounds": [1, 20], "params": [{"max_depth": 3}]}, cv=2)
    search.fit(FRAME, TARGET)
    assert search.best_params_["rounds"] == 20
    found = pgboost.predict(connection, search.best_estimator_.model_, FRAME)
    np.testing.assert_array_equal(search.predict(FRAME), found)
