"""The same rows predicted in SQL and in Python, and compared.

The rows go into a temporary table, with a column type for each type of the frame, so that the
server reads them as it would read a user's table. Missing values are NULL or NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from psycopg import Connection, sql

from .comparison import Predictions, Verification, compared
from .connecting import connected
from .errors import UnsupportedModelError, translated
from .extension import Extension
from .libraries import model_file
from .model_file import ModelFile

# PostgreSQL limits the number of a function's arguments to 100, the name of the model included.
MAX_COLUMNS = 99
_TABLE = sql.Identifier("pgboost_verify")
_ROW = "pgboost row"
_ARRAY = "pgboost features"


def verify(  # noqa: PLR0913 (two are options)
    connection: Connection[Any] | str,
    name: str,
    model: Any,
    frame: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> Verification:
    """Compares `predict_array`, and a classifier's `predict_class`, with the model's own predictions.

    `name` may be `m`, `m@3` or `m@champion`. `frame` is a pandas `DataFrame` or a NumPy array of shape
    `(rows, features)`. A number may differ by `atol + rtol * abs(number)`; without both, by what the
    library's format allows. Classes are compared by the labels that the database has for them.
    """
    file = model_file(model)
    if file.values is None:
        raise UnsupportedModelError("verify needs the model's object, not its file")
    if rtol is not None or atol is not None:
        tolerance = replace(file.tolerance, rtol=rtol or 0.0, atol=atol or 0.0)
        file = replace(file, tolerance=tolerance)
    with connected(connection) as opened, translated():
        return compare(Extension(opened), opened, name, file, frame)


def compare(
    extension: Extension, connection: Connection[Any], name: str, file: ModelFile, frame: Any
) -> Verification:
    """`verify` for a model's file with the functions of its object. It leaves nothing behind."""
    query = sql.SQL("SELECT {}(%s)").format(extension.name("model_info"))
    info = extension.value(query, [name])
    with connection.transaction(force_rollback=True):
        arguments = _fill(connection, info["feature_names"], frame)
        values = _predicted(extension, "predict_array", name, arguments)
        classes = _predicted(extension, "predict_class", name, arguments) if file.classes else []
    ours = Predictions(values, classes)
    return compared(ours, _in_python(file, info["labels"], frame), file.tolerance)


def _in_python(file: ModelFile, stored: list[str] | None, frame: Any) -> Predictions:
    """The object's predictions, with the labels that the database has."""
    values = file.values(frame) if file.values else []
    if file.classes is None or file.labels is None:
        return Predictions(values)
    labels = stored or file.labels
    label = dict(zip(file.labels, labels, strict=True))
    classes = [label[found] for found in file.classes(frame)]
    return Predictions(values, classes, labels, file.cut)


def _fill(connection: Connection[Any], features: list[str] | None, frame: Any) -> sql.Composable:
    """Makes the table of the frame's rows; returns the arguments with which it is predicted.

    These are the row if the model's features are columns of the frame, else the columns by position.
    """
    columns = _columns(frame)
    named = bool(features) and _has_names(frame) and set(features) <= columns.keys()
    if len(columns) > MAX_COLUMNS and "text" not in columns.values():
        # A table has at most 1,600 columns, a model has more.
        rows = ((list(row),) for row in _rows(_ordered(frame, features) if named else frame))
        _copy(connection, {_ARRAY: "double precision[]"}, rows)
        return sql.Identifier(_ARRAY)
    _copy(connection, columns, _rows(frame))
    if named:
        return sql.SQL("t")
    listed = sql.SQL(", ").join(sql.Identifier(column) for column in columns)
    return listed if len(columns) <= MAX_COLUMNS else sql.SQL("ARRAY[{}]").format(listed)


def _has_names(frame: Any) -> bool:
    return hasattr(frame, "columns")


def _ordered(frame: Any, features: list[str]) -> Any:
    place = {str(name): name for name in frame.columns}
    return frame[[place[feature] for feature in features]]


def _columns(frame: Any) -> dict[str, str]:
    """The names of the frame's columns, and their types in SQL."""
    if _has_names(frame):
        return {str(name): _type(frame[name].dtype) for name in frame.columns}
    kinds = [_type(frame.dtype)] * frame.shape[1]
    if frame.dtype.kind == "O":
        has_text = [any(isinstance(value, str) for value in column) for column in frame.T]
        kinds = ["text" if found else "double precision" for found in has_text]
    return {f"f{index}": kind for index, kind in enumerate(kinds)}


def _type(dtype: Any) -> str:
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        return _type(categories.dtype)
    kind = getattr(dtype, "kind", "O")
    if kind == "f":
        return "double precision" if dtype.itemsize > 4 else "real"
    # bigint is too small for an unsigned number of 64 bits.
    return {"b": "boolean", "i": "bigint", "u": "numeric"}.get(kind, "text")


def _rows(frame: Any) -> Iterator[tuple[Any, ...]]:
    """The rows in Python's own types, with None for what pandas calls missing."""
    if not _has_names(frame):
        yield from (tuple(row) for row in frame.tolist())
        return
    columns = [frame[name].astype(object) for name in frame.columns]
    yield from zip(*(column.where(column.notna(), None) for column in columns), strict=True)


def _copy(
    connection: Connection[Any], columns: dict[str, str], rows: Iterator[tuple[Any, ...]]
) -> None:
    listed = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind))
        for name, kind in {_ROW: "bigint", **columns}.items()
    )
    connection.execute(sql.SQL("CREATE TEMP TABLE {} ({})").format(_TABLE, listed))
    copy = sql.SQL("COPY {} FROM STDIN").format(_TABLE)
    with connection.cursor() as cursor, cursor.copy(copy) as written:
        for number, row in enumerate(rows):
            written.write_row((number, *row))


def _predicted(
    extension: Extension, function: str, name: str, arguments: sql.Composable
) -> list[Any]:
    query = sql.SQL("SELECT {}(%s, {}) FROM {} AS t ORDER BY {}").format(
        extension.name(function), arguments, _TABLE, sql.Identifier(_ROW)
    )
    return [value for (value,) in extension.rows(query, [name])]
