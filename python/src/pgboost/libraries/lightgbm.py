"""LightGBM's boosters and scikit-learn wrappers, as LightGBM's text.

The text has the rounds up to the best iteration, as both predict.
"""

from __future__ import annotations

from typing import Any

import lightgbm

from ..errors import UnsupportedModelError
from ..model_file import ModelFile, probabilities


def model_file(model: Any) -> ModelFile:
    """The file of a `Booster`, `LGBMModel` or one of its subclasses."""
    if isinstance(model, lightgbm.Booster):
        return ModelFile(content=model.model_to_string().encode(), values=model.predict)
    if not isinstance(model, lightgbm.LGBMModel):
        raise UnsupportedModelError(f"cannot send a {type(model).__qualname__} of lightgbm")
    content = model.booster_.model_to_string().encode()
    if not isinstance(model, lightgbm.LGBMClassifier):
        return ModelFile(content=content, values=model.predict)
    return ModelFile(
        content=content,
        values=probabilities(model),
        classes=model.predict,
        labels=[str(label) for label in model.classes_],
    )
