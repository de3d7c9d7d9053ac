"""Converts trees over the features of a Pipeline to trees over the columns of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import UnsupportedModelError
from .ensemble import Ensemble, Tree
from .feature import Feature
from .linear import products

# By node, whether the smallest number goes left, and the ends of the runs of numbers that go one way.
Runs = dict[int, tuple[bool, Any]]


def folded(ensemble: Ensemble, features: list[Feature]) -> Ensemble:
    """Returns trees over columns: thresholds are moved, categories and jumps become sets."""
    if ensemble.cuts or ensemble.unknown:
        raise UnsupportedModelError(
            "the Pipeline has steps before and in its last one: put all steps into each of its members"
        )
    nodes = _Nodes([tree for tree in ensemble.trees if tree.product is None])
    multiplied = {tree.product[0] for tree in ensemble.trees if tree.product is not None}
    split = nodes.used()
    used = sorted({*split} | multiplied)
    for number in used:
        if features[number].refusal is not None:
            raise UnsupportedModelError(features[number].refusal)
    has_errors = any(one.values is not None and one.unknown is None for one in features)
    features = _with_categories(ensemble, features)
    features = _agreeing(_without_missing(ensemble, features), used)
    runs: Runs = {}
    for number in split:
        _fold(ensemble, nodes, number, features[number], runs)
    cuts = _to_cuts(nodes, runs)
    categories = {
        feature.column: list(feature.values) for feature in features if feature.values is not None
    }
    unknown = {feature.column for feature in features if feature.unknown is not None}
    return replace(
        ensemble,
        trees=nodes.trees() + products(ensemble.trees, features),
        value_type="float64",
        categories=categories,
        cuts=cuts,
        unknown=unknown,
        others=dict(ensemble.others),
        missing=None,
        last_is_above=False,
        unknown_is_missing=ensemble.unknown_is_missing and not has_errors,
    )


class _Nodes:
    """The nodes of all trees, one after another."""

    def __init__(self, trees: list[Tree]) -> None:
        self._trees = trees
        self.starts = np.cumsum([0, *(len(tree.left) for tree in trees)])
        self.inner = _joined([~tree.leaves for tree in trees], bool)
        self.feature = _joined([tree.feature for tree in trees], np.int64)
        self.column = np.zeros(len(self.inner), np.int64)
        self.threshold = _joined([tree.threshold for tree in trees], np.float64)
        self.missing = _joined([tree.missing_left for tree in trees], np.uint8)
        self.threshold[~self.inner] = 0.0
        self.sets = {
            int(start) + node: codes
            for start, tree in zip(self.starts, trees, strict=False)
            for node, codes in tree.sets.items()
        }

    def used(self) -> list[int]:
        return [int(number) for number in np.unique(self.feature[self.inner])]

    def of(self, number: int) -> Any:
        return np.flatnonzero(self.inner & (self.feature == number))

    def trees(self) -> list[Tree]:
        places: list[dict[int, list[int]]] = [{} for _ in self._trees]
        for node, codes in self.sets.items():
            tree = int(np.searchsorted(self.starts, node, side="right")) - 1
            places[tree][node - int(self.starts[tree])] = codes
        found = []
        for index, (tree, sets) in enumerate(zip(self._trees, places, strict=True)):
            part = slice(self.starts[index], self.starts[index + 1])
            arrays = {
                "feature": self.column[part],
                "threshold": self.threshold[part],
                "missing_left": self.missing[part],
            }
            found.append(replace(tree, sets=sets, **arrays))
        return found


def _joined(parts: list[Any], kind: Any) -> Any:
    return np.concatenate([np.empty(0, kind), *(np.asarray(part, kind) for part in parts)])


def _with_categories(ensemble: Ensemble, features: list[Feature]) -> list[Feature]:
    """Adds tables of the categories that the trees split by; those of encoders have numbers already."""
    found = list(features)
    for number, values in ensemble.categories.items():
        if ensemble.last_is_above and features[number].table is None:
            raise UnsupportedModelError(
                "the model splits by categories of a column behind a Pipeline: encode them by a step of it"
            )
        if features[number].is_raw and features[number].fill is None:
            table = np.arange(len(values), dtype=np.float64)
            found[number] = Feature(features[number].column, None, (), (), values, table)
        elif features[number].table is not None:
            codes = {value: float(code) for code, value in enumerate(values)}
            above = float(len(values) - 1) if ensemble.last_is_above else None
            found[number] = features[number].then(partial(_codes_of, codes, above))
        else:
            raise UnsupportedModelError("the model takes for a category what a step has computed")
    return found


def _codes_of(codes: dict[Any, float], above: float | None, numbers: Any) -> Any:
    """Returns the codes of numbers; others are missing, or have the code `above`, where XGBoost truncates."""
    if above is None:
        return np.array([codes.get(value, np.nan) for value in numbers])
    whole = np.trunc(numbers)
    return np.array([one if np.isnan(one) else codes.get(one, above) for one in whole])


def _without_missing(ensemble: Ensemble, features: list[Feature]) -> list[Feature]:
    """Replaces the numbers that are missing to the trees by NaN."""
    if ensemble.missing is None:
        return features
    found = list(features)
    for number in range(len(features)) if ensemble.missing_in is None else ensemble.missing_in:
        if found[number].refusal is not None:
            continue
        if ensemble.value_type == "float32":
            found[number] = found[number].then(lambda x: x.astype(np.float32).astype(np.float64))
        found[number] = found[number].without(*ensemble.missing)
    return found


def _agreeing(features: list[Feature], used: list[int]) -> list[Feature]:
    """Makes features of one column agree on its categories, or that it has numbers."""
    found = list(features)
    for column in {feature.column for feature in features if feature.values is not None}:
        of_column = [number for number, feature in enumerate(found) if feature.column == column]
        tables = [number for number in of_column if found[number].values is not None]
        others = [number for number in of_column if number in used and number not in tables]
        values = list(dict.fromkeys(v for number in tables for v in found[number].values or ()))
        strict = any(found[number].unknown is None for number in tables)
        if others and not any(isinstance(value, str) for value in values):
            if strict:
                raise UnsupportedModelError(
                    f"the Pipeline takes column {column} for numbers, and for categories of which others are"
                    " an error"
                )
            for number in tables:
                found[number] = found[number].as_number()
            continue
        for number in tables:
            found[number] = _with_values(found[number], values)
        for number in others:
            found[number] = _of_missing(found[number], values)
        if strict:
            for number in (*tables, *others):
                found[number] = replace(found[number], unknown=None)
    return found


def _of_missing(feature: Feature, values: list[Any]) -> Feature:
    """Returns a feature that tells missing text from any other."""
    present, *others, missing = feature.seen(np.array([0.0, 1e300, -1e300, np.nan]))
    if feature.turns or others != [present] * 2:
        raise UnsupportedModelError(
            f"the Pipeline takes column {feature.column} for numbers and for text"
        )
    table = np.full(len(values), present)
    return Feature(feature.column, None, (), (), values, table, float(missing), float(present))


def _with_values(feature: Feature, values: list[Any]) -> Feature:
    if list(feature.values or ()) == values:
        return feature
    if feature.unknown is None:
        raise UnsupportedModelError(
            f"the Pipeline encodes column {feature.column} twice, with other categories"
        )
    known = dict(zip(feature.values or (), feature.table, strict=True))
    table = np.array([known.get(value, feature.unknown) for value in values], np.float64)
    return replace(feature, values=values, table=table)


def _fold(ensemble: Ensemble, nodes: _Nodes, number: int, feature: Feature, runs: Runs) -> None:
    """Replaces the splits of a feature by splits of its column."""
    places = nodes.of(number)
    nodes.column[places] = feature.column
    cast = np.float32 if ensemble.value_type == "float32" else np.float64
    limits, of_nan = nodes.threshold[places], nodes.missing[places].astype(bool)
    if feature.table is not None:
        _to_sets(nodes, places, feature, cast)
        return
    of_missing = np.array([np.nan if feature.fill is None else float(feature.fill)])
    seen = feature.seen(of_missing, cast)[0]
    nodes.missing[places] = of_nan if np.isnan(seen) else seen <= limits
    if not feature.functions and cast is np.float64:
        return
    different, which = np.unique(np.stack([limits, of_nan]), axis=1, return_inverse=True)
    found = feature.runs(different[0], cast, different[1])
    moved = np.zeros(len(found))
    for index, (first, ends) in enumerate(found):
        # Up to its end the first run goes left; without another, all numbers do, or none.
        if first and len(ends) <= 1:
            moved[index] = ends[0] if len(ends) else np.inf
        elif not len(ends):
            moved[index] = -np.inf
    nodes.threshold[places] = moved[np.ravel(which)]
    for place, index in zip(places, np.ravel(which), strict=True):
        first, ends = found[index]
        if len(ends) > 1 or (len(ends) and not first):
            runs[int(place)] = (first, ends)


def _to_sets(nodes: _Nodes, places: Any, feature: Feature, cast: Any) -> None:
    """Replaces thresholds by sets of categories; the code after the last is that of unknown values."""
    numbers = np.append(feature.table, np.nan if feature.unknown is None else feature.unknown)
    with np.errstate(over="ignore"):
        seen = np.append(numbers, feature.missing).astype(cast).astype(np.float64)
    known: dict[tuple[Any, ...], tuple[list[int], bool]] = {}
    for place in places:
        of_nan, members = bool(nodes.missing[place]), nodes.sets.get(int(place))
        key = (nodes.threshold[place], of_nan, None if members is None else tuple(members))
        if key not in known:
            left = seen <= key[0] if members is None else np.isin(seen, members)
            left = np.where(np.isnan(seen), of_nan, left)
            if feature.unknown is None:
                left[-2] = False
            known[key] = ([int(code) for code in np.flatnonzero(left[:-1])], bool(left[-1]))
        nodes.sets[int(place)], nodes.missing[place] = known[key]
        nodes.threshold[place] = 0.0


def _to_cuts(nodes: _Nodes, runs: Runs) -> dict[int, Any]:
    """Replaces runs by sets of intervals, and returns the ends of the intervals by column."""
    cuts: dict[int, Any] = {}
    by_column: dict[int, list[int]] = {}
    for node in runs:
        by_column.setdefault(int(nodes.column[node]), []).append(node)
    for column, turned in by_column.items():
        places = np.flatnonzero(nodes.inner & (nodes.column == column))
        plain = np.setdiff1d(places, turned)
        thresholds = nodes.threshold[plain]
        ends = [thresholds[thresholds < np.inf], *(runs[node][1] for node in turned)]
        cuts[column] = np.unique(np.concatenate(ends))
        for node in turned:
            nodes.sets[node] = _codes(cuts[column], *runs[node])
    return cuts


def _codes(cuts: Any, first: bool, ends: Sequence[float]) -> list[int]:
    changed = np.zeros(len(cuts) + 1, np.int64)
    changed[np.searchsorted(cuts, ends) + 1] = 1
    left = (np.cumsum(changed) % 2 == 0) == first
    return [int(code) for code in np.flatnonzero(left)]
