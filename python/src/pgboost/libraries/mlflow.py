"""Loads models from MLflow: `models:/flights/3`, `runs:/.../model`, or a folder."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import MissingLibraryError, UnsupportedModelError, translated

_FLAVORS = ("xgboost", "lightgbm", "catboost", "sklearn")


def load(uri: str) -> Any:
    try:
        from mlflow.models import get_model_info
    except ImportError as error:
        message = (
            f"{uri!r} is no file, so it is taken for a model of MLflow: correct the path, or"
            " pip install mlflow"
        )
        raise MissingLibraryError(message) from error
    with translated(
        UnsupportedModelError, f"{uri!r} is no file, and no model that MLflow can load"
    ):
        flavors = get_model_info(uri).flavors
        for flavor in _FLAVORS:
            if flavor in flavors:
                return import_module(f"mlflow.{flavor}").load_model(uri)
    raise UnsupportedModelError(f"{uri} has none of the flavors {', '.join(_FLAVORS)}")
