"""The demo sees a difference of one bit and a missing row, draws its explanation, and trains a model once."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
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
from tools.demo.__main__ import compare, differing_rows
from tools.workbench.console import Teller
from tools.workbench.training import Recipe, departed, trained

FEW = 5000


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of four trees."""
    return trained(Recipe(FEW, rounds=4), tmp_path_factory.mktemp("model"), "flights")[0].path


def fetched_rows(model: xgboost.Booster) -> np.ndarray:
    """Rows as the comparison fetches them, with XGBoost's own predictions."""
    features = np.random.default_rng(1).integers(0, 5000, (100, len(FEATURES))).astype(np.float32)
    predicted = model.predict(xgboost.DMatrix(features, feature_names=FEATURES))
    return np.column_stack([features, predicted])


def test_one_bit_is_a_difference(model_file: Path) -> None:
    model = xgboost.Booster(model_file=model_file)
    rows = fetched_rows(model)
    assert differing_rows(rows, model).tolist() == []
    rows[17, -1] = np.nextafter(rows[17, -1], np.float32(np.inf))
    assert differing_rows(rows, model).tolist() == [17]


@pytest.fixture
def constant_predict(cluster: Cluster) -> psycopg.Connection:
    """A database in which something that is no model stands in for predict."""
    cluster.create_database("demo_comparison", replace=True)
    with cluster.connect("demo_comparison") as connection:
        create_table(connection)
        copy_rows(connection, generated(Request(FEW)), FEW)
        ten = ", ".join(["real"] * len(FEATURES))
        for arguments in (ten, "real[]", "flights", "jsonb"):
            connection.execute(
                f"CREATE FUNCTION predict(text, {arguments}) RETURNS real"
                " LANGUAGE sql STABLE AS 'SELECT 0.5::real'"
            )
        yield connection


def test_every_form_is_compared_and_its_wrong_rows_counted(
    constant_predict: psycopg.Connection, model_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(Teller(1), constant_predict, model_file, FEW) == 4 * FEW
    lines = re.findall(r"^ +(\w+) +predict\(.*\) +5,000 +5,000$", capsys.readouterr().out, re.M)
    assert lines == ["columns", "array", "row", "jsonb"]
    constant_predict.execute("DELETE FROM flights WHERE ctid = '(0,1)'")
    with pytest.raises(ValueError, match=r"4,999 rows came back, not 5,000"):
        compare(Teller(1), constant_predict, model_file, FEW)


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


RECIPE = Recipe(rows=5000, rounds=4)


def test_a_recipe_is_trained_once_and_gives_the_same_file_each_time(tmp_path: Path) -> None:
    first, new = trained(RECIPE, tmp_path, "flights")
    assert new
    written = first.path.stat().st_mtime_ns
    assert trained(RECIPE, tmp_path, "flights") == (first, False)
    assert first.path.stat().st_mtime_ns == written
    other, _ = trained(RECIPE, tmp_path, "other")
    assert first.path.read_bytes() == other.path.read_bytes()
    for recipe in (
        replace(RECIPE, rounds=5), replace(RECIPE, seed=1), replace(RECIPE, xgboost="0")
    ):  # fmt: skip
        assert trained(recipe, tmp_path, "flights")[1]


def test_the_model_beats_the_mean(tmp_path: Path) -> None:
    model, _ = trained(Recipe(rows=100_000, rounds=25), tmp_path, "flights")
    assert model.rmse < 0.95 * model.rmse_of_mean
