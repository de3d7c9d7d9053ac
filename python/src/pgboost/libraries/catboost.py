"""Converts CatBoost's models to cbm files, which have the names of features and classes."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import catboost

from ..errors import UnsupportedModelError, refuse
from ..inputs import Inputs
from ..model_file import ModelFile, classifier, label_text, of_labels, regressor
from .ensemble import Ensemble, Tree

# By loss function, the type of prediction that the database returns, and the link and the task of a tree
# ensemble; of others, raw values of a regression.
# Losses of several labels, none of which excludes another.
_OF_LABELS = ("MultiLogloss", "MultiCrossEntropy")
_OF_LOSS = {
    **dict.fromkeys(("Logloss", "CrossEntropy", "Focal"), ("Probability", "logistic", "binary")),
    "MultiClass": ("Probability", "softmax", "multiclass"),
    "MultiClassOneVsAll": ("Probability", "logistic", "multiclass"),
    **dict.fromkeys(_OF_LABELS, ("Probability", "logistic", "regression")),
    **dict.fromkeys(("Poisson", "Tweedie"), ("Exponent", "exponential", "regression")),
    "RMSEWithUncertainty": ("RMSEWithUncertainty", "mean_variance", "regression"),
}
_RAW = ("RawFormulaVal", "identity", "regression")
# Of the user's own losses, for which CatBoost allows raw values alone.
_OF_USERS = ("PythonUserDefinedPerObject", "PythonUserDefinedMultiTarget")
# The file has hashes of categories, of which those of small numbers are known.
_CATEGORIES = [str(number) for number in range(-1, 20)]


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """Returns the file of a `CatBoost` or one of its subclasses."""
    if not isinstance(model, catboost.CatBoost):
        raise UnsupportedModelError(f"cannot send a {type(model).__qualname__} of catboost")
    content = _saved(model, "cbm")
    if isinstance(model, catboost.CatBoostClassifier):
        found = {**functions(model, model, ntree_end=rounds or 0), "has_labels": True}
    else:
        kind, _, _ = _OF_LOSS.get(_objective(model), _RAW)
        found = {"values": lambda frame: _values(model, frame, kind, rounds or 0)}
    return ModelFile(content, inputs=lambda: _inputs(model), **found)


def functions(model: Any, estimator: Any, **options: Any) -> dict[str, Any]:
    """Returns the functions to compare the database with, of a model that is the estimator or ends in it."""
    if not isinstance(estimator, catboost.CatBoostClassifier):
        return dict(regressor(model, **options))
    objective = _objective(estimator)
    if objective in _OF_LABELS:
        return dict(of_labels(model, **options))
    if objective in _OF_USERS:
        return dict(regressor(model, prediction_type="RawFormulaVal", **options))
    return dict(classifier(model, _label, objective, **options))


def _objective(model: Any) -> str:
    """Returns the loss function's name, which a sum of models has outside its parameters."""
    stored = model.get_metadata()
    if "loss_function" in stored:
        return str(json.loads(stored["loss_function"])["type"])
    return str(json.loads(stored["params"])["loss_function"]["type"]) if "params" in stored else ""


def _saved(model: Any, kind: str) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "model")
        model.save_model(str(path), format=kind)
        return path.read_bytes()


def _label(label: Any) -> str:
    """Returns a class as the file has it, with whole numbers where possible."""
    is_whole = isinstance(label, (float, np.floating)) and float(label).is_integer()
    return str(int(label)) if is_whole else label_text(label)


def _values(model: Any, frame: Any, kind: str, rounds: int) -> Any:
    """Predicts as the database does; of two columns for two classes, the second."""
    # A ranker's own predict has no prediction_type.
    values = catboost.CatBoost.predict(model, frame, prediction_type=kind, ntree_end=rounds)
    is_second = kind == "Probability" and values.shape[1] == 2
    return values[:, 1] if is_second and _objective(model) not in _OF_LABELS else values


