"""Converts frames of any library to frames of pandas, and their columns to SQL's types.

A column is sent in the type of its values, so that the server reads it like a user's table. Numbers of
`float32` are sent as doubles, since SQL's `real` would be read as its shortest decimal.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from operator import add
from typing import Any

from .errors import ArgumentError, InvalidDataError

_BY_KIND = {"b": "boolean", "i": "bigint", "u": "numeric", "f": "double precision"}
_BY_KIND |= {"U": "text", "M": "timestamp"}
# A class comes before those that it derives from.
_BY_CLASS = {
    bool: "boolean",
    int: "bigint",
    float: "double precision",
    Decimal: "numeric",
    datetime: "timestamp",
    date: "date",
    str: "text",
}
_NUMBERS = {"boolean", "bigint", "numeric", "double precision"}
# PostgreSQL cuts names of columns after these bytes.
NAME_BYTES = 63
TIMES = {"date", "timestamp", "timestamptz"}
# By what Python writes, what PostgreSQL's JSON has, with infinity as text.
_JSON = {"True": "true", "False": "false", "inf": '"Infinity"', "-inf": '"-Infinity"'}
_JSON |= {one: json.dumps(one) for one in ("Infinity", "-Infinity")}


def framed(given: Any) -> Any:
    """Converts rows to a frame of pandas, or an array of NumPy of two dimensions."""
    import numpy as np
    import pandas

    if hasattr(given, "collect") and hasattr(given, "lazy"):
        given = given.collect()
    if hasattr(given, "get_columns"):
        given = pandas.DataFrame({one.name: _of_polars(one) for one in given.get_columns()})
    elif hasattr(given, "to_pandas"):
        # Arrow's integers with nulls would be doubles.
        is_arrow = type(given).__module__.partition(".")[0] == "pyarrow"
        given = given.to_pandas(**({"integer_object_nulls": True} if is_arrow else {}))
    if hasattr(given, "iloc") and hasattr(given, "columns"):
        for name, count in Counter(map(str, given.columns)).most_common(1):
            if count > 1:
                raise InvalidDataError(f"the frame has two columns {name!r}")
        return given
    if isinstance(given, np.ma.MaskedArray):
        # Objects of times in nanoseconds would be integers.
        missing = {"f": np.nan, "M": np.datetime64("NaT")}.get(given.dtype.kind)
        given = np.where(given.mask, None, given.data) if missing is None else given.filled(missing)
    array = np.asarray(given) if isinstance(given, (list, tuple, np.ndarray)) else None
    if array is None or array.ndim != 2:
        kind = f"{type(given).__module__}.{type(given).__qualname__}".removeprefix("builtins.")
        shape = "" if array is None else f" of {array.ndim} dimensions"
        raise ArgumentError(
            f"the rows are a {kind}{shape}: pass a DataFrame of pandas or Polars, a Table of Arrow, or an"
            " array of two dimensions, of which one row is array[:1]"
        )
    return array


def _of_polars(column: Any) -> Any:
    """Converts a column of Polars, which needs Arrow to convert to pandas.

    NumPy has neither integers of 128 bits nor structures, and small integers with nulls would be `float32`.
    """
    import pandas

    dtype = column.dtype
    if "128" in str(dtype) or dtype.is_nested() or (dtype.is_integer() and column.null_count()):
        return pandas.Series(column.to_list(), dtype=object)
    return column.to_numpy()


def joined(name: Any) -> str:
    """Returns a column's name, of which XGBoost joins the levels by blanks."""
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def cut_name(name: str) -> str:
    """Returns the name that PostgreSQL gives a column."""
    return name.encode(errors="surrogatepass")[:NAME_BYTES].decode(errors="ignore")


def columns_of(frame: Any) -> list[tuple[str, Any]]:
    """Returns the names and the columns of a frame that `framed` returns."""
    import pandas

    if hasattr(frame, "columns"):
        return [(str(name), column) for name, column in frame.items()]
    return [(f"f{number}", pandas.Series(column)) for number, column in enumerate(frame.T)]


def has_singles(frame: Any) -> bool:
    """Returns whether a column has `float32`, as a table's `real` does."""
    types = [one.dtype for _, one in columns_of(framed(frame))]
    # A sparse column has its type in `subtype`.
    types = [getattr(one, "subtype", one) for one in types]
    return any(getattr(one, "kind", "O") == "f" and one.itemsize <= 4 for one in types)


