"""Fitted models of XGBoost, LightGBM and CatBoost, and models of ONNX, as the files that they save.

A library is never imported: its objects are known by their classes, and saved by their own methods.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gbtrees._gbtrees import GbtreesError

_TAKEN = (
    "pass a path, the bytes of a model file, or a fitted model of XGBoost, LightGBM or CatBoost"
)
_BY_PGBOOST = "pgboost converts models of scikit-learn: gbtrees.Model(pgboost.model_bytes(model))"


@dataclass(frozen=True)
class Source:
    """A model file, and what its object says in addition."""

    content: bytes
    rounds: int | None = None
    # The classes that the object predicts, in order.
    classes: Any = None
    # The object's own `predict`: values, margins or classes.
    predicts: str = "value"


def source(model: Any) -> Source:
    """The file of a path, of bytes, or of a fitted model."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Source(bytes(model))
    if isinstance(model, (str, os.PathLike)):
        try:
            return Source(Path(model).read_bytes())
        except OSError as error:
            raise GbtreesError(f"{os.fspath(model)!r} cannot be read: {error.strerror}") from error
    found = next(filter(None, map(_reader, type(model).__mro__)), None)
    if found is None:
        kind = type(model)
        name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
        is_sklearn = any(base.__module__.startswith("sklearn.") for base in kind.__mro__)
        hint = _BY_PGBOOST if is_sklearn else _TAKEN
        raise GbtreesError(f"a {name} is not read\n{hint}")
    try:
        taken: Source = found(model)
    except GbtreesError:
        raise
    except Exception as error:
        # The library's own error for a model that is not fitted, or cannot be saved.
        name = type(model).__qualname__
        raise GbtreesError(f"the {name} cannot be saved: {error}") from error
    return taken


def _reader(kind: type) -> Any:
    package = kind.__module__.partition(".")[0]
    return _READERS.get((package, kind.__qualname__))


def _xgboost_booster(model: Any) -> Source:
    return Source(bytes(model.save_raw("ubj")))


def _xgboost_wrapper(model: Any) -> Source:
    missing = model.missing
    if missing is not None and not np.isnan(missing):
        raise GbtreesError(
            f"the {type(model).__qualname__} takes {missing} for missing, which its file does not say"
            f"\n{_BY_PGBOOST}"
        )
    booster = model.get_booster()
    rounds = None
    if model.booster != "gblinear":
        # Set where the fit stopped early.
        best = booster.attr("best_iteration")
        rounds = None if best is None else int(best) + 1
    classes = getattr(model, "classes_", None)
    if classes is not None and str(model.objective) == "binary:logitraw":
        raise GbtreesError(
            "an XGBClassifier takes margins of binary:logitraw for probabilities: pass its get_booster()"
        )
    content = bytes(booster.save_raw("ubj"))
    return Source(content, rounds, classes, "value" if classes is None else "class")


def _lightgbm_booster(model: Any) -> Source:
    return Source(model.model_to_string().encode())


def _lightgbm_wrapper(model: Any) -> Source:
    content = _lightgbm_booster(model.booster_).content
    classes = getattr(model, "classes_", None)
    return Source(content, None, classes, "value" if classes is None else "class")


def _catboost(model: Any) -> Source:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "model")
        model.save_model(str(path), format="cbm")
        content = path.read_bytes()
    names = {base.__qualname__ for base in type(model).__mro__}
    if "CatBoostClassifier" in names:
        return Source(content, None, np.asarray(model.classes_), "class")
    # A regressor's predict applies the exponential of Poisson and Tweedie; others return the sum.
    return Source(content, None, None, "value" if "CatBoostRegressor" in names else "margin")


def _onnx(model: Any) -> Source:
    return Source(model.SerializeToString())


# By the package and the name of a class or of one that it is derived from.
_READERS = {
    ("xgboost", "Booster"): _xgboost_booster,
    ("xgboost", "XGBModel"): _xgboost_wrapper,
    ("lightgbm", "Booster"): _lightgbm_booster,
    ("lightgbm", "LGBMModel"): _lightgbm_wrapper,
    ("catboost", "CatBoost"): _catboost,
    ("onnx", "ModelProto"): _onnx,
}
