"""Predicts the rows of a table, a view or a query as the database reads them.

Python has the rows as `pandas.read_sql` returns them, but with all digits of integers, converted to the types
that the model was fitted on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any

from psycopg import sql

from .connecting import Database
from .errors import InvalidDataError
from .extension import Extension
from .frames import NAME_BYTES, cut_name, numbers, type_of
from .inputs import Inputs
from .rows import LARGE, MAX_COLUMNS, without_feature

# A comment may have others in it.
_COMMENT = r"--[^\n]*|/\*(?s:/\*.*?\*/|(?!\*/).)*\*/"
# As the server tells a query from a name.
_QUERY = re.compile(rf"(?:\s|\(|{_COMMENT})*(?:select|with|values|table)\b\s*[^\s]", re.IGNORECASE)
_TOKEN = re.compile(
    rf"""e'(?:[^'\\]|\\.)*'|'[^']*'|"[^"]*"|(\$\w*\$).*?\1|\w[\w$]*|(?P<blank>[\s;]|{_COMMENT})|.""",
    re.DOTALL | re.IGNORECASE,
)
_BIGINT, _REAL, _NUMERIC = 20, 700, 1700
# Types that to_jsonb writes as other texts: char(n), date, timestamp and timestamptz.
_NOT_IN_JSON = {1042, 1082, 1114, 1184}


def _without_end(query: str) -> str:
    """Returns a query without the semicolon that ends it, and without comments around that."""
    tokens = [token for token in _TOKEN.finditer(query) if token["blank"] is None]
    return query[: tokens[-1].end()]


class Table:
    """A source of rows, with the names of its columns and the OIDs of their types."""

    def __init__(self, database: Database, source: str) -> None:
        self._database = database
        if _QUERY.match(source):
            self._source = sql.SQL("({})").format(sql.SQL(_without_end(source)))
        else:
            query = sql.SQL("SELECT %s::pg_catalog.regclass::pg_catalog.text")
            ((name,),) = database.fetched(query, [source])[1]
            self._source = sql.SQL(name)
        columns = database.columns(sql.SQL("SELECT * FROM {} AS t LIMIT 0").format(self._source))
        self.names = [name for name, _ in columns]
        self.types = dict(columns)
        alias = "pgboost row"
        while alias in self.types:
            alias += "_"
        self._row = sql.Identifier(alias)
        if len(self.types) < len(columns):
            raise InvalidDataError(
                "the source has two columns of one name: give them different ones"
            )

    def predicted(
        self, extension: Extension, functions: Sequence[str], info: Mapping[str, Any]
    ) -> tuple[Any, dict[str, list[tuple[Any, ...]]]]:
        """Returns the rows as a frame, and by form each function's result for each row."""
        import pandas

        features = info["feature_names"] or self.names
        cut = self._cut(features)
        absent = [feature for feature in features if cut.get(feature, feature) not in self.types]
        if absent:
            raise without_feature("source", absent[0], self.names)
        if len(features) != info["features"]:
            raise InvalidDataError(
                f"the source has {len(features)} columns, and the model {info['features']} features without"
                " names: select these in their order"
            )
        forms = self._forms([cut.get(feature, feature) for feature in features], info, bool(cut))
        if not forms:
            missing = f"with names of more than {NAME_BYTES} bytes" if cut else "without names"
            raise InvalidDataError(
                f"a function has at most {MAX_COLUMNS} columns, and the model {len(features)} features"
                f" {missing}: push it with feature_names"
            )
        calls = [
            sql.SQL("{}(%s, {})").format(extension.name(function), arguments)
            for arguments in forms.values()
            for function in functions
        ]
        source = sql.SQL(self._source.as_string(None).replace("%", "%%"))
        query = sql.SQL("SELECT {0}.*, {1} FROM {2} AS {0}").format(
            self._row, sql.SQL(", ").join(calls), source
        )
        rows = extension.rows(query, [info["reference"]] * len(calls))
        width, size = len(self.names), len(functions)
        frame = pandas.DataFrame.from_records(
            [row[:width] for row in rows], columns=self.names, coerce_float=True
        )
        for name in self._of_type({_BIGINT, _NUMERIC}, self.names):
            if frame[name].dtype.kind == "f" and (frame[name].abs() >= LARGE).any():
                place = self.names.index(name)
                frame[name] = pandas.Series([row[place] for row in rows], dtype=object)
        if info.get("real_input") == "float32":
            frame = frame.astype(dict.fromkeys(self._of_type({_REAL}, self.names), "float32"))
        frame = frame.rename(columns={column: feature for feature, column in cut.items()})
        starts = range(width, width + len(calls), size)
        pairs = zip(forms, starts, strict=True)
        return frame, {form: [row[start : start + size] for row in rows] for form, start in pairs}

    def _cut(self, features: Sequence[str]) -> dict[str, str]:
        """Returns the columns of features whose names PostgreSQL cuts, where no other has the rest."""
        long = [feature for feature in features if feature not in self.types]
        cut = {feature: cut_name(feature) for feature in long}
        used = Counter([*features, *cut.values()])
        return {
            feature: column
            for feature, column in cut.items()
            if used[column] == 1 and column in self.types and column != feature
        }

    def _forms(
        self, features: Sequence[str], info: Mapping[str, Any], are_cut: bool
    ) -> dict[str, sql.Composable]:
        """Returns the arguments of a prediction in each form that has the same meaning to the model."""
        columns = (
            sql.SQL("{}.{}").format(self._row, sql.Identifier(name.replace("%", "%%")))
            for name in features
        )
        forms: dict[str, sql.Composable] = {}
        if len(features) <= MAX_COLUMNS:
            forms["by columns"] = sql.SQL(", ").join(columns)
        if info["feature_names"] and not are_cut:
            forms["by row"] = self._row
            apart = _NOT_IN_JSON | ({_REAL} if info.get("real_input") == "float32" else set())
            if not self._of_type(apart, features):
                forms["as jsonb"] = sql.SQL("to_jsonb({})").format(self._row)
        return forms

    def _of_type(self, types: set[int], names: Sequence[str]) -> list[str]:
        return [name for name in names if self.types[name] in types]


