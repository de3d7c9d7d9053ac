"""Converts linear models, which are members of other models, to trees.

A column of numbers becomes a leaf that multiplies it, one of categories a tree with a leaf for each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sklearn
from sklearn.base import is_classifier

from ..errors import UnsupportedModelError, refuse
from .ensemble import Ensemble, Tree
from .feature import Feature


def linear(model: Any) -> Ensemble:
    """Returns a product for each coefficient that is not 0."""
    coefficients = np.atleast_2d(np.asarray(model.coef_, np.float64))
    if len(coefficients) > 1:
        kind = "classes" if is_classifier(model) else "targets"
        refuse(model, f"has {len(coefficients)} {kind}, which are not scored together")
    start = float(np.ravel(model.intercept_)[0])
    trees = [
        _product(int(feature), float(coefficients[0, feature]), 0.0, 0.0)
        for feature in np.flatnonzero(coefficients[0])
    ]
    task, link = ("binary", "logistic") if is_classifier(model) else ("regression", "identity")
    others = {"base": [start]}
    return Ensemble(
        trees or [_product(0, 0.0, 0.0, 0.0)],
        sklearn.__version__,
        1,
        task,
        link,
        "float64",
        others=others,
    )


@dataclass(frozen=True)
class _Term:
    """A product of a feature that steps have computed, and what is added without it."""

    feature: Feature
    coefficient: float
    constant: float
    without: float

    def of(self, values: Any) -> Any:
        """Returns what is added for values of the feature, of which NaN is missing."""
        added = self.coefficient * np.asarray(values, np.float64) + self.constant
        return np.where(np.isnan(added), self.without, added)


def products(trees: list[Tree], features: list[Feature]) -> list[Tree]:
    """Returns products with features as trees over columns, one for each column and output."""
    terms: dict[tuple[int, int | None], list[_Term]] = {}
    for tree in trees:
        if tree.product is not None:
            number, coefficient, constant = tree.product
            term = _Term(features[number], coefficient, constant, float(tree.values[0, 0]))
            terms.setdefault((term.feature.column, tree.output), []).append(term)
    if terms and all(feature.single for feature in features):
        raise UnsupportedModelError("a linear member is scored for columns of float64 alone")
    found = []
    for (column, output), parts in terms.items():
        has_table = parts[0].feature.table is not None
        tree = _of_categories(column, parts) if has_table else _of_numbers(column, parts)
        found.append(replace(tree, output=output))
    return found


def _of_numbers(column: int, terms: list[_Term]) -> Tree:
    """Returns a product with a column of numbers; where it is missing, with what steps put there."""
    slope = constant = missing = 0.0
    for term in terms:
        line = term.feature.line()
        if line is None:
            raise UnsupportedModelError(
                f"a linear member takes column {column} from a step that is no straight line: scored are"
                " scalers, imputers and encoders"
            )
        slope += term.coefficient * line[0]
        constant += term.coefficient * line[1] + term.constant
        fill = np.nan if term.feature.fill is None else float(term.feature.fill)
        missing += float(term.of(term.feature.seen(np.array([fill])))[0])
    return _product(column, slope, constant, missing)


def _of_categories(column: int, terms: list[_Term]) -> Tree:
    """Returns a tree with a leaf for each category, for unknown ones and for missing values."""
    of_codes = [
        term.of(np.append(term.feature.table, [term.feature.unknown or 0.0, term.feature.missing]))
        for term in terms
    ]
    values = np.sum(of_codes, axis=0)
    codes = np.arange(len(values) - 1 - (terms[0].feature.unknown is None))
    # The last value is that of a missing one, which the root sends right.
    nodes, left, sets = [np.append(codes, -1)], [], {}
    for place, node in enumerate(nodes):
        left.append(len(nodes) if len(node) > 1 else -1)
        if len(node) > 1:
            cut = len(node) // 2 if place else len(codes)
            sets[place] = node[:cut].tolist()
            nodes += [node[:cut], node[cut:]]
    children = np.array(left)
    of_leaves = [[values[node[0]]] for node in nodes if len(node) == 1]
    zeros = np.zeros(len(nodes))
    return Tree(
        children,
        np.where(children < 0, -1, children + 1),
        np.full(len(nodes), column),
        zeros,
        zeros,
        np.array([len(node) for node in nodes]),
        zeros,
        np.array(of_leaves),
        sets=sets,
    )


def _product(column: int, coefficient: float, constant: float, missing: float) -> Tree:
    tree = _leaf(missing)
    tree.product = (column, coefficient, constant)
    return tree


def _leaf(value: float) -> Tree:
    none = np.array([-1])
    zero = np.zeros(1)
    return Tree(none, none, np.zeros(1, int), zero, zero, np.ones(1), zero, np.array([[value]]), 0)
