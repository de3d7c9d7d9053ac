"""Tables with some NULLs and some unknown categories, and the models of tests/extension/sql that load.

A module's EXTRA are statements that make more of them.
"""

from pathlib import Path

import psycopg
import pytest

from tools.cluster import Cluster

MODELS = Path(__file__).resolve().parents[1] / "sql" / "models"
ROWS = 1000

TABLES = f"""
CREATE TABLE homes AS
    SELECT i AS id, nullif(i % 100, 99)::real AS area, i % 7 AS rooms, (i % 9)::real AS age,
           'town ' || i % 6 AS town, nullif(i % 50, 13)::numeric AS price,
           CASE WHEN i % 400 = 399 THEN 'doomsday' WHEN i % 3 = 0 THEN 'mon' ELSE 'sat' END AS day,
           10 * (1 + i % 2) AS zone, (i % 11)::real AS hours
      FROM generate_series(0, {ROWS - 1}) AS i;
CREATE UNIQUE INDEX ON homes (id);
CREATE TABLE towns AS SELECT 'town ' || i AS town, i::real AS tax FROM generate_series(0, 3) AS i;
CREATE TABLE parted (LIKE homes) PARTITION BY RANGE (id);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (300);
CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (300) TO ({ROWS});
INSERT INTO parted SELECT * FROM homes;
ANALYZE;
"""


def create(connection: psycopg.Connection) -> None:
    """Makes the tables, and loads the models."""
    connection.execute(TABLES)
    for path in sorted(MODELS.glob("*.*")):
        if path.suffix in (".json", ".ubj") and path.stem != "linear":
            load = "SELECT load_model(%s, %s, categories => '{}')"
            connection.execute(load, (path.stem, path.read_bytes()))


@pytest.fixture(scope="module")
def tables(cluster: Cluster, dbname: str, request: pytest.FixtureRequest) -> None:
    """The tables and models, and the module's extra ones."""
    with cluster.connect(dbname) as connection:
        create(connection)
        for statement in getattr(request.module, "EXTRA", ()):
            connection.execute(statement)


def answer(connection: psycopg.Connection, query: str, batches: str) -> list | tuple:
    """The rows with batches `on` or `off`, or the error's SQLSTATE and messages."""
    connection.execute(f"SET pgboost.enable_batch = {batches}")
    try:
        return connection.execute(query).fetchall()
    except psycopg.Error as error:
        assert error.sqlstate is not None and not error.sqlstate.startswith("XX"), query
        return error.sqlstate, error.diag.message_primary, error.diag.message_detail
