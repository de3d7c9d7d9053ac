"""Converts scikit-learn's trees to the tree ensembles of docs/formats.md.

Sums are those of one thread (`n_jobs=1`), in the order of the estimators, so `predict`, `predict_proba` and
`decision_function` are equal to the bit. Pipelines are in `pipeline`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas
import sklearn
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..comparison import EXACT, Tolerance
from ..errors import refuse
from ..model_file import ModelFile, classifier, label_text, of_labels, require_classes
from .combined import (
    calibrated,
    one_against_rest,
    several_targets,
    stacked,
    thresholded,
    transformed,
    voting,
)
from .ensemble import Ensemble, Tree, codes_of, described
from .known import PARAMETERS, is_known, known
from .linear import linear

# Two classes of a forest are as probable as each other up to the rounding of their sums.
_TIE = 1e-9
# A margin of 0 means the second class, which a file says by a number below 0.
_NOT_BELOW_ZERO = -5e-324
_VERSION = sklearn.__version__
# Trees held counts before this release, and shares of the classes since.
_HOLDS_SHARES = tuple(int(part) for part in _VERSION.split(".")[:2]) >= (1, 4)
_NO_TREES = "is no model of trees, so it is not scored by itself"
_SCALARS = (np.number, np.bool_, np.str_)
# By class, estimators that combine others.
_COMBINED = {
    "VotingRegressor": voting,
    "VotingClassifier": voting,
    "StackingRegressor": stacked,
    "StackingClassifier": stacked,
    "MultiOutputClassifier": several_targets,
    "MultiOutputRegressor": several_targets,
    "OneVsRestClassifier": one_against_rest,
    "CalibratedClassifierCV": calibrated,
    "TransformedTargetRegressor": transformed,
    "FixedThresholdClassifier": thresholded,
    "TunedThresholdClassifierCV": thresholded,
}
# Their sums are in another order, or followed by an exponential of NumPy's.
_OF_COMBINED = Tolerance(rtol=2**-23, tie=_TIE)


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    require_trees(model)
    return described(ensemble_of(model), model, functions(model, model), type(model).__name__)


def require_trees(model: Any) -> None:
    if is_known(model, *_LINEAR):
        refuse(model, _NO_TREES)


def functions(model: Any, estimator: Any) -> dict[str, Any]:
    """Returns the functions to compare the database with, of a model that is the estimator or ends in it."""
    name = type(estimator).__name__
    if name == "IsolationForest":
        return {
            "values": model.decision_function,
            "classes": lambda frame: [str(label) for label in model.predict(frame)],
            "labels": ["-1", "1"],
            "cut": 0.0,
        }
    is_combined = name in (*_COMBINED, *_LINEAR)
    is_near = is_combined or getattr(estimator, "algorithm", "") == "SAMME.R"
    tolerance = _OF_COMBINED if is_near else Tolerance(tie=_TIE)
    if is_classifier(estimator) and _has_labels(estimator):
        return {
            "values": lambda frame: np.stack([of[:, 1] for of in model.predict_proba(frame)], 1),
            "tolerance": tolerance,
        }
    if is_classifier(estimator):
        has_labels = getattr(estimator, "multilabel_", False)
        return {**(of_labels if has_labels else classifier)(model), "tolerance": tolerance}
    return {"values": model.predict, "tolerance": tolerance if is_combined else EXACT}


def ensemble_of(model: Any) -> Ensemble:
    name = known(model)
    try:
        check_is_fitted(model)
    except NotFittedError:
        refuse(model, "is not fitted")
    classes = getattr(model, "classes_", (-1, 1))
    if _has_labels(model):
        largest = max(len(of) for of in classes)
        if {len(of) for of in classes} != {2}:
            reason = f"has several outputs, one of {largest} classes: push a classifier for each"
            refuse(model, f"{reason}; outputs of two classes are scored together")
        return _ENSEMBLES[name](model)
    require_classes(model, classes)
    if name not in _ENSEMBLES:
        refuse(model, _NO_TREES)
    return replace(_ENSEMBLES[name](model), labels=[label_text(label) for label in classes])


def _has_labels(model: Any) -> bool:
    """Returns whether the model's outputs are several, each with its own classes."""
    return isinstance(getattr(model, "classes_", None), list)


