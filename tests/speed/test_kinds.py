"""What trains in so much memory, and Python beside SQL, by a real server."""

import tempfile
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import xgboost

from bench import training
from cluster import Cluster, start, stop
from data.flights import Request, blocks
from data.load import copy_rows, create_table, generated
from speed import explained
from speed.beside import Beside, hold_flights, predict_all
from speed.series import SMALL
from speed.site import NAMES, Site
from speed.training_limit import at_most, largest, limits
from workbench.preparation import DATABASE
from workbench.training import Recipe, trained

FLIGHTS, ROWS, PORT = 2_000, 200_000, 54380


@pytest.fixture(scope="module")
def site(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Few flights, and a model of few trees."""
    file = trained(Recipe(FLIGHTS, 3), tmp_path_factory.mktemp("model"), "model")[0].path
    cluster.create_database(DATABASE, replace=True)
    with cluster.connect(DATABASE) as connection:
        connection.execute("CREATE EXTENSION pgboost")
        connection.execute("SELECT load_model(%s, %s)", (NAMES[SMALL], file.read_bytes()))
        create_table(connection)
        copy_rows(connection, generated(Request(FLIGHTS)), FLIGHTS)
    return Site(cluster, {SMALL: file})


def test_python_explains_the_same_rows(site: Site) -> None:
    found = explained.series(site, 1)
    assert "python, copying alone" in found
    assert all(len(values) == 1 and values[0] > 0 for values in found.values())


def test_xgboost_beside_predicts_for_the_same_flights(site: Site) -> None:
    features = np.concatenate([*blocks(Request(FLIGHTS))])[:, 1:].astype(np.float32)
    booster = xgboost.Booster(model_file=site.files[SMALL])
    booster.feature_names = None
    expected = booster.inplace_predict(features).view(np.int32).sum(dtype=np.int64)
    with Beside(hold_flights, FLIGHTS, site.files) as python:
        assert python.ask(predict_all, SMALL)[1] == expected


@pytest.mark.parametrize("limit", [0, 1, 9, 10, 500, 999, 1_000, 5_000])
def test_the_largest_that_fits_is_found(limit: int) -> None:
    asked: list[int] = []

    def fits(rows: int) -> bool:
        asked.append(rows)
        return rows <= limit

    found = largest(fits, most=1_000, step=10)
    assert found == min(limit, 1_000) // 10 * 10
    assert len(asked) <= 8
    assert len({*asked}) == len(asked)


@pytest.mark.parametrize(("gib", "rows"), [(4.0, ROWS), (0.012, 0)])
def test_memory_decides_what_fits(gib: float, rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        state = Path(name)
        state.chmod(0o755)
        try:
            with at_most(gib):
                cluster, _ = start(state, PORT)
            found = limits(cluster, Namespace(gib=gib, most=ROWS, step=ROWS))
        finally:
            stop(state, delete=True)
    assert found["largest_rows"] == dict.fromkeys(training.WAYS, rows)
    assert [one["rows"] for one in found["tries"]] == [ROWS] * len(training.WAYS)
