"""XGBoost's predictions outside the server, for the same flights."""

from pathlib import Path

import numpy as np
import xgboost

from bench.inside.reference import beside, predict_all
from bench.inside.series import SMALL
from data.flights import Request, blocks
from tools.workbench.training import Recipe, trained

FLIGHTS = 2_000


def test_xgboost_beside_predicts_for_the_same_flights(tmp_path: Path) -> None:
    file = trained(Recipe(FLIGHTS, 3), tmp_path, "model")[0].path
    features = np.concatenate([*blocks(Request(FLIGHTS))])[:, 1:].astype(np.float32)
    booster = xgboost.Booster(model_file=file)
    booster.feature_names = None
    expected = booster.inplace_predict(features).view(np.int32).sum(dtype=np.int64)
    with beside(FLIGHTS, {SMALL: file}) as python:
        assert python.submit(predict_all, SMALL).result()[1] == expected
