"""Features in PostgreSQL, fetched by index and predicted with in Python.

What a service would do that keeps its features where they already are: one
prepared statement on one of a pool of connections, results in binary.
"""

from collections.abc import Sequence

import psycopg
import psycopg_pool

from data.columns import FEATURES
from python_baseline.keys import NAMES, Key
from python_baseline.settings import Settings
from python_baseline.stores import StoreGone, UnknownKey

SECONDS = 1.0

ONE = (
    f"SELECT {', '.join(FEATURES)} FROM flights WHERE "
    + " AND ".join(f"{name} = %s" for name in NAMES)
    + " LIMIT 1"
)
MANY = (
    f"SELECT f.* FROM unnest(%s::int[], %s::int[], %s::int[], %s::int[]) WITH ORDINALITY"
    f" AS k({', '.join(NAMES)}, place) LEFT JOIN LATERAL"
    f" (SELECT {', '.join(FEATURES)} FROM flights f WHERE "
    + " AND ".join(f"f.{name} = k.{name}" for name in NAMES)
    + " LIMIT 1) f ON true ORDER BY place"
)


class PostgresqlStore:
    """The table flights behind a pool of connections."""

    def __init__(self, settings: Settings) -> None:
        self._pool = psycopg_pool.ConnectionPool(
            settings.conninfo, min_size=1, max_size=settings.threads, timeout=SECONDS,
            kwargs={"autocommit": True}, open=True,
        )  # fmt: skip

    def _rows(self, wanted: Sequence[Key]) -> list[tuple[float, ...]]:
        with self._pool.connection() as connection, connection.cursor(binary=True) as cursor:
            if len(wanted) == 1:
                return cursor.execute(ONE, wanted[0], prepare=True).fetchall()
            columns = [[*column] for column in zip(*wanted, strict=True)]
            return cursor.execute(MANY, columns, prepare=True).fetchall()

    def fetch(self, wanted: Sequence[Key]) -> list[tuple[float, ...]]:
        """A row of features for each key."""
        try:
            found = self._rows(wanted)
        except (psycopg.OperationalError, psycopg_pool.PoolTimeout) as error:
            raise StoreGone("postgresql cannot be reached") from error
        # One key alone has no row where there is no flight, one of several has a row of NULL.
        if not found:
            raise UnknownKey(wanted[0])
        for key, row in zip(wanted, found, strict=True):
            if row[0] is None:
                raise UnknownKey(key)
        return found


def open_store(settings: Settings) -> PostgresqlStore:
    """Connects in the background; a request that comes too early waits."""
    return PostgresqlStore(settings)
