"""Converts LightGBM's boosters and wrappers, whose text has the rounds up to the best iteration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

import lightgbm

from ..errors import UnsupportedModelError, refuse
from ..inputs import Inputs
from ..model_file import ModelFile, classifier, label_text, regressor
from .ensemble import Ensemble, Tree, codes_of

# The bit of decision_type for a split by categories (include/LightGBM/tree.h).
_CATEGORICAL = 1
_DEFAULT_LEFT = 2
# The rule for missing values of a split by categories.
_OF_CATEGORIES = -1
# Numbers at most this far from 0 are 0, and missing with zero_as_missing (include/LightGBM/meta.h).
_ZERO = float(np.float32(1e-35))
_BELOW_ZERO = float(np.nextafter(-_ZERO, -1.0))
# By objective, the link and the task of a tree ensemble.
_LINKS = {
    **dict.fromkeys(("poisson", "gamma", "tweedie"), ("exponential", "regression")),
    **dict.fromkeys(("lambdarank", "rank_xendcg"), ("identity", "ranking")),
    **dict.fromkeys(("regression", "regression_l1", "huber"), ("identity", "regression")),
    **dict.fromkeys(("fair", "quantile", "mape", "custom"), ("identity", "regression")),
    "binary": ("logistic", "binary"),
    "multiclass": ("softmax", "multiclass"),
    "multiclassova": ("logistic", "multiclass"),
    "cross_entropy": ("logistic", "regression"),
    "cross_entropy_lambda": ("log_one_plus_exp", "regression"),
}
_OF_CLASSES = ("binary", "multiclass", "softmax", "multiclassova", "multiclass_ova", "ova", "ovr")


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """Returns the file of a `Booster`, `LGBMModel` or one of its subclasses."""
    options = {} if rounds is None else {"num_iteration": rounds}
    if isinstance(model, lightgbm.Booster):
        return _file(model, **regressor(model, **options))
    if not isinstance(model, lightgbm.LGBMModel):
        raise UnsupportedModelError(f"cannot send a {type(model).__qualname__} of lightgbm")
    return _file(model.booster_, **functions(model, model, **options))


def functions(model: Any, estimator: Any, **options: Any) -> dict[str, Any]:
    """Returns the functions to compare the database with, of a model that is the estimator or ends in it."""
    _require_all_rounds(estimator)
    is_classifier = isinstance(estimator, lightgbm.LGBMClassifier)
    objective = estimator.objective_
    if is_classifier and objective not in _OF_CLASSES:
        name = getattr(objective, "__name__", objective)
        refuse(estimator, f"has the objective {name}, which has no classes: push its booster_")
    if not is_classifier:
        return dict(regressor(model, **options))
    # Of two classes there may be an output for each.
    is_multi = estimator.booster_.num_model_per_iteration() > 1
    return dict(classifier(model, objective="multi" * is_multi, **options))


def _require_all_rounds(model: Any) -> None:
    if model.get_params().get("pred_early_stop"):
        refuse(
            model, "has pred_early_stop=True, which leaves out trees of some rows: fit it without"
        )


def _file(booster: lightgbm.Booster, **functions: Any) -> ModelFile:
    text = booster.model_to_string()
    names = booster.feature_name()
    return ModelFile(
        text.encode(), inputs=lambda: _inputs(booster, text), blanks=names, **functions
    )


def _inputs(booster: lightgbm.Booster, text: str) -> Inputs:
    feature = _numbers("split_feature", text).astype(int)
    threshold = _numbers("threshold", text)
    numeric = _numbers("decision_type", text).astype(int) & _CATEGORICAL == 0
    named = booster.pandas_categorical or []
    infos = _infos(text)
    codes = _codes(text, infos)
    columns = _columns_of(named, infos, codes) if named else codes
    if columns is None:
        raise UnsupportedModelError(
            "rows can be neither drawn nor read from a CSV, since the file does not say which features its"
            " categories belong to: pass rows as check, or check=False"
        )
    return Inputs(
        width=booster.num_feature(),
        thresholds={
            column: threshold[(feature == column) & numeric]
            for column in range(booster.num_feature())
        },
        dtype=np.float64,
        names=booster.feature_name(),
        categories=dict(zip(columns, named, strict=True)) if named else codes,
        plain=not named,
        coded=() if named else codes,
    )


def _numbers(key: str, text: str) -> Any:
    """Returns the numbers of all trees, node after node."""
    lines = re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)
    return np.array(" ".join(lines).split(), np.float64)


def _codes(text: str, infos: list[str]) -> dict[int, list[int]]:
    """Returns the codes of each categorical feature, by its position."""
    declared = re.search(r"^\[categorical_feature: ([\d,]+)\]$", text, re.MULTILINE)
    columns = [int(column) for column in declared[1].split(",")] if declared else []
    found = {
        column: [int(code) for code in info.split(":")]
        for column, info in enumerate(infos)
        if info != "none" and not info.startswith("[")
    }
    return {column: found.get(column, [0]) for column in sorted({*columns, *found})}


def _infos(text: str) -> list[str]:
    """Returns each feature's codes, smallest and largest number, or none."""
    (line,) = re.findall(r"^feature_infos=(.*)$", text, re.MULTILINE)
    return str(line).split(" ")


def _columns_of(
    lists: list[Any], infos: list[str], codes: dict[int, list[int]]
) -> list[int] | None:
    """Returns the column of each list of categories if there is one way to assign them, as the server does.

    Lists are in the order of columns. Each categorical column has one; of others, ordered ones have.
    """
    # By number of lists before it, up to two ways to assign the others to the columns from here on.
    ways: list[list[Any]] = [*([] for _ in lists), [()]]
    for column, info in reversed([*enumerate(infos)]):
        passed = [[] if column in codes else of for of in ways]
        for place, values in enumerate(lists):
            fits = _fits(info, codes.get(column, ()), len(values))
            taken = [(column, others) for others in ways[place + 1]] if fits else []
            ways[place] = [*passed[place], *taken][:2]
        ways[-1] = passed[-1]
    if len(ways[0]) != 1:
        return None
    found, others = [], ways[0][0]
    while others:
        column, others = others
        found.append(column)
    return found


