"""SQLsmith's random statements over views with predict in every place: no crash, and no internal error but
those that PostgreSQL has itself, which the same statement has without batches, too.

One role has the right to predict and one has not; meanwhile another connection deploys versions.
"""

import os
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

from tests.extension.lifecycle.models import grown, load, one
from tests.state import TIMES
from tools.cluster import Cluster

STATEMENTS = int(os.environ.get("PGBOOST_SQLSMITH", 1000 * TIMES))
STATEMENT_MILLISECONDS = 1000
CALLS = "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname ~ '^predict'"

VIEWS = {
    "selected": "SELECT id, predict('m', a, b, c, d) AS p, predict_leaf('m', a, b, c, d) AS l FROM rows",
    "filtered": "SELECT * FROM rows WHERE predict('m', a, b, c, d) > 0.5",
    "best": "SELECT *, predict('m', rows) AS p FROM rows ORDER BY predict('m', rows) DESC LIMIT 20",
    "grouped": "SELECT word, sum(predict('m', a, b, c, d)) AS s FROM rows GROUP BY word",
    "windowed": "SELECT id, rank() OVER (PARTITION BY word ORDER BY predict('m', a, b, c, d)) AS r FROM rows",
    "joined": "SELECT r.*, v.p FROM rows r, LATERAL (SELECT predict('m', r.a, r.b, r.c, r.d) AS p) v",
    "chosen": "SELECT id, CASE WHEN a > 0.5 THEN predict('m', a, b, c, d) ELSE a END AS p FROM rows",
    "objects": "SELECT id, predict('m', to_jsonb(rows)) AS p FROM rows",
    "arrays": "SELECT id, predict_array('m', ARRAY[a, b, c, d]) AS v FROM rows",
    "matrices": "SELECT id, predict_batch('m', ARRAY[ARRAY[a, b, c, d]]) AS v FROM rows",
    "together": "SELECT id, predict('m', a, b, c, d) AS p FROM rows UNION ALL SELECT id, a FROM rows",
}  # fmt: skip
# Inlined, so that SQLsmith's arguments reach predict.
FUNCTIONS = {
    "by_columns": ("real, real", "predict('m', $1, $2, $1, $2)"),
    "by_array": ("real[]", "predict('m', $1)"),
    "by_object": ("jsonb", "predict('m', $1)"),
    "by_row": ("rows", "predict('m', $1)"),
    "by_name": ("text, real", "predict($1, $2, $2, $2, $2)"),
}


@pytest.fixture(scope="module", autouse=True)
def tables(cluster: Cluster, dbname: str) -> None:
    """The table, the models, the views and functions, and the two roles."""
    with cluster.connect(dbname) as connection:
        connection.execute(
            "CREATE TABLE rows AS SELECT i AS id, random()::real AS a, random()::real AS b, "
            "random()::real AS c, random()::real AS d, 'word ' || i % 5 AS word "
            "FROM generate_series(1, 300) AS i"
        )
        for seed in (1, 2):
            load(connection, "m", _named(grown(20, 5, features=4, seed=seed)))
        for name, query in VIEWS.items():
            connection.execute(sql.SQL(f"CREATE VIEW {name} AS {query}"))
        for name, (arguments, call) in FUNCTIONS.items():
            body = f"CREATE FUNCTION {name}({arguments}) RETURNS real STABLE LANGUAGE sql"
            connection.execute(sql.SQL(f"{body} AS 'SELECT {call.replace(chr(39), chr(39) * 2)}'"))
        for role in ("smith_granted", "smith_bare"):
            connection.execute(sql.SQL(f"DROP ROLE IF EXISTS {role}"))
            connection.execute(sql.SQL(f"CREATE ROLE {role} LOGIN"))
            timeout = f"ALTER ROLE {role} SET statement_timeout = {STATEMENT_MILLISECONDS}"
            connection.execute(sql.SQL(timeout))
            connection.execute(sql.SQL(f"ALTER ROLE {role} SET track_functions = 'all'"))
            connection.execute(sql.SQL(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"))
            connection.execute(sql.SQL(f"GRANT INSERT, UPDATE, DELETE ON rows TO {role}"))
        # A view predicts with the rights of who asks.
        connection.execute("SELECT grant_model('m', 'smith_granted')")


def _named(content: bytes) -> bytes:
    for number, name in enumerate("abcd", start=1):
        content = content.replace(f'"f{number}"'.encode(), f'"{name}"'.encode())
    return content


@contextmanager
def deploying(cluster: Cluster, dbname: str) -> Iterator[None]:
    """Deploys two versions in turn meanwhile."""
    done = threading.Event()

    def deploy() -> None:
        number = 0
        with cluster.connect(dbname) as connection:
            while not done.wait(0.05):
                number += 1
                connection.execute("SELECT deploy_model(%s)", (f"m@{1 + number % 2}",))

    thread = threading.Thread(target=deploy)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("role", ["smith_granted", "smith_bare"])
def test_random_statements(
    cluster: Cluster, dbname: str, role: str, logged: Callable[[], list[str]]
) -> None:
    program = shutil.which("sqlsmith") or pytest.fail("no sqlsmith: apt-get install sqlsmith")
    with deploying(cluster, dbname):
        done = subprocess.run(
            [program, f"--target={cluster.conninfo(dbname, role)}", "--exclude-catalog",
             f"--max-queries={STATEMENTS}", f"--seed={TIMES}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    with cluster.connect(dbname) as connection:
        calls = one(connection, CALLS)
        connection.execute("SELECT pg_stat_reset()")
    print(f"{STATEMENTS} statements as {role}: {calls} predictions row by row, others in batches")
    errors = internal(logged())
    print(f"internal errors: {Counter(message for message, _ in errors)}")
    with cluster.connect(dbname, role) as connection:
        connection.execute("SET pgboost.enable_batch = off")
        for message, statement in errors:
            with pytest.raises(psycopg.errors.InternalError_) as caught:
                connection.execute(sql.SQL(statement.replace("{", "{{").replace("}", "}}")))
            assert caught.value.diag.message_primary == message, statement
    # A call that is refused does not return, and so is not counted; one without a model's name is NULL.
    assert calls > 0 or role != "smith_granted"


def internal(lines: list[str]) -> list[tuple[str, str]]:
    """The messages of internal errors in the server's log, with their statements."""
    found: list[tuple[str, str]] = []
    message = statement = None
    for line in [*lines, ""]:
        if line.startswith("\t") and statement is not None:
            statement += f"\n{line[1:]}"
            continue
        if message is not None and statement is not None:
            found.append((message, statement))
            message = statement = None
        kind, _, said = line.partition(":  ")
        if kind.endswith(" ERROR"):
            message = said.removeprefix("XX000: ") if said.startswith("XX000: ") else None
        elif kind.endswith(" STATEMENT") and message is not None:
            statement = said
    return found


def test_the_roles_differ(cluster: Cluster, dbname: str) -> None:
    """The views of the statements predict for one role, and are refused to the other."""
    for view in VIEWS:
        query = sql.SQL(f"SELECT * FROM {view}")
        with cluster.connect(dbname, "smith_granted") as connection:
            assert connection.execute(query).fetchall()
        with cluster.connect(dbname, "smith_bare") as connection, \
                pytest.raises(psycopg.errors.InsufficientPrivilege):  # fmt: skip
            connection.execute(query)
