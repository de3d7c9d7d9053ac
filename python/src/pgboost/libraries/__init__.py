"""Converts a model object of any library, or its file, to a `ModelFile`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import MissingLibraryError, UnsupportedModelError, refuse, translated
from ..model_file import ModelFile
from .source import library, module, unwrapped

# Of MLflow, those that are read.
_FLAVORS = ("xgboost", "lightgbm", "catboost", "sklearn")


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """Returns the file of a model, of the model that a search found, or that an MLflow URI or a path names.

    A path may also be a directory in which Spark MLlib or YDF has saved a model.

    Its functions predict with the given number of rounds, or as the object does.
    """
    if isinstance(model, ModelFile):
        return model
    if isinstance(model, (bytes, bytearray, memoryview)):
        return ModelFile(bytes(model))
    if isinstance(model, (str, Path)):
        path = Path(model)
        if path.is_file():
            return ModelFile(path.read_bytes())
        if (path / "metadata").is_dir():
            with translated(UnsupportedModelError, f"the model of Spark in {path} is damaged"):
                saved: ModelFile = import_module(".spark", __package__).model_file(path)
                return saved
        if (path / "header.pb").is_file():
            ydf = import_module("ydf")
            with translated(UnsupportedModelError, f"YDF does not open the model in {path}"):
                model = ydf.load_model(str(path))
            return model_file(model, rounds)
        if path.is_dir() and not (path / "MLmodel").is_file():
            is_tensorflow = (path / "saved_model.pb").is_file()
            instead = f"pass ydf.from_tensorflow_decision_forests({str(path)!r})"
            raise UnsupportedModelError(
                f"{path} is a directory without a model of Spark, YDF or MLflow: "
                + (
                    f"if TensorFlow Decision Forests saved it, {instead}"
                    if is_tensorflow
                    else "push a file"
                )
            )
        model = _of_mlflow(str(model))
    found = library(model)
    release = f" with {found} {import_module(found).__version__}" if found else ""
    what = f"the {type(model).__qualname__} cannot be read{release}"
    with translated(UnsupportedModelError, f"{what}, perhaps since it is of another release"):
        model = unwrapped(model)
        is_fitted = getattr(model, "__sklearn_is_fitted__", getattr(model, "is_fitted", None))
        if found and callable(is_fitted) and not is_fitted():
            refuse(model, "is not fitted")
        if rounds is not None and library(model) == "sklearn":
            raise UnsupportedModelError(
                "a model of scikit-learn has no rounds: fit it with fewer trees"
            )
        file: ModelFile = module(model).model_file(model, rounds)
        return file


def _of_mlflow(uri: str) -> Any:
    """Loads a model of MLflow: `models:/flights/3`, `runs:/.../model`, or a folder."""
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
