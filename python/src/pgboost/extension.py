"""Calls the functions of an extension, which may be in any schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import isnan
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from psycopg import sql

from .connecting import Database
from .errors import ArgumentError, ExtensionMissingError

if TYPE_CHECKING:
    import pandas

# The types of SQL's arguments by name; others are anything that converts to JSON or a list.
_TYPES: dict[str, tuple[str, type, str]] = {
    name: kind
    for kind in (
        ("text", str, "model baseline candidate source target weight slice_by qid alias new_name"),
        ("text", str, "label_upper_bound eval_source continue_from real_input comment"),
        ("a whole number", Integral, "rounds early_stopping_rounds seed"),
        ("a number", Real, "eval_fraction"),
        ("an object", Mapping, "params metrics categories"),
    )
    for name in kind[2].split()
}

_SCHEMA = """
    (SELECT n.nspname
       FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
      WHERE e.extname = %s)
"""
_TAKES = """
    SELECT bool_or(%s = ANY (p.proargnames))
      FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
     WHERE p.proname = %s AND n.nspname = %s
"""


# Arguments that are lists, of numbers of one type since psycopg 3 sends no list of two.
_NUMBERS = ("quantile_alpha", "percentiles")
_LISTS = (*_NUMBERS, "features", "feature_names", "labels")


class Extension:
    """An extension in a database."""

    def __init__(self, database: Database, name: str = "pgboost") -> None:
        self.database = database
        self._schema = database.first(sql.SQL(_SCHEMA), [name])
        if self._schema is None:
            message = (
                f"database {database.dbname!r} has no extension {name}: CREATE EXTENSION {name}"
            )
            raise ExtensionMissingError(message)

    def name(self, name: str) -> sql.Identifier:
        """Returns the qualified name of a function or view."""
        return sql.Identifier(self._schema, name)

    def takes(self, function: str, argument: str) -> bool:
        """Returns whether a function has an argument, which is missing in an earlier release."""
        ((found,),) = self.rows(sql.SQL(_TAKES), [argument, function, self._schema])
        return bool(found)

    def rows(self, query: sql.Composable, parameters: Any = None) -> list[tuple[Any, ...]]:
        return self.database.fetched(query, parameters)[1]

    def call(self, function: str, arguments: Mapping[str, Any]) -> Any:
        """Calls a function that returns one value. An argument that is None has its default."""
        _, rows = self._called("SELECT {}({})", function, arguments)
        return rows[0][0]

    def table(self, function: str, arguments: Mapping[str, Any]) -> pandas.DataFrame:
        """Calls a function that returns a table."""
        import pandas

        names, rows = self._called("SELECT * FROM {}({})", function, arguments)
        return pandas.DataFrame(rows, columns=names)

    def info(self, model: str) -> dict[str, Any]:
        """Returns a model's metadata, with `reference`, the version that the name means now."""
        found = object_of(self.call("model_info", {"model": model}))
        return {**found, "reference": f"{found['name']}@{found['version']}"}

    def _called(
        self, query: str, function: str, arguments: Mapping[str, Any]
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        given = {name: _argument(name, one) for name, one in arguments.items() if one is not None}
        listed = sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name))
            for name in given
        )
        return self.database.fetched(sql.SQL(query).format(self.name(function), listed), given)


def object_of(value: Any) -> dict[str, Any]:
    """Returns an object of jsonb, which a connection may have been told to leave as text."""
    return dict(json.loads(value) if isinstance(value, (str, bytes)) else value)


def require_name(name: Any, model: Any) -> None:
    """Raises unless the name is a text: name and model may be swapped."""
    if not isinstance(name, str):
        kinds = f"a {type(name).__qualname__} and a {type(model).__qualname__}"
        raise ArgumentError(f"the name and the model are {kinds}: pass (connection, name, model)")


def require_list(name: str, value: Any) -> None:
    """Raises unless an argument is a list or the like: a text would be one of its letters."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise ArgumentError(f"{name} must be a list, not a {type(value).__qualname__}")


def _argument(name: str, value: Any) -> Any:
    """Converts an argument for psycopg, a mapping to JSON."""
    words, kind, _ = _TYPES.get(name, ("", object, ""))
    if not isinstance(value, kind):
        raise ArgumentError(f"{name} must be {words}, not a {type(value).__qualname__}")
    if name in _LISTS:
        require_list(name, value)
    plain = [float(number) for number in value] if name in _NUMBERS else _plain(value)
    return json.dumps(plain) if isinstance(plain, dict) else plain


def _plain(value: Any) -> Any:
    """Converts NumPy's types and iterables to those of json, and NaN, which it does not have, to None."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and isnan(value):
        return None
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [_plain(item) for item in value]
    return value
