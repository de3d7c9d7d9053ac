"""Writes tree ensembles, the format of docs/formats.md for models whose library has no file with steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import UnsupportedModelError, refuse
from ..inputs import Inputs
from ..model_file import ModelFile
from . import ubjson

# Lists have an entry for each column.
_MOST_COLUMNS = 1_000_000
# By NumPy's kind, the type in which SQL computes.
_WIDE = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.int64}
# The parameters that may have a regressor's loss, and its quantiles.
_LOSSES = ("loss", "objective", "loss_function", "criterion")
_LEVELS = ("quantile", "quantile_alpha", "expectile_alpha", "alpha")
# The attributes of a fitted model with the part whose loss is that of its estimates.
_DECISIVE = ("best_estimator_", "regressor_", "final_estimator_")
# A feature, its coefficient and a constant, which is added.
Product = tuple[int, float, float]


@dataclass
class Tree:
    """A tree's arrays, with an entry per node; a leaf's child is -1.

    A row goes left up to the threshold. `values` has a row per leaf, `sets` the codes that go left by node.
    `gain` is None for trees that did not come from splits.
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
    # Of a tree of one leaf, a product that is added in place of its value unless the feature is missing.
    product: Product | None = None

    @property
    def leaves(self) -> Any:
        return self.left < 0

    def file(self) -> dict[str, Any]:
        written: dict[str, Any] = {} if self.output is None else {"output": self.output}
        written |= {
            "left": np.asarray(self.left, np.int32),
            "right": np.asarray(self.right, np.int32),
            "feature": np.maximum(np.asarray(self.feature, np.int32), 0),
            "threshold": np.asarray(self.threshold, np.float64),
            "missing_left": np.asarray(self.missing_left, np.uint8),
            "cover": np.asarray(self.cover, np.float32),
            "leaf_values": np.asarray(self.values, np.float64).ravel(),
        }
        if self.product is not None:
            feature, coefficient, constant = self.product
            written["leaf_constants"] = np.array([constant], np.float64)
            written["leaf_features"] = [np.array([feature], np.int32)]
            written["leaf_coefficients"] = [np.array([coefficient], np.float64)]
        if self.gain is not None:
            written["gain"] = np.asarray(self.gain, np.float32)
        if self.sets:
            numbers = np.full(len(self.left), -1, np.int32)
            numbers[list(self.sets)] = np.arange(len(self.sets))
            written["category_set"] = numbers
            written["category_sets"] = [np.asarray(codes, np.int32) for codes in self.sets.values()]
        return written


@dataclass
class Ensemble:
    """The trees of an estimator and the file's other members.

    By feature, `categories` has the values of categories, and `cuts` the ends of the intervals whose
    numbers are the codes in sets. `unknown` has the features whose unknown values have a code.
    """

    trees: list[Tree]
    library_version: str
    outputs: int = 1
    task: str = "regression"
    link: str = "identity"
    value_type: str = "float32"
    categories: dict[int, list[Any]] = field(default_factory=dict)
    cuts: dict[int, Any] = field(default_factory=dict)
    unknown: set[int] = field(default_factory=set)
    others: dict[str, Any] = field(default_factory=dict)
    # The columns that steps read, their categories, and the smallest numbers that steps take.
    read: set[int] | None = None
    encoded: dict[int, list[Any]] = field(default_factory=dict)
    lowest: dict[int, float] = field(default_factory=dict)
    labels: list[str] | None = None
    # Numbers above the first and up to the second are missing to the trees, as NaN is.
    missing: tuple[float, float] | None = None
    # The features for which they are; all, if this is None.
    missing_in: set[int] | None = None
    # Whether what a sparse matrix does not have is missing, rather than 0.
    absent_is_missing: bool = False
    # Whether the last code of a category stands for all others, as of XGBoost's splits.
    last_is_above: bool = False
    # Whether unknown categories that have no code are missing to the library, rather than an error.
    unknown_is_missing: bool = False

    def file(self, objective: str, width: int, features: list[str] | None) -> bytes:
        """Returns the bytes of the file; `width` is the number of features."""
        head = {
            "tree_ensemble": 1,
            "library_version": self.library_version,
            "objective": objective,
            "num_features": width,
            "feature_names": features,
            "class_labels": None if self.task in ("regression", "ranking") else self.labels,
            "task": self.task,
            "link": self.link,
            "outputs": self.outputs,
            "value_type": self.value_type,
            **self.others,
        }
        if self.categories:
            # True is 1 to SQL too.
            values = {
                column: [int(value) if isinstance(value, bool) else value for value in of]
                for column, of in self.categories.items()
            }
            head["categories"] = [values.get(column) for column in range(width)]
        if self.cuts:
            head["cuts"] = [self.cuts.get(column) for column in range(width)]
        if self.unknown:
            head["unknown_category"] = [column in self.unknown for column in range(width)]
        head = {key: value for key, value in head.items() if value is not None}
        return ubjson.dumps(head | {"trees": [tree.file() for tree in self.trees]})


