"""Statements that are cancelled, terminated or out of time end soon, in nearly all of many trials."""

import random
import time
from collections.abc import Callable

import psycopg
import pytest

from tests.extension.lifecycle.models import grown, load
from tests.extension.lifecycle.test_cancel import (
    ENDS,
    FORMS,
    SCAN,
    reset_statement_timeout,
    seconds_to_end,
)
from tests.state import TIMES
from tools.cluster import Cluster

TRIALS = 20 * TIMES
# The limits of half of the trials, and of 99 of 100 on a machine that does other work as well.
MEDIAN, LAST = 0.1, 0.5
TRAIN = (
    "SELECT * FROM train_model('t', 'rows', 'y', rounds => 1000000, params => '{\"max_depth\": 8}')"
)
# Each with its settings.
STATEMENTS = {
    "a scan in batches": ("SET pgboost.enable_batch = on", SCAN.format(FORMS["columns"])),
    "a scan row by row": ("SET pgboost.enable_batch = off", SCAN.format(FORMS["columns"])),
    "a scan of jsonb": ("SET pgboost.enable_batch = on", SCAN.format(FORMS["jsonb"])),
    "explanations": (
        "SET pgboost.enable_batch = on",
        SCAN.format(FORMS["columns"]).replace("predict", "predict_contribs"),
    ),
    "a load": ("SET jit = off", "SELECT load_model('l', content), pg_sleep(9) FROM file"),
    "a training": ("SET jit = off", TRAIN),
}  # fmt: skip


@pytest.fixture(scope="module")
def prepared(cluster: Cluster, dbname: str) -> Callable[[], psycopg.Connection]:
    """Gives a connection to a database with a model, a large file and rows to train on."""
    with cluster.connect(dbname) as connection:
        load(connection, "m", grown(100, 6))
        connection.execute("CREATE TABLE file (content bytea)")
        connection.execute("INSERT INTO file VALUES (%s)", (grown(620, 9),))
        connection.execute(
            "CREATE TABLE rows AS SELECT random() a, random() b, i AS y FROM generate_series(1, 50000) i"
        )
    return lambda: cluster.connect(dbname)


def late(connection: psycopg.Connection, query: str) -> float:
    """By how many seconds the statement outlives its timeout."""
    milliseconds = random.randint(50, 500)
    connection.execute(f"SET statement_timeout = {milliseconds}")
    begin = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute(query)
    seconds = time.monotonic() - begin - milliseconds / 1000
    reset_statement_timeout(connection)
    return seconds


@pytest.mark.parametrize("by", [*ENDS, "statement_timeout"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_it_ends_soon(prepared: Callable[[], psycopg.Connection], name: str, by: str) -> None:
    setting, query = STATEMENTS[name]
    found = []
    connection, admin = prepared(), prepared()
    for _ in range(TRIALS):
        if connection.closed:
            connection = prepared()
        connection.execute(setting)
        after = random.uniform(0.05, 0.5)
        found.append(
            seconds_to_end(connection, admin, query, by=by, after=after)
            if by in ENDS
            else late(connection, query)
        )
    found.sort()
    median, last = found[len(found) // 2], found[int(0.99 * (len(found) - 1))]
    print(f"\n{name} by {by}: {1000 * median:.1f} ms, 99th of 100 {1000 * last:.1f} ms")
    assert median < MEDIAN
    assert last < LAST
