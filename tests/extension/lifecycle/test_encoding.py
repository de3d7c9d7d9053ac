"""Names and texts work or are refused in any encoding, and have a bound in messages and log lines."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection, errors

from tests.extension.lifecycle.models import constant, grown, load, one, value
from tools.cluster import Cluster

MODELS = Path(__file__).resolve().parents[1] / "sql" / "models"


@pytest.fixture(scope="module", params=["LATIN1", "SQL_ASCII", "EUC_JP"])
def elsewhere(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A connection to a database of that encoding."""
    name = f"encoding_{request.param.lower()}"
    with cluster.connect() as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name}")
        admin.execute(
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{request.param}' "
            "LC_COLLATE 'C' LC_CTYPE 'C'"
        )
        with cluster.connect(name) as connection:
            connection.execute("SET client_encoding = 'UTF8'")
            connection.execute("CREATE EXTENSION pgboost_train CASCADE")
            connection.execute("CREATE TABLE file (content bytea)")
            connection.execute(
                "INSERT INTO file VALUES (%s)", ((MODELS / "flower.json").read_bytes(),)
            )
            load(connection, "tickets", (MODELS / "tickets.ubj").read_bytes())
            yield connection
        admin.execute(f"DROP DATABASE {name}")


def test_ascii_works(elsewhere: Connection) -> None:
    load(elsewhere, "m", constant(3))
    assert value(elsewhere) == 3
    elsewhere.execute(
        "SELECT load_model('flower', content, ARRAY['a', 'b', 'c'], ARRAY['x', 'y']) FROM file"
    )
    row = "SELECT 5 AS x, 1 AS y"
    assert one(elsewhere, f"SELECT predict_class('flower', r) FROM ({row}) AS r") == "c"
    assert one(elsewhere, f"SELECT predict_class('flower', to_jsonb(r)) FROM ({row}) AS r") == "c"


@pytest.mark.parametrize(
    ("arguments", "call", "expected"),
    [
        ("'größe', content, '{a,b,c}'", "'größe', 5, 1)", "c"),
        ("'labels', content, '{a,b,é}'", "'labels', 5, 1)", "é"),
        ("'names', content, '{a,b,c}', '{größe,y}'",
         """'names', r) FROM (SELECT 5 AS "größe", 1 AS y) AS r""", "c"),
    ],
    ids=["model", "label", "feature"],
)  # fmt: skip
def test_other_text_works_or_is_refused(
    elsewhere: Connection, arguments: str, call: str, expected: str
) -> None:
    """An error is one that a user can make; nothing is stored that could not be read again."""
    before = one(elsewhere, "SELECT count(*) FROM pgboost_models")
    try:
        elsewhere.execute(f"SELECT load_model({arguments}) FROM file")
    except psycopg.Error as error:
        assert error.sqlstate is not None and error.sqlstate[:2] in ("0A", "22"), error
        assert "\ufffd" not in str(error)
        assert one(elsewhere, "SELECT count(*) FROM pgboost_models") == before
    else:
        assert one(elsewhere, f"SELECT predict_class({call}") == expected


ROWS = "'SELECT g AS a, g AS y FROM generate_series(1, 9) AS g'"
BYTE = r"E'\xe9'"
TRAININGS = ("train_model(model => 't',", "cross_validate_model(", "tune_model(search => '{}',")
TEXTS = ("weight", "qid", "label_upper_bound")
# Unknown names, and arguments of trainings that are no UTF-8.
REFUSED = [
    "predict('größe ohne Modell', 1)", "model_info('é')", "deploy_model('é@1')", "drop_model('é')",
    "export_model('é')", "grant_model('é', 'é')", "grant_model('m', 'é')",
    "feature_importance('m', 'é')", "predict_class('m', 'é'::text)", "predict('tickets', 'é', 10, 1)",
    f"xgboost_predict({BYTE}, '{{1}}')", f"verify_model({BYTE}, 'file')",
    f"verify_model('m', 'SELECT 1 AS ' || {BYTE})", f"train_model({BYTE}, {ROWS}, 'y')",
    f"train_model('t', {ROWS}, 'y', continue_from => {BYTE})",
    *[
        f"{function} {arguments})"
        for function in TRAININGS
        for arguments in (
            f"source => 'SELECT 1 AS ' || {BYTE}, target => 'y'",
            f"source => {ROWS}, target => {BYTE}",
            f"source => {ROWS}, target => 'y', features => ARRAY[{BYTE}]",
            *[f"source => {ROWS}, target => 'y', {name} => {BYTE}" for name in TEXTS],
            *[f"source => {ROWS}, target => 'y', eval_source => {BYTE}"] * ("cross" not in function),
            *[f"source => {ROWS}, target => 'y', fold_by => {BYTE}"] * ("train" not in function),
        )
    ],
]  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_arguments_are_refused(elsewhere: Connection, call: str) -> None:
    with pytest.raises(psycopg.Error) as raised:
        elsewhere.execute(f"SELECT {call}")
    classes = ("0A", "22") if BYTE in call else ("0A", "22", "42")
    assert (raised.value.sqlstate or "")[:2] in classes, raised.value
    assert not any(garbage in str(raised.value) for garbage in ("\ufffd", "ï¿½"))
    assert one(elsewhere, "SELECT 1") == 1


def test_parameters_may_be_any_text(elsewhere: Connection) -> None:
    elsewhere.execute("SELECT load_model('p', content, params => '{\"a\": \"é\"}') FROM file")
    assert one(elsewhere, "SELECT model_info('p') #>> '{parameters,a}'") == "é"


def test_a_source_may_have_columns_of_any_name(elsewhere: Connection) -> None:
    elsewhere.execute('CREATE TEMP TABLE accents (f1 real, y real, "é" real)')
    elsewhere.execute("INSERT INTO accents VALUES (1, 1, 1)")
    load(elsewhere, "of_accents", constant(3))
    assert one(elsewhere, "SELECT count(*) > 0 FROM evaluate_model('of_accents', 'accents', 'y')")


@pytest.mark.parametrize("role", ["feature", "target"])
def test_texts_that_cannot_be_told_apart_are_not_learned(elsewhere: Connection, role: str) -> None:
    """Bytes that are no UTF-8, of which two texts would be one category."""
    text = "CASE WHEN g % 2 = 0 THEN E'\\xe9' ELSE E'\\xe8' END"
    columns = f"{text} AS a, g AS y" if role == "feature" else f"g AS a, {text} AS y"
    objective = "reg:squarederror" if role == "feature" else "binary:logistic"
    try:
        elsewhere.execute(
            f"CREATE TEMP TABLE {role}s AS SELECT {columns} FROM generate_series(1, 20) AS g"
        )
    except errors.CharacterNotInRepertoire:
        pytest.skip("the encoding has no such text")
    with pytest.raises(errors.FeatureNotSupported, match="a text beyond ASCII"):
        elsewhere.execute(
            "SELECT train_model('texts', %s, 'y', params => jsonb_build_object('objective', %s::text))",
            (f"SELECT * FROM {role}s", objective),
        )


def test_a_function_in_a_schema_of_any_name(elsewhere: Connection) -> None:
    load(elsewhere, "m", constant(3))
    elsewhere.execute('CREATE SCHEMA IF NOT EXISTS "é"; SET search_path = "é", public')
    try:
        elsewhere.execute("SELECT create_predict_function('m')")
    except errors.FeatureNotSupported as error:
        assert "schema's name" in str(error)
    else:
        assert one(elsewhere, "SELECT m(1)") == 3
    finally:
        elsewhere.execute('RESET search_path; DROP SCHEMA "é" CASCADE')


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
