"""The picture of docs/explaining.md is drawn, of fewer flights than the demo has."""

import itertools
from collections.abc import Iterator

import psycopg
import pytest
import xgboost

from bench.report.pictures import written
from data.columns import FEATURES
from data.flights import Request
from data.load import copy_rows, create_table, finish_table, generated
from tests.extension.e2e.reference import model_bytes
from tools.cluster import Cluster
from tools.demo import explanation
from tools.workbench.training import Recipe, departed

ROWS = 65_536


@pytest.fixture(scope="module")
def flights(cluster: Cluster, dbname: str) -> Iterator[psycopg.Connection]:
    """The demo's table and model, smaller."""
    features, delay = departed(Recipe(ROWS, rounds=8))
    data = xgboost.DMatrix(features, delay, feature_names=[*FEATURES])
    booster = xgboost.train({"max_depth": 5, "nthread": 1}, data, 8)
    with cluster.connect(dbname) as connection:
        create_table(connection)
        copy_rows(connection, generated(Request(ROWS)), ROWS)
        finish_table(connection)
        connection.execute("SELECT load_model('flights', %s)", (model_bytes(booster),))
        yield connection


def test_the_lines_of_the_picture_lead_to_the_prediction(flights: psycopg.Connection) -> None:
    lines = [*explanation.lines(flights.execute(explanation.QUERY).fetchall())]
    latest = "SELECT predict('flights', f) FROM flights AS f ORDER BY 1 DESC LIMIT 1"
    (predicted,) = flights.execute(latest).fetchone()
    _, _, end, *_ = lines[-1]
    assert end == pytest.approx(predicted, rel=1e-5)
    for (_, _, end, *_), (_, begin, *_) in itertools.pairwise(lines[:-1]):
        assert begin == end
    svg = written(lambda: explanation.drawn(lines))
    assert all(text in svg for *_, text in lines)
