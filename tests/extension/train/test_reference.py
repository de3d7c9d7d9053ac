"""libxgboost's own predictions of registered models, and the comparison over a whole source."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from psycopg import Connection, errors

from tests.connections import Connect, running_since
from tests.extension.e2e import golden
from tests.extension.e2e.reference import model_bytes
from tests.extension.lifecycle.models import constant, load, one
from tests.extension.train.conftest import Raises
from tests.extension.train.rows import verified

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
def test_value_is_that_of_predict(connection: Connection, model: str) -> None:
    (far, rows) = connection.execute(
        "SELECT max(abs(predict(%s, a, b, c) - xgboost_predict(%s, ARRAY[a, b, c]::real[])) "
        "/ greatest(abs(predict(%s, a, b, c)), 1e-3)), count(*) FROM rows", (model,) * 3
    ).fetchone()  # fmt: skip
    assert rows == 3000
    assert far < 1e-6


@pytest.mark.parametrize("model", ["m", "three", "count"])
def test_margins_are_equal_over_a_source(connection: Connection, model: str) -> None:
    for source in ("rows", "SELECT c, b, a FROM rows"):
        assert verified(connection, source, model) == (3000, 0, 0)


def test_missing_features_and_errors(connection: Connection, raises: Raises) -> None:
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


def scans(connection: Connection) -> int:
    """The number of this transaction's scans of the registry's tables."""
    return one(
        connection,
        "SELECT sum(pg_stat_get_xact_numscans(oid))::int FROM pg_class "
        "WHERE starts_with(relname, 'pgboost_') AND relkind IN ('r', 'i')",
    )


def constant_of(connection: Connection, model: str = "k") -> float:
    return one(connection, "SELECT xgboost_predict(%s, '{0}')", (model,))


def test_resolved_names_are_kept_between_statements(connection: Connection) -> None:
    load(connection, "k", constant(1))
    assert constant_of(connection) == constant_of(connection, "k@1") == 1
    with connection.transaction():
        for model in ("k", "k@1"):
            before = scans(connection)
            for _ in range(5):
                assert constant_of(connection, model) == 1
            assert scans(connection) == before


def test_changes_are_seen_from_their_commit_on(connection: Connection, connect: Connect) -> None:
    load(connection, "k", constant(1))
    reader, old = connect(), connect(autocommit=False)
    old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    assert constant_of(old) == constant_of(reader) == 1
    with connection.transaction():
        load(connection, "k", constant(2))
        assert constant_of(connection) == 2
        assert constant_of(reader) == 1
    assert constant_of(reader) == 2
    for _ in range(3):
        assert constant_of(old) == 1
    # The old snapshot and a rolled-back change have no effect any more.
    old.commit()
    assert constant_of(old) == 2
    with connection.transaction(force_rollback=True):
        load(connection, "k", constant(3))
        assert constant_of(connection) == 3
    assert constant_of(connection) == constant_of(old) == 2
    # A model that is dropped and loaded again has the old one's numbers.
    with connection.transaction():
        connection.execute("SELECT drop_model('k')")
        load(connection, "k", constant(4))
    assert constant_of(reader, "k@1") == constant_of(reader) == 4
    connection.execute("SELECT drop_model('k')")
    with pytest.raises(errors.UndefinedObject):
        constant_of(reader)


def test_rights_are_those_of_now(connection: Connection, connect: Connect, raises: Raises) -> None:
    owners, member = connect("owners", new=True), connect("member", new=True)
    connection.execute("GRANT owners TO member; GRANT EXECUTE ON FUNCTION load_model TO owners")
    load(owners, "owned", constant(1))
    connection.execute("SELECT grant_model('owned', 'member')")
    call = "SELECT xgboost_predict('owned', '{0}')"
    assert one(member, call) == 1
    connection.execute("REVOKE owners FROM member")
    assert raises("42501", call, on=member).message_primary == 'must be owner of model "owned"'
    connection.execute("GRANT owners TO member")
    assert one(member, call) == 1
    connection.execute("REVOKE owners FROM member")
    # A name that one user has looked up is not remembered for another.
    superuser = connect()
    assert one(superuser, call) == 1
    superuser.execute("SET ROLE member")
    raises("42501", call, on=superuser)
    superuser.execute("RESET ROLE")
    assert one(superuser, call) == 1
    connection.execute("SELECT drop_model('owned')")


def test_categories_are_read_as_predict_reads_them(connection: Connection, raises: Raises) -> None:
    """Where the text of a value is not that of the category: 1e+10, 7.0, true, 1e+15."""
    known = {"r": [10**10, 2], "n": [7, 1], "b": [0, 1], "f": [10**15, 3]}
    codes = np.arange(200)
    frame = pd.DataFrame(
        {
            name: pd.Categorical.from_codes(codes // (position + 1) % 2, pd.Index(values))
            for position, (name, values) in enumerate(known.items())
        }
    )
    data = xgb.DMatrix(frame, label=codes % 7, enable_categorical=True)
    booster = xgb.train({"max_cat_to_onehot": 1, "nthread": 1}, data, 5)
    connection.execute("SELECT load_model('coded', %s)", (model_bytes(booster),))
    rows = (
        "VALUES (1e10::real, 7.0::numeric, true, 1e15::float8), (2, 1.00, false, 3), "
        "(NULL, NULL, NULL, 'NaN')"
    )
    source = f"SELECT * FROM ({rows}) AS v (r, n, b, f)"
    assert one(connection, f"SELECT count(predict('coded', v)) FROM ({source}) AS v") == 3
    assert verified(connection, source, "coded") == (3, 0, 0)
    unknown = "SELECT 0.2::real AS r, 7 AS n, 1 AS b, 3 AS f"
    raises("22P02", "SELECT * FROM verify_model('coded', %s)", (unknown,))
    connection.execute("SET pgboost.unknown_category = missing")
    assert verified(connection, unknown, "coded") == (1, 0, 0)
    connection.execute("RESET pgboost.unknown_category")
    raises("22P02", "SELECT * FROM verify_model('coded', %s)", (unknown,))
    text = "SELECT '0.1'::text AS r, 7 AS n, 1 AS b, 3 AS f"
    raises("42804", "SELECT * FROM verify_model('coded', %s)", (text,))


def test_owners_only(connection: Connection, connect: Connect, raises: Raises) -> None:
    """libxgboost needs the model's bytes, which pgboost gives to its owner alone."""
    other = connect("nobody_special", new=True)
    raises("42501", "SELECT xgboost_predict('m', '{1,2,3}')", on=other)
    connection.execute("SELECT grant_model('m', 'nobody_special')")
    said = raises("42501", "SELECT xgboost_predict('m', '{1,2,3}')", on=other)
    assert said.message_primary == 'must be owner of model "m"'
    raises("42501", "SELECT * FROM verify_model('m', 'SELECT 1 AS a, 2 AS b, 3 AS c')", on=other)


