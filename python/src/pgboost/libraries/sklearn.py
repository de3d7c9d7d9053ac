"""scikit-learn's trees, as the tree ensembles that docs/formats.md describes.

Everything that decides a bit of `predict`, `predict_proba` and `decision_function` is written: the sums
are those of one thread (`n_jobs=1`), in the order of the estimators. Pipelines are `steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sklearn
from sklearn.base import is_classifier
from sklearn.ensemble import AdaBoostClassifier
from sklearn.ensemble._bagging import BaseBagging
from sklearn.ensemble._forest import BaseForest

from .. import ubjson
from ..comparison import Tolerance
from ..errors import UnsupportedModelError
from ..inputs import Inputs
from ..model_file import ModelFile, classifier

# Two classes of a forest are as probable as each other up to the rounding of their sums.
_TIE = 1e-9
# A margin of 0 means the second class, which a file says by a number below 0.
_NOT_BELOW_ZERO = -5e-324


@dataclass
class Tree:
    """A tree's arrays, with an entry per node; a leaf's child is -1.

    `values` has a row per leaf in the order of nodes, `sets` the codes that go left, by node.
    """

    left: Any
    right: Any
    feature: Any
    threshold: Any
    missing_left: Any
    cover: Any
    gain: Any
    values: Any
    output: int | None = None
    sets: dict[int, list[int]] = field(default_factory=dict)

    @property
    def leaves(self) -> Any:
        return self.left < 0

    def file(self) -> dict[str, Any]:
        """The tree in the words of the file."""
        written: dict[str, Any] = {} if self.output is None else {"output": self.output}
        written |= {
            "left": np.asarray(self.left, np.int32),
            "right": np.asarray(self.right, np.int32),
            "feature": np.maximum(np.asarray(self.feature, np.int32), 0),
            "threshold": np.asarray(self.threshold, np.float64),
            "missing_left": np.asarray(self.missing_left, np.uint8),
            "cover": np.asarray(self.cover, np.float32),
            "gain": np.asarray(self.gain, np.float32),
            "leaf_values": np.asarray(self.values, np.float64).ravel(),
        }
        if self.sets:
            numbers = np.full(len(self.left), -1, np.int32)
            numbers[list(self.sets)] = np.arange(len(self.sets))
            written["category_set"] = numbers
            written["category_sets"] = [np.asarray(codes, np.int32) for codes in self.sets.values()]
        return written


@dataclass
class Ensemble:
    """Trees of an estimator, and what the file says of all of them."""

    trees: list[Tree]
    outputs: int = 1
    task: str = "regression"
    link: str = "identity"
    value_type: str = "float32"
    # The values of categorical features, by feature.
    categories: dict[int, list[Any]] = field(default_factory=dict)
    others: dict[str, Any] = field(default_factory=dict)


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """The file of a fitted estimator of trees, of which all are used."""
    require_no_rounds(rounds)
    ensemble = ensemble_of(model)
    content = written(ensemble, model, model.n_features_in_, names(model))
    return described(content, model, model, lambda: inputs(model, ensemble))


def require_no_rounds(rounds: int | None) -> None:
    """Refuses a number of rounds, which no estimator of scikit-learn can be asked for."""
    if rounds is not None:
        raise UnsupportedModelError(
            "a model of scikit-learn has no rounds: fit it with fewer trees"
        )


def written(ensemble: Ensemble, estimator: Any, width: int, features: list[str] | None) -> bytes:
    """The bytes of the file."""
    labels = None
    if ensemble.task != "regression":
        labels = [str(label) for label in getattr(estimator, "classes_", (-1, 1))]
    head = {
        "tree_ensemble": 1,
        "library_version": sklearn.__version__,
        "objective": type(estimator).__name__,
        "num_features": width,
        "feature_names": features,
        "class_labels": labels,
        "task": ensemble.task,
        "link": ensemble.link,
        "outputs": ensemble.outputs,
        "value_type": ensemble.value_type,
        **ensemble.others,
    }
    if ensemble.categories:
        head["categories"] = [ensemble.categories.get(column) for column in range(width)]
    head = {key: value for key, value in head.items() if value is not None}
    return ubjson.dumps(head | {"trees": [tree.file() for tree in ensemble.trees]})


def described(content: bytes, model: Any, estimator: Any, asked: Callable[[], Inputs]) -> ModelFile:
    """The file with the functions of the model, which may be a pipeline that ends in the estimator."""
    found = {"content": content, "inputs": asked, "has_labels": True}
    if hasattr(estimator, "offset_"):
        return ModelFile(
            **found,
            values=model.decision_function,
            classes=lambda frame: [str(label) for label in model.predict(frame)],
            labels=["-1", "1"],
            cut=0.0,
        )
    if not is_classifier(estimator):
        return ModelFile(**found, values=model.predict)
    tolerance = Tolerance(tie=_TIE)
    return ModelFile(**found, **classifier(model), tolerance=tolerance)


def names(model: Any) -> list[str] | None:
    """The names of the columns that a model was fitted on, if it knows them."""
    found = getattr(model, "feature_names_in_", None)
    return None if found is None else [str(name) for name in found]


def ensemble_of(model: Any) -> Ensemble:
    """The trees of a fitted estimator."""
    name = type(model).__qualname__
    reason = _reason(model)
    if reason:
        raise UnsupportedModelError(f"the {name} {reason}")
    if hasattr(model, "_predictors"):
        return _histogram_boosting(model)
    if hasattr(model, "offset_") and hasattr(model, "estimators_features_"):
        return _isolation(model)
    if isinstance(model, AdaBoostClassifier):
        return _ada_boost(model)
    if hasattr(model, "_raw_predict_init"):
        return _boosting(model)
    members = _members(model)
    if members is None:
        raise UnsupportedModelError(
            f"the {name} is not sent: pass a decision tree, a forest, boosted trees, an isolation forest,"
            " or a bagging or AdaBoost of trees"
        )
    return _averaged(model, members)


def _reason(model: Any) -> str | None:
    if np.ndim(getattr(model, "n_classes_", 0)):
        return "has several outputs of classes: push a classifier for each"
    if is_classifier(model) and len(getattr(model, "classes_", ())) == 1:
        return f"was fitted on one class, {model.classes_[0]}: it predicts nothing else"
    if not isinstance(getattr(model, "init", None), (str, type(None))):
        init = getattr(model, "init_", None)
        if type(init).__name__ not in ("DummyClassifier", "DummyRegressor"):
            return "begins with an estimator, its init, which is not scored: leave init out"
    return None


def _members(model: Any) -> list[tuple[Any, Any]] | None:
    """The trees of a forest or a bagging, or a tree itself, each with the columns that it sees."""
    if hasattr(model, "tree_"):
        return [(model, None)]
    trees = getattr(model, "estimators_", ())
    known = isinstance(model, (BaseForest, BaseBagging, AdaBoostClassifier))
    if not known or not all(hasattr(tree, "tree_") for tree in trees):
        return None
    columns = getattr(model, "estimators_features_", [None] * len(trees))
    return list(zip(trees, columns, strict=True))


def _arrays(tree: Any, columns: Any, values: Any, output: int | None = None) -> Tree:
    """A tree of scikit-learn, with the values that its nodes have; features are those of `columns`."""
    nodes = tree.__getstate__()["nodes"]
    left, right = nodes["left_child"], nodes["right_child"]
    feature = nodes["feature"] if columns is None else np.asarray(columns)[nodes["feature"]]
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
    """The classes' shares of each node, as `DecisionTreeClassifier.predict_proba` returns them."""
    shares = tree.tree_.value[:, 0, :]
    if tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 3):
        return shares
    total = shares.sum(axis=1)[:, np.newaxis]
    return shares / np.where(total == 0.0, 1.0, total)