def codes_of(words: Any) -> list[int]:
    """Returns the codes of a set that is written as bits of 32-bit words."""
    bits = np.unpackbits(np.asarray(words, "<u4").view(np.uint8), bitorder="little")
    return [int(code) for code in np.flatnonzero(bits)]


def described(
    ensemble: Ensemble,
    model: Any,
    functions: dict[str, Any],
    objective: str,
    takes_singles: bool = False,
) -> ModelFile:
    """Returns the file of an ensemble over the model's columns.

    Its features are the columns that the model reads, if these have names, or else all. Unless it is one of
    columns of `float32`, rows for which the model computes in less than doubles are refused.
    """
    columns = names(model)
    read = (
        range(width(model)) if columns is None or ensemble.read is None else sorted(ensemble.read)
    )
    found = _renumbered(ensemble, {column: number for number, column in enumerate(read)})
    attributes = {**found.others.get("attributes", {}), **_loss(model)}
    if ensemble.unknown_is_missing and {*ensemble.categories} - ensemble.unknown:
        attributes["unknown_category"] = "missing"
    if attributes:
        found.others["attributes"] = attributes
    content = found.file(objective, len(read), columns and [columns[column] for column in read])
    for key in set() if takes_singles else {"values", "classes"} & {*functions}:
        functions = {**functions, key: partial(_in_doubles, functions[key])}
    functions["has_labels"] = True
    return ModelFile(content, inputs=lambda: inputs(model, ensemble), **functions)


def _loss(model: Any) -> dict[str, str]:
    """Returns a regressor's loss and its quantiles, which the server compares with the version before."""
    classes = getattr(model, "classes_", None)
    # CatBoost's regressors have an empty list of classes.
    if (classes is not None and len(classes)) or not hasattr(model, "get_params"):
        return {}
    given = model.get_params(deep=False)
    named = [getattr(model, "objective_", None), *map(given.get, _LOSSES)]
    # CatBoost's may have options, as in Quantile:alpha=0.1;delta=0.5.
    written = next((one for one in named if isinstance(one, str)), "")
    loss, *options = re.split(r":(?=\w+=)", written, maxsplit=1)
    if not loss:
        return _loss_of_members(model)
    if not re.search("quantile|expectile", loss, re.IGNORECASE):
        return {"loss": loss}
    given |= dict(option.split("=") for option in ";".join(options).split(";") if option)
    levels = next((given[key] for key in _LEVELS if given.get(key) is not None), None)
    if levels is None:
        levels = 0.5 if "Quantile" in loss else 0.9
    if isinstance(levels, str):
        levels = levels.split(",")
    return {"loss": loss, "level": ",".join(str(one) for one in np.ravel(levels).astype("f4"))}


def _loss_of_members(model: Any) -> dict[str, str]:
    """Returns the loss of the model that decides what another one estimates, or of all its members."""
    parts = [model.steps[-1][1]] if hasattr(model, "steps") else []
    parts += [getattr(model, name, None) for name in _DECISIVE]
    last = next((part for part in parts if part is not None), None)
    if last is not None:
        return _loss(last)
    members = getattr(model, "estimators_", None)
    if members is None:
        members = [getattr(model, "estimator", None)]
    losses = [_loss(one) for one in members]
    return losses[0] if losses and losses.count(losses[0]) == len(losses) else {}


def _in_doubles(function: Callable[[Any], Any], frame: Any) -> Any:
    """Calls the function; raises if it returns something else for the same numbers as doubles."""
    found = function(frame)
    types = getattr(frame, "dtypes", {"": getattr(frame, "dtype", None)})
    wide = {
        name: _WIDE[kind.kind]
        for name, kind in dict(types).items()
        if isinstance(kind, np.dtype) and kind.kind in _WIDE and kind.itemsize < 8
    }
    if wide:
        same = function(frame.astype(wide if hasattr(frame, "columns") else wide[""]))
        if not are_same(np.asarray(found), np.asarray(same)):
            narrow = sorted({str(types[name]) for name in wide})
            raise UnsupportedModelError(
                f"the model computes columns of {', '.join(narrow)} in less than double precision, which SQL"
                " does not: convert them to float64 or int64, and fit it again"
            )
    return found