def test_models_of_other_libraries(connection: Connection, raises: Raises) -> None:
    file = golden.file("lightgbm/4.7.0/regression.txt")
    connection.execute("SELECT load_model('other', %s)", (file,))
    for ask in (
        "SELECT xgboost_predict('other', '{1,2,3,4,5,6}')",
        "SELECT * FROM verify_model('other', 'rows')",
    ):
        said = raises("0A000", ask)
        assert said.message_primary == 'model "other" is not a model of XGBoost'
        assert said.message_detail.startswith("Its format is lightgbm text")


def test_backends_end_well_with_a_model_in_hand(connection: Connection, connect: Connect) -> None:
    started = running_since(connection)
    for _ in range(5):
        with connect() as other:
            assert other.execute("SELECT xgboost_predict('count', '{1,2,3}')").fetchone()
    # A crash would take the connection with it.
    assert running_since(connection) == started


def test_one_statement_may_use_several_models(connection: Connection) -> None:
    rows = connection.execute(
        "SELECT xgboost_predict(n, '{1,2,3}') = predict(n, 1, 2, 3) "
        "FROM (VALUES (1, 'm'), (2, 'count'), (3, 'm')) AS v (i, n) ORDER BY i"
    ).fetchall()
    assert rows == [(True,)] * 3


def test_rounds_names_and_categories_of_load_model_count(connection: Connection) -> None:
    """Both libraries predict with the first rounds, and codes mean the given values."""
    draw = np.random.default_rng(3)
    codes, x = draw.integers(0, 3, 400), draw.normal(size=400)
    data = xgb.DMatrix(
        np.column_stack([codes, x]), np.cos(2 * codes) + x, feature_types=["c", "q"],
        enable_categorical=True,
    )  # fmt: skip
    booster = xgb.train({"nthread": 1, "max_depth": 3}, data, 10)
    for rounds in (4, 10):
        connection.execute(
            "SELECT load_model('given', %s, feature_names => '{colour,x}', rounds => %s,"
            """ categories => '{"colour": ["red", "green", "blue"]}')""",
            (model_bytes(booster), rounds),
        )
        source = (
            "SELECT (ARRAY['red', 'green', 'blue'])[1 + i % 3] AS colour, sin(i) AS x"
            " FROM generate_series(1, 500) AS i"
        )
        assert verified(connection, source, "given") == (500, 0, 0)
        rows = np.array([[1, 0.25]], dtype=np.float32)
        expected = booster.predict(
            xgb.DMatrix(rows, feature_types=["c", "q"], enable_categorical=True),
            iteration_range=(0, rounds),
        )
        found = connection.execute(
            "SELECT xgboost_predict('given', '{1,0.25}'), predict('given', 'green'::text, 0.25)"
        ).fetchone()
        assert (np.float32(found) == expected).all()
    connection.execute("SELECT drop_model('given')")


@pytest.mark.parametrize("kind", ["params", "metrics"])
@pytest.mark.parametrize("stored", ['{"a": 1e400}', f'{{"a": {"[" * 200}1{"]" * 200}}}'])
def test_any_jsonb_may_be_stored_with_a_model(
    connection: Connection, kind: str, stored: str
) -> None:
    """Also numbers beyond double precision, and levels that a parser of JSON may refuse."""
    connection.execute(f"SELECT load_model('any', %s, {kind} => %s)", (constant(1), stored))
    assert one(connection, "SELECT xgboost_predict('any', '{1}')") == 1
    source = "SELECT i::real AS f1, i AS y FROM generate_series(1, 9) AS i"
    assert verified(connection, source, "any") == (9, 0, 0)
    connection.execute("SELECT train_model('any', %s, 'y', rounds => 1)", (source,))
    connection.execute("SELECT drop_model('any')")
