"""Converts models of YDF, which also opens those of TensorFlow Decision Forests, to tree ensembles.

YDF compares and sums single precision. A condition that holds leads to its positive child, which is a node's
right one here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import ydf

from ..comparison import EXACT, Tolerance
from ..errors import refuse
from ..inputs import Inputs
from ..model_file import ModelFile, typed
from .ensemble import Ensemble, Tree, thresholds

_KINDS = ("NUMERICAL", "BOOLEAN", "DISCRETIZED_NUMERICAL")
# The number of YDF's loss POISSON.
_POISSON = 7
_SCORED = "NUMERICAL, CATEGORICAL and BOOLEAN ones"
_CONDITIONS = (
    "NumericalHigherThanCondition",
    "DiscretizedNumericalHigherThanCondition",
    "CategoricalIsInCondition",
    "IsTrueCondition",
    "IsMissingInCondition",
)
# From what YDF has of a leaf to the leaf's values.
Leaf = Callable[[Any], list[float]]
_LINKS = {"IDENTITY": "identity", "SIGMOID": "logistic", "SOFTMAX": "softmax"}
_NEAR = Tolerance(rtol=2**-19, tie=2**-20)
# The second of two classes is predicted from a probability of a half on.
_BELOW_HALF = float(np.nextafter(np.float32(0.5), np.float32(0)))


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    if rounds is not None:
        refuse(model, "has no rounds here: train it with fewer trees")
    is_boosted = isinstance(model, ydf.GradientBoostedTreesModel)
    if not is_boosted and not isinstance(model, ydf.RandomForestModel):
        refuse(model, "is not scored: gradient boosted trees, random forests and CART are")
    is_slow = _is_slow(model)
    found = _ensemble(model, is_boosted, is_slow)
    features = model.input_features()
    names = [feature.name for feature in features]
    flags = [number for number, one in enumerate(features) if one.semantic.name == "BOOLEAN"]
    content = found.file(type(model).__name__, len(names), names)
    options = {"use_slow_engine": True} if is_slow else {}
    functions: dict[str, Any] = {
        "values": lambda frame: model.predict(frame, **options),
        "tolerance": _NEAR if found.labels else EXACT,
    }
    if found.labels:
        functions["labels"] = found.labels
        functions["classes"] = lambda frame: [
            str(label) for label in model.predict_class(frame, **options)
        ]
    inputs = Inputs(
        width=len(names),
        thresholds=thresholds(found, len(names)),
        dtype=np.float32,
        names=names,
        categories=found.categories | {number: [False, True] for number in flags},
        plain=True,
    )
    return ModelFile(content, has_labels=True, inputs=lambda: inputs, **functions)


def _is_slow(model: Any) -> bool:
    """Returns whether YDF has only the engine that adds doubles, as for conditions on missing values."""
    return not model.list_compatible_engines()


def _ensemble(model: Any, is_boosted: bool, is_slow: bool) -> Ensemble:
    task = model.task().name
    if task not in ("CLASSIFICATION", "REGRESSION", "RANKING"):
        refuse(model, f"has the task {task}: scored are CLASSIFICATION, REGRESSION and RANKING")
    labels = [str(one) for one in model.label_classes()] if task == "CLASSIFICATION" else None
    if labels and len(labels) < 2:
        refuse(model, "was trained on one class")
    columns = _Columns(model)
    found, values = (_boosted if is_boosted else _forest)(model, labels, is_slow)
    for number, root in enumerate(tree.root for tree in model.iter_trees()):
        nodes = _Nodes(columns, values)
        nodes.add(root)
        output = number % found.outputs if is_boosted or found.outputs == 1 else None
        found.trees.append(nodes.tree(output))
    found.labels = labels
    found.categories, found.unknown = columns.categories, {*columns.categories}
    return found


def _boosted(model: Any, labels: list[str] | None, is_slow: bool) -> tuple[Ensemble, Leaf]:
    if model._model.loss() == _POISSON:
        refuse(model, "has the loss POISSON, of which YDF bounds the margins: it is not scored")
    if labels and model.output_logits():
        refuse(model, "gives logits: call set_output_logits(False), predict_margin has them")
    base = [float(number) for number in model.initial_predictions()]
    outputs = int(model.num_trees_per_iteration())
    others = {"base": base, "sum_type": "float64" if is_slow else "float32"}
    found = Ensemble([], ydf.__version__, outputs, others=others)
    found.link = _LINKS[model.activation().name]
    found.others["round_starts"] = list(range(0, model.num_trees() + 1, outputs))
    if labels is None:
        found.task = "ranking" if model.task().name == "RANKING" else "regression"
    else:
        found.task = "binary" if outputs == 1 else "multiclass"
    if found.task == "binary":
        found.others |= {"class_by": "value", "class_threshold": _BELOW_HALF}
    return found, lambda value: [value.value]


def _forest(model: Any, labels: list[str] | None, is_slow: bool) -> tuple[Ensemble, Leaf]:
    """Describes a forest: YDF divides leaves of numbers by the number of trees before it adds them.

    Its slow engine divides their sum. Of classes it adds shares in single precision up to 1; doubles are
    nearer to the share of the votes.
    """
    count = model.num_trees()
    if labels is None and not is_slow:
        trees = np.float32(count)
        found = Ensemble([], ydf.__version__, others={"sum_type": "float32"})
        return found, lambda value: [float(np.float32(value.value) / trees)]
    others: dict[str, Any] = {"divisor": float(count)}
    if labels is None:
        return Ensemble([], ydf.__version__, others=others), lambda value: [value.value]
    takes_all = model.winner_takes_all()

    def shares(value: Any) -> list[float]:
        found = list(value.probability)
        if takes_all:
            found = [float(place == int(np.argmax(found))) for place in range(len(found))]
        return found if len(found) > 2 else found[1:]

    if len(labels) > 2:
        return Ensemble([], ydf.__version__, len(labels), "multiclass", others=others), shares
    others |= {"class_by": "value", "class_threshold": _BELOW_HALF}
    return Ensemble([], ydf.__version__, 1, "binary", others=others), shares


class _Columns:
    """The features by their columns in YDF's specification of the data."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.columns = model.data_spec().columns
        self.numbers: dict[int, int] = {}
        self.categories: dict[int, list[Any]] = {}
        for number, feature in enumerate(model.input_features()):
            self.numbers[feature.column_idx] = number
            kind = feature.semantic.name
            if kind == "CATEGORICAL":
                self.categories[number] = self._categories(feature.column_idx)
            elif kind not in _KINDS:
                refuse(model, f"has the {kind} feature {feature.name!r}: scored are {_SCORED}")

    def _categories(self, column: int) -> list[Any]:
        """Returns the values in the order of YDF's indices, but for the first, of unknown ones."""
        spec = self.columns[column]
        if spec.categorical.is_already_integerized:
            refuse(self.model, f"has integers for the categories of {spec.name!r}: name them")
        indices = sorted((item.index, value) for value, item in spec.categorical.items.items())
        values = [value for index, value in indices if index]
        # YDF takes an empty text for a missing value.
        return [*typed(values).values()] if "INT" in _dtype(spec) else [*values, ""]

    def goes_left(self, condition: Any) -> tuple[int, float, list[int] | None, bool]:
        """Returns a condition's feature, threshold, set and whether missing values go left.

        Left is where the condition does not hold.
        """
        kind = type(condition).__name__
        if not hasattr(condition, "attribute") or kind not in _CONDITIONS:
            refuse(self.model, f"has a {kind}: scored are {', '.join(_CONDITIONS)}")
        feature, missing_left = self.numbers[condition.attribute], not condition.missing
        values = self.categories.get(feature, ())
        # The index 0, of unknown values, is the last code.
        codes, count = {*range(len(values) + 1)}, len(values)
        missing = {count - 1} if "" in values else set()
        if kind == "IsMissingInCondition":
            return feature, np.inf, [*codes - missing] if values else None, False
        if kind == "CategoricalIsInCondition":
            held = {(index or count + 1) - 1 for index in condition.mask}
            held |= missing if condition.missing else set()
            return feature, 0.0, [*codes - held], missing_left
        limit = 0.5 if kind == "IsTrueCondition" else getattr(condition, "threshold", None)
        if limit is None:
            spec = self.columns[condition.attribute].discretized_numerical
            limit = spec.boundaries[condition.threshold_idx - 1]
        below = np.nextafter(np.float32(limit), np.float32(-np.inf))
        return feature, float(below), None, missing_left


