"""Texts that would be SQL, options or paths if they were pasted into something: they are data everywhere."""

import itertools
import json

import psycopg
import pytest
from psycopg import Connection, sql

from tests.extension.lifecycle.models import constant
from tools.cluster import Cluster

DROP = "DROP TABLE canary"
QUOTES = ["'", '"', "''", "$$", "$x$", "\\'", "\u2019", "`"]
ENDINGS = ["; {} --", "); {}; --", " UNION SELECT 1; {}", "\n; {}; /*", " || ({}) || "]
PATHS = [
    "../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "hdfs://127.0.0.1/x", "|touch x",
    "$(touch x)", "%s%n", "{0}", "${HOME}", "x\ty", "pg_catalog.pg_class", "a.b.c", "a@b", "@1", "x@1",
    "Y", "y ",
]  # fmt: skip
TEXTS = [quote + end.format(DROP) for quote, end in itertools.product(QUOTES, ENDINGS)] + PATHS
USERS_FAULTS = ("0A", "22", "42", "54", "55")

CALLS = {
    "predict": "SELECT predict(%(text)s, 1)",
    "deploy": "SELECT deploy_model(%(text)s, 1)",
    "grant to": "SELECT grant_model('m', %(text)s)",
    "describe": "SELECT model_info(%(text)s)",
    "source": "SELECT * FROM train_model('t', %(text)s, 'y', rounds => 1)",
    "target": "SELECT * FROM train_model('t', 'canary', %(text)s, rounds => 1)",
    "features": "SELECT * FROM train_model('t', 'canary', 'y', features => ARRAY[%(text)s], rounds => 1)",
    "weight": "SELECT * FROM train_model('t', 'canary', 'y', weight => %(text)s, rounds => 1)",
    "group": "SELECT * FROM train_model('t', 'canary', 'y', qid => %(text)s, rounds => 1)",
    "until": "SELECT * FROM train_model('t', 'canary', 'y', label_upper_bound => %(text)s, rounds => 1)",
    "parameter": "SELECT * FROM train_model('t', 'canary', 'y', %(key)s::jsonb, rounds => 1)",
    "its value": "SELECT * FROM train_model('t', 'canary', 'y', %(value)s::jsonb, rounds => 1)",
    "file": "SELECT load_model('f', convert_to(%(text)s, 'UTF8'))",
    "object": "SELECT predict('m', %(key)s::jsonb)",
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def canary(cluster: Cluster, dbname: str) -> None:
    """A table that any of the texts would drop, and a model."""
    with cluster.connect(dbname) as connection:
        connection.execute(
            "CREATE TABLE canary AS SELECT i AS a, i AS y FROM generate_series(1, 50) AS i"
        )
        connection.execute("SELECT load_model('m', %s)", (constant(1),))


def test_there_are_enough() -> None:
    assert len(set(TEXTS)) >= 50


def assert_alive(connection: Connection) -> None:
    assert connection.execute("SELECT count(*) FROM canary").fetchone() == (50,)


@pytest.mark.parametrize("call", CALLS)
def test_a_text_is_refused_as_one(connection: Connection, call: str) -> None:
    for text in TEXTS:
        given = {
            "text": text,
            "key": json.dumps({text: 1}),
            "value": json.dumps({"objective": text}),
        }
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(CALLS[call], given).fetchall()
        assert caught.value.sqlstate[:2] in USERS_FAULTS, (text, caught.value)
    assert_alive(connection)


def test_a_text_may_name_a_model_and_columns(connection: Connection) -> None:
    named = 0
    for text in TEXTS:
        column = sql.Identifier(text)
        connection.execute(
            sql.SQL("CREATE TABLE odd AS SELECT a AS {}, y FROM canary").format(column)
        )
        try:
            connection.execute("SELECT * FROM train_model(%s, 'odd', 'y', rounds => 1)", (text,))
            predicted = sql.SQL("SELECT count(predict({}, odd)) FROM odd").format(sql.Literal(text))
            assert connection.execute(predicted).fetchone() == (50,)
            connection.execute("SELECT drop_model(%s)", (text,))
            named += 1
        except psycopg.Error as error:
            assert error.sqlstate == "42602", (text, error)
        connection.execute("DROP TABLE odd")
    assert named > len(TEXTS) // 2
    assert_alive(connection)
