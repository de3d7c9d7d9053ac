"""scikit-learn's forests and boosted trees, as ONNX files made by skl2onnx.

Features are floats there: scikit-learn's trees round to float themselves, but for
HistGradientBoosting, which compares doubles. skl2onnx 1.20 forgets where trees of forests send missing
values, so that is written here; what else it converts to other numbers is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..comparison import Tolerance
from ..errors import UnsupportedModelError
from ..inputs import Inputs
from ..model_file import ModelFile, classifier

# Of later ones skl2onnx converts no isolation forest.
OPSETS = {"": 17, "ai.onnx.ml": 3}
# ONNX sums floats where scikit-learn sums doubles: each tree adds an error of half a last digit.
_RTOL = 1e-6
_RTOL_PER_TREE = 2**-24
_MESSAGE_LENGTH = 200


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """The file of a fitted estimator of trees, of which all are used."""
    if rounds is not None:
        raise UnsupportedModelError(
            "a model of scikit-learn has no rounds: fit it with fewer trees"
        )
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    for step in steps:
        _require_convertible(step)
    proto = _converted(model)
    _write_missing(proto, [tree for tree in _trees(steps[-1]) if _has_missing(tree)])
    found = ModelFile(
        content=proto.SerializeToString(),
        values=model.predict,
        feature_names=_names(model),
        inputs=lambda: _inputs(model, steps),
        tolerance=_tolerance(steps[-1]),
    )
    if hasattr(model, "score_samples"):
        # An isolation forest: its classes are outliers and others.
        return replace(
            found,
            values=model.decision_function,
            classes=lambda frame: [str(label) for label in model.predict(frame)],
            labels=["-1", "1"],
            cut=0.0,
        )
    return replace(found, **classifier(model)) if is_classifier(model) else found


def _tolerance(estimator: Any) -> Tolerance:
    trees = len(list(_splits(estimator))) - 1
    # The decision of an isolation forest is what is left of two numbers of about 0.5.
    atol = _RTOL if hasattr(estimator, "score_samples") else 0.0
    return Tolerance(rtol=_RTOL + trees * _RTOL_PER_TREE, atol=atol, scaled=_RTOL)


def _require_convertible(step: Any) -> None:
    """Refuses what skl2onnx converts to other numbers, and what it names badly."""
    reason = _reason(step)
    if reason:
        raise UnsupportedModelError(f"the {type(step).__qualname__} {reason}")


def _reason(step: Any) -> str | None:  # noqa: PLR0911 (one for each reason)
    loss = getattr(step, "loss", None)
    if np.ndim(getattr(step, "n_classes_", 0)):
        return "has several outputs of classes: push a classifier for each"
    if is_classifier(step) and len(getattr(step, "classes_", ())) == 1:
        return f"was fitted on one class, {step.classes_[0]}: it predicts nothing else"
    if getattr(step, "indicator_", None) is not None:
        return "has add_indicator=True, whose columns are not scored: leave it out"
    if hasattr(step, "estimators_"):
        if loss == "exponential":
            return "has loss='exponential', which is not scored: use loss='log_loss'"
        if not isinstance(getattr(step, "init", None), (str, type(None))):
            return (
                "begins with an estimator, its init, which skl2onnx cannot convert: leave init out"
            )
    if not hasattr(step, "is_categorical_"):
        return None
    if np.any(step.is_categorical_ is not None and step.is_categorical_):
        return (
            "has categorical_features, which skl2onnx takes for numbers: use LightGBM, XGBoost or CatBoost,"
            " whose categories are scored exactly, or encode them as numbers"
        )
    if loss in ("poisson", "gamma"):
        return (
            f"has loss={loss!r}, whose exponential skl2onnx omits: use objective={loss!r} of LightGBM,"
            " or fit log(y)"
        )
    if _protobuf() >= 7:
        return "is converted by skl2onnx with protobuf up to 6 only: pip install 'protobuf<7'"
    return None


def _protobuf() -> int:
    from google.protobuf import __version__

    return int(__version__.partition(".")[0])


def _converted(model: Any) -> Any:
    """The model in ONNX."""
    try:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import FloatTensorType
    except ImportError as error:
        message = "a model of scikit-learn is sent as ONNX: pip install skl2onnx"
        raise UnsupportedModelError(message) from error
    inputs = [("X", FloatTensorType([None, model.n_features_in_]))]
    options = {id(model): {"zipmap": False}} if is_classifier(model) else None
    try:
        return convert_sklearn(model, initial_types=inputs, options=options, target_opset=OPSETS)
    except Exception as error:
        name = type(model).__qualname__
        message = f"skl2onnx cannot convert the {name}: {_line(error)}"
        raise UnsupportedModelError(message) from error


def _line(error: Exception) -> str:
    """The first line of an error, cut: a converter may print its whole forest."""
    line = str(error).strip().partition("\n")[0] or type(error).__qualname__
    return line if len(line) <= _MESSAGE_LENGTH else f"{line[:_MESSAGE_LENGTH]}..."


def _trees(estimator: Any) -> Iterator[Any]:
    """The trees of a forest, of boosting, or a tree itself; HistGradientBoosting has others."""
    if hasattr(estimator, "tree_"):
        yield estimator.tree_
    elif not hasattr(estimator, "_predictors"):
        for tree in np.ravel(getattr(estimator, "estimators_", ())):
            yield from _trees(tree)


def _has_missing(tree: Any) -> bool:
    return "missing_go_to_left" in tree.__getstate__()["nodes"].dtype.names


def _write_missing(proto: Any, trees: list[Any]) -> None:
    """Writes where each node sends missing values. Nodes are in scikit-learn's order."""
    left = [node for tree in trees for node in tree.__getstate__()["nodes"]["missing_go_to_left"]]
    for ensemble in sorted(proto.graph.node, key=_number):
        for attribute in ensemble.attribute:
            if attribute.name == "nodes_missing_value_tracks_true" and left:
                count = len(attribute.ints)
                attribute.ints[:] = [int(goes) for goes in left[:count]]
                left = left[count:]
    if left:
        raise UnsupportedModelError("skl2onnx has left out nodes of the trees")


