"""What trains in so much memory, by a real server, and what Python beside it predicts."""

import tempfile
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import xgboost

from bench import training
from cluster import start, stop
from data.flights import Request, blocks
from speed.beside import beside, predict_all
from speed.series import SMALL
from speed.training_limit import at_most, largest, limits
from workbench.training import Recipe, trained

FLIGHTS, ROWS, PORT = 2_000, 200_000, 54380


def test_xgboost_beside_predicts_for_the_same_flights(tmp_path: Path) -> None:
    file = trained(Recipe(FLIGHTS, 3), tmp_path, "model")[0].path
    features = np.concatenate([*blocks(Request(FLIGHTS))])[:, 1:].astype(np.float32)
    booster = xgboost.Booster(model_file=file)
    booster.feature_names = None
    expected = booster.inplace_predict(features).view(np.int32).sum(dtype=np.int64)
    with beside(FLIGHTS, {SMALL: file}) as python:
        assert python.submit(predict_all, SMALL).result()[1] == expected


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
