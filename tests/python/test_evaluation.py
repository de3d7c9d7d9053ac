"""Metrics, comparisons and drift come as data frames, of tables and of frames."""

import numpy as np
import pandas as pd
import psycopg
import psycopg2
import pytest
import xgboost
from sklearn import metrics

import pgboost
from cluster import Cluster
from tests.python import models

FRAME = models.frame()
TARGET = models.target(FRAME)
ROWS = FRAME.assign(target=TARGET, weight=np.arange(len(FRAME)) % 3, part=np.arange(len(FRAME)) % 2)


@pytest.fixture(scope="module")
def model(cluster: Cluster, dbname: str) -> xgboost.XGBRegressor:
    """Two versions of a model in the database, of which the second is better and not deployed."""
    sent = [xgboost.XGBRegressor(n_estimators=rounds).fit(FRAME, TARGET) for rounds in (2, 20)]
    with cluster.connect(dbname) as connection:
        pgboost.push(connection, "m", sent[0])
        pgboost.push(connection, "m", sent[1], deploy=False)
        pgboost.set_baseline(connection, "m@1", FRAME)
    return sent[0]


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
def test_sources_of_the_database(cluster: Cluster, dbname: str) -> None:
    """A table and a query, as psycopg 2 sends them; a frame leaves no table, times are timestamps."""
    connection = psycopg2.connect(
        host=cluster.host, port=cluster.port, user="postgres", dbname=dbname
    )
    with connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE moments (at timestamptz, day date)")
        cursor.execute("INSERT INTO moments VALUES ('2026-11-26 04:00+01', '2026-11-26')")
        query = (
            'SELECT 1 AS single, 2.5 AS "Double precision", 3 AS whole, true AS flag, 4 AS other'
        )
        for source in (query, f"{query}, 5 AS unused"):
            assert set(pgboost.drift(connection, "m", source)["rows"]) == {1}
        at = pd.to_datetime(["2026-11-26 04:00"]).tz_localize("Europe/Vienna")
        rows = ROWS[:1].assign(at=at, target=1)
        found = pgboost.evaluate(connection, "m", rows, "target", slice_by="at")
        cursor.execute("SELECT at::text FROM moments")
        assert set(found["slice"]) == {cursor.fetchone()[0]}
        cursor.execute("SELECT to_regclass('pg_temp.pgboost_rows')")
        assert cursor.fetchone() == (None,)
    connection.close()


@pytest.mark.usefixtures("model")
def test_errors_are_the_servers(connection: psycopg.Connection) -> None:
    with pytest.raises(ValueError, match='column "none"'):
        pgboost.evaluate(connection, "m", ROWS, "none")
    with pytest.raises(LookupError, match='model "none"'):
        pgboost.drift(connection, "none", ROWS)
    with pytest.raises(ValueError, match="quantile_alpha must have 1 numbers between 0 and 1"):
        pgboost.evaluate(connection, "m", ROWS, "target", quantile_alpha=[0.5, 1])
    found = connection.execute("SELECT to_regclass('pg_temp.pgboost_rows')").fetchone()
    assert found == (None,)
