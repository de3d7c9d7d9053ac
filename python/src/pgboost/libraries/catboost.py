"""CatBoost's models, as cbm files, which carry the names of features and classes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import catboost

from ..errors import UnsupportedModelError
from ..inputs import Inputs
from ..model_file import ModelFile, classifier

# What the database returns for a loss function; for others, the raw value.
_PREDICTION_TYPES = {
    "Logloss": "Probability",
    "CrossEntropy": "Probability",
    "MultiClass": "Probability",
    "MultiClassOneVsAll": "Probability",
    "Poisson": "Exponent",
    "Tweedie": "Exponent",
    "RMSEWithUncertainty": "RMSEWithUncertainty",
}
# The file has hashes of categories only. Those that are small numbers are found without their names.
_CATEGORIES = [str(number) for number in range(-1, 20)]


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """The file of a `CatBoost` or one of its subclasses."""
    if not isinstance(model, catboost.CatBoost):
        raise UnsupportedModelError(f"cannot send a {type(model).__qualname__} of catboost")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "model.cbm")
        model.save_model(str(path), format="cbm")
        content = path.read_bytes()
    if isinstance(model, catboost.CatBoostClassifier):
        functions = {**classifier(model, _label, ntree_end=rounds or 0), "has_labels": True}
    else:
        kind = _PREDICTION_TYPES.get(model.get_all_params()["loss_function"].partition(":")[0])
        functions = {"values": lambda frame: _values(model, frame, kind, rounds or 0)}
    return ModelFile(content, inputs=lambda: _inputs(model), **functions)


def _label(label: Any) -> str:
    """A class as the file has it."""
    return str(label).lower() if isinstance(label, (bool, np.bool_)) else str(label)


def _values(model: Any, frame: Any, kind: str | None, rounds: int) -> Any:
    """What the database returns; of two columns for two classes, the second."""
    values = model.predict(frame, prediction_type=kind or "RawFormulaVal", ntree_end=rounds)
    return values[:, 1] if kind == "Probability" and values.shape[1] == 2 else values


def _inputs(model: Any) -> Inputs:
    names = model.feature_names_
    return Inputs(
        width=len(names),
        thresholds=model.get_borders(),
        dtype=np.float32,
        names=names,
        categories=dict.fromkeys(model.get_cat_feature_indices(), _CATEGORIES),
        plain=True,
    )
