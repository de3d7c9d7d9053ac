"""Rows of a data frame in SQL: each column is an array, which the server unnests.

A column has the type of its type in the frame, so that the server reads it as it would read a user's table.
Missing values are NULL or NaN. Nothing is created to predict them, so a standby can do it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from psycopg import sql

from .connecting import Database
from .errors import InvalidModelError
from .extension import Extension

# PostgreSQL limits the number of a function's arguments to 100, the name of the model included.
MAX_COLUMNS = 99
# About as many values are sent in a statement.
_VALUES = 1_000_000
_ROW = "pgboost row"
_ARRAY = "pgboost features"
_TABLE = sql.Identifier("pg_temp", "pgboost_rows")


class Rows:
    """The rows of a frame of pandas, or of an array of NumPy of shape `(rows, columns)`."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.has_names = hasattr(frame, "columns")
        self.types = _types(frame)

    def relation(self) -> sql.Composable:
        """What to select from: the rows as `t`, of arrays that are parameters."""
        return sql.SQL("(SELECT {} FROM unnest({}) WITH ORDINALITY AS t({})) AS t").format(
            sql.SQL(", ").join(
                sql.SQL("{0}::{1} AS {0}").format(_name(column), sql.SQL(kind))
                for column, kind in {**self.types, _ROW: "bigint"}.items()
            ),
            sql.SQL(", ").join(
                sql.SQL("%s::{}[]").format(sql.SQL("text" if kind.endswith("[]") else kind))
                for kind in self.types.values()
            ),
            sql.SQL(", ").join(_name(column) for column in (*self.types, _ROW)),
        )

    def chunks(self) -> Iterator[list[str]]:
        """The arrays of some rows after the other, as PostgreSQL writes arrays."""
        size = max(_VALUES // max(self.frame.shape[1], 1), 1)
        for start in range(0, len(self.frame), size):
            part = (self.frame.iloc if self.has_names else self.frame)[start : start + size]
            if _ARRAY in self.types:
                rows = [_array(row, "double precision") for row in _numbers(part)]
                yield [_array(rows, "text")]
                continue
            columns = (column for _, column in part.items()) if self.has_names else part.T
            pairs = zip(columns, self.types.values(), strict=True)
            yield [_array(column, kind) for column, kind in pairs]

    def arguments(self) -> sql.Composable:
        """The features of a prediction, after `of_features`."""
        listed = sql.SQL(", ").join(sql.SQL("t.{}").format(_name(column)) for column in self.types)
        return listed if len(self.types) <= MAX_COLUMNS else sql.SQL("t")


def of_features(frame: Any, features: Sequence[str] | None, by_position: bool) -> Rows:
    """The columns that are a model's features, in its order.

    Columns without names stay as they are, and with `by_position` those of which some are no features.
    """
    names = {str(name): name for name in getattr(frame, "columns", ())}
    absent = [feature for feature in features or () if feature not in names]
    if features and not absent:
        frame = frame[[names[feature] for feature in features]]
    elif absent and not by_position and any(isinstance(name, str) for name in names.values()):
        raise InvalidModelError(f"the frame has no column {absent[0]!r}, which is a feature")
    rows = Rows(frame)
    if len(rows.types) > MAX_COLUMNS and "text" not in rows.types.values():
        # A subquery has at most 1,664 columns, a model has more.
        rows.types = {_ARRAY: "double precision[]"}
    return rows


def predicted(
    extension: Extension, functions: Sequence[str], reference: str, rows: Rows
) -> list[tuple[Any, ...]]:
    """What each of a model's functions returns for each row."""
    calls = sql.SQL(", ").join(
        sql.SQL("{}(%s, {})").format(extension.name(function), rows.arguments())
        for function in functions
    )
    query = sql.SQL("SELECT {} FROM {} ORDER BY {}").format(
        calls, rows.relation(), sql.Identifier(_ROW)
    )
    references = [reference] * len(functions)
    return [
        found for arrays in rows.chunks() for found in extension.rows(query, [*references, *arrays])
    ]


@contextmanager
def source_of(database: Database, given: Any) -> Iterator[str]:
    """A table or a query by its text; a frame is in a temporary table meanwhile."""
    if not hasattr(given, "columns"):
        yield given
        return
    rows = Rows(given)
    columns = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(column), sql.SQL(kind))
        for column, kind in rows.types.items()
    )
    insert = sql.SQL("INSERT INTO {} SELECT {} FROM {} ORDER BY {}").format(
        _TABLE,
        sql.SQL(", ").join(_name(column) for column in rows.types),
        rows.relation(),
        sql.Identifier(_ROW),
    )
    with database.transaction():
        database.fetched(sql.SQL("CREATE TABLE {} ({})").format(_TABLE, columns))
        for arrays in rows.chunks():
            database.fetched(insert, arrays)
        yield _TABLE.as_string(None)
        database.fetched(sql.SQL("DROP TABLE {}").format(_TABLE))


def _name(column: str) -> sql.Composable:
    """A column's name in a query with parameters."""
    return sql.Identifier(column.replace("%", "%%"))


def _types(frame: Any) -> dict[str, str]:
    """The names of the frame's columns, and their types in SQL."""
    if hasattr(frame, "columns"):
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
    if kind == "M":
        return "timestamptz" if getattr(dtype, "tz", None) else "timestamp"
    # bigint is too small for an unsigned number of 64 bits.
    return {"b": "boolean", "i": "bigint", "u": "numeric"}.get(kind, "text")


def _numbers(values: Any) -> Any:
    """Doubles, of which NaN is what pandas calls missing; booleans are 0 and 1."""
    import numpy as np

    if not hasattr(values, "to_numpy"):
        return np.asarray(values, np.float64)
    return values.to_numpy(np.float64, na_value=np.nan)


def _array(column: Any, kind: str) -> str:
    """An array of PostgreSQL; nan and inf are numbers there as they are here."""
    if kind in ("real", "double precision"):
        return f"{{{','.join(map(str, _numbers(column).tolist()))}}}"
    import pandas

    missing = pandas.isna(column)
    write = str if kind in ("boolean", "bigint", "numeric") else _quoted
    pairs = zip(column, missing, strict=True)
    return f"{{{','.join('NULL' if absent else write(value) for value, absent in pairs)}}}"


def _quoted(value: Any) -> str:
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