def _inputs(model: Any) -> Inputs:
    names = model.feature_names_
    return Inputs(
        width=len(names),
        thresholds=model.get_borders(),
        dtype=np.float32,
        names=names,
        categories=dict.fromkeys(model.get_cat_feature_indices(), _CATEGORIES),
        plain=True,
        hashed=True,
    )


def ensemble_of(model: Any) -> Ensemble:
    """Returns the trees of a model of numeric features."""
    content = json.loads(_saved(model, "json"))
    floats = content["features_info"]["float_features"] or []
    if set(content["features_info"]) - {"float_features"}:
        refuse(
            model,
            "has features that are no numbers behind a Pipeline: encode them by a step of it",
        )
    column = {feature["feature_index"]: feature["flat_feature_index"] for feature in floats}
    # NaN is above no border, unless the feature says that it is above all.
    is_left = {one["feature_index"]: one["nan_value_treatment"] != "AsTrue" for one in floats}
    scale, bias = content["scale_and_bias"]
    outputs = len(bias)
    symmetric = content.get("oblivious_trees") is not None
    roots = (
        [_nested(tree) for tree in content["oblivious_trees"]] if symmetric else content["trees"]
    )
    trees = [_tree(root, column, is_left, outputs) for root in roots]
    _, link, task = _OF_LOSS.get(_objective(model), _RAW)
    others: dict[str, Any] = {"scale": float(scale), "bias": [float(number) for number in bias]}
    probability = float(model.get_metadata().get("binclass_probability_threshold") or 0.5)
    if task == "binary" and probability != 0.5:
        if not 0.0 < probability < 1.0:
            refuse(model, f"has the probability threshold {probability}, not one between 0 and 1")
        others["class_threshold"] = -math.log(1.0 / probability - 1.0)
    return Ensemble(
        trees,
        catboost.__version__,
        outputs,
        task,
        link,
        others=others,
        labels=[_label(label) for label in getattr(model, "classes_", ())] or None,
    )


def _nested(tree: dict[str, Any]) -> dict[str, Any]:
    """Returns a symmetric tree as nested nodes; the first split has the lowest bit of a leaf's number."""
    splits, values, weights = tree["splits"] or [], tree["leaf_values"], tree["leaf_weights"]
    leaves = 1 << len(splits)
    nodes: list[dict[str, Any]] = []
    for value, weight in zip(np.reshape(values, (leaves, -1)), weights, strict=True):
        nodes.append({"value": list(value), "weight": weight})
    for split in splits:
        pairs = zip(nodes[::2], nodes[1::2], strict=True)
        nodes = [{"split": split, "left": left, "right": right} for left, right in pairs]
    return nodes[0]


def _tree(
    root: dict[str, Any], column: dict[int, int], is_left: dict[int, bool], outputs: int
) -> Tree:
    nodes, rows = [root], []
    for node in nodes:
        children = [node[side] for side in ("left", "right") if "split" in node]
        first = len(nodes) if children else -1
        nodes += children
        split = node.get("split") or {}
        feature = split.get("float_feature_index", -1)
        border = float(np.float32(split.get("border", 0.0)))
        rows.append((first, column.get(feature, 0), border, is_left.get(feature, False)))
    cover = np.array([node.get("weight", 0.0) for node in nodes], np.float64)
    left = np.array([row[0] for row in rows])
    for number in np.flatnonzero(left >= 0)[::-1]:
        cover[number] = cover[left[number]] + cover[left[number] + 1]
    values = [np.ravel(node["value"]) for node in nodes if "split" not in node]
    return Tree(
        left,
        np.where(left < 0, -1, left + 1),
        np.array([row[1] for row in rows]),
        np.array([row[2] for row in rows]),
        np.array([row[3] for row in rows], np.uint8),
        cover,
        np.zeros(len(rows)),
        np.array(values),
        0 if outputs == 1 else None,
    )
