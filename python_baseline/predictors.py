"""The two interfaces of XGBoost that a service may predict with.

Both return the same numbers. `sklearn`, the published service's, converts the list to an array and sets up
its thread team at each call. `inplace` passes one array of 32-bit floats to the booster, on one thread: a
single row has no work for a second.
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
        # The width is the table's, so there is nothing to validate.
        return booster.inplace_predict(features, validate_features=False).tolist()

    return predict


PREDICTORS = {"sklearn": _sklearn, "inplace": _inplace}


def load(settings: Settings) -> list[Predictor]:
    """Loads the settings' models with the interface that they name."""
    open_model, xgboost = PREDICTORS[settings.predictor], releases.load()
    return [open_model(xgboost, model) for model in settings.models]
