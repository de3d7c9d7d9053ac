"""Flights reach the table unchanged, and an existing table is safe."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from data.columns import COLUMNS
from data.csv_text import render
from data.flights import Request, blocks
from tools.cluster import Cluster

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def database(cluster: Cluster) -> Iterator[psycopg.Connection]:
    """A database without the extension: loading flights does not need it."""
    cluster.create_database("flights_load", replace=True)
    with cluster.connect("flights_load") as connection:
        yield connection


def load(cluster: Cluster, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "data.load", "-d", cluster.conninfo("flights_load")]
    return subprocess.run(
        [*command, *options], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_generated_flights_come_back_as_they_were(
    cluster: Cluster, database: psycopg.Connection
) -> None:
    done = load(cluster, "--rows", "70000", "--seed", "4")
    assert done.returncode == 0, done.stderr
    assert "70,000 flights loaded" in done.stdout
    columns = ", ".join(f"{name}::int" for name in COLUMNS)
    with database.cursor().copy(
        f"COPY (SELECT {columns} FROM flights) TO STDOUT (FORMAT csv)"
    ) as out:
        stored = b"".join(bytes(part) for part in out)
    assert stored == b"".join(map(render, blocks(Request(70_000, 4))))
    nullable = (
        "SELECT count(*) FROM pg_attribute WHERE attrelid = 'flights'::regclass "
        "AND attnum > 0 AND NOT attnotnull"
    )
    assert database.execute(nullable).fetchone() == (1,)
    index = "SELECT indexdef FROM pg_indexes WHERE tablename = 'flights'"
    assert "(originairportid, year, month, dayofmonth)" in database.execute(index).fetchone()[0]


def test_missing_features_are_stored_as_null(
    cluster: Cluster, database: psycopg.Connection
) -> None:
    assert load(cluster, "--rows", "10000", "--missing", "0.5").returncode == 0
    share = database.execute("SELECT avg((distance IS NULL)::int) FROM flights").fetchone()[0]
    assert 0.45 < share < 0.55


def test_an_existing_table_is_kept_unless_replace_is_given(
    cluster: Cluster, database: psycopg.Connection
) -> None:
    count = "SELECT count(*) FROM flights"
    assert load(cluster, "--rows", "10").returncode == 0
    again = load(cluster, "--rows", "20")
    assert again.returncode != 0
    assert 'relation "flights" already exists' in again.stderr
    assert database.execute(count).fetchone() == (10,)
    assert load(cluster, "--rows", "20", "--replace").returncode == 0
    assert database.execute(count).fetchone() == (20,)
