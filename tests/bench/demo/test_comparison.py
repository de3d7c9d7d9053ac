"""The demo's comparison sees a difference of one bit, and a row that is missing."""

import re
from pathlib import Path

import numpy as np
import psycopg
import pytest
import xgboost

from data.columns import FEATURES
from data.flights import Request
from data.load import copy_rows, create_table, generated
from tools.cluster import Cluster
from tools.demo.comparison import compare, differing_rows
from tools.workbench.console import Teller
from tools.workbench.training import Recipe, trained

ROWS = 5000


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of four trees."""
    return trained(Recipe(ROWS, rounds=4), tmp_path_factory.mktemp("model"), "flights")[0].path


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
        copy_rows(connection, generated(Request(ROWS)), ROWS)
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
    assert compare(Teller(1), constant_predict, model_file, ROWS) == 4 * ROWS
    lines = re.findall(r"^ +(\w+) +predict\(.*\) +5,000 +5,000$", capsys.readouterr().out, re.M)
    assert lines == ["columns", "array", "row", "jsonb"]
    constant_predict.execute("DELETE FROM flights WHERE ctid = '(0,1)'")
    with pytest.raises(ValueError, match=r"4,999 rows came back, not 5,000"):
        compare(Teller(1), constant_predict, model_file, ROWS)
