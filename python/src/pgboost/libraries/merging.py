"""Makes ensembles over the same columns agree on the codes of these columns.

Each member of a model may have encoded its columns on other rows: a category that it has not seen is unknown
to it, and its numbers are cut elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import UnsupportedModelError
from .ensemble import Ensemble, Tree

# Maps a member's code of a column to all codes that stand for it.
Recoding = Callable[[int], list[int]]


def merged(members: list[Ensemble]) -> list[Ensemble]:
    """Returns the members with the categories and cuts of all."""
    categories: dict[int, list[Any]] = {}
    for member in members:
        for column, values in member.categories.items():
            known = categories.setdefault(column, [])
            known += [value for value in values if value not in known]
    unknown = {
        column
        for column in categories
        if all(column in member.unknown for member in members if column in member.categories)
    }
    cut = {column for member in members for column in member.cuts}
    for column in cut | set(categories):
        if any(_disagrees(member, column, categories) for member in members):
            raise UnsupportedModelError(
                f"members take column {column} for numbers and for categories, or for other categories of"
                " which each is an error"
            )
    cuts = {
        column: np.unique(np.concatenate([_cuts(m, column) for m in members])) for column in cut
    }
    read = [member.read for member in members]
    encoded = {column: values for one in members for column, values in one.encoded.items()}
    has_no_errors = all(m.unknown_is_missing or {*m.categories} <= m.unknown for m in members)
    lowest = [pair for member in members for pair in member.lowest.items()]
    return [
        replace(
            member,
            trees=_recoded(member, categories, cuts, unknown),
            categories=categories,
            cuts=cuts,
            unknown=unknown,
            unknown_is_missing=has_no_errors,
            read=None if None in read else set().union(*read),
            encoded=encoded,
            # Of two numbers of a column, the larger comes last.
            lowest=dict(sorted(lowest)),
        )
        for member in members
    ]


def _disagrees(member: Ensemble, column: int, categories: dict[int, list[Any]]) -> bool:
    values = member.categories.get(column)
    if values is not None:
        return values != categories[column] and column not in member.unknown
    return column in categories and any(
        np.any(~tree.leaves & (np.asarray(tree.feature) == column))
        or (tree.product is not None and tree.product[0] == column)
        for tree in member.trees
    )


def _cuts(member: Ensemble, column: int) -> Any:
    """Returns the cuts of a column, or its thresholds where it has none."""
    if column in member.cuts:
        return np.asarray(member.cuts[column])
    thresholds = [
        np.asarray(tree.threshold)[~tree.leaves & (np.asarray(tree.feature) == column)]
        for tree in member.trees
    ]
    found = np.concatenate(thresholds) if thresholds else np.empty(0)
    return found[found < np.inf]


def _recoded(
    member: Ensemble, categories: dict[int, list[Any]], cuts: dict[int, Any], unknown: set[int]
) -> list[Tree]:
    recodings: dict[int, Recoding] = {
        column: _of_categories(values, categories[column], column in unknown)
        for column, values in member.categories.items()
    }
    recodings |= {column: _of_cuts(old, cuts[column]) for column, old in member.cuts.items()}
    trees = []
    for tree in member.trees:
        sets = {
            node: sorted(
                {new for code in codes for new in recodings[int(tree.feature[node])](code)}
            )
            for node, codes in tree.sets.items()
        }
        trees.append(replace(tree, sets=sets))
    return trees


def _of_categories(old: list[Any], new: list[Any], has_unknown: bool) -> Recoding:
    place = {value: code for code, value in enumerate(new)}
    others = [code for code, value in enumerate(new) if value not in old]
    others += [len(new)] * has_unknown
    return lambda code: [place[old[code]]] if code < len(old) else others


def _of_cuts(old: Any, new: Any) -> Recoding:
    ends = [-1, *np.searchsorted(new, old).tolist(), len(new)]
    return lambda code: list(range(ends[code] + 1, ends[code + 1] + 1))
