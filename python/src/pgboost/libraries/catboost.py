"""CatBoost's models, as cbm files, which carry the names of features and classes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import catboost

from ..errors import UnsupportedModelError
from ..model_file import ModelFile, probabilities

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


def model_file(model: Any) -> ModelFile:
    """The file of a `CatBoost` or one of its subclasses."""
    if not isinstance(model, catboost.CatBoost):
        raise UnsupportedModelError(f"cannot send a {type(model).__qualname__} of catboost")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "model.cbm")
        model.save_model(str(path), format="cbm")
        content = path.read_bytes()
    if not isinstance(model, catboost.CatBoostClassifier):
        kind = _PREDICTION_TYPES.get(model.get_all_params()["loss_function"].partition(":")[0])
        return ModelFile(content=content, values=lambda frame: _values(model, frame, kind))
    return ModelFile(
        content=content,
        values=probabilities(model),
        classes=lambda frame: model.predict(frame).ravel(),
    )


def _values(model: Any, frame: Any, kind: str | None) -> Any:
    """What the database returns; of two columns for two classes, the second."""
    values = model.predict(frame, prediction_type=kind or "RawFormulaVal")
    return values[:, 1] if kind == "Probability" and values.shape[1] == 2 else values
