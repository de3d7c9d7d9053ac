"""Converts estimators of scikit-learn that combine others, where one sum over all trees is the prediction.

A mean of sums is a sum of leaves times the weights. scikit-learn adds each estimator's trees first, so
doubles differ in their last bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import refuse
from .ensemble import Ensemble, Tree, width
from .feature import Feature
from .folding import folded
from .known import is_known, known
from .merging import merged
from .source import ensemble_of, unwrapped

# By inverse function of a target, the link.
_INVERSES = {"exp": "exponential", "expm1": "exponential_minus_one"}
# The members of a file that differ between outputs.
_PER_OUTPUT = {"base", "bias", "round_starts", "class_by", "class_threshold"}


def voting(model: Any) -> Ensemble:
    """Converts a mean of numbers or of probabilities."""
    members = _alike(model, model.estimators_)
    weights = model._weights_not_none
    weights = [1.0] * len(members) if weights is None else list(weights)
    links = {member.link for member in members}
    if links == {"logistic"} and len(set(weights)) == 1 and members[0].outputs == 1:
        return _mean_of_logistics(members)
    if links != {"identity"}:
        refuse(
            model,
            "averages what is no sum over trees: its members must all be forests, decision trees or"
            " regressors without a link, or, without weights, all be boosted classifiers of two classes",
        )
    return _weighted(members, [weight / sum(weights) for weight in weights])


def stacked(model: Any) -> Ensemble:
    """Converts a linear model of the members' predictions."""
    last, classifies = model.final_estimator_, hasattr(model, "classes_")
    is_linear = is_known(last) and hasattr(last, "coef_")
    if not is_linear or known(last).startswith("Logistic") != classifies:
        refuse(
            model,
            f"has final_estimator={type(last).__qualname__}, which is not scored: scored are linear models"
            " without a link, and LogisticRegression of two classes",
        )
    asked = "predict_proba" if classifies else "predict"
    others = {*model.stack_method_} - {asked}
    if others:
        method = others.pop()
        refuse(model, f"has stack_method={method!r}, which is not scored: scored is {asked}")
    members = _alike(model, model.estimators_)
    if any(member.link != "identity" or member.outputs > 1 for member in members):
        refuse(
            model,
            "takes what is no sum over trees: its members must be regressors without a link, or forests and"
            " decision trees of two classes",
        )
    found = _weighted(members, np.ravel(last.coef_).tolist(), float(np.ravel(last.intercept_)[0]))
    return replace(found, link="logistic" if classifies else "identity")


def _weighted(members: list[Ensemble], factors: list[float], start: float = 0.0) -> Ensemble:
    pairs = list(zip(members, factors, strict=True))
    base = start + sum(_base(member) * factor for member, factor in pairs)
    trees = [tree for member, factor in pairs for tree in _times(member, factor)]
    return replace(members[0], trees=trees, others={"base": [float(number) for number in base]})


def _mean_of_logistics(members: list[Ensemble]) -> Ensemble:
    """Returns the mean of several models' probabilities of the second class: an output for each."""
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
    """Converts a regressor for each target, or a classifier of two classes for each label."""
    members = [
        replace(member, task="regression", labels=None)
        for member in _alike(model, model.estimators_)
    ]
    first = members[0]
    same = [
        replace(m, trees=[], others={k: v for k, v in m.others.items() if k not in _PER_OUTPUT})
        for m in members
    ]
    if first.outputs > 1:
        refuse(model, "has members of several outputs: push each of its estimators_")
    if any(one != same[0] for one in same):
        refuse(model, "has members that differ: push each")
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


def one_against_rest(model: Any) -> Ensemble:
    """Converts a classifier of two classes for each of several labels."""
    if not model.multilabel_:
        reason = "divides the probabilities of classes by their sum, which is not scored"
        refuse(model, f"{reason}: push each of its estimators_")
    return several_targets(model)


