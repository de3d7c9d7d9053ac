"""The two interfaces of XGBoost that a service may predict with.

Both give the same numbers. `sklearn` is what the published service called: it makes
an array of the list and sets up its thread team again at each call. `inplace` hands one array of
32-bit floats to the booster, on one thread: a single row has no work for a second.
"""

from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np

from python_baseline import releases
from python_baseline.settings import Settings

Rows = Sequence[Sequence[float]]
Predictor = Callable[[Rows], list[float]]


def _sklearn(xgboost: ModuleType, path: str) -> Predictor:
    model = xgboost.XGBRegressor()
    model.load_model(path)
    return lambda rows: model.predict(rows).tolist()


def _inplace(xgboost: ModuleType, path: str) -> Predictor:
    booster = xgboost.Booster({"nthread": 1}, model_file=path)

    def predict(rows: Rows) -> list[float]:
        features = np.array(rows, dtype=np.float32)
        # The width is the table's own: there is nothing to validate at each call.
        return booster.inplace_predict(features, validate_features=False).tolist()

    return predict


PREDICTORS = {"sklearn": _sklearn, "inplace": _inplace}


def load(settings: Settings) -> list[Predictor]:
    """The settings' models, behind the interface and in the XGBoost that they name."""
    open_model, xgboost = PREDICTORS[settings.predictor], releases.load(settings.xgboost)
    return [open_model(xgboost, model) for model in settings.models]
