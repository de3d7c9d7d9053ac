"""Finds a model's library, which is imported only if the model comes from it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedModelError, refuse

if TYPE_CHECKING:
    from .ensemble import Ensemble

# The top-level packages of models' classes or of their base classes.
_LIBRARIES = ("xgboost", "lightgbm", "catboost", "interpret", "ydf", "sklearn")


def library(model: Any) -> str | None:
    """Returns the library of a model's class.

    The wrappers of the first three derive from scikit-learn's classes, so the most derived decides.
    """
    packages = (base.__module__.partition(".")[0] for base in type(model).__mro__)
    return next((package for package in packages if package in _LIBRARIES), None)


def module(model: Any) -> Any:
    """Returns this package's module for a model's library, or for Pipelines."""
    found = library(model)
    if found is None:
        raise UnsupportedModelError(
            f"cannot send a {type(model).__module__}.{type(model).__qualname__}: pass a model of XGBoost,"
            " LightGBM, CatBoost, scikit-learn, InterpretML or YDF, a search or a Pipeline of one, the path"
            " or bytes of a model file, the directory of a model of Spark, or the URI of a model in MLflow"
        )
    if found == "sklearn" and hasattr(model, "steps"):
        found = "pipeline"
    return import_module(f".{found}", __package__)


def ensemble_of(model: Any) -> Ensemble:
    """Returns the trees of a fitted model of any of the libraries."""
    found: Ensemble = module(model).ensemble_of(unwrapped(model))
    return found


def unwrapped(model: Any) -> Any:
    """Returns the model inside a search, a FrozenEstimator or a Pipeline of one step."""
    if library(model) != "sklearn":
        return model
    known = import_module(".known", __package__)
    if known.is_known(model, "FrozenEstimator"):
        return unwrapped(model.estimator)
    if known.is_search(model):
        found = getattr(model, "best_estimator_", None)
        if found is None:
            refuse(model, "has no best_estimator_: fit it with refit=True")
        return unwrapped(found)
    if not known.is_known(model, "Pipeline"):
        return model
    steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
    return unwrapped(steps[0]) if len(steps) == 1 else model
