"""Converts InterpretML's Explainable Boosting Machines to the tree ensembles of docs/formats.md.

A term is a table of scores by the bins of its features: a tree that splits by each of them in turn. Trees add
up in the order of the terms, so scores are equal to the bit. Covers are the weights of the bins, by which EBM
centres its terms, so a term of one feature is that feature's contribution.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import interpret
import numpy as np
from sklearn.base import is_classifier

from ..comparison import Tolerance
from ..errors import refuse
from ..model_file import ModelFile, classifier, label_text, typed
from .ensemble import Ensemble, Tree, described

_CLASSES = [
    f"{private}ExplainableBoosting{task}"
    for private in ("", "DP")
    for task in ("Classifier", "Regressor")
]
# Links of EBM, and those of a file.
_LINKS = {
    "identity": "identity",
    "log": "exponential",
    "logit": "logistic",
    "mlogit": "softmax",
}
# Values follow from the scores by exponentials of NumPy's.
_NEAR = Tolerance(rtol=2**-23, tie=0.0)
_MISSING = 0


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    if rounds is not None:
        refuse(model, "has no rounds: its terms are scored together")
    ensemble = ensemble_of(model)
    functions = classifier(model) if is_classifier(model) else {"values": model.predict}
    return described(ensemble, model, {**functions, "tolerance": _NEAR}, type(model).__name__)


def ensemble_of(model: Any) -> Ensemble:
    if type(model).__qualname__ not in _CLASSES:
        refuse(model, "is not scored: of interpret, Explainable Boosting Machines are")
    if not hasattr(model, "term_scores_"):
        refuse(model, "is not fitted")
    link = _LINKS.get(model.link_)
    if link is None:
        refuse(model, f"has the link {model.link_}: scored are {', '.join(_LINKS)}")
    categories = {
        column: _categories(model, column, levels[0])
        for column, levels in enumerate(model.bins_)
        if isinstance(levels[0], dict)
    }
    outputs = max(np.size(model.intercept_), 1)
    trees = [
        _term(model, number, features, {key: list(of) for key, of in categories.items()})
        for number, features in enumerate(model.term_features_)
    ]
    for tree in trees:
        tree.output = 0 if outputs == 1 else None
    base = [float(number) for number in np.ravel(model.intercept_)]
    found = Ensemble(trees, interpret.__version__, outputs, link=link, value_type="float64")
    found.others = {"base": base}
    found.categories = {column: [*of.values()] for column, of in categories.items()}
    found.unknown = {*categories}
    if is_classifier(model):
        found.task = "binary" if outputs == 1 else "multiclass"
        found.labels = [label_text(label) for label in model.classes_]
    return found


def _categories(model: Any, column: int, bins: dict[str, int]) -> dict[str, Any]:
    """Returns the values of a column by the texts that EBM has of them: numbers if all texts are."""
    if not bins:
        refuse(model, f"has no category of the column {model.feature_names_in_[column]!r}")
    return typed(bins)


@dataclass
class _Axis:
    """A feature's bins in the order in which a tree splits them; of categories, the bin of each code."""

    feature: int
    bins: list[int]
    cuts: Any = None
    codes: list[int] = field(default_factory=list)


@dataclass
class _Nodes:
    """The nodes of a tree that is grown over a table, the root first."""

    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    cover: list[float] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    sets: dict[int, list[int]] = field(default_factory=dict)

    def grow(self, axes: list[_Axis], scores: Any, weights: Any) -> int:
        if axes:
            return self._split(axes, axes[0].bins, scores, weights)
        self.values.append(scores)
        return self._node(float(weights))

    def _node(self, cover: float) -> int:
        for children in (self.left, self.right):
            children.append(-1)
        self.feature.append(0)
        self.threshold.append(0.0)
        self.cover.append(cover)
        return len(self.left) - 1

    def _split(self, axes: list[_Axis], bins: list[int], scores: Any, weights: Any) -> int:
        if len(bins) == 1:
            return self.grow(axes[1:], scores[bins[0]], weights[bins[0]])
        axis, node = axes[0], self._node(float(weights[bins].sum()))
        middle = len(bins) // 2
        if axis.cuts is None:
            left = {*bins[:middle]}
            self.sets[node] = [code for code, bin_ in enumerate(axis.codes) if bin_ in left]
        elif bins[-1] == _MISSING:
            # Every number is at most infinity.
            middle = len(bins) - 1
            self.threshold[node] = np.inf
        else:
            # A number equal to a cut belongs to the bin above.
            self.threshold[node] = np.nextafter(axis.cuts[bins[middle] - 2], -np.inf)
        self.feature[node] = axis.feature
        self.left[node] = self._split(axes, bins[:middle], scores, weights)
        self.right[node] = self._split(axes, bins[middle:], scores, weights)
        return node


def _term(model: Any, number: int, features: Any, categories: dict[int, list[str]]) -> Tree:
    axes = [_axis(model, feature, len(features), categories.get(feature)) for feature in features]
    nodes = _Nodes()
    nodes.grow(axes, model.term_scores_[number], np.asarray(model.bin_weights_[number], float))
    return Tree(
        np.array(nodes.left),
        np.array(nodes.right),
        np.array(nodes.feature),
        np.array(nodes.threshold),
        np.zeros(len(nodes.left)),
        nodes.cover,
        None,
        np.array(nodes.values),
        sets=nodes.sets,
    )


def _axis(model: Any, feature: int, size: int, texts: list[str] | None) -> _Axis:
    """Returns the bins of a feature in a term of `size` features; the last bin has unknown categories."""
    levels = model.bins_[feature]
    bins = levels[min(len(levels), size) - 1]
    if texts is None:
        return _Axis(feature, [*range(1, len(bins) + 2), _MISSING], cuts=bins)
    codes = [*(bins.get(text, -1) for text in texts), -1]
    return _Axis(feature, [*dict.fromkeys(codes), _MISSING], codes=codes)