def as_fitted(frame: Any, inputs: Inputs, info: Mapping[str, Any]) -> Any:
    """Converts rows of a table or of texts to the types and names that the model was fitted on."""
    import pandas

    # Each column gets the places of the rows as its index.
    frame = frame.reset_index(drop=True)
    features = list(info["feature_names"] or frame.columns)
    fitted = list(inputs.names or features)
    if info["feature_names"] and len(fitted) != len(features):
        # A Pipeline may be fitted on more columns than it reads.
        features = fitted = [name for name in fitted if name in frame.columns]
    given = info.get("categories") or {}
    places = {name: place for place, name in enumerate(inputs.names or features)}
    found = {}
    for feature, name in zip(features, fitted, strict=True):
        column, categories = frame[feature], inputs.categories.get(places[name])
        if categories is not None:
            categories = given.get(feature, categories)
            column = _of_categories(column, categories, inputs.hashed)
        if categories is not None and (feature in given or not inputs.plain):
            values = pandas.Index(categories)
            column = column.where(column.isin(values)).astype(object)
            column = pandas.Series(pandas.Categorical(column, categories=values))
        elif type_of(feature, column) == "text" or places[name] in inputs.encoded:
            # pandas reads NULL as None or NaN. Encoders of objects take no others.
            missing = None if places[name] in inputs.nones else float("nan")
            column = column.astype(object).where(column.notna(), missing)
        elif categories is None and column.dtype.kind in "OM":
            column = pandas.Series(numbers(column))
        found[name] = column
    rows = pandas.DataFrame(found)
    return rows if inputs.names else rows.to_numpy()


def _of_categories(column: Any, known: Sequence[Any], is_hashed: bool) -> Any:
    """Converts numerics to integers and floats, and takes the blanks from values of char(n), as SQL does.

    Of CatBoost, which takes no floats for categories, all integers become texts.
    """
    import pandas

    def category(value: Any) -> Any:
        if isinstance(value, (Decimal, float)):
            is_whole = isfinite(value) and value == int(value)
            value = int(value) if is_whole else float(value)
        if is_hashed:
            return str(value) if type(value) is int else value
        return value.rstrip(" ") if isinstance(value, str) and value not in texts else value

    texts = {value for value in known if isinstance(value, str)}
    if column.dtype.kind not in ("fO" if is_hashed else "O"):
        return column
    return pandas.Series([category(value) for value in column], dtype=object)