def are_same(found: Any, same: Any) -> bool:
    """Compares predictions; threads of a forest add its trees in another order each time."""
    if found.dtype.kind != "f" or found.shape != same.shape:
        return np.array_equal(found, same)
    return np.allclose(found, same, rtol=2**-40, atol=2**-60, equal_nan=True)


def _renumbered(ensemble: Ensemble, numbers: dict[int, int]) -> Ensemble:
    place = np.zeros(max([*numbers, 0]) + 1, np.int64)
    place[list(numbers)] = list(numbers.values())
    trees = []
    for tree in ensemble.trees:
        feature = np.where(tree.leaves, 0, place[np.where(tree.leaves, 0, tree.feature)])
        product = tree.product and (numbers[tree.product[0]], *tree.product[1:])
        trees.append(replace(tree, feature=feature, product=product))
    return replace(
        ensemble,
        trees=trees,
        categories={numbers[column]: values for column, values in ensemble.categories.items()},
        cuts={numbers[column]: cuts for column, cuts in ensemble.cuts.items()},
        unknown={numbers[column] for column in ensemble.unknown},
        others=dict(ensemble.others),
    )


def width(model: Any) -> int:
    """Returns the number of columns that a model was fitted on."""
    found = _of_columns(model, "n_features_in_")
    if found is None:
        refuse(model, "does not know its number of columns")
    if not 0 <= int(found) <= _MOST_COLUMNS:
        refuse(model, f"has {found} columns, not 0 to {_MOST_COLUMNS}")
    return int(found)


def names(model: Any) -> list[str] | None:
    """Returns the names of the columns that a model was fitted on, if it has them."""
    found = _of_columns(model, "feature_names_in_")
    return None if found is None else [str(name) for name in found]


def _of_columns(model: Any, attribute: str) -> Any:
    """Returns what a model or the first of its parts knows of its columns; `passthrough` knows nothing."""
    found = getattr(model, attribute, None)
    lists = ("steps", "transformer_list", "estimators_", "calibrated_classifiers_")
    parts = [pair for name in lists for pair in getattr(model, name, ())]
    parts += [getattr(model, name, None) for name in ("estimator", "estimator_", "regressor_")]
    for part in parts:
        if found is None and part is not None:
            found = _of_columns(part[1] if isinstance(part, tuple) else part, attribute)
    return found


def inputs(model: Any, ensemble: Ensemble) -> Inputs:
    """Returns the splits of the columns that a model, which may be a Pipeline, was fitted on."""
    split = thresholds(ensemble, width(model))
    encoded = {key: [one for one in of if one is not None] for key, of in ensemble.encoded.items()}
    unused = {key: of for key, of in encoded.items() if of and not len(split[key])}
    categories = unused | ensemble.categories
    of_encoders = encoded.keys() & categories.keys()
    return Inputs(
        width=width(model),
        thresholds=split,
        dtype=np.float32 if ensemble.value_type == "float32" else np.float64,
        names=names(model),
        categories=categories,
        plain=bool(categories),
        missing=_takes_missing(model, categories, of_encoders),
        lowest=ensemble.lowest,
        nones=[column for column, values in ensemble.encoded.items() if None in values],
        encoded=of_encoders,
    )


def thresholds(ensemble: Ensemble, width: int) -> dict[int, Any]:
    """Returns the thresholds and cuts of each feature."""
    feature, threshold = (np.concatenate(part) for part in zip(*_splits(ensemble), strict=True))
    found = {column: threshold[feature == column] for column in range(width)}
    return found | {column: np.asarray(cuts) for column, cuts in ensemble.cuts.items()}


def _splits(ensemble: Ensemble) -> Iterator[tuple[Any, Any]]:
    """Yields the features and finite thresholds of each tree's numeric splits."""
    yield np.empty(0, int), np.empty(0)
    for tree in ensemble.trees:
        inner = ~tree.leaves & np.isfinite(tree.threshold)
        inner[list(tree.sets)] = False
        yield np.asarray(tree.feature)[inner], np.asarray(tree.threshold)[inner]


def _takes_missing(
    model: Any, categories: dict[int, list[Any]], of_encoders: Collection[int]
) -> bool:
    """Returns whether the model predicts rows with missing numbers."""
    import pandas

    columns = names(model)
    row: Any = np.full((1, width(model)), np.nan)
    if columns is not None:
        row = pandas.DataFrame(row, columns=columns)
        for column, values in categories.items():
            kind = object if column in of_encoders else None
            row[columns[column]] = pandas.Series(values[:1], dtype=kind)
    try:
        model.predict(row)
    except (ValueError, TypeError, IndexError):
        # CatBoost has an IndexError for the classes of an objective of the user's own.
        return False
    return True
