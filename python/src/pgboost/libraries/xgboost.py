"""XGBoost's boosters and scikit-learn wrappers.

A wrapper that stopped early predicts with its best iteration, a booster with all rounds; the
database is told to do as the object does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import xgboost

from ..comparison import Tolerance
from ..errors import UnsupportedModelError
from ..inputs import Inputs
from ..model_file import ModelFile, classifier, regressor

# Margins are equal to the bit; an exponential of another C library may differ by 2 ULP.
_TOLERANCE = Tolerance(rtol=2**-22)
_CATEGORICAL = "c"


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """The file of a `Booster`, `XGBModel` or one of its subclasses."""
    options = {} if rounds is None else {"iteration_range": (0, rounds)}
    if isinstance(model, xgboost.Booster):
        return _file(model, values=lambda frame: model.predict(_matrix(model, frame), **options))
    if not isinstance(model, xgboost.XGBModel):
        raise UnsupportedModelError(f"cannot send a {type(model).__qualname__} of xgboost")
    if model.missing is not None and not np.isnan(model.missing):
        raise UnsupportedModelError(
            f"the model takes {model.missing} for missing, which its file does not say: fit it with NaN in"
            f" the place of {model.missing}, or push its get_booster() and write nullif(column,"
            f" {model.missing}) in SQL"
        )
    functions = classifier if isinstance(model, xgboost.XGBClassifier) else regressor
    return _file(model.get_booster(), rounds=_rounds(model), **functions(model, **options))


def _file(booster: xgboost.Booster, **functions: Any) -> ModelFile:
    content = bytes(booster.save_raw("ubj"))
    return ModelFile(content, inputs=lambda: _inputs(booster), tolerance=_TOLERANCE, **functions)


def _rounds(model: Any) -> int | None:
    try:
        return int(model.best_iteration) + 1
    except AttributeError:
        return None


def _matrix(booster: xgboost.Booster, frame: Any) -> xgboost.DMatrix:
    """The frame as the booster takes it: of before 3.1, it has codes in the place of categories."""
    types = booster.feature_types or []
    if _CATEGORICAL not in types or any(_categories(_model(booster))):
        return xgboost.DMatrix(frame, enable_categorical=True)
    if hasattr(frame, "columns"):
        codes = {
            name: frame[name].cat.codes.astype(np.float32).replace(-1, np.nan)
            for name in frame.columns
            if hasattr(frame[name], "cat")
        }
        frame = frame.assign(**codes)
    return xgboost.DMatrix(frame, feature_types=types, enable_categorical=True)


def _model(booster: xgboost.Booster) -> dict[str, Any]:
    """The trees, as XGBoost's JSON has them."""
    learner = json.loads(booster.save_raw("json"))["learner"]
    boosted = learner["gradient_booster"]
    return boosted.get("gbtree", boosted)["model"]


def _inputs(booster: xgboost.Booster) -> Inputs:
    model, width = _model(booster), booster.num_features()
    splits = [_splits(tree) for tree in model["trees"]]
    feature, threshold = (np.concatenate(part) for part in zip(*splits, strict=True))
    named = _categories(model)
    categories = {
        column: (named and named[column]) or list(range(_codes(model["trees"], column)))
        for column, kind in enumerate(booster.feature_types or ())
        if kind == _CATEGORICAL
    }
    return Inputs(
        width=width,
        thresholds={column: threshold[feature == column] for column in range(width)},
        dtype=np.float32,
        names=booster.feature_names,
        categories=categories,
        plain=not any(named),
    )


def _splits(tree: dict[str, Any]) -> tuple[Any, Any]:
    """Features and thresholds of a tree's splits by numbers."""
    chosen = np.asarray(tree["left_children"]) != -1
    chosen &= np.asarray(tree.get("split_type", np.zeros(len(chosen)))) == 0
    features = np.asarray(tree["split_indices"])[chosen]
    return features, np.asarray(tree["split_conditions"], np.float32)[chosen]


def _codes(trees: list[dict[str, Any]], column: int) -> int:
    """One more than the largest code of a category that a split of the feature names, and one unknown."""
    found = [
        max(tree["categories"][start : start + size], default=0)
        for tree in trees
        for node, start, size in _sets(tree)
        if tree["split_indices"][node] == column
    ]
    return max(found, default=0) + 2


def _sets(tree: dict[str, Any]) -> Iterator[tuple[int, int, int]]:
    yield from zip(
        tree["categories_nodes"],
        tree["categories_segments"],
        tree["categories_sizes"],
        strict=True,
    )


def _categories(model: dict[str, Any]) -> list[list[Any]]:
    """The categories of each feature in the order of their codes, which files since 3.1 have."""
    return [_values(encoder) for encoder in model.get("cats", {}).get("enc", ())]


def _values(encoder: dict[str, Any]) -> list[Any]:
    offsets, values = encoder.get("offsets"), encoder["values"]
    if offsets is None:
        return list(values)
    text = bytes(value % 256 for value in values)
    return [text[a:b].decode() for a, b in pairwise(offsets)]
