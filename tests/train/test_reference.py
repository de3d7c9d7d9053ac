"""libxgboost's own predictions of registered models, and the comparison over a whole source."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

ROWS = """SELECT i::real / 7 AS a, CASE WHEN i % 5 > 0 THEN i % 11 END AS b, sin(i)::real AS c,
                 (i % 50 + 10 * sin(i))::real AS y, 'class ' || i % 3 AS label
          FROM generate_series(1, 3000) AS i"""


@pytest.fixture(autouse=True, scope="module")
def models(cluster: Any, dbname: str) -> None:
    with cluster.connect(dbname) as connection:
        connection.execute(f"CREATE TABLE rows AS {ROWS}")
        for name, target, params in (
            ("m", "y", "{}"),
            ("three", "label", "{}"),
            ("count", "y", '{"objective": "reg:tweedie"}'),
        ):
            source = (
                f"SELECT a, b, c, {'greatest(y, 0) AS y' if name == 'count' else target} FROM rows"
            )
            connection.execute(
                "SELECT train_model(%s, %s, %s, %s, 20)", (name, source, target, params)
            )


@pytest.mark.parametrize("model", ["m", "count"])
def test_value_is_that_of_predict(connection: psycopg.Connection, model: str) -> None:
    (far, rows) = connection.execute(
        "SELECT max(abs(predict(%s, a, b, c) - xgboost_predict(%s, ARRAY[a, b, c]::real[])) "
        "/ greatest(abs(predict(%s, a, b, c)), 1e-3)), count(*) FROM rows", (model,) * 3
    ).fetchone()  # fmt: skip
    assert rows == 3000
    assert far < 1e-6


@pytest.mark.parametrize("model", ["m", "three", "count"])
def test_margins_are_equal_over_a_source(connection: psycopg.Connection, model: str) -> None:
    for source in ("rows", "SELECT c, b, a FROM rows"):
        found = connection.execute("SELECT * FROM verify_model(%s, %s)", (model, source)).fetchone()
        assert found == (3000, 0, 0)


def test_missing_features_and_errors(
    connection: psycopg.Connection, raises: Callable[..., Any]
) -> None:
    call = "SELECT xgboost_predict(%s, %s::real[])"
    row = connection.execute("SELECT xgboost_predict('m', '{1,NULL,2}'), predict('m', 1, NULL, 2)")
    ours, theirs = row.fetchone()
    assert ours == theirs
    assert connection.execute(call, (None, [1.0])).fetchone() == (None,)
    assert connection.execute(call, ("m", None)).fetchone() == (None,)
    raises("22000", call, ("m", [1.0]))
    raises("42809", call, ("three", [1.0, 2.0, 3.0]))
    raises("42704", call, ("nothing", [1.0]))
    raises("42703", "SELECT * FROM verify_model('m', 'SELECT a, b FROM rows')")
    raises("42704", "SELECT * FROM verify_model('nothing', 'rows')")


def test_new_version_is_seen_by_the_next_statement(connection: psycopg.Connection) -> None:
    call = "SELECT xgboost_predict('v', '{500}')"
    source = "SELECT i AS a, i * {} AS y FROM generate_series(1, 1000) AS i"
    connection.execute("SELECT train_model('v', %s, 'y')", (source.format(1),))
    (first,) = connection.execute(call).fetchone()
    connection.execute("SELECT train_model('v', %s, 'y')", (source.format(3),))
    (second,) = connection.execute(call).fetchone()
    assert first == pytest.approx(500, rel=0.05)
    assert second == pytest.approx(1500, rel=0.05)
    assert connection.execute("SELECT xgboost_predict('v@1', '{500}')").fetchone() == (first,)


def test_owners_only(
    connection: psycopg.Connection, connect: Callable[..., Any], raises: Callable[..., Any]
) -> None:
    """libxgboost needs the model's bytes, which pgboost gives to its owner alone."""
    connection.execute("DROP ROLE IF EXISTS nobody_special; CREATE ROLE nobody_special LOGIN")
    other = connect(user="nobody_special")
    raises("42501", "SELECT xgboost_predict('m', '{1,2,3}')", on=other)
    connection.execute("SELECT grant_model('m', 'nobody_special')")
    said = raises("42501", "SELECT xgboost_predict('m', '{1,2,3}')", on=other)
    assert said.message_primary == 'must be owner of model "m"'
    raises("42501", "SELECT * FROM verify_model('m', 'SELECT 1 AS a, 2 AS b, 3 AS c')", on=other)
    connection.execute("SELECT revoke_model('m', 'nobody_special')")
    other.close()
    connection.execute("DROP ROLE nobody_special")


def test_backends_end_well_with_a_model_in_hand(
    connection: psycopg.Connection, connect: Callable[..., Any]
) -> None:
    started = connection.execute("SELECT pg_postmaster_start_time()").fetchone()
    for _ in range(5):
        with connect() as other:
            assert other.execute("SELECT xgboost_predict('count', '{1,2,3}')").fetchone()
    # A crash would take the connection with it.
    assert connection.execute("SELECT pg_postmaster_start_time()").fetchone() == started


def test_one_statement_may_use_several_models(connection: psycopg.Connection) -> None:
    rows = connection.execute(
        "SELECT xgboost_predict(n, '{1,2,3}') = predict(n, 1, 2, 3) "
        "FROM (VALUES (1, 'm'), (2, 'count'), (3, 'm')) AS v (i, n) ORDER BY i"
    ).fetchall()
    assert rows == [(True,)] * 3
