"""Rows of any library as the arrays that the engine reads.

A frame's columns are found by the names of the features, and their categories get the numbers that the
model has for them. Nothing is copied that need not be.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np

from gbtrees._gbtrees import Engine, GbtreesError

_FLOATS = {np.dtype(np.float32), np.dtype(np.float64)}
_TAKEN = (
    "pass an array of two dimensions (one row is array[:1]), a frame of pandas or Polars, a table of"
    " Arrow, or sparse rows of SciPy"
)


class Reader:
    """Reads rows for one model."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        categorical, known, valued = (frozenset(found) for found in engine.categorical)
        self._categorical = categorical
        self._known = known
        # Features of which an array has the categories, as the library takes them, and not their codes.
        self.valued = valued
        self._names = engine.feature_names
        library = engine.format.partition(" ")[0]
        # LightGBM and its frames take what they do not know for missing.
        self._unknown_is_missing = library == "lightgbm"
        self._is_hashing = library == "catboost"
        self._absent = np.nan if library == "xgboost" else 0.0
        # Names that a library gave where the training data had none.
        self._is_generated = any(
            self._names == [pattern.format(column) for column in range(engine.num_features)]
            for pattern in ("Column_{}", "{}", "f{}")
        )

    def read(self, X: Any) -> Any:
        """An array of float32 or float64, or the arrays of sparse rows."""
        if isinstance(X, np.ndarray):
            return self._array(X)
        if self._is_matrix(X):
            return self._array(X.to_numpy())
        columns = _columns(X)
        if columns is not None:
            return self._frame(*columns)
        if hasattr(X, "tocsr") and hasattr(X, "nnz"):
            return self._sparse(X)
        if isinstance(X, (list, tuple)) or hasattr(X, "__array__"):
            try:
                return self._array(np.asarray(X))
            except ValueError as error:
                raise GbtreesError(f"the rows are no array: {error}\n{_TAKEN}") from error
        kind = f"{type(X).__module__}.{type(X).__qualname__}".removeprefix("builtins.")
        raise GbtreesError(f"the rows are a {kind}\n{_TAKEN}")

    def _is_matrix(self, X: Any) -> bool:
        """Whether a frame of pandas is one array of floats, with the model's columns in their order."""
        if not (hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")):
            return False
        types = set(X.dtypes)
        if self._categorical or len(types) != 1 or not types <= _FLOATS:
            return False
        names = [str(name) for name in X.columns]
        blanks = [name.replace(" ", "_") for name in names]
        return not self._names or self._names in (names, blanks)

    def _array(self, X: np.ndarray) -> np.ndarray:
        if X.ndim != 2:
            raise GbtreesError(f"the rows are an array of {X.ndim} dimensions\n{_TAKEN}")
        if isinstance(X, np.ma.MaskedArray):
            if X.dtype.kind not in "OUST":
                self._type(X.dtype)
            X = X.filled(np.nan) if X.dtype.kind == "f" else np.where(X.mask, None, X.data)
        is_object = X.dtype.kind in "OUST"
        if self.valued or is_object:
            if X.shape[1] != self._engine.num_features:
                raise _wrong_width(X.shape[1], self._engine.num_features)
            if X.dtype.kind == "f" and self._is_hashing and self.valued:
                raise GbtreesError(
                    "the model's categories are texts or integers, which an array of floats does not have\n"
                    "Pass a frame, or an array of objects."
                )
            names = self._names or [f"f{column}" for column in range(X.shape[1])]
            return self._filled([(name, X[:, at]) for at, name in enumerate(names)], len(X))
        return np.asarray(X, self._type(X.dtype))

    def _type(self, dtype: Any) -> Any:
        """The type of numbers in which the engine reads an array of this type."""
        if dtype.kind not in "fiub":
            raise GbtreesError(f"the rows are of the type {dtype}\n{_TAKEN}")
        if dtype.kind == "f" and dtype.itemsize <= 4:
            return np.float32
        # Integers are rounded once.
        is_integer = dtype.kind in "iub" and not self._engine.compares_doubles
        return np.float32 if is_integer else np.float64

    def _sparse(self, X: Any) -> tuple[Any, ...]:
        if self.valued:
            raise GbtreesError("sparse rows have no categories that the model knows: pass a frame")
        if len(X.shape) != 2:
            raise GbtreesError(f"the rows are sparse of {len(X.shape)} dimensions\n{_TAKEN}")
        found = X.tocsr()
        if not found.has_canonical_format:
            # An element that occurs twice is the sum.
            found = found.copy()
            found.sum_duplicates()
        values = np.ascontiguousarray(found.data, self._type(found.data.dtype))
        if found.shape[1] > np.iinfo(np.uint32).max:
            raise _wrong_width(found.shape[1], self._engine.num_features)
        starts = np.ascontiguousarray(found.indptr, np.uintp)
        columns = np.ascontiguousarray(found.indices, np.uint32)
        return starts, columns, values, found.shape[1], self._absent

    def _frame(self, columns: list[tuple[str, Any]], rows: int) -> np.ndarray:
        names = [name for name, _ in columns]
        wanted = self._names
        if wanted and not (self._is_generated and not {*wanted} <= {*names}):
            found = dict(columns)
            if len(found) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise GbtreesError(f"the frame has two columns {twice!r}")
            # LightGBM's files have no blanks in names.
            blanks = {name.replace(" ", "_"): name for name in names if " " in name}
            missing = [one for one in wanted if one not in found and one not in blanks]
            if missing:
                raise GbtreesError(f"the frame has no column {missing[0]!r}, which is a feature")
            columns = [(one, found[one if one in found else blanks[one]]) for one in wanted]
        elif len(columns) != self._engine.num_features:
            raise _wrong_width(len(columns), self._engine.num_features)
        return self._filled(columns, rows)

    def _filled(self, columns: list[tuple[str, Any]], rows: int) -> np.ndarray:
        """A matrix of these columns, one for each feature."""
        parts = [self._column(at, name, column) for at, (name, column) in enumerate(columns)]
        types = {self._type(part.dtype) for part in parts}
        # Integers and doubles of a model that compares float32 are rounded to it.
        is_single = types == {np.float32} or not (self._engine.compares_doubles or self._is_hashing)
        out = np.empty((rows, len(parts)), np.float32 if is_single else np.float64, order="F")
        with np.errstate(over="ignore"):
            for at, part in enumerate(parts):
                out[:, at] = part
        return out

    def _column(self, feature: int, name: str, column: Any) -> np.ndarray:
        if feature in self._categorical and self._is_hashing and feature not in self._known:
            # No split asks for it.
            return np.zeros(len(column))
        categories, codes = _categories(column)
        if feature in self._known:
            values, codes = (categories, codes) if codes is not None else _distinct(column)
            numbers = np.full(len(values) + 1, np.nan)
            # A frame may declare more than its rows have.
            for code in np.unique(codes[codes >= 0]):
                numbers[code] = self._number(feature, name, values[code])
            return np.asarray(numbers[codes])
        if codes is not None:
            if feature not in self._categorical:
                # The numbers themselves.
                return np.array([*_numbers(name, categories), np.nan])[codes]
            return np.where(codes < 0, np.nan, codes)
        return _numbers(name, column)

    def _number(self, feature: int, name: str, value: Any) -> float:
        if self._is_hashing and isinstance(value, (int, Decimal)) and value == int(value):
            # CatBoost hashes the digits, of which a bigint may have too few.
            value = str(int(value))
        found = self._engine.category(feature, value)
        if found is not None:
            return found
        if self._unknown_is_missing:
            return float("nan")
        raise GbtreesError(f"{value!r} is no category of the feature {name!r} that the model knows")


def _wrong_width(columns: int, features: int) -> GbtreesError:
    return GbtreesError(f"the rows have {columns} columns, and the model {features} features")


def _columns(X: Any) -> tuple[list[tuple[str, Any]], int] | None:
    """The names and columns of a frame, and its number of rows; None of what is no frame."""
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        X = X.collect()
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return [(str(name), X.iloc[:, at]) for at, name in enumerate(X.columns)], len(X)
    if hasattr(X, "get_columns"):
        return [(one.name, one) for one in X.get_columns()], len(X)
    if hasattr(X, "column_names") and hasattr(X, "combine_chunks"):
        return [(name, X.column(at)) for at, name in enumerate(X.column_names)], len(X)
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
        arrow = sys.modules.get("pyarrow") or _imported("pyarrow")
        return _columns(arrow.table(X))
    return None


def _imported(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError as error:
        raise GbtreesError(f"rows of Arrow's interface are read by {name}: {error}") from error


def _categories(column: Any) -> tuple[Any, np.ndarray | None]:
    """The categories of a column of pandas, and each row's, -1 where it is missing."""
    if hasattr(column, "cat") and hasattr(column.cat, "codes"):
        return column.cat.categories.tolist(), column.cat.codes.to_numpy()
    return None, None


def _distinct(column: Any) -> tuple[list[Any], np.ndarray]:
    """The distinct values of a column, and each row's place among them, -1 where it is missing."""
    places: dict[Any, int] = {}
    values = _listed(column)
    codes = [-1 if _is_missing(one) else places.setdefault(one, len(places)) for one in values]
    return list(places), np.array(codes, np.intp)


def _listed(column: Any) -> Iterable[Any]:
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(column, method):
            found: list[Any] = getattr(column, method)()
            return found
    return list(column)


def _is_missing(value: Any) -> bool:
    is_nan = isinstance(value, (float, np.floating)) and np.isnan(value)
    is_nan |= isinstance(value, Decimal) and value.is_nan()
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def _numbers(name: str, column: Any) -> np.ndarray:
    """A column as an array of numbers, NaN where it is null."""
    # Arrow makes another number of a null among codes, and NumPy has no integers of 128 bits.
    kind = str(getattr(column, "type", getattr(column, "dtype", "")))
    is_listed = kind.startswith("dictionary") or "128" in kind
    found = column.to_numpy() if hasattr(column, "to_numpy") and not is_listed else column
    if isinstance(found, np.ndarray) and found.dtype.kind in "fiub":
        return found
    values = [np.nan if _is_missing(one) else one for one in _listed(column)]
    for one in values:
        if isinstance(one, (str, bytes)) or not hasattr(type(one), "__float__"):
            raise GbtreesError(f"column {name!r} has {one!r}, and the feature's values are numbers")
    return np.array(values, np.float64)
