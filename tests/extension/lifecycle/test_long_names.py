"""Names may be long: messages and log lines have a bound, whatever the names of models and features."""

from collections.abc import Callable

import psycopg
import pytest
from psycopg import Connection, errors

from tests.extension.lifecycle.models import constant, grown, load, one

LONGEST = 4096
BOUND = 2048
# Of the most bytes for the number of characters that a message shows.
WIDE = "\U0001f600"


def test_a_name_has_a_largest_length(connection: Connection) -> None:
    query = "SELECT load_model('longest', %s, feature_names => ARRAY[%s])"
    for name in ("x" * LONGEST, "é" * (LONGEST // 2)):
        connection.execute(query, (constant(1), name))
        assert one(connection, "SELECT feature FROM model_features('longest')") == name
        assert (
            one(connection, "SELECT predict('longest', jsonb_build_object(%s::text, 1))", (name,))
            == 1
        )
    for name in ("x" * (LONGEST + 1), "é" * (LONGEST // 2) + "x", "x" * 10_000_000):
        with pytest.raises(errors.ProgramLimitExceeded, match="feature name has"):
            connection.execute(query, (constant(1), name))


@pytest.fixture
def names(connection: Connection) -> list[str]:
    """The names of the features of the model wide, which are as long as they may be."""
    names = [f"{WIDE * (LONGEST // 4 - 3)}{number:012}" for number in range(10)]
    connection.execute("SELECT load_model('wide', %s, feature_names => %s)", (grown(2, 2), names))
    return names


BIG = f"repeat('{WIDE}', 1000000)"
CALLS = [
    "predict('wide', ROW(1))",
    "predict('wide', v) FROM (SELECT 1 AS a) AS v",
    "predict('wide', '{}'::jsonb)",
    "predict('wide', 1)",
    "predict('wide', 'a'::text, 2, 3, 4, 5, 6, 7, 8, 9, 10)",
    "predict('wide', point(1, 2), 2, 3, 4, 5, 6, 7, 8, 9, 10)",
    f"predict('wide', {BIG}, 2, 3, 4, 5, 6, 7, 8, 9, 10)",
    "predict_class('wide', ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 10])",
    f"predict({BIG}, 1)",
    f"predict({BIG} || '@1', 1)",
    f"predict('wide@' || {BIG}, 1)",
    f"predict_pinned('wide@1' || {BIG}, 1)",
    f"explain_prediction('wide', ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], output => {BIG})",
    f"feature_importance('wide', {BIG})",
    f"evaluate_model('wide', 'SELECT 1 AS a', {BIG})",
    "evaluate_model('wide', 'SELECT 1 AS a', 'a')",
    f"evaluate_model('wide', {BIG}, 'a')",
    f"partial_dependence('wide', 'SELECT 1 AS a', {BIG})",
    "partial_dependence('wide', 'SELECT 1 AS a', 'a')",
    f"permutation_importance('wide', 'SELECT 1 AS a', 'a', {BIG})",
    "set_baseline('wide', 'SELECT 1 AS a')",
    "feature_drift('wide', 'SELECT 1 AS a')",
    f"load_model({BIG}, ''::bytea)",
    f"load_model('a', 'x'::bytea, labels => ARRAY[{BIG}])",
    f"set_alias('wide@1', {BIG})",
    f"drop_model({BIG})",
    f"rename_model('wide', {BIG})",
    f"grant_model('wide', {BIG})",
    f"set_model_owner('wide', {BIG})",
    f"create_predict_function('wide', output => {BIG})",
    "create_predict_function('wide')",
]


@pytest.mark.parametrize("call", CALLS)
def test_an_error_has_a_bound(
    connection: Connection, names: list[str], logged: Callable, call: str
) -> None:
    connection.execute("SET client_min_messages = warning")
    with pytest.raises(psycopg.Error) as failed:
        connection.execute(f"SELECT {call}")
    diag = failed.value.diag
    texts = [diag.message_primary, diag.message_detail, diag.message_hint]
    assert sum(len(text.encode()) for text in texts if text) <= BOUND, texts[0][:200]
    assert diag.sqlstate != "XX000"
    levels = ("ERROR:  ", "DETAIL:  ", "HINT:  ")
    said = [line for line in logged() if any(level in line for level in levels)]
    assert said and all(len(line.encode()) <= BOUND for line in said)


def test_the_features_of_another_version_are_named_in_short(
    connection: Connection, names: list[str]
) -> None:
    notices: list[errors.Diagnostic] = []
    connection.add_notice_handler(notices.append)
    query = "SELECT load_model('wide', %s, feature_names => %s)"
    try:
        connection.execute(query, (grown(2, 2), names[::-1]))
    except psycopg.Error as error:
        notices.append(error.diag)
    texts = [(diag.message_primary, diag.message_detail, diag.message_hint) for diag in notices]
    assert texts
    assert all(len(text.encode()) <= BOUND for all_of in texts for text in all_of if text)


def test_a_message_says_the_name_in_part(connection: Connection) -> None:
    load(connection, "m", constant(1))
    name = "é" * 100
    connection.execute(
        "SELECT load_model('part', %s, feature_names => ARRAY[%s])", (constant(1), name)
    )
    with pytest.raises(errors.UndefinedColumn, match=f'"{"é" * 64}\\.\\.\\."'):
        connection.execute("SELECT predict('part', '{}'::jsonb)")
