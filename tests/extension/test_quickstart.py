"""Code for newcomers works unchanged: sql/quickstart.sql, pgbench's queries, the README's Python."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
import xgboost

from bench.generators import Load, pgbench
from data.flights import Request
from data.load import copy_rows, create_table, finish_table, generated
from tests.extension.pages.blocks import blocks
from tools.cluster import Cluster
from tools.workbench.training import Recipe, trained

ROOT = Path(__file__).resolve().parents[2]
ROWS = 10_000
DATABASE = "quickstart"


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model.ubj, as sql/quickstart.sql has its reader make one."""
    folder = tmp_path_factory.mktemp("model")
    trained(Recipe(ROWS, rounds=5), folder, "model")
    return folder


@pytest.fixture
def flights(cluster: Cluster) -> Cluster:
    """A database with flights, and without the extension: the statements create it."""
    cluster.create_database(DATABASE, replace=True)
    with cluster.connect(DATABASE) as connection:
        create_table(connection)
        copy_rows(connection, generated(Request(ROWS)), ROWS)
        finish_table(connection)
    return cluster


def psql(cluster: Cluster, folder: Path, statements: str) -> str:
    done = subprocess.run(
        ["psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-"],
        input=statements, cwd=folder, env=cluster.environment(DATABASE),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


QUICKSTART = (ROOT / "sql" / "quickstart.sql").read_text()


def test_quickstart_sql_runs(flights: Cluster, model_folder: Path) -> None:
    lines = psql(flights, model_folder, QUICKSTART).splitlines()
    assert len(lines) == 2 + 5 + 5
    assert [row.rpartition("|")[2] for row in lines[-5:]] == lines[2:7]


@pytest.mark.parametrize("script", ["predict.sql", "control.sql", "nopredict.sql"])
@pytest.mark.parametrize("protocol", ["simple", "prepared"])
def test_pgbench_runs_the_one_row_queries(
    flights: Cluster, model_folder: Path, script: str, protocol: str
) -> None:
    psql(flights, model_folder, QUICKSTART)
    found = pgbench.run(flights, DATABASE, ROOT / "sql" / script, protocol, Load(1, 1, seed=0))
    assert found.requests_per_second > 0


def test_the_one_row_query_predicts(flights: Cluster, model_folder: Path) -> None:
    psql(flights, model_folder, QUICKSTART)
    (prediction,) = psql(flights, model_folder, (ROOT / "sql/predict.sql").read_text()).splitlines()
    assert 0 < float(prediction) < 200


def test_the_readmes_python_runs(flights: Cluster) -> None:
    """With a model of these names, and the database in place of the README's."""
    readme = blocks((ROOT / "README.md").read_text())
    (program,) = [block.text for block in readme if block.language == "py"]
    psql(flights, ROOT, "CREATE EXTENSION pgboost")
    X = np.arange(200.0).reshape(100, 2)
    model = xgboost.XGBClassifier(n_estimators=3).fit(X, X[:, 0] > 60)
    assert program.count('"dbname=shop"') == 2
    exec(program.replace("dbname=shop", flights.conninfo(DATABASE)), {"model": model, "X": X})
    query = "SELECT name FROM pgboost_models WHERE deployed"
    assert psql(flights, ROOT, query).split() == ["survival"]
