"""Estimators of scikit-learn that combine others, where a sum over all their trees says what they predict.

A mean of sums is a sum of leaves times the weights. It is added in another order than scikit-learn's, which
adds each estimator's trees first, so its doubles differ in their last bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import UnsupportedModelError
from .ensemble import Ensemble, Tree
from .feature import Feature
from .folding import folded
from .source import ensemble_of

# What a sum begins with, and what is done to it.
_LINEAR = {"base", "scale", "divisor", "bias"}


def voting(model: Any) -> Ensemble:
    """The mean of the members' numbers, or of their probabilities."""
    name = type(model).__qualname__
    if getattr(model, "voting", "soft") != "soft":
        raise UnsupportedModelError(f"the {name} counts votes: fit it with voting='soft'")
    members = _over_doubles(model, model.estimators_)
    first = members[0]
    if any(member.link != "identity" for member in members):
        raise UnsupportedModelError(
            f"the {name} averages what is no sum over trees: of its members, forests and decision trees are,"
            " and regressors without a link"
        )
    weights = model._weights_not_none or [1.0] * len(members)
    factors = [weight / sum(weights) for weight in weights]
    base = sum(_base(member) * factor for member, factor in zip(members, factors, strict=True))
    trees = [
        tree
        for member, factor in zip(members, factors, strict=True)
        for tree in _times(member, factor)
    ]
    return replace(first, trees=trees, others={"base": [float(number) for number in base]})


def several_targets(model: Any) -> Ensemble:
    """A regressor for each target."""
    members = _over_doubles(model, model.estimators_)
    first = members[0]
    same = [
        replace(m, trees=[], others={k: v for k, v in m.others.items() if k not in _PER_OUTPUT})
        for m in members
    ]
    if any(one != same[0] for one in same) or first.outputs > 1:
        raise UnsupportedModelError(
            f"the {type(model).__qualname__} has regressors that differ: push each"
        )
    trees = [
        replace(tree, output=output)
        for output, member in enumerate(members)
        for tree in member.trees
    ]
    others = dict(same[0].others)
    for key in ("base", "bias"):
        if any(key in member.others for member in members):
            others[key] = [float(member.others.get(key, [0.0])[0]) for member in members]
    return replace(first, trees=trees, outputs=len(members), others=others)


_PER_OUTPUT = {"base", "bias", "round_starts"}


def calibrated(model: Any) -> Ensemble:
    """A classifier of two classes with one sigmoid after it."""
    name = type(model).__qualname__
    parts = model.calibrated_classifiers_
    if len(parts) > 1:
        raise UnsupportedModelError(
            f"the {name} averages {len(parts)} calibrated classifiers: fit it with ensemble=False"
        )
    calibrators = parts[0].calibrators
    if len(calibrators) > 1 or not hasattr(calibrators[0], "a_"):
        raise UnsupportedModelError(
            f"the {name} is scored for two classes and method='sigmoid' alone"
        )
    estimator = parts[0].estimator
    found = ensemble_of(estimator)
    is_margin = hasattr(estimator, "decision_function")
    if found.link != ("logistic" if is_margin else "identity") or set(found.others) & {
        "scale",
        "sum_type",
    }:
        raise UnsupportedModelError(
            f"the {name} calibrates a {type(estimator).__qualname__}, whose scores are no sum over trees"
        )
    others = {key: found.others[key] for key in ("base", "divisor") if key in found.others}
    others |= {"scale": -float(calibrators[0].a_), "bias": [-float(calibrators[0].b_)]}
    others |= {"class_by": "value", "class_threshold": 0.5}
    return replace(found, link="logistic", others=others)


def thresholded(model: Any) -> Ensemble:
    """A classifier of two classes, whose second is predicted from another probability on."""
    found = ensemble_of(model.estimator_)
    threshold = getattr(model, "best_threshold_", getattr(model, "threshold", None))
    by_margin = getattr(model, "response_method", "auto") == "decision_function"
    if by_margin or isinstance(threshold, str) or getattr(model, "pos_label", None) is not None:
        raise UnsupportedModelError(
            f"the {type(model).__qualname__} is scored with a number as threshold of predict_proba alone"
        )
    at = float(np.nextafter(float(threshold), -np.inf))
    return replace(found, others=found.others | {"class_by": "value", "class_threshold": at})


def transformed(model: Any) -> Ensemble:
    """A regressor of logarithms."""
    found = ensemble_of(model.regressor_)
    inverse = getattr(model.transformer_, "inverse_func", None)
    if inverse is not np.exp or found.link != "identity" or "sum_type" in found.others:
        raise UnsupportedModelError(
            f"the {type(model).__qualname__} is scored with inverse_func=np.exp and a regressor of"
            " scikit-learn, LightGBM or CatBoost alone"
        )
    return replace(found, link="exponential")


def _over_doubles(model: Any, estimators: Sequence[Any]) -> list[Ensemble]:
    """The members' trees over the model's columns, which compare doubles if some of them do."""
    members = [ensemble_of(estimator) for estimator in estimators]
    name, width = type(model).__qualname__, model.n_features_in_
    if any("sum_type" in member.others for member in members) and (
        hasattr(model, "_weights_not_none") or len({m.value_type for m in members}) > 1
    ):
        raise UnsupportedModelError(f"the {name} has members of XGBoost, whose sums are of f32")
    if any(member.cuts or member.categories or member.missing for member in members):
        raise UnsupportedModelError(
            f"the {name} has members that encode the columns, each for itself"
        )
    if len({member.value_type for member in members}) > 1:
        features = [Feature(column) for column in range(width)]
        members = [folded(member, features) for member in members]
    return members


def _base(member: Ensemble) -> Any:
    """What a member predicts before its trees."""
    zeros = [0.0] * member.outputs
    factor = member.others.get("scale", 1.0) / member.others.get("divisor", 1.0)
    base, bias = (np.array(member.others.get(key, zeros)) for key in ("base", "bias"))
    return base * factor + bias


def _times(member: Ensemble, factor: float) -> list[Tree]:
    factor *= member.others.get("scale", 1.0)
    divisor = member.others.get("divisor", 1.0)
    return [replace(tree, values=tree.values * factor / divisor) for tree in member.trees]
