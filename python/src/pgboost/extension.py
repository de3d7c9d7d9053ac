"""Where the extension is in a database: its functions may be in any schema."""

from __future__ import annotations

from typing import Any

from psycopg import Connection, sql
from psycopg.rows import tuple_row

from .errors import ExtensionMissingError

_SCHEMA = """
    SELECT n.nspname
      FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
     WHERE e.extname = 'pgboost'
"""


class Extension:
    """The extension in a connection's database."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection
        found = self.rows(sql.SQL(_SCHEMA))
        if not found:
            dbname = connection.info.dbname
            message = f"database {dbname!r} has no extension pgboost: CREATE EXTENSION pgboost"
            raise ExtensionMissingError(message)
        self._schema = found[0][0]

    def name(self, name: str) -> sql.Identifier:
        """A function or view of the extension, qualified."""
        return sql.Identifier(self._schema, name)

    def rows(self, query: sql.Composable, parameters: Any = None) -> list[tuple[Any, ...]]:
        """All rows of a query, whatever rows the connection makes otherwise."""
        with self._connection.cursor(row_factory=tuple_row) as cursor:
            return cursor.execute(query, parameters).fetchall()

    def value(self, query: sql.Composable, parameters: Any = None) -> Any:
        """The one value of a query of one row."""
        return self.rows(query, parameters)[0][0]