def _averaged(model: Any, members: list[tuple[Any, Any]]) -> Ensemble:
    if not is_classifier(model):
        outputs = getattr(model, "n_outputs_", 1)
        trees = [
            _arrays(tree.tree_, columns, tree.tree_.value[:, :, 0]) for tree, columns in members
        ]
        for tree in trees:
            tree.output = 0 if outputs == 1 else None
        return Ensemble(trees, outputs, others={"divisor": float(len(trees))})
    classes = len(model.classes_)
    trees = []
    for tree, columns in members:
        found = _probabilities(tree)
        if found.shape[1] != classes:
            # A tree of a bagging that has not seen every class.
            every = np.zeros((len(found), classes))
            every[:, np.asarray(tree.classes_, int)] = found
            found = every
        values, output = (found[:, 1:], 0) if classes == 2 else (found, None)
        trees.append(_arrays(tree.tree_, columns, values, output))
    task, outputs = ("binary", 1) if classes == 2 else ("multiclass", classes)
    return Ensemble(trees, outputs, task, others={"divisor": float(len(trees))})


def _boosting(model: Any) -> Ensemble:
    """GradientBoosting: what a sum starts from, and each tree times the learning rate."""
    width = model.n_features_in_
    base = np.ravel(model._raw_predict_init(np.zeros((1, width), np.float32)))
    trees = [
        _arrays(tree.tree_, None, model.learning_rate * tree.tree_.value[:, 0, :1], output)
        for stage in model.estimators_
        for output, tree in enumerate(stage)
    ]
    others: dict[str, Any] = {"base": [float(number) for number in base]}
    outputs = model.estimators_.shape[1]
    others["round_starts"] = list(range(0, len(trees) + 1, outputs))
    if not is_classifier(model):
        return Ensemble(trees, outputs, others=others)
    if outputs > 1:
        return Ensemble(trees, outputs, "multiclass", "softmax", others=others)
    others |= {"class_threshold": _NOT_BELOW_ZERO}
    others |= {"slope": 2.0} if model.loss == "exponential" else {}
    return Ensemble(trees, outputs, "binary", "logistic", others=others)


