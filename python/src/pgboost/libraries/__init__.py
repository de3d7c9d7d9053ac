"""A model object of any library -> its file.

A library is imported only if the model comes from it: its name is read off the model's class.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import UnsupportedModelError
from ..model_file import ModelFile

# The modules here, by the top-level package that a model's class, or a base class of it, is from.
_MODULES = {
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
    "sklearn": "sklearn",
}


def model_file(model: Any) -> ModelFile:
    """The file of a model, or of the model that an MLflow URI names."""
    if isinstance(model, str):
        model = import_module(".mlflow", __package__).load(model)
    # The wrappers of the first three derive from scikit-learn's classes, so the most derived decides.
    for base in type(model).__mro__:
        module = _MODULES.get(base.__module__.partition(".")[0])
        if module:
            return import_module(f".{module}", __package__).model_file(model)
    raise UnsupportedModelError(
        f"cannot send a {type(model).__module__}.{type(model).__qualname__}: "
        "it is no model of XGBoost, LightGBM, CatBoost or scikit-learn"
    )
