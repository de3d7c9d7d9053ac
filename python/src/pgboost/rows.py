"""Sends the rows of a frame: each column is an array, which the server unnests.

Missing values are NULL. Predictions create nothing, so a standby can make them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from psycopg import sql

from .errors import InvalidDataError, translated
from .extension import Extension
from .frames import (
    array_of,
    columns_of,
    cut_name,
    framed,
    joined,
    numbers,
    objects_of,
    quoted,
    type_of,
)

# PostgreSQL's functions have at most 100 arguments, the name of the model included.
MAX_COLUMNS = 99
# Above this, not all integers are doubles.
LARGE = 2.0**53
# The approximate number of values in a statement.
_VALUES = 1_000_000
_TABLE = sql.Identifier("pg_temp", "pgboost_rows")
_ROW = sql.Identifier("row")


_NUMBERS = """
    SELECT feature, coalesce((SELECT bool_and(category ~ '^-?[0-9.]+(e[-+]?[0-9]+)?$')
                                FROM unnest(categories) AS category), type = 'numerical')
      FROM {}(%s)
"""
_CATEGORICAL = "SELECT bool_or(type = 'categorical') FROM {}(%s)"


class Rows:
    """The rows of a frame that `framed` returns.

    More columns than a function has arguments are sent as an array of numbers, or as an object if some are
    text, categories, which are codes in an array, or integers that doubles do not have.
    """

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.types = {name: type_of(name, column) for name, column in columns_of(frame)}
        if not self.types:
            raise InvalidDataError("the rows have no columns")
        self.form = "columns"
        if len(self.types) > MAX_COLUMNS:
            self.form = "jsonb" if "text" in self.types.values() else "double precision[]"

    def has_large_integers(self) -> bool:
        """Returns whether a number would be rounded to double precision before it is rounded to real."""
        pairs = zip(columns_of(self.frame), self.types.values(), strict=True)
        return any(
            kind == "bigint" and (abs(numbers(column)) >= LARGE).any()
            for (_, column), kind in pairs
        )

    def relation(self) -> sql.Composable:
        """Returns the rows as a relation `t` of arrays that are parameters."""
        kinds = ["text" if kind is None else kind for kind in self.types.values()]
        if self.form != "columns":
            kinds = [self.form]
        names = [sql.Identifier(f"c{number}") for number in range(len(kinds))]
        return sql.SQL("(SELECT {} FROM unnest({}) WITH ORDINALITY AS t({})) AS t").format(
            sql.SQL(", ").join(
                sql.SQL("{0}::{1} AS {0}").format(name, sql.SQL(kind))
                for name, kind in (*zip(names, kinds, strict=True), (_ROW, "bigint"))
            ),
            sql.SQL(", ").join(
                sql.SQL("%s::{}[]").format(sql.SQL("text" if kind.endswith("[]") else kind))
                for kind in kinds
            ),
            sql.SQL(", ").join([*names, _ROW]),
        )

    def chunks(self) -> Iterator[list[str]]:
        """Yields the arrays of some rows after the other, as PostgreSQL writes arrays."""
        size = max(_VALUES // max(len(self.types), 1), 1)
        for start in range(0, len(self.frame), size):
            part = (self.frame.iloc if hasattr(self.frame, "iloc") else self.frame)[
                start : start + size
            ]
            columns, kinds = columns_of(part), list(self.types.values())
            if self.form == "columns":
                pairs = zip(columns, kinds, strict=True)
                yield [array_of(column, kind) for (_, column), kind in pairs]
                continue
            if self.form == "jsonb":
                rows = objects_of(columns, kinds)
            else:
                cells = zip(*(numbers(column).tolist() for _, column in columns), strict=True)
                rows = [f"{{{','.join(map(str, row))}}}" for row in cells]
            yield [f"{{{','.join(map(quoted, rows))}}}"]

    def arguments(self) -> sql.Composable:
        """Returns the features of a prediction; a column without any value is NULL."""
        if self.form != "columns":
            return sql.SQL("t.c0")
        return sql.SQL(", ").join(
            sql.SQL("NULL" if kind is None else f"t.c{number}")
            for number, kind in enumerate(self.types.values())
        )


def of_features(frame: Any, features: Sequence[str] | None, by_position: bool) -> Rows:
    """Returns the columns that are a model's features, in its order.

    Columns without names stay as they are, and with `by_position` as many as there are features, if some of
    them have other names.
    """
    frame = framed(frame)
    columns = getattr(frame, "columns", ())
    by_position = by_position and len(columns) == len(features or ())
    names = {str(name): name for name in columns}
    names = {**{joined(name): name for name in names.values()}, **names}
    # A model that the database has trained has the names of a table's columns.
    cut = Counter(map(cut_name, names))
    names = {**{cut_name(name): names[name] for name in names if cut[cut_name(name)] == 1}, **names}
    absent = [feature for feature in features or () if feature not in names]
    if features and not absent:
        frame = frame[[names[feature] for feature in features]]
    elif absent and not by_position and any(isinstance(name, str) for name in names.values()):
        raise without_feature("frame", absent[0], names)
    return Rows(frame)


def of_version(
    extension: Extension, info: Mapping[str, Any], frame: Any, by_position: bool = False
) -> Rows:
    """Returns the columns that are the features of a version with this metadata."""
    import pandas

    if not info["feature_names"] and info["format"].startswith("catboost"):
        frame = _by_number(framed(frame))
    rows, features = of_features(frame, info["feature_names"], by_position), info["feature_names"]
    if rows.form == "double precision[]":
        query = sql.SQL(_CATEGORICAL).format(extension.name("model_features"))
        ((has_categories,),) = extension.rows(query, [info["reference"]])
        if features and (has_categories or rows.has_large_integers()):
            rows.form = "jsonb"
        elif has_categories and info["format"].startswith("tree ensemble"):
            raise InvalidDataError(
                f"the model has categories among {len(rows.types)} features without names: push it with"
                " feature_names"
            )
    if rows.form == "jsonb" and features and len(features) == len(rows.types):
        # The members of an object have the names of the features.
        columns = [column for _, column in columns_of(rows.frame)]
        rows.frame = pandas.DataFrame(dict(zip(features, columns, strict=True)))
    return rows


def _by_number(frame: Any) -> Any:
    """Returns columns in the order of their names, if these are the numbers that CatBoost leaves out."""
    names = {str(name): name for name in getattr(frame, "columns", ())}
    numbers = [str(number) for number in range(len(names))]
    are_numbers = names and {*names} == {*numbers}
    return frame[[names[number] for number in numbers]] if are_numbers else frame


def without_feature(rows: str, feature: str, names: Iterable[str]) -> InvalidDataError:
    """Returns the error of rows without a feature, whose name LightGBM may have changed."""
    alike = [name for name in names if name.replace(" ", "_") == feature]
    hint = f": it has {alike[0]!r}, so push the model with feature_names" if alike else ""
    return InvalidDataError(f"the {rows} has no column {feature!r}, which is a feature{hint}")


def predicted(
    extension: Extension, functions: Sequence[str], reference: str, rows: Rows
) -> list[tuple[Any, ...]]:
    """Returns the results of a model's functions for each row."""
    calls = sql.SQL(", ").join(
        sql.SQL("{}(%s, {})").format(extension.name(function), rows.arguments())
        for function in functions
    )
    query = sql.SQL("SELECT {} FROM {} ORDER BY {}").format(calls, rows.relation(), _ROW)
    references = [reference] * len(functions)
    with translated(InvalidDataError):
        return [
            found
            for arrays in rows.chunks()
            for found in extension.rows(query, [*references, *arrays])
        ]


