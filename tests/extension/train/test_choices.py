"""Notices of the choices of a training: the objective, the features, keys among them."""

from collections.abc import Callable
from typing import Any

import pytest
from psycopg import Connection

from tests.connections import Notice
from tests.extension.train.conftest import Raises

FUNCTIONS = {
    "train_model": "SELECT * FROM train_model('m', %s, %s, rounds => 1, allow_change => true{})",
    "cross_validate_model": "SELECT * FROM cross_validate_model(%s, %s, rounds => 1, folds => 2{})",
    "tune_model": """SELECT * FROM tune_model(%s, %s, '{{"max_depth": [1, 2]}}', rounds => 1,
        folds => 2{})""",
}
TWO = 'target "survived" has two values, 0 and 1, and is learned as a number'
KEY = "the features include a primary key, "
OBJECTIVE = """, params => '{"objective": "reg:squarederror"}'"""
FEATURES = ", features => ARRAY['age', 'class']"


Said = list[Notice]


@pytest.fixture(scope="module", autouse=True)
def passengers(cluster: Any, dbname: str) -> None:
    with cluster.connect(dbname) as connection:
        connection.execute(
            """CREATE TABLE passenger (id int PRIMARY KEY, age real, class smallint, survived int);
            INSERT INTO passenger SELECT i, i % 70, i % 3, i % 2 FROM generate_series(1, 300) AS i;
            CREATE TABLE sale (shop int, day date, amount real, PRIMARY KEY (shop, day));
            INSERT INTO sale SELECT i % 9, date '2026-01-01' + i, i FROM generate_series(1, 90) AS i;
            CREATE VIEW shown AS SELECT survived, age, id AS number FROM passenger;
            CREATE VIEW nested AS SELECT * FROM shown WHERE age > 1;
            CREATE VIEW computed AS SELECT survived, age, id + 0 AS number FROM passenger"""
        )


@pytest.fixture
def said(connection: Connection, notices: Said) -> Callable[..., Said]:
    """The notices of a statement."""

    def run(function: str, source: str, target: str = "survived", more: str = "") -> Said:
        notices.clear()
        connection.execute(FUNCTIONS[function].format(more), (source, target)).fetchall()
        return notices.copy()

    return run


@pytest.mark.parametrize("function", FUNCTIONS)
def test_notices_report_choices(said: Callable[..., Said], function: str) -> None:
    chosen, two, key = said(function, "passenger")
    assert {notice.severity for notice in (chosen, two, key)} == {"NOTICE"}
    assert chosen.message == "training with objective reg:squarederror on 3 columns"
    assert chosen.detail == 'The features are "id", "age" and "class".'
    assert two.message == TWO
    assert two.hint == (
        "To train a classifier, cast the target to boolean in a query, or pass "
        """params => '{"objective": "binary:logistic"}'."""
    )
    assert key.message == KEY + '"id"'
    assert "argument features" in key.hint


@pytest.mark.parametrize("function", FUNCTIONS)
def test_notices_omit_the_callers_choices(said: Callable[..., Said], function: str) -> None:
    assert said(function, "passenger", more=OBJECTIVE + FEATURES) == []
    (features,) = said(function, "SELECT age, class, survived FROM passenger", more=OBJECTIVE)
    assert features.message == "training on 2 columns"
    objective, two = said(function, "passenger", more=FEATURES)
    assert objective.message == "training with objective reg:squarederror"
    assert objective.detail is None
    assert two.message == TWO


def test_the_hint_makes_a_classifier(connection: Connection, said: Callable[..., Said]) -> None:
    boolean = "SELECT age, class, survived::boolean FROM passenger"
    (chosen,) = said("train_model", boolean)
    assert chosen.message == "training with objective binary:logistic on 2 columns"
    labels = "SELECT model_info('m') -> 'labels'"
    assert connection.execute(labels).fetchone()[0] == ["false", "true"]
    classifier = """, params => '{"objective": "binary:logistic"}'"""
    assert said("train_model", "passenger", more=classifier + FEATURES) == []
    assert connection.execute(labels).fetchone()[0] == ["0", "1"]


