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
from .merging import merged
from .source import ensemble_of, unwrapped

# What differs between the outputs of a model.
_PER_OUTPUT = {"base", "bias", "round_starts"}


def voting(model: Any) -> Ensemble:
    """The mean of the members' numbers, or of their probabilities."""
    name = type(model).__qualname__
    if getattr(model, "voting", "soft") != "soft":
        raise UnsupportedModelError(f"the {name} counts votes: fit it with voting='soft'")
    members = _alike(model, model.estimators_)
    weights = model._weights_not_none or [1.0] * len(members)
    links = {member.link for member in members}
    if links == {"logistic"} and len(set(weights)) == 1:
        return _mean_of_logistics(members)
    if links != {"identity"}:
        raise UnsupportedModelError(
            f"the {name} averages what is no sum over trees: its members must all be forests, decision trees"
            " or regressors without a link, or, without weights, all be boosted classifiers of two classes"
        )
    factors = [weight / sum(weights) for weight in weights]
    base = sum(_base(member) * factor for member, factor in zip(members, factors, strict=True))
    trees = [
        tree
        for member, factor in zip(members, factors, strict=True)
        for tree in _times(member, factor)
    ]
    others = {"base": [float(number) for number in base]}
    return replace(members[0], trees=trees, others=others)


def _mean_of_logistics(members: list[Ensemble]) -> Ensemble:
    """The mean of what several models say of the second of two classes: an output for each."""
    trees = [
        replace(tree, output=output)
        for output, member in enumerate(members)
        for tree in _times(member, member.others.get("slope", 1.0))
    ]
    bases = [member.others.get("slope", 1.0) * _base(member)[0] for member in members]
    others = {"base": [float(base) for base in bases]}
    return replace(
        members[0], trees=trees, outputs=len(members), link="mean_logistic", others=others
    )


def several_targets(model: Any) -> Ensemble:
    """A regressor for each target."""
    members = _alike(model, model.estimators_)
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


def calibrated(model: Any) -> Ensemble:
    """Classifiers of two classes with a sigmoid after each."""
    name = type(model).__qualname__
    parts = model.calibrated_classifiers_
    estimators = [unwrapped(part.estimator) for part in parts]
    members = _alike(model, estimators)
    found = []
    for part, estimator, member in zip(parts, estimators, members, strict=True):
        sigmoid = part.calibrators[0]
        if len(part.calibrators) > 1 or not hasattr(sigmoid, "a_"):
            raise UnsupportedModelError(
                f"the {name} is scored for two classes and method='sigmoid' alone"
            )
        of_margin = hasattr(estimator, "decision_function")
        if member.link != ("logistic" if of_margin else "identity") or "scale" in member.others:
            raise UnsupportedModelError(
                f"the {name} calibrates a {type(estimator).__qualname__}, whose scores are no sum over trees"
            )
        others = {k: member.others[k] for k in ("base", "divisor") if k in member.others}
        others |= {"scale": -float(sigmoid.a_), "bias": [-float(sigmoid.b_)]}
        others |= {"class_by": "value", "class_threshold": 0.5}
        found.append(replace(member, link="logistic", others=others))
    return found[0] if len(found) == 1 else _mean_of_logistics(found)


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


def _alike(model: Any, estimators: Sequence[Any]) -> list[Ensemble]:
    """The members' trees, which agree on codes, and which compare doubles if some of them do."""
    members = [ensemble_of(estimator) for estimator in estimators]
    widths = {member.value_type for member in members}
    if any("sum_type" in member.others for member in members) and (
        not hasattr(model, "estimator") or len(widths) > 1
    ):
        name = type(model).__qualname__
        raise UnsupportedModelError(f"the {name} has members of XGBoost, whose sums are of f32")
    if len(widths) > 1 or any(member.missing for member in members):
        features = [Feature(column) for column in range(model.n_features_in_)]
        members = [
            folded(member, features) if member.value_type == "float32" or member.missing else member
            for member in members
        ]
    return merged(members)


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
