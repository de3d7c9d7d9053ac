"""Pipelines of scikit-learn, which end in trees of any library.

What a step computes of one column is folded into the trees, so the file has trees over the table's own
columns, and predictions cost what they cost without the steps.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import UnsupportedModelError
from ..model_file import ModelFile
from . import source
from .ensemble import Ensemble, described, names, require_no_rounds
from .feature import Feature
from .folding import folded
from .steps import after, is_sparse, shown

_BELOW_ZERO = float(np.nextafter(0.0, -1.0))


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """The file of a fitted Pipeline that ends in an estimator of trees.

    Its features are the columns that its steps read: with names, a column that they drop is none.
    """
    require_no_rounds(rounds)
    last = source.unwrapped(model.steps[-1][1])
    ensemble, features = _over_columns(model)
    columns, width = names(model), int(model.n_features_in_)
    read = range(width) if columns is None else sorted({feature.column for feature in features})
    sent = _renumbered(ensemble, {column: number for number, column in enumerate(read)})
    sent.others["attributes"] = {"steps": shown(model)}
    read_names = None if columns is None else [columns[column] for column in read]
    content = sent.file(type(last).__name__, len(read), read_names)
    return described(ensemble, content, model, functions(model, model))


def ensemble_of(model: Any) -> Ensemble:
    """The trees over the columns of a Pipeline."""
    return _over_columns(model)[0]


def functions(model: Any, estimator: Any) -> dict[str, Any]:
    """What a model predicts that ends in this Pipeline."""
    last = source.unwrapped(estimator.steps[-1][1])
    found: dict[str, Any] = source.module(last).functions(model, last)
    return found


def _over_columns(model: Any) -> tuple[Ensemble, list[Feature]]:
    if getattr(model, "n_features_in_", None) is None:
        raise UnsupportedModelError("the Pipeline does not know its number of columns")
    features = [Feature(column) for column in range(int(model.n_features_in_))]
    sparse = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, step in model.steps[:-1]:
            features, sparse = after(step, features), is_sparse(step, sparse)
        lowest: dict[int, float] = {}
        for feature in features:
            number = feature.lowest()
            if number is not None:
                lowest[feature.column] = max(number, lowest.get(feature.column, number))
        ensemble = replace(source.ensemble_of(model.steps[-1][1]), lowest=lowest)
        if sparse and ensemble.absent_is_missing:
            # A sparse matrix has no zeros.
            features = [feature.without(_BELOW_ZERO, 0.0) for feature in features]
        return folded(ensemble, features), features


def _renumbered(ensemble: Ensemble, numbers: dict[int, int]) -> Ensemble:
    """The ensemble with other numbers of its features."""
    of_leaves = numbers | {0: numbers.get(0, 0)}
    trees = [
        replace(tree, feature=np.array([of_leaves[int(column)] for column in tree.feature]))
        for tree in ensemble.trees
    ]
    return replace(
        ensemble,
        trees=trees,
        categories={numbers[column]: values for column, values in ensemble.categories.items()},
        cuts={numbers[column]: cuts for column, cuts in ensemble.cuts.items()},
        unknown={numbers[column] for column in ensemble.unknown},
        others=dict(ensemble.others),
    )