def calibrated(model: Any) -> Ensemble:
    """Converts classifiers of two classes with a sigmoid after each."""
    parts = model.calibrated_classifiers_
    estimators = [unwrapped(part.estimator) for part in parts]
    members = _alike(model, estimators)
    found = []
    for part, estimator, member in zip(parts, estimators, members, strict=True):
        sigmoid = part.calibrators[0]
        if len(part.calibrators) > 1 or not hasattr(sigmoid, "a_"):
            refuse(model, "is scored for two classes and method='sigmoid' alone")
        if len(estimator.classes_) != 2:
            refuse(model, "has a fold of one class: calibrate on fewer folds")
        of_margin = hasattr(estimator, "decision_function")
        if member.link != ("logistic" if of_margin else "identity") or "scale" in member.others:
            kind = type(estimator).__qualname__
            refuse(model, f"calibrates a {kind}, whose scores are no sum over trees")
        others = {k: member.others[k] for k in ("base", "divisor") if k in member.others}
        others |= {"scale": -float(sigmoid.a_), "bias": [-float(sigmoid.b_)]}
        others |= {"class_by": "value", "class_threshold": 0.5}
        found.append(replace(member, link="logistic", others=others))
    return found[0] if len(found) == 1 else _mean_of_logistics(found)


def thresholded(model: Any) -> Ensemble:
    """Converts a classifier of two classes with another threshold than 0.5."""
    (found,) = _alike(model, [model.estimator_])
    scorer = getattr(model, "_curve_scorer", None)
    label = None if scorer is None else scorer._get_pos_label()
    if label is not None and label != model.classes_[1]:
        scored = f"scored is pos_label={model.classes_[1]!r}"
        refuse(model, f"has scoring={model.scoring!r}, which is not scored: {scored}")
    threshold = getattr(model, "best_threshold_", getattr(model, "threshold", 0.5))
    at = float(np.nextafter(0.5 if threshold == "auto" else float(threshold), -np.inf))
    # Sums of probabilities are margins.
    by = "margin" if found.link == "identity" else "value"
    return replace(found, others=found.others | {"class_by": by, "class_threshold": at})


def transformed(model: Any) -> Ensemble:
    """Converts a regressor of a transformed target."""
    (found,) = _alike(model, [model.regressor_])
    if model.inverse_func is None:
        return found
    if found.link != "identity":
        refuse(model, f"has a regressor with the link {found.link}: fit one without")
    return replace(found, link=_INVERSES[model.inverse_func.__name__])


def _alike(model: Any, estimators: Sequence[Any]) -> list[Ensemble]:
    """Returns the members' trees, which agree on codes and on the type that they compare."""
    members = [ensemble_of(unwrapped(estimator)) for estimator in estimators]
    widths = {member.value_type for member in members}
    if any("sum_type" in member.others for member in members) and (
        not hasattr(model, "estimator") or len(widths) > 1
    ):
        refuse(model, "has members of XGBoost, whose sums are of f32")
    if len(widths) > 1 or any(member.missing for member in members):
        features = [Feature(column) for column in range(width(model))]
        members = [
            folded(member, features) if member.value_type == "float32" or member.missing else member
            for member in members
        ]
    return merged(members)


def _base(member: Ensemble) -> Any:
    """Returns a member's prediction without its trees."""
    zeros = [0.0] * member.outputs
    factor = member.others.get("scale", 1.0) / member.others.get("divisor", 1.0)
    base, bias = (np.array(member.others.get(key, zeros)) for key in ("base", "bias"))
    return base * factor + bias


def _times(member: Ensemble, factor: float) -> list[Tree]:
    factor *= member.others.get("scale", 1.0)
    divisor = member.others.get("divisor", 1.0)
    return [
        replace(
            tree,
            values=tree.values * factor / divisor,
            product=tree.product
            and (tree.product[0], *(number * factor / divisor for number in tree.product[1:])),
        )
        for tree in member.trees
    ]
