"""Metrics, comparisons and drift come as data frames; their sources are tables, queries and frames."""

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pandas as pd
import psycopg
import psycopg2
import pytest
import xgboost
from sklearn import metrics
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import pgboost
from tests.python import models
from tools.cluster import Cluster

FRAME = models.frame()
NUMBERS = models.numbers().rename(columns={"Double precision": "double"})
TARGET = models.target(FRAME)
ROWS = FRAME.assign(target=TARGET, weight=np.arange(len(FRAME)) % 3, part=np.arange(len(FRAME)) % 2)


@pytest.fixture(scope="module")
def model(cluster: Cluster, dbname: str) -> xgboost.XGBRegressor:
    """Stores two versions of a model, of which the second is better and not deployed."""
    sent = [xgboost.XGBRegressor(n_estimators=rounds).fit(FRAME, TARGET) for rounds in (2, 20)]
    with cluster.connect(dbname) as connection:
        pgboost.push(connection, "m", sent[0])
        pgboost.push(connection, "m", sent[1], deploy=False)
        pgboost.set_baseline(connection, "m@1", FRAME)
    return sent[0]


@pytest.fixture
def cursor(cluster: Cluster, dbname: str) -> Iterator[psycopg2.extensions.cursor]:
    """Opens a connection of psycopg 2."""
    with closing(psycopg2.connect(cluster.conninfo(dbname))) as connection:
        yield connection.cursor()


def test_metrics_are_scikit_learns(
    connection: psycopg.Connection, model: xgboost.XGBRegressor
) -> None:
    found = pgboost.evaluate(connection, "m", ROWS, "target", weight="weight", slice_by="part")
    assert list(found.columns) == ["slice", "metric", "value", "rows"]
    part = ROWS[ROWS["part"] == 1]
    expected = metrics.mean_absolute_error(
        part["target"], model.predict(part[FRAME.columns]), sample_weight=part["weight"]
    )
    (value,) = found[(found["slice"] == "1") & (found["metric"] == "mae")]["value"]
    assert value == pytest.approx(expected, rel=1e-6)


def test_losses_of_estimators_choose_the_metrics(connection: psycopg.Connection) -> None:
    numbers = NUMBERS.astype(float)
    rows = numbers.assign(target=TARGET)
    boosted = HistGradientBoostingRegressor(loss="quantile", quantile=0.25, max_iter=5)
    quantile = make_pipeline(MinMaxScaler(), boosted).fit(numbers, TARGET)
    pgboost.push(connection, "quantile", quantile)
    with pytest.raises(pgboost.InvalidDataError, match="quantile_alpha"):
        pgboost.evaluate(connection, "quantile", rows, "target")
    found = pgboost.evaluate(connection, "quantile", rows, "target", quantile_alpha=[0.25])
    expected = metrics.mean_pinball_loss(TARGET, quantile.predict(numbers), alpha=0.25)
    assert found.set_index("metric").value["quantile"] == pytest.approx(expected, rel=1e-6)
    hazard = xgboost.XGBRegressor(objective="survival:cox", n_estimators=3)
    survival = make_pipeline(MinMaxScaler(), hazard).fit(numbers, TARGET - TARGET.min() + 1)
    pgboost.push(connection, "hazard", survival)
    with pytest.raises(pgboost.UnsupportedModelError, match="survival:cox"):
        pgboost.evaluate(connection, "hazard", rows, "target")


def test_forests_are_compared_with_boosted_trees(connection: psycopg.Connection) -> None:
    """Both have the probability of the second class."""
    label = np.where(np.median(TARGET) < TARGET, "yes", "no")
    forest = RandomForestClassifier(20, max_depth=5, random_state=1).fit(NUMBERS, label)
    boosted = xgboost.XGBClassifier(n_estimators=9).fit(NUMBERS, label == "yes")
    pgboost.push(connection, "forest", forest)
    pgboost.push(connection, "boosted", boosted, labels=["no", "yes"])
    rows = NUMBERS.assign(label=label)
    found = pgboost.compare(connection, "forest", "boosted", rows, "label").set_index("metric")
    for model, column in ((forest, "baseline_value"), (boosted, "candidate_value")):
        expected = metrics.log_loss(label == "yes", model.predict_proba(NUMBERS)[:, 1])
        assert found.loc["logloss", column] == pytest.approx(expected, rel=1e-5)


@pytest.mark.usefixtures("model")
def test_models_are_compared(connection: psycopg.Connection) -> None:
    found = pgboost.compare(connection, "m@1", "m@2", ROWS, "target").set_index("metric")
    assert set(found["verdict"]) == {"candidate is better"}
    assert (found["candidate_value"] < found["baseline_value"]).all()


@pytest.mark.usefixtures("model")
def test_drift(connection: psycopg.Connection) -> None:
    moved = FRAME.assign(single=FRAME["single"] + 3)
    found = pgboost.drift(connection, "m", moved).set_index("feature")["severity"]
    assert found.to_dict() == dict.fromkeys(FRAME.columns, "none") | {"single": "major"}


@pytest.mark.usefixtures("model")
def test_tables_and_queries_are_sources(cursor: psycopg2.extensions.cursor) -> None:
    query = 'SELECT 1 AS single, 2.5 AS "Double precision", 3 AS whole, true AS flag, 4 AS other'
    cursor.execute(f"CREATE TABLE measured AS {query}")
    for source in ("measured", query, f"{query}, 5 AS unused"):
        assert set(pgboost.drift(cursor.connection, "m", source)["rows"]) == {1}


@pytest.mark.usefixtures("model")
def test_a_frame_has_timestamps_and_leaves_no_table(cursor: psycopg2.extensions.cursor) -> None:
    at = pd.to_datetime(["2026-11-26 04:00"]).tz_localize("Europe/Vienna")
    rows = ROWS[:1].assign(at=at, target=1)
    found = pgboost.evaluate(cursor.connection, "m", rows, "target", slice_by="at")
    cursor.execute(
        "SELECT '2026-11-26 04:00+01'::timestamptz::text, to_regclass('pg_temp.pgboost_rows')"
    )
    ((moment, table),) = cursor.fetchall()
    assert set(found["slice"]) == {moment}
    assert table is None


@pytest.mark.usefixtures("model")
def test_errors_of_the_server_are_translated(connection: psycopg.Connection) -> None:
    with pytest.raises(ValueError, match='column "none"'):
        pgboost.evaluate(connection, "m", ROWS, "none")
    with pytest.raises(LookupError, match='model "none"'):
        pgboost.drift(connection, "none", ROWS)
    with pytest.raises(ValueError, match="quantile_alpha must have 1 numbers between 0 and 1"):
        pgboost.evaluate(connection, "m", ROWS, "target", quantile_alpha=[0.5, 1])
    found = connection.execute("SELECT to_regclass('pg_temp.pgboost_rows')").fetchone()
    assert found == (None,)