def _fits(info: str, codes: Sequence[int], size: int) -> bool:
    """Returns whether all values of a column in training can be codes of a list of this size."""
    if not info.startswith("["):
        # LightGBM 2 has a second code for a column of one.
        return max(codes, default=0) <= size
    low, high = (float(end) for end in info[1:-1].split(":"))
    return low >= 0 and low.is_integer() and high.is_integer() and high < size


def ensemble_of(model: Any) -> Ensemble:
    """Returns the trees that a wrapper predicts with."""
    _require_all_rounds(model)
    text = model.booster_.model_to_string()
    head, *blocks = re.split(r"^Tree=\d+$", text.partition("end of trees")[0], flags=re.MULTILINE)
    fields = _fields(head)
    outputs = int(fields["num_tree_per_iteration"])
    words = fields.get("objective", "custom").split()
    if words[0] not in _LINKS:
        refuse(model, f"has the objective {words[0]}, which is not scored here")
    link, task = _LINKS[words[0]]
    trees, rules = [], set()
    for number, block in enumerate(blocks):
        tree, found = _tree(_fields(block), number % outputs, model)
        trees.append(tree)
        rules |= found
    coded = {feature for feature, rule in rules if rule == _OF_CATEGORIES}
    if coded and model.booster_.pandas_categorical:
        refuse(model, "has categories of pandas: encode them by a step")
    zero = {feature for feature, rule in rules if rule == 1}
    if zero & {feature for feature, rule in rules if rule != 1}:
        refuse(model, "takes zeros for missing in some of its trees only")
    others: dict[str, Any] = {"class_by": "value"}
    others["round_starts"] = list(range(0, len(trees) + 1, outputs))
    if "average_output" in head:
        others["divisor"] = len(trees) / outputs
    if "sqrt" in words:
        link = "signed_square"
    slopes = [float(word[8:]) for word in words if word.startswith("sigmoid:")]
    others["slope"] = slopes[0] if slopes else 1.0
    codes = _codes(text, _infos(text)) if coded else {}
    return Ensemble(
        trees,
        lightgbm.__version__,
        outputs,
        task,
        link,
        "float64",
        {feature: list(range(_number_of_codes(trees, feature, codes))) for feature in coded},
        others=others,
        labels=[label_text(label) for label in getattr(model, "classes_", ())] or None,
        missing=(_BELOW_ZERO, _ZERO) if zero else None,
        missing_in=zero,
        unknown_is_missing=True,
    )


def _number_of_codes(trees: list[Tree], feature: int, trained: dict[int, list[int]]) -> int:
    """Returns one more than the largest code of the feature, in training or in a set."""
    sets = (
        tree.sets[node] for tree in trees for node in tree.sets if tree.feature[node] == feature
    )
    return max(max(codes, default=0) for codes in (*sets, trained[feature])) + 1


def _fields(block: str) -> dict[str, str]:
    lines = (line.partition("=") for line in block.splitlines())
    return {key: value for key, is_field, value in lines if is_field}


def _tree(fields: dict[str, str], output: int, model: Any) -> tuple[Tree, set[tuple[int, int]]]:
    """Returns a tree, splits before leaves, and by feature the rule: nothing, 0 or NaN is missing."""
    if fields.get("is_linear", "0") != "0":
        refuse(model, "has linear models in its leaves")
    leaves = int(fields["num_leaves"])
    splits = leaves - 1

    def numbers(key: str, kind: Any, count: int) -> Any:
        return np.array(fields.get(key, "").split() or [0] * count, np.float64).astype(kind)[:count]

    decision = numbers("decision_type", np.int64, splits)
    threshold, rule = numbers("threshold", np.float64, splits), decision >> 2 & 3
    sets = {}
    for node in np.flatnonzero(decision & _CATEGORICAL):
        place = int(threshold[node])
        start, end = (int(number) for number in fields["cat_boundaries"].split()[place : place + 2])
        sets[int(node)] = codes_of(
            [int(word) for word in fields["cat_threshold"].split()[start:end]]
        )
    threshold[list(sets)] = 0.0
    threshold = np.where((threshold >= -_ZERO) & (threshold < 0.0), _BELOW_ZERO, threshold)
    threshold = np.where((threshold >= 0.0) & (threshold < _ZERO), _ZERO, threshold)
    # Without a rule, NaN counts as 0.
    default_left = np.where(rule == 0, threshold >= 0.0, decision & _DEFAULT_LEFT != 0)
    default_left[list(sets)] = False
    rule[list(sets)] = _OF_CATEGORIES

    def children(key: str) -> Any:
        child = numbers(key, np.int64, splits)
        return np.append(np.where(child < 0, splits + ~child, child), np.full(leaves, -1))

    tree = Tree(
        children("left_child"),
        children("right_child"),
        np.append(numbers("split_feature", np.int64, splits), np.zeros(leaves, np.int64)),
        np.append(threshold, np.zeros(leaves)),
        np.append(default_left, np.zeros(leaves)).astype(np.uint8),
        np.append(numbers("internal_count", float, splits), numbers("leaf_count", float, leaves)),
        np.append(numbers("split_gain", float, splits), np.zeros(leaves)),
        numbers("leaf_value", np.float64, leaves),
        output,
        sets,
    )
    return tree, set(zip(tree.feature[:splits].tolist(), rule.tolist(), strict=True))
