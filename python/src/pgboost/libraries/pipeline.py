"""Converts scikit-learn Pipelines that end in trees of any library.

A step's function of one column is folded into the trees, so the file has trees over the table's columns, and
the steps cost nothing at prediction.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import refuse
from ..model_file import ModelFile
from . import source
from .ensemble import Ensemble, described, width
from .feature import Feature
from .folding import folded
from .known import is_known, known
from .sklearn import arrays_of, require_trees
from .steps import after, shown

_BELOW_ZERO = float(np.nextafter(0.0, -1.0))


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """Returns the file of a fitted Pipeline; with names, a column that its steps drop is no feature."""
    return replace(_file(model, single=False), of_singles=lambda: _file(model, single=True))


def _file(model: Any, single: bool) -> ModelFile:
    ensemble, (steps, last) = ensemble_of(model, single), _parts(model)
    if not _ends_in_leaves(steps):
        require_trees(last)
    ensemble.others["attributes"] = {"steps": shown(model)}
    return described(ensemble, model, functions(model, model), type(last).__name__, single)


def ensemble_of(model: Any, single: bool = False) -> Ensemble:
    """Returns the trees over the columns of the table, whose numbers may all be of `float32`."""
    encoded: dict[int, list[Any]] = {}
    columns = range(width(model))
    features = [Feature(column, encoded=encoded, single=single) for column in columns]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps, last = _parts(model)
        embedding = steps.pop() if _ends_in_leaves(steps) else None
        for step in steps:
            features = after(step, features)
        lowest: dict[int, float] = {}
        for feature in features:
            number = feature.lowest()
            if number is not None:
                lowest[feature.column] = max(number, lowest.get(feature.column, number))
        read = {feature.column for feature in features}
        ensemble = source.ensemble_of(last)
        if embedding is not None:
            ensemble = _of_leaves(embedding, ensemble)
        encoded |= {features[place].column: values for place, values in ensemble.encoded.items()}
        if ensemble.absent_is_missing and any(feature.sparse for feature in features):
            # A sparse matrix has no zeros.
            features = [feature.without(_BELOW_ZERO, 0.0) for feature in features]
        ensemble = folded(ensemble, features)
    return replace(ensemble, lowest=lowest, read=read, encoded=encoded)


def _ends_in_leaves(steps: list[Any]) -> bool:
    return bool(steps) and is_known(steps[-1], "RandomTreesEmbedding")


def _of_leaves(embedding: Any, line: Ensemble) -> Ensemble:
    """Returns the trees whose leaves are the features of a linear model, with its coefficients."""
    known(embedding)
    coefficients = dict(tree.product[:2] for tree in line.trees if tree.product is not None)
    if len(coefficients) < len(line.trees):
        refuse(embedding, "is scored before a linear model alone")
    trees, start = [], 0
    leaves = embedding.one_hot_encoder_.categories_
    for estimator, of_tree in zip(embedding.estimators_, leaves, strict=True):
        values = np.zeros(estimator.tree_.node_count)
        values[of_tree] = [coefficients.get(start + place, 0.0) for place in range(len(of_tree))]
        trees.append(arrays_of(estimator.tree_, None, values, 0))
        start += len(of_tree)
    return replace(line, trees=trees, value_type="float32")


def functions(model: Any, estimator: Any) -> dict[str, Any]:
    """Returns the functions of the Pipeline's last step, called on the model."""
    _, last = _parts(estimator)
    found: dict[str, Any] = source.module(last).functions(model, last)
    return found


def _parts(model: Any) -> tuple[list[Any], Any]:
    """Returns the steps, those of a Pipeline at the end included, and the estimator after them."""
    known(model)
    last = source.unwrapped(model.steps[-1][1])
    steps = [step for _, step in model.steps[:-1]]
    if not hasattr(last, "steps"):
        return steps, last
    others, last = _parts(last)
    return steps + others, last
