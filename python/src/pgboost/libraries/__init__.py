"""A model object of any library, or a file of one -> what the database needs.

A library is imported only if the model comes from it: its name is read off the model's class.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
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


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """The file of a model, of the model that a search found, or that an MLflow URI or a path names.

    Its functions predict with the given number of rounds, or as the object does.
    """
    if isinstance(model, (bytes, bytearray, memoryview)):
        return ModelFile(bytes(model))
    if isinstance(model, (str, Path)):
        path = Path(model)
        if path.is_file():
            return ModelFile(path.read_bytes())
        model = import_module(".mlflow", __package__).load(str(model))
    model = _unwrapped(model)
    module = _module(model)
    if module is None:
        raise UnsupportedModelError(
            f"cannot send a {type(model).__module__}.{type(model).__qualname__}: pass a model of XGBoost,"
            " LightGBM, CatBoost or scikit-learn, a search or a Pipeline of one, the path or the bytes of"
            " a model file, or the URI of a model in MLflow"
        )
    if module == "sklearn" and hasattr(model, "steps"):
        module = "steps"
    return import_module(f".{module}", __package__).model_file(model, rounds)


def _module(model: Any) -> str | None:
    # The wrappers of the first three derive from scikit-learn's classes, so the most derived decides.
    packages = (base.__module__.partition(".")[0] for base in type(model).__mro__)
    return next((_MODULES[package] for package in packages if package in _MODULES), None)


def _unwrapped(model: Any) -> Any:
    """The model that a search of parameters found, and the only step of a Pipeline."""
    if _module(model) != "sklearn":
        return model
    if hasattr(model, "cv_results_") or hasattr(model, "refit"):
        found = getattr(model, "best_estimator_", None)
        if found is None:
            name = type(model).__qualname__
            raise UnsupportedModelError(
                f"the {name} has no best_estimator_: fit it with refit=True"
            )
        return _unwrapped(found)
    if not hasattr(model, "steps"):
        return model
    steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
    if len(steps) == 1:
        return _unwrapped(steps[0])
    last = _module(steps[-1]) if steps else None
    if last and last != "sklearn":
        before = ", ".join(type(step).__qualname__ for step in steps[:-1])
        raise UnsupportedModelError(
            f"the Pipeline has {before} before its {type(steps[-1]).__qualname__}, whose file has the trees"
            " only: push pipeline[-1], and give it in SQL what these steps compute"
        )
    return model