def _isolation(model: Any) -> Ensemble:
    from sklearn.ensemble._iforest import _average_path_length

    pairs = zip(model.estimators_, model.estimators_features_, strict=True)
    trees = []
    for number, (tree, columns) in enumerate(pairs):
        depths = model._decision_path_lengths[number] + model._average_path_length_per_tree[number]
        trees.append(_arrays(tree.tree_, columns, depths - 1.0, 0))
    divisor = len(trees) * float(_average_path_length([model._max_samples])[0])
    others = {"divisor": divisor, "slope": -float(model.offset_), "class_by": "value"}
    others["class_threshold"] = _NOT_BELOW_ZERO
    return Ensemble(trees, 1, "binary", "isolation", others=others)


def _ada_boost(model: Any) -> Ensemble:
    """AdaBoost: a tree votes with its weight for the class that it predicts, and against the others."""
    members = _members(model)
    if members is None:
        name = type(model.estimators_[0]).__qualname__
        raise UnsupportedModelError(
            f"the {type(model).__qualname__} is one of {name}, not of trees"
        )
    classes = len(model.classes_)
    trees = []
    for (tree, columns), weight in zip(members, model.estimator_weights_, strict=False):
        predicted = tree.classes_.take(np.argmax(_probabilities(tree), axis=1))
        votes = np.where(
            predicted[:, np.newaxis] == model.classes_, weight, -1 / (classes - 1) * weight
        )
        values, output = (votes[:, 1:], 0) if classes == 2 else (votes, None)
        trees.append(_arrays(tree.tree_, columns, values, output))
    total = float(model.estimator_weights_.sum())
    if classes == 2:
        others = {"scale": 2.0, "divisor": total}
        return Ensemble(trees, 1, "binary", "logistic", others=others)
    others = {"divisor": total * (classes - 1)}
    return Ensemble(trees, classes, "multiclass", "softmax", others=others)