def _dtype(spec: Any) -> str:
    """Returns the name of the type that a column had in training."""
    field = spec.DESCRIPTOR.fields_by_name["dtype"]
    return str(field.enum_type.values_by_number[spec.dtype].name)


class _Nodes:
    """The arrays of a tree, the root first."""

    def __init__(self, columns: _Columns, values: Leaf) -> None:
        self.columns, self.values = columns, values
        self.rows: list[list[Any]] = []
        self.leaves: list[list[float]] = []
        self.sets: dict[int, list[int]] = {}

    def add(self, node: Any) -> int:
        """Adds a node and those below it; returns its place."""
        place = len(self.rows)
        row = [-1, -1, 0, 0.0, False, 0.0, 0.0]
        self.rows.append(row)
        if node.is_leaf:
            row[5] = node.value.num_examples
            self.leaves.append(self.values(node.value))
            return place
        feature, threshold, codes, missing_left = self.columns.goes_left(node.condition)
        if codes is not None:
            self.sets[place] = codes
        left, right = self.add(node.neg_child), self.add(node.pos_child)
        cover = self.rows[left][5] + self.rows[right][5]
        row[:] = [left, right, feature, threshold, missing_left, cover, node.condition.score]
        return place

    def tree(self, output: int | None) -> Tree:
        arrays = [np.array(of) for of in zip(*self.rows, strict=True)]
        return Tree(*arrays, values=np.array(self.leaves), output=output, sets=self.sets)
