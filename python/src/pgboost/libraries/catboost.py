"""CatBoost's models, as cbm files, which carry the names of features and classes."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import catboost

from ..errors import UnsupportedModelError
from ..inputs import Inputs
from ..model_file import ModelFile, classifier, label_text, of_labels, regressor
from .ensemble import Ensemble, Tree

# What the database returns for a loss function; for others, the raw value.
_PREDICTION_TYPES = {
    "Logloss": "Probability",
    "CrossEntropy": "Probability",
    "MultiClass": "Probability",
    "MultiClassOneVsAll": "Probability",
    "Poisson": "Exponent",
    "Tweedie": "Exponent",
    "RMSEWithUncertainty": "RMSEWithUncertainty",
}
# How the raw values become what the database returns, and what that is good for, in the words of tree
# ensembles. Others are numbers as they are.
_LINKS = {
    "Logloss": ("logistic", "binary"),
    "CrossEntropy": ("logistic", "binary"),
    "MultiClass": ("softmax", "multiclass"),
    "MultiClassOneVsAll": ("logistic", "multiclass"),
    "Poisson": ("exponential", "regression"),
    "Tweedie": ("exponential", "regression"),
    "RMSEWithUncertainty": ("mean_variance", "regression"),
}
# The file has hashes of categories only. Those that are small numbers are found without their names.
_CATEGORIES = [str(number) for number in range(-1, 20)]


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """The file of a `CatBoost` or one of its subclasses."""
    if not isinstance(model, catboost.CatBoost):
        raise UnsupportedModelError(f"cannot send a {type(model).__qualname__} of catboost")
    content = _saved(model, "cbm")
    if isinstance(model, catboost.CatBoostClassifier):
        found = {**functions(model, model, ntree_end=rounds or 0), "has_labels": True}
    else:
        kind = _PREDICTION_TYPES.get(_objective(model))
        found = {"values": lambda frame: _values(model, frame, kind, rounds or 0)}
    return ModelFile(content, inputs=lambda: _inputs(model), **found)


def functions(model: Any, estimator: Any, **options: Any) -> dict[str, Any]:
    """What the database predicts of a model, which may be a pipeline that ends in the estimator."""
    if not isinstance(estimator, catboost.CatBoostClassifier):
        return dict(regressor(model, **options))
    objective = _objective(estimator)
    if objective in ("MultiLogloss", "MultiCrossEntropy"):
        return dict(of_labels(model, **options))
    return dict(classifier(model, _label, objective, **options))


def _objective(model: Any) -> str:
    """The name of the loss function, which a sum of models has apart from its parameters."""
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
    """A class as the file has it, whose numbers are whole where they can be."""
    is_whole = isinstance(label, (float, np.floating)) and float(label).is_integer()
    return str(int(label)) if is_whole else label_text(label)


def _values(model: Any, frame: Any, kind: str | None, rounds: int) -> Any:
    """What the database returns; of two columns for two classes, the second."""
    # A ranker's own has no types.
    predict = model.predict if kind else partial(catboost.CatBoost.predict, model)
    values = predict(frame, prediction_type=kind or "RawFormulaVal", ntree_end=rounds)
    return values[:, 1] if kind == "Probability" and values.shape[1] == 2 else values


def _inputs(model: Any) -> Inputs:
    names = model.feature_names_
    return Inputs(
        width=len(names),
        thresholds=model.get_borders(),
        dtype=np.float32,
        names=names,
        categories=dict.fromkeys(model.get_cat_feature_indices(), _CATEGORIES),
        plain=True,
    )


def ensemble_of(model: Any) -> Ensemble:
    """The trees of a model of numbers, in the words of tree ensembles."""
    kind, content = type(model).__qualname__, json.loads(_saved(model, "json"))
    floats = content["features_info"]["float_features"] or []
    if set(content["features_info"]) - {"float_features"}:
        raise UnsupportedModelError(
            f"the {kind} has features that are no numbers behind a Pipeline: encode them by a step of it"
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
    link, task = _LINKS.get(_objective(model), ("identity", "regression"))
    return Ensemble(
        trees,
        catboost.__version__,
        outputs,
        task,
        link,
        others={"scale": float(scale), "bias": [float(number) for number in bias]},
        labels=[_label(label) for label in getattr(model, "classes_", ())] or None,
    )


def _nested(tree: dict[str, Any]) -> dict[str, Any]:
    """A symmetric tree as one of nested nodes; the first split has the lowest bit of a leaf's number."""
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
    """The nodes of a tree level by level."""
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