def test_other_pairs_than_zero_and_one_are_not_to_be_cast(said: Callable[..., Said]) -> None:
    pair = "SELECT age, (survived + 1)::bigint AS y FROM passenger"
    _, two = said("train_model", pair, "y")
    assert two.message == 'target "y" has two values, 1 and 2, and is learned as a number'
    assert "boolean" not in two.hint
    for other in ("age", "survived / 2.0", "1", "survived * 1.5"):
        found = said("train_model", f"SELECT class, {other} AS y FROM passenger", "y")
        # And that the version before has other features.
        notices = [notice.message[:8] for notice in found if notice.severity == "NOTICE"]
        assert notices == ["training"]


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("SELECT * FROM passenger", '"id"'),
        ("SELECT number, survived FROM (SELECT id AS number, survived FROM passenger) AS p", '"number"'),
        ("WITH p AS (SELECT * FROM passenger) SELECT age, id, survived FROM p", '"id"'),
        ("SELECT id + 0 AS id, survived FROM passenger", None),
        ("SELECT shop, day, amount AS survived FROM sale", '"shop" and "day"'),
        ("SELECT shop, amount AS survived FROM sale", None),
        ("SELECT p.id, s.shop, s.day, survived FROM passenger AS p JOIN sale AS s ON shop = id", '"id"'),
        ("shown", '"number"'),
        ("nested", '"number"'),
        ("SELECT * FROM (SELECT * FROM nested) AS s", '"number"'),
        ("computed", None),
    ],
)  # fmt: skip
def test_keys_are_found_in_queries(said: Callable[..., Said], source: str, key: str | None) -> None:
    found = [n.message.removeprefix(KEY) for n in said("train_model", source) if KEY in n.message]
    assert found[:1] == ([key] if key else [])


def test_a_key_that_is_the_target_or_was_left_out_is_not_named(said: Callable[..., Said]) -> None:
    notices = said("train_model", "SELECT id, age FROM passenger", "id")
    assert [notice.message[:8] for notice in notices] == ["training"]


def test_long_lists_of_features_are_cut(said: Callable[..., Said]) -> None:
    columns = ", ".join(f"age AS a{number}" for number in range(100))
    chosen, _ = said("train_model", f"SELECT {columns}, survived FROM passenger")
    assert chosen.message.endswith("on 100 columns")
    assert chosen.detail.endswith('"a19" and 80 more.')


def test_a_continued_training_has_no_choices(said: Callable[..., Said]) -> None:
    said("train_model", "passenger", more=OBJECTIVE + FEATURES)
    assert said("train_model", "passenger", more=", continue_from => 'm'") == []


def test_a_trained_version_may_be_stored_and_not_deployed(
    connection: Connection, raises: Raises, said: Callable[..., Said]
) -> None:
    said("train_model", "passenger", more=OBJECTIVE + FEATURES)
    versions = "SELECT version FROM pgboost_models WHERE name = 'm' AND deployed"
    before = connection.execute(versions).fetchall()
    said("train_model", "passenger", more=", deploy => false")
    assert connection.execute(versions).fetchall() == before
    connection.execute(
        "SELECT train_model('new', 'passenger', 'survived', rounds => 1, deploy => false)"
    )
    diag = raises("55000", "SELECT predict('new', 1, 1, 1)")
    assert diag.message_primary == 'model "new" has no deployed version'
    assert "deploy_model" in diag.message_hint
    connection.execute(
        "SELECT train_model('new', 'passenger', 'survived', rounds => 1, continue_from => 'new@1')"
    )
    assert connection.execute("SELECT predict('new', 1, 1, 1) IS NULL").fetchone() == (False,)
    raises("22004", "SELECT train_model('new', 'passenger', 'survived', deploy => NULL)")