def _trees(model: Any) -> list[tuple[Any, Any]]:
    """Returns the trees of a forest, a bagging or AdaBoost, or the tree itself, each with its columns."""
    if is_known(model, *_TREES):
        return [(model, None)]
    trees = model.estimators_
    for tree in trees:
        if not is_known(tree, *_TREES) or is_classifier(tree) != is_classifier(model):
            refuse(model, f"is one of {type(tree).__qualname__}, not of trees of its kind")
    known(trees[0])
    columns = getattr(model, "estimators_features_", [None] * len(trees))
    return list(zip(trees, columns, strict=True))


def arrays_of(tree: Any, columns: Any, values: Any, output: int | None = None) -> Tree:
    """Converts a tree of scikit-learn with the given values of its nodes; features index `columns`."""
    nodes = tree.__getstate__()["nodes"]
    left, right = nodes["left_child"], nodes["right_child"]
    feature = np.maximum(nodes["feature"], 0)
    feature = feature if columns is None else np.asarray(columns)[feature]
    weights, inner = nodes["weighted_n_node_samples"], left >= 0
    gain = np.zeros(len(nodes))
    loss = weights * nodes["impurity"]
    gain[inner] = (loss - loss[left] - loss[right])[inner]
    # Releases before 1.3 send no value left for being missing.
    known = "missing_go_to_left" in nodes.dtype.names
    missing = nodes["missing_go_to_left"] if known else np.zeros(len(nodes))
    leaves = np.asarray(values, np.float64)[~inner]
    return Tree(left, right, feature, nodes["threshold"], missing, weights, gain, leaves, output)


def _probabilities(tree: Any) -> Any:
    """Returns each node's shares of the classes by output, as in `DecisionTreeClassifier.predict_proba`."""
    shares = tree.tree_.value
    if _HOLDS_SHARES:
        return shares
    total = shares.sum(axis=2, keepdims=True)
    return shares / np.where(total == 0.0, 1.0, total)


def _averaged(model: Any) -> Ensemble:
    members = _trees(model)
    trees = [arrays_of(tree.tree_, columns, _node_values(model, tree)) for tree, columns in members]
    outputs, task = trees[0].values.shape[1], "regression"
    for tree in trees:
        tree.output = 0 if outputs == 1 else None
    if is_classifier(model) and not _has_labels(model):
        task = "binary" if outputs == 1 else "multiclass"
    return Ensemble(trees, _VERSION, outputs, task, others={"divisor": float(len(trees))})


def _node_values(model: Any, tree: Any) -> Any:
    """Returns the numbers of each node, or the shares of the classes, of two those of the second."""
    if not is_classifier(model):
        return tree.tree_.value[:, :, 0]
    shares = _probabilities(tree)
    if _has_labels(model):
        return shares[:, :, 1]
    found, classes = shares[:, 0, :], len(model.classes_)
    if found.shape[1] != classes:
        # A tree of a bagging that has not seen every class.
        every = np.zeros((len(found), classes))
        every[:, np.asarray(tree.classes_, int)] = found
        found = every
    return found[:, 1:] if classes == 2 else found


def _boosting(model: Any) -> Ensemble:
    """Converts GradientBoosting: an initial value, and each tree times the learning rate."""
    width = model.n_features_in_
    base = np.ravel(model._raw_predict_init(np.zeros((1, width), np.float32)))
    trees = [
        arrays_of(tree.tree_, None, model.learning_rate * tree.tree_.value[:, 0, :1], output)
        for stage in model.estimators_
        for output, tree in enumerate(stage)
    ]
    others: dict[str, Any] = {"base": [float(number) for number in base]}
    outputs = model.estimators_.shape[1]
    others["round_starts"] = list(range(0, len(trees) + 1, outputs))
    if not is_classifier(model):
        return Ensemble(trees, _VERSION, outputs, others=others)
    if outputs > 1:
        return Ensemble(trees, _VERSION, outputs, "multiclass", "softmax", others=others)
    others |= {"class_threshold": _NOT_BELOW_ZERO}
    others |= {"slope": 2.0} if model.loss == "exponential" else {}
    return Ensemble(trees, _VERSION, outputs, "binary", "logistic", others=others)