def are_singles(frame: Any) -> bool:
    """Returns whether all numbers of a frame are of NumPy's `float32`."""
    types = [one.dtype for _, one in columns_of(frame)]
    numbers = [one for one in types if getattr(one, "kind", "O") in "biuf"]
    return bool(numbers) and all(getattr(one, "str", "") == "<f4" for one in numbers)


def type_of(name: str, column: Any) -> str | None:
    """Returns a column's type in SQL; None for objects that are all missing."""
    import pandas

    dtype = column.dtype
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        return type_of(name, pandas.Series(categories))
    kind, shown = getattr(dtype, "kind", "O"), str(dtype)
    if kind == "M":
        zone = getattr(dtype, "tz", None) or getattr(
            getattr(dtype, "pyarrow_dtype", None), "tz", None
        )
        return "timestamptz" if zone else "timestamp"
    if kind == "u" and (pandas.isna(largest := column.max()) or largest < 2**63):
        found = {"bigint"}
    elif kind != "O":
        found = {_BY_KIND.get(kind)}
    else:
        values = column[~pandas.isna(column)]
        if not len(values):
            return None
        classes = set(map(type, values))
        shown = f"{dtype} of {', '.join(sorted(one.__qualname__ for one in classes))}"
        found = {_of_class(one) for one in classes}
        zoned = found <= TIMES and {bool(getattr(value, "tzinfo", None)) for value in values}
        if zoned and True in zoned:
            if False in zoned:
                raise InvalidDataError(
                    f"column {name!r} has times with and without a time zone: give all of them one"
                )
            return "timestamptz"
        if found == {"bigint"} and not all(-(2**63) <= value < 2**63 for value in values):
            return "numeric"
    for mixed, kind in (
        ({"bigint", "numeric"}, "numeric"),
        (_NUMBERS, "double precision"),
        (TIMES, "timestamp"),
        (_NUMBERS | {"text"}, "text"),
    ):
        if found <= mixed:
            return found.pop() if len(found) == 1 else kind
    raise InvalidDataError(
        f"column {name!r} has the type {shown}, which is none of SQL: pass numbers, texts, booleans or dates"
    )


def _of_class(kind: type) -> str | None:
    import numpy as np

    if issubclass(kind, np.generic):
        return _BY_KIND.get(np.dtype(kind).kind)
    return next((found for one, found in _BY_CLASS.items() if issubclass(kind, one)), None)


def numbers(column: Any) -> Any:
    """Converts a column to doubles: booleans to 0 and 1, times to seconds since 1970, missing to NaN."""
    import numpy as np
    import pandas

    if type_of("", column) in TIMES:
        times = pandas.to_datetime(column, utc=True)
        if hasattr(times.dtype, "pyarrow_dtype"):
            # pandas leaves Arrow's nanoseconds as they are, and cannot divide them.
            times = times.astype("datetime64[ns, UTC]")
        # In nanoseconds, differences would end in 2262, and 9999-12-31 often stands for no end.
        epoch = pandas.Timestamp(0, tz="UTC").as_unit("s")
        return (times - epoch).dt.total_seconds().to_numpy()
    return column.to_numpy(np.float64, na_value=np.nan)


def array_of(column: Any, kind: str | None) -> str:
    """Writes a column as an array of PostgreSQL, with NULL for missing values."""
    import pandas

    if kind == "double precision":
        return f"{{{','.join(map(str, numbers(column).tolist()))}}}".replace("nan", "NULL")
    missing = pandas.isna(column)
    write: Callable[[Any], str] = str if kind in _NUMBERS else quoted
    pairs = zip(column, missing, strict=True)
    return f"{{{','.join('NULL' if absent else write(value) for value, absent in pairs)}}}"


def quoted(value: Any) -> str:
    """Writes an element of an array of PostgreSQL."""
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def objects_of(columns: list[tuple[str, Any]], kinds: list[str | None]) -> list[str]:
    """Writes rows as JSON objects, with the values that columns of these types have."""
    cells = (_json_of(column, kind) for (_, column), kind in zip(columns, kinds, strict=True))
    keys = [f"{json.dumps(name)}:" for name, _ in columns]
    return [f"{{{','.join(map(add, keys, row))}}}" for row in zip(*cells, strict=True)]


def _json_of(column: Any, kind: str | None) -> list[str]:
    """Writes a column's values in JSON, times as their seconds since 1970."""
    import pandas

    is_float = kind == "double precision" or kind in TIMES
    values = numbers(column).tolist() if is_float else column
    return [
        "null" if absent else json.dumps(text) if kind == "text" else _JSON.get(text, text)
        for text, absent in zip(map(str, values), pandas.isna(values), strict=True)
    ]
