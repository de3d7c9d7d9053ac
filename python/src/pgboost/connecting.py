"""Opens whatever is given as `connection`.

That is a connection of psycopg 3 or psycopg 2, or a pool of psycopg 3; an engine, a connection or a session
of SQLAlchemy with one of these; or a connection string. Asynchronous ones are refused. Notices and warnings
of the server become warnings of Python, and values are whole whatever the session's settings are.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any, TypeAlias

import psycopg
from psycopg import sql
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import tuple_row

from .errors import ArgumentError, PgboostWarning, in_python, told, warn

# psycopg.Connection, its pool, psycopg2's, SQLAlchemy's Engine, Connection or Session, or a string.
Connection: TypeAlias = Any
# With a value, changes settings that would shorten numbers, or write dates, NULL or texts in another way.
_FIRST = """
    SELECT {}, ARRAY(
        SELECT ARRAY[name, setting, pg_catalog.set_config(name, needed, %s)]
          FROM (SELECT *, pg_catalog.current_setting(name) AS setting
                  FROM (VALUES ('extra_float_digits', '1', '[123]'), ('datestyle', 'ISO', 'ISO.*'),
                               ('array_nulls', 'on', 'on'){}) AS s (name, needed, pattern)) AS t
         WHERE setting !~ ('^' || pattern || '$'))
