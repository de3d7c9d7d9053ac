"""The same rows predicted in SQL and in Python, compared bit by bit.

The rows go into a temporary table, with a column type for each type of the frame, so that the
server reads them as it would read a user's table. Python's doubles are rounded to `real`, which is
what the server returns. Missing values are NULL or NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from psycopg import Connection, sql

from .errors import translated
from .extension import Extension
from .libraries import model_file
from .model_file import ModelFile

# PostgreSQL limits the number of a function's arguments to 100, the name of the model included.
MAX_COLUMNS = 99
_TABLE = sql.Identifier("pgboost_verify")
_ROW = "pgboost row"


@dataclass(frozen=True)
class Difference:
    """A row for which the database and Python differ."""

    row: int
    in_sql: Any
    in_python: Any


@dataclass(frozen=True)
class Verification:
    """What a comparison found; it is true where nothing differs.

    `largest_ulp` is the largest distance of two values, in units in the last place of a float.
    """

    rows: int
    differing: int
    largest_ulp: int
    classes_differing: int
    first: Difference | None

    def __bool__(self) -> bool:
        return self.differing == 0 and self.classes_differing == 0


def verify(connection: Connection[Any], name: str, model: Any, frame: Any) -> Verification:
    """Compares `predict_array`, and a classifier's `predict_class`, with the model's own predictions.

    `frame` is a pandas `DataFrame` or a NumPy array of shape `(rows, features)`.
    """
    file = model_file(model)
    extension = Extension(connection)
    columns = _columns(frame)
    with translated(), connection.transaction(force_rollback=True):
        _fill(connection, columns, frame)
        arguments = _arguments(extension, name, columns, _has_names(frame))
        in_sql = _predicted(extension, "predict_array", name, arguments)
        classes = _predicted(extension, "predict_class", name, arguments) if file.classes else []
    return _compared(file, frame, in_sql, classes)


def _has_names(frame: Any) -> bool:
    return hasattr(frame, "columns")


def _columns(frame: Any) -> dict[str, str]:
    """The names of the frame's columns, and their types in SQL."""
    if _has_names(frame):
        return {str(name): _type(frame[name].dtype) for name in frame.columns}
    return {f"f{index}": _type(frame.dtype) for index in range(frame.shape[1])}


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


def _fill(connection: Connection[Any], columns: dict[str, str], frame: Any) -> None:
    listed = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind))
        for name, kind in {_ROW: "bigint", **columns}.items()
    )
    connection.execute(sql.SQL("CREATE TEMP TABLE {} ({})").format(_TABLE, listed))
    copy = sql.SQL("COPY {} FROM STDIN").format(_TABLE)
    with connection.cursor() as cursor, cursor.copy(copy) as rows:
        for number, row in enumerate(_rows(frame)):
            rows.write_row((number, *row))


def _arguments(
    extension: Extension, name: str, columns: dict[str, str], has_names: bool
) -> sql.Composable:
    """The row if the model's features are columns of the frame, else the columns by position."""
    query = sql.SQL("SELECT feature FROM {}(%s)").format(extension.name("model_features"))
    features = {feature for (feature,) in extension.rows(query, [name])}
    if has_names and features <= columns.keys():
        return sql.SQL("t")
    listed = sql.SQL(", ").join(sql.Identifier(column) for column in columns)
    return listed if len(columns) <= MAX_COLUMNS else sql.SQL("ARRAY[{}]").format(listed)


def _predicted(
    extension: Extension, function: str, name: str, arguments: sql.Composable
) -> list[Any]:
    query = sql.SQL("SELECT {}(%s, {}) FROM {} AS t ORDER BY {}").format(
        extension.name(function), arguments, _TABLE, sql.Identifier(_ROW)
    )
    return [value for (value,) in extension.rows(query, [name])]


def _compared(file: ModelFile, frame: Any, in_sql: list[Any], classes: list[Any]) -> Verification:
    import numpy as np

    ours = np.asarray(in_sql, dtype=np.float32).reshape(len(in_sql), -1)
    theirs = np.asarray(file.values(frame)).astype(np.float32).reshape(ours.shape)
    ulp = np.abs(_ordered(ours) - _ordered(theirs)).max(axis=1, initial=0)
    labels = [str(label) for label in file.classes(frame)] if file.classes else []
    other = [
        row for row, pair in enumerate(zip(classes, labels, strict=True)) if pair[0] != pair[1]
    ]
    wrong = np.flatnonzero(ulp)
    first = None
    if len(wrong):
        row = int(wrong[0])
        first = Difference(row, ours[row].tolist(), theirs[row].tolist())
    elif other:
        first = Difference(other[0], classes[other[0]], labels[other[0]])
    return Verification(
        rows=len(ours),
        differing=len(wrong),
        largest_ulp=int(ulp.max(initial=0)),
        classes_differing=len(other),
        first=first,
    )


def _ordered(values: Any) -> Any:
    """Integers in the order of the floats: two neighbouring floats differ by 1."""
    bits = values.view("int32").astype("int64")
    return bits ^ ((bits >> 63) & 0x7FFFFFFF)
