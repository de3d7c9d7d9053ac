"""kill -9 in the middle of anything loses no committed model and leaves no torn one."""

import random
import time
from pathlib import Path

import psycopg
import pytest

from cluster import Cluster
from tests.lifecycle.models import grown, load, one
from tests.lifecycle.test_crash import ROW, connect_after_recovery, kill_during
from tests.times import TIMES
from tests.train.running import trainers

KILLS = 6 * TIMES
# Each goes on for longer than a kill waits.
VICTIMS = {
    "load": "SELECT load_model('l', content), pg_sleep(30) FROM file",
    "train": "SELECT * FROM train_model('t', 'rows', 'y', rounds => 100000)",
    "batch": f"SELECT count(predict('m', {ROW})) FROM generate_series(1, 100000000)",
    "deploy": "DO $$ BEGIN LOOP PERFORM deploy_model('m', v) FROM generate_series(1, 2) v; END LOOP; END $$",
    "image": "DO $$ BEGIN LOOP PERFORM load_model('i', content) FROM file; "
    f"PERFORM predict('i', {ROW}); PERFORM drop_model('i'); END LOOP; END $$",
}  # fmt: skip
MOST_SECONDS = 2.5


@pytest.fixture(scope="module")
def prepared(spare: Cluster) -> Cluster:
    """Two versions of a model with their answers, a large file, and rows to train on."""
    with spare.connect() as connection:
        connection.execute("CREATE EXTENSION pgboost_train")
        connection.execute("SET synchronous_commit = on")
        connection.execute("CREATE TABLE answer (version integer, value real)")
        for version in (1, 2):
            load(connection, "m", grown(30, 6, seed=version))
            connection.execute(
                f"INSERT INTO answer VALUES ({version}, predict('m@{version}', {ROW}))"
            )
        connection.execute("CREATE TABLE file (content bytea)")
        connection.execute("INSERT INTO file VALUES (%s)", (grown(620, 9),))
        connection.execute(
            "CREATE TABLE rows AS SELECT random() AS a, i AS y FROM generate_series(1, 50000) AS i"
        )
    return spare


def check(connection: psycopg.Connection, committed: int) -> None:
    """What was committed is whole, answers as before, and nothing else is there."""
    names = connection.execute("SELECT name, count(*) FROM pgboost_models GROUP BY 1 ORDER BY 1")
    assert names.fetchall() == [("m", 2 + committed)]
    for version, value in connection.execute("SELECT * FROM answer").fetchall():
        assert one(connection, f"SELECT predict('m@{version}', {ROW})") == value
    torn = """SELECT count(*) FROM (
        SELECT digest IS DISTINCT FROM sha256(string_agg(bytes, '' ORDER BY start)) AS torn
        FROM pgboost_version JOIN pgboost_part USING (model, version) GROUP BY model, version, digest) AS v
        WHERE torn"""
    assert one(connection, torn) == 0


def test_kills(prepared: Cluster) -> None:
    generator = random.Random(TIMES)
    for number in range(KILLS):
        victim = list(VICTIMS.values())[number % len(VICTIMS)]
        kill_during(prepared, victim, generator.uniform(0.02, MOST_SECONDS))
        with connect_after_recovery(prepared) as connection:
            check(connection, number)
            # Each round commits one more, and the kill after it must not lose it.
            connection.execute("SET synchronous_commit = on")
            version = load(connection, "m", grown(20, 6, seed=100 + number))
            connection.execute(
                f"INSERT INTO answer VALUES ({version}, predict('m@{version}', {ROW}))"
            )
    until = time.monotonic() + 10
    while trainers() and time.monotonic() < until:
        time.sleep(0.1)
    assert not trainers()
    data = Path(prepared.place.data)
    assert not list(data.glob("base/pgsql_tmp/*"))