@contextmanager
def source_of(extension: Extension, given: Any, model: str | None = None) -> Iterator[str]:
    """Yields the text of a table or a query; a frame is in a temporary table meanwhile.

    A column without any value has the type that the model's feature takes, or is text.
    """
    if isinstance(given, str):
        yield given
        return
    frame = framed(given)
    rows = Rows(frame)
    rows.form = "columns"
    others = [name for name in getattr(frame, "columns", ()) if not isinstance(name, str)]
    found = {}
    if model is not None and (others or None in rows.types.values()):
        found = _numbers(extension, model)
    renamed = {str(name): _renamed(name, found) for name in others}
    rows.types = {
        name: kind or ("double precision" if found.get(name) else "text")
        for name, kind in ((renamed.get(name, name), kind) for name, kind in rows.types.items())
    }
    columns = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(column), sql.SQL(kind))
        for column, kind in rows.types.items()
    )
    insert = sql.SQL("INSERT INTO {} SELECT {} FROM {} ORDER BY {}").format(
        _TABLE, rows.arguments(), rows.relation(), _ROW
    )
    database = extension.database
    with database.transaction():
        database.fetched(sql.SQL("CREATE TABLE {} ({})").format(_TABLE, columns))
        for arrays in rows.chunks():
            database.fetched(insert, arrays)
        yield _TABLE.as_string(None)
        database.fetched(sql.SQL("DROP TABLE {}").format(_TABLE))


def _renamed(name: Any, features: Collection[str]) -> str:
    """Returns the name of a column of which the name is no text: its feature's, if a library has named it."""
    names = (str(name), joined(name), f"f{name}")
    return next((one for one in names if one in features), joined(name))


def _numbers(extension: Extension, model: str) -> dict[str, bool]:
    """Returns for each feature whether its values, or its categories, are numbers."""
    query = sql.SQL(_NUMBERS).format(extension.name("model_features"))
    return dict(extension.rows(query, [model]))
