"""A loaded model: predictions, explanations and SQL."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbtrees._gbtrees import Engine, GbtreesError, to_sql
from gbtrees.fitted import Source, source
from gbtrees.rows import Reader

_VALUE, _MARGIN, _CLASS = 0, 1, 2
_FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))


class Model:
    """A model of XGBoost, LightGBM, CatBoost, ONNX, or a tree ensemble of scikit-learn's trees.

    `model` is a path, the bytes of a file, or a fitted model, which then predicts as the object does: with
    its best iteration, and a classifier of scikit-learn's interface with its classes. `rounds` uses only
    the first rounds. `feature_names` replace the file's, and `labels` name the classes of a file without.

    Rows are arrays of NumPy of shape `(rows, features)`, frames of pandas or Polars, tables of Arrow or
    anything else of its PyCapsule interface, or sparse rows of SciPy, of which absent elements are missing
    for XGBoost and 0 for others. Columns of frames are found by the names of the features. NaN and null are
    missing. Arrays of float32 and float64 are read in place, in any order and with any positive strides.

    `n_jobs` is the number of threads, -1 for one per processor. The interpreter is released, and Ctrl-C ends
    a call. Models are immutable, so threads share them; they can be pickled.
    """

    __slots__ = ("_classes", "_engine", "_given", "_plain", "_predicts", "_reader", "_source")

    def __init__(
        self,
        model: Any,
        *,
        rounds: int | None = None,
        feature_names: Sequence[str] | None = None,
        labels: Sequence[Any] | None = None,
    ) -> None:
        with _refusing("the model is not read"):
            self._restore(source(model), rounds, feature_names, labels)

    def _restore(
        self,
        found: Source,
        rounds: int | None,
        feature_names: Sequence[str] | None,
        labels: Sequence[Any] | None,
    ) -> None:
        if rounds is not None and (not isinstance(rounds, (int, np.integer)) or rounds < 0):
            raise GbtreesError(f"rounds is {rounds!r}, not a number of rounds")
        names = None if feature_names is None else [str(name) for name in feature_names]
        texts = [] if labels is None else [str(label) for label in labels]
        used = found.rounds if rounds is None else int(rounds)
        self._engine = Engine(found.content, used, names, texts)
        self._source, self._given = found, (rounds, feature_names, labels)
        self._reader = Reader(self._engine)
        # Arrays that need no look at their columns.
        self._plain = not self._reader.valued
        classes = found.classes if labels is None else np.asarray(labels)
        if classes is None and self._engine.labels:
            classes = _typed(self._engine.labels)
        self._classes = None if classes is None else np.asarray(classes)
        self._predicts = {"value": _VALUE, "margin": _MARGIN, "class": _CLASS}[found.predicts]

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self._source, *self._given))

    def __repr__(self) -> str:
        engine = self._engine
        return (
            f"<gbtrees.Model: {engine.format}, {engine.objective}, {engine.num_trees} trees,"
            f" {engine.num_features} features, {engine.num_outputs} outputs>"
        )

    def predict(self, X: Any, *, n_jobs: int = 1) -> NDArray[Any]:
        """Predicts as the model's library does by `predict`.

        For a file or a booster these are values: numbers, or probabilities, of two classes that of the
        second. For a classifier of scikit-learn's interface they are classes. The shape is `(rows,)`, or
        `(rows, outputs)` where there are several.
        """
        if self._predicts == _CLASS:
            if not self._engine.has_classes:
                # Several labels, none of which excludes another.
                return (self._output(X, _VALUE, n_jobs) > 0.5).astype(np.intp)
            return self.predict_class(X, n_jobs=n_jobs)
        return self._output(X, self._predicts, n_jobs)

    def margins(self, X: Any, *, n_jobs: int = 1) -> NDArray[Any]:
        """The sums of the trees before any transform, equal to the library's to the bit.

        They are XGBoost's `output_margin=True`, LightGBM's `raw_score=True` and CatBoost's `RawFormulaVal`.
        """
        return self._output(X, _MARGIN, n_jobs)

    def predict_proba(self, X: Any, *, n_jobs: int = 1) -> NDArray[Any]:
        """The probability of each class, of shape `(rows, classes)`."""
        engine = self._engine
        if engine.predicts_probabilities:
            found = self._output(X, _VALUE, n_jobs)
            return found if found.ndim == 2 else np.stack((1 - found, found), axis=1)
        if engine.objective == "multi:softmax":
            # Its value is the number of the class.
            margins = self._output(X, _MARGIN, n_jobs)
            powers = np.exp(margins - margins.max(axis=1, keepdims=True))
            return np.asarray(powers / powers.sum(axis=1, keepdims=True))
        if engine.num_values > 1 and self._source.predicts == "class":
            # Several labels, none of which excludes another.
            return self._output(X, _VALUE, n_jobs)
        raise GbtreesError(
            f"the model predicts no probabilities: its objective is {engine.objective}"
        )

    def predict_class(self, X: Any, *, n_jobs: int = 1) -> NDArray[Any]:
        """The class of each row: its label, or its number where the model has no labels."""
        found = self._engine.predict(self._rows(X), _CLASS, _threads(n_jobs))
        numbers = found[:, 0].astype(np.intp)
        return numbers if self._classes is None else np.asarray(self._classes[numbers])

    def contributions(self, X: Any, *, n_jobs: int = 1) -> NDArray[np.float32]:
        """SHAP values: per row one number per feature, then the bias; they add up to the margin.

        Of several outputs the shape is `(rows, outputs, features + 1)`.
        """
        return self._explained(X, False, n_jobs)

    def interactions(self, X: Any, *, n_jobs: int = 1) -> NDArray[np.float32]:
        """SHAP interactions: per row a symmetric matrix, whose lines add up to the contributions."""
        return self._explained(X, True, n_jobs)

    def leaves(self, X: Any, *, n_jobs: int = 1) -> NDArray[np.uint32]:
        """The leaf of each row in every tree, by the library's number."""
        return self._engine.leaves(self._rows(X), _threads(n_jobs))

    def importance(self, kind: str = "gain") -> NDArray[np.float32] | None:
        """The importance of each feature, as XGBoost's `get_score` computes it; None if the file lacks it."""
        with _refusing("there is no such importance"):
            found = self._engine.importance(kind)
        return None if found is None else np.array(found, np.float32)

    @property
    def feature_names(self) -> list[str]:
        """The names of the features in their order; empty if the model has none."""
        return self._engine.feature_names

    @property
    def classes(self) -> NDArray[Any] | None:
        """The classes in the order of their probabilities; None if the model has no labels."""
        return None if self._classes is None else self._classes.copy()

    @property
    def num_features(self) -> int:
        """The number of features of a row."""
        return self._engine.num_features

    @property
    def num_outputs(self) -> int:
        """The number of margins of a row."""
        return self._engine.num_outputs

    @property
    def num_trees(self) -> int:
        """The number of trees."""
        return self._engine.num_trees

    @property
    def format(self) -> str:
        """The format of the file, such as `xgboost ubjson`."""
        return self._engine.format

    @property
    def objective(self) -> str:
        """The library's name of the objective."""
        return self._engine.objective

    def to_sql(
        self,
        name: str,
        *,
        schema: str = "public",
        version: int | None = None,
        unknown_category: str = "error",
    ) -> str:
        """A script of plain SQL functions that predict as the model, for any PostgreSQL since 13.

        It creates `name`, `name_margin` and so on in `schema`, in one transaction; with `version`, `name_3`
        stands behind `name`. Margins have the bits of `margins`. Categories that the model does not know are
        errors, or with `unknown_category="missing"` missing values.
        """
        rounds, names, labels = self._given
        found = self._source
        if labels is None and found.classes is not None and not self._engine.labels:
            labels = found.classes
        with _refusing("the model is not written as SQL"):
            return to_sql(
                found.content,
                found.rounds if rounds is None else int(rounds),
                None if names is None else [str(one) for one in names],
                [] if labels is None else [str(one) for one in labels],
                (name, schema, version, unknown_category),
            )

    def _rows(self, X: Any) -> Any:
        if self._plain and type(X) is np.ndarray and X.dtype in _FLOATS and X.ndim == 2:
            return X
        with _refusing("the rows are not read"):
            return self._reader.read(X)

    def _output(self, X: Any, output: int, n_jobs: int) -> NDArray[Any]:
        found = self._engine.predict(self._rows(X), output, _threads(n_jobs))
        return found[:, 0] if found.shape[1] == 1 else found

    def _explained(self, X: Any, interactions: bool, n_jobs: int) -> NDArray[np.float32]:
        found = self._engine.explain(self._rows(X), interactions, _threads(n_jobs))
        columns = self._engine.num_features + 1
        shape = (columns, columns) if interactions else (columns,)
        outputs = self._engine.num_outputs
        return found.reshape(len(found), *(() if outputs == 1 else (outputs,)), *shape)


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Raises any exception of others, such as those of odd arguments, as the package's."""
    try:
        yield
    except (GbtreesError, Warning):
        raise
    except Exception as error:
        raise GbtreesError(f"{what}: {type(error).__name__}: {error}") from error


def _restored(found: Source, *given: Any) -> Model:
    model = Model.__new__(Model)
    model._restore(found, *given)
    return model


def _threads(n_jobs: int) -> int:
    if not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0 or n_jobs < -1:
        raise GbtreesError(f"n_jobs is {n_jobs!r}, not a number of threads or -1")
    # The processors that this process may use.
    return len(os.sched_getaffinity(0)) if n_jobs == -1 else min(int(n_jobs), sys.maxsize)


def _typed(labels: list[str]) -> NDArray[Any]:
    """Labels as integers, where all of them are written as these, or else as texts."""
    try:
        numbers = [int(label) for label in labels]
    except ValueError:
        return np.asarray(labels)
    return np.asarray(numbers if [str(one) for one in numbers] == labels else labels)