def _number(node: Any) -> int:
    """The number of a tree of an isolation forest, each of which is a node of the graph."""
    found = re.match(r"node_sample(\d+)_", node.input[0] if node.input else "")
    return int(found[1]) if found else 0


def _inputs(model: Any, steps: list[Any]) -> Inputs:
    width = model.n_features_in_
    found = list(_splits(steps[-1]))
    feature, threshold = (np.concatenate(part) for part in zip(*found, strict=True))
    # A split of missing values from all others is at infinity.
    finite = np.isfinite(threshold)
    thresholds = {column: threshold[(feature == column) & finite] for column in range(width)}
    for step in reversed(steps[:-1]):
        thresholds = _before(step, thresholds, width)
    return Inputs(
        width=width,
        thresholds=thresholds,
        dtype=np.float32,
        names=_names(model),
        missing=_takes_missing(model, width),
        # Scalers compute in float in ONNX, and thresholds of HistGradientBoosting are doubles.
        exact=len(steps) == 1 and not hasattr(model, "_predictors"),
    )


def _splits(estimator: Any) -> Iterator[tuple[Any, Any]]:
    """Features and thresholds of each tree."""
    yield np.empty(0, int), np.empty(0)
    for tree in _trees(estimator):
        inner = tree.feature >= 0
        yield tree.feature[inner], tree.threshold[inner]
    for round_ in getattr(estimator, "_predictors", ()):
        for nodes in (tree.nodes[tree.nodes["is_leaf"] == 0] for tree in round_):
            yield nodes["feature_idx"], nodes["num_threshold"]


def _before(step: Any, thresholds: dict[int, Any], width: int) -> dict[int, Any]:
    """Thresholds in front of a step; what it is not known to do changes nothing."""
    if not hasattr(step, "inverse_transform") or hasattr(step, "statistics_"):
        return thresholds
    found = {}
    for column, values in thresholds.items():
        rows = np.zeros((len(values) + 1, width))
        rows[:-1, column] = values
        found[column] = np.asarray(step.inverse_transform(rows))[:-1, column]
    return found


def _names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _takes_missing(model: Any, width: int) -> bool:
    import pandas

    row = np.full((1, width), np.nan, np.float32)
    names = _names(model)
    try:
        model.predict(row if names is None else pandas.DataFrame(row, columns=names))
    except ValueError:
        return False
    return True