"""
_RESTORED = "SELECT pg_catalog.set_config(%s, %s, %s)"
# Connections to whose messages a call listens, so that a call inside it does not repeat them.
_HEARD: set[int] = set()


class Database:
    """A connection of psycopg 3."""

    # psycopg reads jsonb as UTF-8 in any encoding; psycopg 2 knows only of encodings that it has set.
    _encoding = ", ('client_encoding', 'UTF8', 'UTF8')"

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        # The settings that were changed: name, value before, and value now.
        self._changed: list[list[Any]] = []

    @property
    def dbname(self) -> str:
        return str(self.connection.info.dbname)

    def fetched(
        self, query: sql.Composable, parameters: Any = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Returns the names of a query's columns and its rows as tuples."""
        with self._cursor() as cursor:
            self._execute(cursor, query, parameters)
            names = [column[0] for column in cursor.description or ()]
            return names, cursor.fetchall() if names else []

    def columns(self, query: sql.Composable) -> list[tuple[str, int]]:
        """Returns the names of a query's columns and the OIDs of their types."""
        with self._cursor() as cursor:
            self._execute(cursor, query, None)
            return [(column[0], column[1]) for column in cursor.description]

    def transaction(self) -> AbstractContextManager[Any]:
        """Returns a savepoint, or a transaction if none is open."""
        block: AbstractContextManager[Any] = self.connection.transaction()
        return block

    def another(self) -> psycopg.Connection[Any]:
        """Opens a second connection as the same user, which commits each statement."""
        given = {**self._parameters(), "password": self.connection.info.password or None}
        return psycopg.connect(**given, autocommit=True)

    @contextmanager
    def heard(self, hear: Callable[[PgboostWarning], None]) -> Iterator[None]:

        def handle(diag: Any) -> None:
            hear(PgboostWarning(told(diag), diag.severity_nonlocalized or "", diag.sqlstate))

        self.connection.add_notice_handler(handle)
        try:
            yield
        finally:
            self.connection.remove_notice_handler(handle)

    def first(self, value: sql.Composable, parameters: Sequence[Any] = ()) -> Any:
        """Returns a value by a call's first query, which also sets what keeps the next ones' values whole."""
        query = sql.SQL(_FIRST).format(value, sql.SQL(self._encoding))
        ((found, changed),) = self.fetched(query, [*parameters, self._is_local()])[1]
        self._changed += changed
        return found

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Sets at the end what was set before `first`."""
        try:
            yield
        finally:
            # A transaction that has failed restores them when it is rolled back.
            if self.connection.info.transaction_status in (
                TransactionStatus.IDLE,
                TransactionStatus.INTRANS,
            ):
                for before in self._changed:
                    # Of SQL_ASCII, psycopg reads texts as bytes.
                    texts = [one.decode() if isinstance(one, bytes) else one for one in before]
                    self.fetched(sql.SQL(_RESTORED), [*texts[:2], self._is_local()])

    def _is_local(self) -> bool:
        state = self.connection.info.transaction_status
        return not self.connection.autocommit or state == TransactionStatus.INTRANS

    def _execute(self, cursor: Any, query: sql.Composable, parameters: Any) -> None:
        # Within a pipeline, the end of another one waits for the results.
        is_pipeline = self.connection.info.pipeline_status != PipelineStatus.OFF
        with self.connection.pipeline() if is_pipeline else nullcontext():
            # A statement that psycopg prepares fails once a table of its name has other columns.
            cursor.execute(query.as_string(None), parameters, prepare=False)

    def _cursor(self) -> Any:
        kind, raw = self.connection.cursor_factory, getattr(psycopg, "RawCursor", None)
        if raw is not None and issubclass(kind, raw):
            # Its statements have $1 in place of %s.
            return psycopg.Cursor(self.connection, row_factory=tuple_row)
        return self.connection.cursor(row_factory=tuple_row)

    def _parameters(self) -> dict[str, Any]:
        return dict(self.connection.info.get_parameters())


class _OfPsycopg2(Database):
    """A connection of psycopg 2."""

    _encoding = ""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        begin, end = "SAVEPOINT pgboost", "RELEASE SAVEPOINT pgboost"
        back = f"ROLLBACK TO SAVEPOINT pgboost; {end}"
        if self.connection.autocommit and not self.connection.info.transaction_status:
            begin, end, back = "BEGIN", "COMMIT", "ROLLBACK"
        self.fetched(sql.SQL(begin))
        try:
            yield
        except BaseException:
            self.fetched(sql.SQL(back))
            raise
        self.fetched(sql.SQL(end))

    @contextmanager
    def heard(self, hear: Callable[[PgboostWarning], None]) -> Iterator[None]:
        """Passes on each message of the server, which is one text to the driver."""
        before, self.connection.notices = self.connection.notices, deque()
        try:
            yield
        finally:
            texts, self.connection.notices = list(self.connection.notices), before
            for text in texts:
                before.append(text)
                severity, _, message = text.strip().partition(":  ")
                said, is_hint, hint = message.partition("\nHINT:  ")
                message = f"{said}\n{in_python(hint)}" if is_hint else said
                hear(PgboostWarning(re.sub(r"(?m)^[A-Z]+:  ", "", message), severity))

    def _execute(self, cursor: Any, query: sql.Composable, parameters: Any) -> None:
        cursor.execute(query.as_string(None), parameters)

    def _cursor(self) -> Any:
        return self.connection.cursor(cursor_factory=import_module("psycopg2.extensions").cursor)

    def _parameters(self) -> dict[str, Any]:
        return dict(self.connection.info.dsn_parameters)


@contextmanager
def connected(connection: Connection) -> Iterator[Database]:
    """Yields the connection; for a string or an engine a new one, committed and closed at the end.

    Then the server's messages become warnings.
    """
    messages: list[PgboostWarning] = []
    try:
        with _opened(connection) as database:
            key = id(database.connection)
            if key in _HEARD:
                with database.restored():
                    yield database
                return
            _HEARD.add(key)
            try:
                with database.heard(messages.append), database.restored():
                    yield database
            finally:
                _HEARD.remove(key)
    finally:
        for message in messages:
            if not message.severity.startswith(("DEBUG", "LOG")):
                warn(message)


@contextmanager
def _opened(connection: Connection) -> Iterator[Database]:
    if isinstance(connection, str):
        # A URL of SQLAlchemy names its driver.
        with psycopg.connect(re.sub(r"^(postgres(ql)?)\+\w+://", r"\1://", connection)) as opened:
            yield Database(opened)
    elif _is(connection, "psycopg_pool", "ConnectionPool"):
        with connection.connection() as opened:
            yield Database(opened)
    elif _is(connection, "sqlalchemy.engine", "Engine"):
        with connection.begin() as opened:
            yield _driven(opened.connection.driver_connection)
    elif _is(connection, "sqlalchemy.engine", "Connection"):
        # SQLAlchemy's commit does nothing unless SQLAlchemy has begun a transaction.
        if not connection.in_transaction():
            connection.begin()
        yield _driven(connection.connection.driver_connection)
    elif _is(connection, "sqlalchemy.pool", "PoolProxiedConnection"):
        yield _driven(connection.driver_connection)
    elif _is(connection, "sqlalchemy.orm", "Session", "scoped_session"):
        yield _driven(connection.connection().connection.driver_connection)
    else:
        yield _driven(connection)


def _is(given: Any, module: str, *names: str) -> bool:
    """Returns whether the object is of one of the classes of a module, which may not be imported."""
    kinds = (getattr(sys.modules.get(module), name, None) for name in names)
    return any(kind is not None and isinstance(given, kind) for kind in kinds)


def _driven(connection: Any) -> Database:
    if isinstance(connection, psycopg.Connection):
        return Database(connection)
    if _is(connection, "psycopg2.extensions", "connection"):
        return _OfPsycopg2(connection)
    kind = type(connection)
    raise ArgumentError(
        f"connection is a {kind.__module__}.{kind.__qualname__}: pass a connection of psycopg 3 or psycopg 2"
        " that is not async, a ConnectionPool of psycopg 3, an Engine, Connection or Session of SQLAlchemy"
        " with one of these, or a string such as 'dbname=flights' or 'postgresql://host/flights'"
    )