def _isolation(model: Any) -> Ensemble:
    from sklearn.ensemble._iforest import _average_path_length

    pairs = zip(model.estimators_, model.estimators_features_, strict=True)
    trees = []
    for number, (tree, columns) in enumerate(pairs):
        depths = model._decision_path_lengths[number] + model._average_path_length_per_tree[number]
        trees.append(arrays_of(tree.tree_, columns, depths - 1.0, 0))
    divisor = len(trees) * float(_average_path_length([model._max_samples])[0])
    others = {"divisor": divisor, "slope": -float(model.offset_), "class_by": "value"}
    others["class_threshold"] = _NOT_BELOW_ZERO
    return Ensemble(trees, _VERSION, 1, "binary", "isolation", others=others)


def _ada_boost(model: Any) -> Ensemble:
    """Converts AdaBoost: a tree votes with its weight for the class that it predicts, and against others.

    Of SAMME.R, it votes with the logarithms of its probabilities.
    """
    classes = len(model.classes_)
    trees = []
    for (tree, columns), weight in zip(_trees(model), model.estimator_weights_, strict=False):
        shares = _probabilities(tree)[:, 0, :]
        if getattr(model, "algorithm", "") == "SAMME.R":
            logs = np.log(np.maximum(shares, np.finfo(float).eps))
            votes = (classes - 1) * (logs - logs.mean(axis=1, keepdims=True))
        else:
            is_voted = shares.argmax(axis=1)[:, np.newaxis] == np.arange(classes)
            votes = np.where(is_voted, weight, -1 / (classes - 1) * weight)
        values, output = (votes[:, 1:], 0) if classes == 2 else (votes, None)
        trees.append(arrays_of(tree.tree_, columns, values, output))
    total = float(model.estimator_weights_.sum())
    if classes == 2:
        others = {"scale": 2.0, "divisor": total}
        return Ensemble(trees, _VERSION, 1, "binary", "logistic", others=others)
    others = {"divisor": total * (classes - 1)}
    return Ensemble(trees, _VERSION, classes, "multiclass", "softmax", others=others)


def _ada_boost_of_numbers(model: Any) -> Ensemble:
    """Converts AdaBoostRegressor: an output per tree, and one per weight."""
    trees = [
        arrays_of(tree.tree_, columns, tree.tree_.value[:, 0, 0], output)
        for output, (tree, columns) in enumerate(_trees(model))
    ]
    weights = [float(weight) for weight in model.estimator_weights_[: len(trees)]]
    others = {"bias": [0.0] * len(trees) + weights}
    return Ensemble(trees, _VERSION, 2 * len(trees), link="weighted_median", others=others)


def _histogram_boosting(model: Any) -> Ensemble:
    outputs = model.n_trees_per_iteration_
    columns, categories, encoded = _columns(model)
    trees = [
        _histogram_tree(predictor, columns, output)
        for iteration in model._predictors
        for output, predictor in enumerate(iteration)
    ]
    if not hasattr(model, "_preprocessor"):
        # Before 1.4 sets have the categories themselves.
        for tree in trees:
            for node, values in tree.sets.items():
                known_values = categories[int(tree.feature[node])]
                tree.sets[node] = [known_values.index(value) for value in values]
    nones = {column: len(values) - 1 for column, values in encoded.items() if None in values}
    for tree in trees:
        _none_as_missing(tree, nones)
    base = np.ravel(model._baseline_prediction).astype(np.float64)
    others: dict[str, Any] = {"base": [float(number) for number in base]}
    others["round_starts"] = list(range(0, len(trees) + 1, outputs))
    task, link = "regression", "identity"
    if is_classifier(model):
        task, link = ("binary", "logistic") if outputs == 1 else ("multiclass", "softmax")
    elif model.loss in ("poisson", "gamma"):
        link = "exponential"
    found = Ensemble(trees, _VERSION, outputs, task, link, "float64", categories, others=others)
    # Where None is missing, what is unknown goes another way.
    return replace(found, encoded=encoded, unknown_is_missing=not nones)


