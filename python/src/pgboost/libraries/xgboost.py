"""XGBoost's boosters and scikit-learn wrappers.

A wrapper that stopped early predicts with its best iteration, a booster with all rounds; the
database is told to do as the object does.
"""

from __future__ import annotations

from typing import Any

import xgboost

from ..errors import UnsupportedModelError
from ..model_file import ModelFile, probabilities


def model_file(model: Any) -> ModelFile:
    """The file of a `Booster`, `XGBModel` or one of its subclasses."""
    if isinstance(model, xgboost.Booster):
        return ModelFile(
            content=bytes(model.save_raw("ubj")),
            values=lambda frame: model.predict(_matrix(frame)),
        )
    if not isinstance(model, xgboost.XGBModel):
        raise UnsupportedModelError(f"cannot send a {type(model).__qualname__} of xgboost")
    booster = model.get_booster()
    content = bytes(booster.save_raw("ubj"))
    rounds = _rounds(model)
    if not isinstance(model, xgboost.XGBClassifier):
        return ModelFile(content=content, values=model.predict, rounds=rounds)
    return ModelFile(
        content=content,
        values=probabilities(model),
        classes=model.predict,
        labels=[str(label) for label in model.classes_],
        rounds=rounds,
    )


def _rounds(model: Any) -> int | None:
    try:
        return int(model.best_iteration) + 1
    except AttributeError:
        return None


def _matrix(frame: Any) -> Any:
    return xgboost.DMatrix(frame, enable_categorical=True)
