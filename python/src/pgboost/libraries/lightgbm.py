"""LightGBM's boosters and scikit-learn wrappers, as LightGBM's text.

The text has the rounds up to the best iteration, as both predict.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import lightgbm

from ..errors import UnsupportedModelError
from ..inputs import Inputs
from ..model_file import ModelFile, classifier, regressor

# The bit of decision_type for a split by categories (include/LightGBM/tree.h).
_CATEGORICAL = 1


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """The file of a `Booster`, `LGBMModel` or one of its subclasses."""
    options = {} if rounds is None else {"num_iteration": rounds}
    if isinstance(model, lightgbm.Booster):
        return _file(model, **regressor(model, **options))
    if not isinstance(model, lightgbm.LGBMModel):
        raise UnsupportedModelError(f"cannot send a {type(model).__qualname__} of lightgbm")
    functions = classifier if isinstance(model, lightgbm.LGBMClassifier) else regressor
    return _file(model.booster_, **functions(model, **options))


def _file(booster: lightgbm.Booster, **functions: Any) -> ModelFile:
    text = booster.model_to_string()
    return ModelFile(text.encode(), inputs=lambda: _inputs(booster, text), **functions)


def _inputs(booster: lightgbm.Booster, text: str) -> Inputs:
    feature = _numbers("split_feature", text).astype(int)
    threshold = _numbers("threshold", text)
    numeric = _numbers("decision_type", text).astype(int) & _CATEGORICAL == 0
    named = booster.pandas_categorical or []
    codes = _codes(text)
    if named and len(named) != len(codes):
        raise UnsupportedModelError(
            "rows cannot be drawn, since the file does not say which features its categories belong to:"
            " pass rows as check, or check=False"
        )
    return Inputs(
        width=booster.num_feature(),
        thresholds={
            column: threshold[(feature == column) & numeric]
            for column in range(booster.num_feature())
        },
        dtype=np.float64,
        names=booster.feature_name(),
        categories=dict(zip(codes, named, strict=True)) if named else codes,
        plain=not named,
    )


def _numbers(key: str, text: str) -> Any:
    """The numbers of all trees, node after node."""
    lines = re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)
    return np.array(" ".join(lines).split(), np.float64)


def _codes(text: str) -> dict[int, list[int]]:
    """The codes of each categorical feature, by its position."""
    (line,) = re.findall(r"^feature_infos=(.*)$", text, re.MULTILINE)
    declared = re.search(r"^\[categorical_feature: ([\d,]+)\]$", text, re.MULTILINE)
    infos = line.split(" ")
    columns = [int(column) for column in declared[1].split(",")] if declared else []
    found = {
        column: [int(code) for code in info.split(":")]
        for column, info in enumerate(infos)
        if info != "none" and not info.startswith("[")
    }
    return {column: found.get(column, [0]) for column in sorted({*columns, *found})}
