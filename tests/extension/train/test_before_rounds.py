"""Errors that need no rows are raised before a row is read: here, reading a row is an error."""

from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import Connection

from tests.connections import Connect
from tests.extension.train.conftest import Raises

# Its columns are known, and its first row divides by zero.
UNREADABLE = "SELECT i AS a, 1 / (i - 1) AS y FROM generate_series(1, 9) AS i"
ROWS = "SELECT i AS a, i AS y FROM generate_series(1, 9) AS i"
ROLE = "before_rounds"

# The error, a superuser's statement before, the arguments besides source and target, the SQLSTATE and the
# message.
CASES = [
    ("model of another", "", "'theirs'", "42501", 'must be owner of model "theirs"'),
    ("model of another that may be used", "SELECT grant_model('theirs', 'before_rounds')",
     "'theirs'", "42501", 'must be owner of model "theirs"'),
    ("model of another that is not deployed", "", "'theirs', deploy => false",
     "42501", 'must be owner of model "theirs"'),
    ("no right to store", "REVOKE EXECUTE ON FUNCTION load_model FROM before_rounds", "'new'",
     "42501", "permission denied for function load_model"),
    ("no right to store a baseline",
     "REVOKE EXECUTE ON FUNCTION set_baseline(text, jsonb) FROM PUBLIC", "'new'",
     "42501", "permission denied for function set_baseline"),
    ("empty name", "", "''", "42602", 'invalid model name: ""'),
    ("name with a version", "", "'new@1'", "42602", 'invalid model name: "new@1"'),
    ("long name", "", "'" + 64 * "x" + "'", "42602", None),
    ("start of another", "", "'new', continue_from => 'theirs'", "42501", None),
    ("start of another that may be used", "SELECT grant_model('theirs', 'before_rounds')",
     "'new', continue_from => 'theirs'", "42501", 'must be owner of model "theirs"'),
    ("no start", "", "'new', continue_from => 'nothing'", "42704", None),
    ("unknown metric", "", """'new', params => '{"eval_metric": "rsme"}'""", "22023", None),
    ("unknown objective", "", """'new', params => '{"objective": "reg:sq"}'""", "22023", None),
    ("unknown parameter", "", """'new', params => '{"etaa": 1}'""", "22023", None),
    ("unknown feature", "", "'new', features => '{b}'", "42703", None),
    ("unknown weight", "", "'new', weight => 'w'", "42703", None),
    ("no such rows for evaluation", "", "'new', eval_source => 'nothing'", "42P01", None),
    ("no target for evaluation", "", "'new', eval_source => 'SELECT 1 AS a'", "42703", None),
    ("other types for evaluation", "", "'new', eval_source => $$SELECT 'x'::text AS a, 1 AS y$$",
     "42804", None),
    ("rows of another for evaluation", "", "'new', eval_source => 'their_rows'", "42501", None),
    ("no patience", "", "'new', early_stopping_rounds => 3", "22023", None),
]  # fmt: skip


@pytest.fixture
def role(connection: Connection, connect: Connect) -> Iterator[Connection]:
    """A role that may train, and another role's model and table."""
    connection.execute(f"DROP ROLE IF EXISTS {ROLE}; CREATE ROLE {ROLE} LOGIN")
    connection.execute(f"GRANT EXECUTE ON FUNCTION train_model, load_model TO {ROLE}")
    connection.execute("SELECT * FROM train_model('theirs', %s, 'y', rounds => 1)", (ROWS,))
    connection.execute(f"CREATE TABLE their_rows AS {ROWS}")
    yield connect(user=ROLE)
    connection.execute("GRANT EXECUTE ON FUNCTION set_baseline(text, jsonb) TO PUBLIC")
    connection.execute("DROP TABLE their_rows; SELECT drop_model('theirs')")
    connection.execute(f"DROP OWNED BY {ROLE}; DROP ROLE {ROLE}")


def test_a_source_that_is_read_says_so(role: Connection, raises: Raises) -> None:
    raises("22012", f"SELECT * FROM train_model('new', '{UNREADABLE}', 'y')", on=role)


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_errors_are_raised_before_a_row_is_read(
    connection: Connection, role: Connection, raises: Raises, case: Any
) -> None:
    _, before, arguments, state, message = case
    if before:
        connection.execute(before)
    name, _, rest = arguments.partition(", ")
    rest = f", {rest}" if rest else ""
    said = raises(
        state, f"SELECT * FROM train_model({name}, '{UNREADABLE}', 'y', rounds => 2{rest})", on=role
    )
    assert message in (None, said.message_primary)


def test_a_model_that_becomes_anothers_meanwhile_is_refused_at_the_end(
    connection: Connection, role: Connection, raises: Raises
) -> None:
    connection.execute(
        "CREATE OR REPLACE FUNCTION given_away() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER AS "
        "$$ BEGIN PERFORM train_model('contested', 'SELECT i AS a, i AS y FROM generate_series(1, 9) i', "
        "'y', rounds => 1); RETURN 1; END $$"
    )
    source = "SELECT i AS a, CASE i WHEN 1 THEN given_away() ELSE i END AS y FROM generate_series(1, 9) AS i"
    said = raises(
        "42501", f"SELECT * FROM train_model('contested', '{source}', 'y', rounds => 1)", on=role
    )
    assert said.message_primary == 'must be owner of model "contested"'
    connection.execute("DROP FUNCTION given_away()")


def test_the_context_of_a_refused_start_is_short(role: Connection, raises: Raises) -> None:
    said = raises(
        "42501",
        f"SELECT * FROM train_model('new', '{ROWS}', 'y', continue_from => 'theirs')", on=role,
    )  # fmt: skip
    assert len(said.context or "") < 100