def _histogram_boosting(model: Any) -> Ensemble:
    outputs = model.n_trees_per_iteration_
    columns, categories = _columns(model)
    trees = [
        _histogram_tree(predictor, columns, output)
        for iteration in model._predictors
        for output, predictor in enumerate(iteration)
    ]
    base = np.ravel(model._baseline_prediction).astype(np.float64)
    others: dict[str, Any] = {"base": [float(number) for number in base]}
    others["round_starts"] = list(range(0, len(trees) + 1, outputs))
    task, link = "regression", "identity"
    if is_classifier(model):
        task, link = ("binary", "logistic") if outputs == 1 else ("multiclass", "softmax")
    elif model.loss in ("poisson", "gamma"):
        link = "exponential"
    return Ensemble(trees, outputs, task, link, "float64", categories, others)


def _columns(model: Any) -> tuple[Any, dict[int, list[Any]]]:
    """The column of each feature of the trees, and the values of categorical columns."""
    width = model.n_features_in_
    marked = getattr(model, "is_categorical_", None)
    if marked is None or not np.any(marked):
        return np.arange(width), {}
    # The model's own ColumnTransformer moves categorical columns to the front.
    columns = np.concatenate([np.flatnonzero(marked), np.flatnonzero(~np.asarray(marked))])
    encoder = model._preprocessor.named_transformers_["encoder"]
    categories = {}
    for column, values in zip(np.flatnonzero(marked), encoder.categories_, strict=True):
        categories[int(column)] = category_values(values)
    return columns, categories


def category_values(values: Any) -> list[Any]:
    """The values of an encoder's category in the order of their codes, without a missing one at the end."""
    found = [value.item() if hasattr(value, "item") else value for value in values]
    return [value for value in found if not is_missing(value)]


def is_missing(value: Any) -> bool:
    """Whether a value of any type is None or NaN."""
    return value is None or bool(value != value)  # noqa: PLR0124 (NaN)


def _histogram_tree(predictor: Any, columns: Any, output: int) -> Tree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    left = np.where(leaf, -1, nodes["left"].astype(np.int64))
    right = np.where(leaf, -1, nodes["right"].astype(np.int64))
    categorical = np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf)
    sets = {}
    for node in categorical:
        words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        bits = np.unpackbits(np.asarray(words, "<u4").view(np.uint8), bitorder="little")
        sets[int(node)] = [int(code) for code in np.flatnonzero(bits)]
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


def inputs(model: Any, ensemble: Ensemble) -> Inputs:
    """What the trees ask of the columns that a model, which may be a pipeline, was fitted on."""
    width = model.n_features_in_
    feature, threshold = (np.concatenate(part) for part in zip(*_splits(ensemble), strict=True))
    return Inputs(
        width=width,
        thresholds={column: threshold[feature == column] for column in range(width)},
        dtype=np.float32 if ensemble.value_type == "float32" else np.float64,
        names=names(model),
        categories=ensemble.categories,
        plain=bool(ensemble.categories),
        missing=_takes_missing(model, ensemble),
    )


def _splits(ensemble: Ensemble) -> Iterator[tuple[Any, Any]]:
    """Features and finite thresholds of the numerical splits of each tree."""
    yield np.empty(0, int), np.empty(0)
    for tree in ensemble.trees:
        inner = ~tree.leaves & np.isfinite(tree.threshold)
        inner[list(tree.sets)] = False
        yield np.asarray(tree.feature)[inner], np.asarray(tree.threshold)[inner]


def _takes_missing(model: Any, ensemble: Ensemble) -> bool:
    """Whether the model predicts for missing numbers."""
    import pandas

    columns = names(model)
    row: Any = np.full((1, model.n_features_in_), np.nan)
    if columns is not None:
        row = pandas.DataFrame(row, columns=columns)
        for column, values in ensemble.categories.items():
            row[columns[column]] = values[:1]
    try:
        model.predict(row)
    except (ValueError, TypeError):
        return False
    return True
