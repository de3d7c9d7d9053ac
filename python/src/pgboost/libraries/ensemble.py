"""Trees and what follows them, in the words of the tree ensembles that docs/formats.md describes.

Models become this where their own library has no file, or where a file of the library cannot say what
stands before the trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import UnsupportedModelError
from ..inputs import Inputs
from ..model_file import ModelFile
from . import ubjson

# By NumPy's kind, the type in which SQL computes.
_WIDE = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.int64}


@dataclass
class Tree:
    """A tree's arrays, with an entry per node; a leaf's child is -1.

    A row goes left up to the threshold. `values` has a row per leaf in the order of nodes, `sets` the codes
    that go left, by node.
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
    """Trees of an estimator, and what the file says of all of them.

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

    def file(self, objective: str, width: int, features: list[str] | None) -> bytes:
        """The bytes of the file, of a model of so many features."""
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
            head["categories"] = [_values(self.categories.get(column)) for column in range(width)]
        if self.cuts:
            head["cuts"] = [self.cuts.get(column) for column in range(width)]
        if self.unknown:
            head["unknown_category"] = [column in self.unknown for column in range(width)]
        head = {key: value for key, value in head.items() if value is not None}
        return ubjson.dumps(head | {"trees": [tree.file() for tree in self.trees]})


def _values(categories: list[Any] | None) -> list[Any] | None:
    """Categories as the file has them: true is 1 to SQL too."""
    if categories is None:
        return None
    return [int(value) if isinstance(value, bool) else value for value in categories]


def codes_of(words: Any) -> list[int]:
    """The codes in a set that is written as the bits of words of 32 bits."""
    bits = np.unpackbits(np.asarray(words, "<u4").view(np.uint8), bitorder="little")
    return [int(code) for code in np.flatnonzero(bits)]


def require_no_rounds(rounds: int | None) -> None:
    """Refuses a number of rounds, which no estimator of scikit-learn can be asked for."""
    if rounds is not None:
        raise UnsupportedModelError(
            "a model of scikit-learn has no rounds: fit it with fewer trees"
        )


def described(
    ensemble: Ensemble, content: bytes, model: Any, functions: dict[str, Any]
) -> ModelFile:
    """The file of a model with its functions; the ensemble's features are the model's columns."""
    for key in ("values", "classes"):
        if key in functions:
            functions = {**functions, key: partial(_in_doubles, functions[key])}
    return ModelFile(
        content, inputs=lambda: inputs(model, ensemble), **{**functions, "has_labels": True}
    )


def _in_doubles(function: Callable[[Any], Any], frame: Any) -> Any:
    """What the function makes of a frame; raises if it makes something else of the numbers as doubles."""
    found = function(frame)
    types = getattr(frame, "dtypes", {"": getattr(frame, "dtype", None)})
    wide = {name: _WIDE[kind.kind] for name, kind in dict(types).items() if _is_narrow(kind)}
    if wide:
        same = function(frame.astype(wide if hasattr(frame, "columns") else wide[""]))
        if not np.array_equal(np.asarray(found), np.asarray(same)):
            narrow = sorted({str(types[name]) for name in wide})
            raise UnsupportedModelError(
                f"the model computes columns of {', '.join(narrow)} in less than double precision, which SQL"
                " does not: convert them to float64 or int64, and fit it again"
            )
    return found


def _is_narrow(kind: Any) -> bool:
    return isinstance(kind, np.dtype) and kind.kind in _WIDE and kind.itemsize < 8


def sent(
    ensemble: Ensemble, objective: str, model: Any, attributes: dict[str, str] | None = None
) -> bytes:
    """The bytes of the file, whose features are the columns that the model reads, if these have names."""
    columns = names(model)
    read = (
        range(width(model)) if columns is None or ensemble.read is None else sorted(ensemble.read)
    )
    found = _renumbered(ensemble, {column: number for number, column in enumerate(read)})
    if attributes:
        found.others["attributes"] = attributes
    return found.file(objective, len(read), columns and [columns[column] for column in read])


def _renumbered(ensemble: Ensemble, numbers: dict[int, int]) -> Ensemble:
    """The ensemble with other numbers of its features."""
    place = np.zeros(max([*numbers, 0]) + 1, np.int64)
    place[list(numbers)] = list(numbers.values())
    trees = [
        replace(
            tree, feature=np.where(tree.leaves, 0, place[np.where(tree.leaves, 0, tree.feature)])
        )
        for tree in ensemble.trees
    ]
    return replace(
        ensemble,
        trees=trees,
        categories={numbers[column]: values for column, values in ensemble.categories.items()},
        cuts={numbers[column]: cuts for column, cuts in ensemble.cuts.items()},
        unknown={numbers[column] for column in ensemble.unknown},
        others=dict(ensemble.others),
    )


def width(model: Any) -> int:
    """The number of columns that a model was fitted on."""
    found = getattr(model, "n_features_in_", None)
    if found is None:
        raise UnsupportedModelError(
            f"the {type(model).__name__} does not know its number of columns"
        )
    return int(found)


def names(model: Any) -> list[str] | None:
    """The names of the columns that a model was fitted on, if it knows them."""
    found = getattr(model, "feature_names_in_", None)
    return None if found is None else [str(name) for name in found]


def inputs(model: Any, ensemble: Ensemble) -> Inputs:
    """What the trees ask of the columns that a model, which may be a pipeline, was fitted on."""
    feature, threshold = (np.concatenate(part) for part in zip(*_splits(ensemble), strict=True))
    thresholds = {column: threshold[feature == column] for column in range(width(model))}
    thresholds |= {column: np.asarray(cuts) for column, cuts in ensemble.cuts.items()}
    unused = {key: of for key, of in ensemble.encoded.items() if of and not len(thresholds[key])}
    categories = unused | ensemble.categories
    return Inputs(
        width=width(model),
        thresholds=thresholds,
        dtype=np.float32 if ensemble.value_type == "float32" else np.float64,
        names=names(model),
        categories=categories,
        plain=bool(categories),
        missing=_takes_missing(model, categories),
        lowest=ensemble.lowest,
    )


def _splits(ensemble: Ensemble) -> Iterator[tuple[Any, Any]]:
    """Features and finite thresholds of the numerical splits of each tree."""
    yield np.empty(0, int), np.empty(0)
    for tree in ensemble.trees:
        inner = ~tree.leaves & np.isfinite(tree.threshold)
        inner[list(tree.sets)] = False
        yield np.asarray(tree.feature)[inner], np.asarray(tree.threshold)[inner]


def _takes_missing(model: Any, categories: dict[int, list[Any]]) -> bool:
    """Whether the model predicts for missing numbers."""
    import pandas

    columns = names(model)
    row: Any = np.full((1, model.n_features_in_), np.nan)
    if columns is not None:
        row = pandas.DataFrame(row, columns=columns)
        for column, values in categories.items():
            row[columns[column]] = values[:1]
    try:
        model.predict(row)
    except (ValueError, TypeError):
        return False
    return True