def _none_as_missing(tree: Tree, nones: dict[int, int]) -> None:
    """Lets missing values go where None goes, whose code is given by column."""
    for node, codes in tree.sets.items():
        code = nones.get(int(tree.feature[node]))
        if code is not None:
            tree.missing_left[node] = code in codes
            tree.sets[node] = [one for one in codes if one != code]


def _columns(model: Any) -> tuple[Any, dict[int, list[Any]], dict[int, list[Any]]]:
    """Returns the column of each feature of the trees, the values of its categories, and those of objects.

    scikit-learn tells None among these from NaN, and takes no numbers but objects for theirs.
    """
    width = model.n_features_in_
    marked = getattr(model, "is_categorical_", None)
    if marked is None or not np.any(marked):
        return np.arange(width), {}, {}
    if not hasattr(model, "_preprocessor"):
        thresholds = model._bin_mapper.bin_thresholds_
        codes = {int(c): [int(code) for code in thresholds[c]] for c in np.flatnonzero(marked)}
        return np.arange(width), codes, {}
    # The model's own ColumnTransformer moves categorical columns to the front.
    columns = np.concatenate([np.flatnonzero(marked), np.flatnonzero(~np.asarray(marked))])
    categories, encoded = {}, {}
    encoder = model._preprocessor.named_transformers_["encoder"]
    for column, values in zip(np.flatnonzero(marked), encoder.categories_, strict=True):
        categories[int(column)] = found = category_values(values, model)
        if None in values:
            encoded[int(column)] = [*found, None]
        elif values.dtype == object and not all(isinstance(value, str) for value in found):
            encoded[int(column)] = found
    return columns, categories, encoded


def category_values(values: Any, model: Any) -> list[Any]:
    """Returns an encoder's categories in the order of their codes, without a missing one at the end."""
    found = [value.item() if isinstance(value, _SCALARS) else value for value in values]
    present = [value for value in found if not is_missing(value)]
    for value in present:
        if not isinstance(value, (str, int, float)):
            refuse(model, f"has the category {value!r}: text, numbers and booleans are scored")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            refuse(
                model, f"has the category {value}, which is beyond SQL's bigint: make texts of them"
            )
    if len(found) > len(present) + 1:
        pair = f"{found[-2]} from {found[-1]}"
        refuse(model, f"tells {pair}, which are NULL both: fit it with one of them")
    return present


def is_missing(value: Any) -> bool:
    """Returns whether a value of any type is None or NaN."""
    return bool(pandas.api.types.is_scalar(value) and pandas.isna(value))


def _histogram_tree(predictor: Any, columns: Any, output: int) -> Tree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    left = np.where(leaf, -1, nodes["left"].astype(np.int64))
    right = np.where(leaf, -1, nodes["right"].astype(np.int64))
    categorical = np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf)
    sets = {}
    for node in categorical:
        words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        sets[int(node)] = codes_of(words)
    threshold = np.where(leaf | (nodes["is_categorical"] != 0), 0.0, nodes["num_threshold"])
    gain = np.where(leaf, 0.0, nodes["gain"])
    return Tree(
        left,
        right,
        columns[nodes["feature_idx"]],
        threshold,
        nodes["missing_go_to_left"],
        nodes["count"],
        gain,
        nodes["value"][leaf],
        output,
        sets,
    )


_TREES = (
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
)
_FORESTS = ("RandomForest", "ExtraTrees", "Bagging")
# Members of what combines models.
_LINEAR = tuple(" ".join(PARAMETERS["sklearn.linear_model"]).split())
# By class, the function that converts an estimator.
_ENSEMBLES: dict[str, Callable[[Any], Ensemble]] = {
    **dict.fromkeys(_TREES, _averaged),
    **{f"{kind}{task}": _averaged for kind in _FORESTS for task in ("Classifier", "Regressor")},
    "BalancedRandomForestClassifier": _averaged,
    "GradientBoostingClassifier": _boosting,
    "GradientBoostingRegressor": _boosting,
    "HistGradientBoostingClassifier": _histogram_boosting,
    "HistGradientBoostingRegressor": _histogram_boosting,
    "IsolationForest": _isolation,
    "AdaBoostClassifier": _ada_boost,
    "AdaBoostRegressor": _ada_boost_of_numbers,
    **dict.fromkeys(_LINEAR, linear),
    **_COMBINED,
}
