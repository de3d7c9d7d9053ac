"""Exported functions on the major versions that pgboost does not support or test elsewhere, without it.

`tools/toolchain/postgres.sh MAJOR` fetches a version's server; without it, its tests are skipped.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
import xgboost

import catboost
import lightgbm
import pgboost
from tests.connections import make_table
from tests.state import PORTS
from tools.cluster import start, stop

ROOT = Path(__file__).resolve().parents[3]
NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module", params=["13", "14", "17"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[psycopg.Connection]:
    """A connection to a server of that version, with rows in table t."""
    found = [*ROOT.glob(f".build/postgres/{request.param}/**/bin/pg_config")]
    if not found:
        pytest.skip(f"no PostgreSQL {request.param}: tools/toolchain/postgres.sh {request.param}")
    state = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PG_CONFIG", str(found[0]))
        cluster, _ = start(state, 54339 + PORTS)
        with cluster.connect() as connection:
            assert connection.info.server_version // 10_000 == int(request.param)
            numbered = ([number, *row] for number, row in enumerate(ROWS))
            make_table(connection, "t", "id int, a real, b real, c real", numbered)
            yield connection
        stop(state, delete=True)


def rows() -> np.ndarray:
    """Returns rows with missing values, more than a chunk of them."""
    values = np.random.default_rng(8).normal(size=(3000, len(NAMES))).astype(np.float32)
    values[np.random.default_rng(9).random(values.shape) < 0.1] = np.nan
    return values


ROWS = rows()
TARGET = (np.nan_to_num(ROWS) @ [1, -2, 3] > 0).astype(int)


def of_xgboost() -> tuple[Any, np.ndarray]:
    """Returns trees that take turns over chunks of rows."""
    model = xgboost.XGBClassifier(n_estimators=150, max_depth=9, min_child_weight=0, n_jobs=1)
    model.fit(ROWS, np.random.default_rng(7).integers(0, 2, len(ROWS)))
    return model, model.predict(ROWS, output_margin=True)


def of_lightgbm() -> tuple[Any, np.ndarray]:
    """Returns a model that sums doubles."""
    model = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1).fit(ROWS, TARGET)
    return model, model.predict(ROWS, raw_score=True)


def of_catboost() -> tuple[Any, np.ndarray]:
    """Returns symmetric trees."""
    model = catboost.CatBoostClassifier(
        iterations=20, verbose=False, allow_writing_files=False, thread_count=1
    ).fit(ROWS, TARGET)
    return model, model.predict(ROWS, prediction_type="RawFormulaVal")


@pytest.mark.parametrize("fitted", [of_xgboost, of_lightgbm, of_catboost])
def test_margins_are_the_librarys(
    server: psycopg.Connection, fitted: Callable[[], tuple[Any, np.ndarray]]
) -> None:
    model, expected = fitted()
    name = fitted.__name__
    server.execute(pgboost.export_sql(model, name, feature_names=NAMES))
    for query in (
        f"SELECT {name}_margin(a, b, c) FROM t ORDER BY id",
        f"SELECT {name}_scan_margin(a, b, c) FROM t ORDER BY id",
        f"SELECT margin FROM {name}_rows_margin('SELECT * FROM t') ORDER BY id::int",
    ):
        found = [margin for (margin,) in server.execute(query)]
        assert np.array(found, expected.dtype).tobytes() == expected.tobytes(), query
    assert pgboost.verify_sql(server, name, model)
