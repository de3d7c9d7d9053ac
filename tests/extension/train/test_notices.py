"""Notices of a training: columns that are left out or seldom meant, the objective, the features, keys."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from psycopg import Connection

from tests.connections import Notice
from tests.extension.lifecycle.models import one
from tests.extension.train.conftest import Raises
from tests.extension.train.rows import verified

pytestmark = pytest.mark.usefixtures("no_model")
TRAIN = "SELECT * FROM train_model('m', %s, 'y', rounds => 3{})"


@pytest.fixture
def trained(connection: Connection, notices: list[Notice]) -> Callable[..., list[str]]:
    """Trains, and gives the messages of the notices."""

    def run(source: str, arguments: str = "") -> list[str]:
        notices.clear()
        connection.execute(TRAIN.format(arguments), (source,))
        return [notice.message for notice in notices]

    return run


def source(columns: str) -> str:
    return f"SELECT i AS age, {columns}, i % 7 AS y FROM generate_series(1, 200) AS i"


def features(connection: Connection) -> list[str]:
    return one(connection, "SELECT array_agg(feature ORDER BY position) FROM model_features('m')")


NULL = "NULL::text AS note"


@pytest.mark.parametrize(("columns", "left"), [
    (NULL, ["age"]),
    (f"{NULL}, i % 3 AS size", ["age", "size"]),
    (f"{NULL}, (i % 3)::text AS colour, i % 5 AS size", ["age", "colour", "size"]),
    (f"{NULL}, ARRAY[i, 2 * i] AS image", ["age", "image[1]", "image[2]"]),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("arguments", ["", ", eval_fraction => 0.2"])
def test_text_that_is_all_null_is_left_out(
    connection: Connection, trained: Callable[..., list[str]],
    columns: str, left: list[str], arguments: str,
) -> None:  # fmt: skip
    said = trained(source(columns), arguments)
    assert 'text column "note" is left out of the features because it is null in every row' in said
    assert features(connection) == left
    # The model is the one that is trained without the column.
    with_it = one(connection, "SELECT export_model('m')")
    names = {name.partition("[")[0]: None for name in left}
    connection.execute(TRAIN.format(f", features => %s{arguments}"), (source(columns), list(names)))
    assert one(connection, "SELECT export_model('m')") == with_it
    rows = connection.execute("SELECT feature FROM feature_baseline('m')").fetchall()
    assert [name for (name,) in rows] == left
    predicted = f"SELECT count(predict('m', s)) FROM ({source(columns)}) AS s"
    assert connection.execute(predicted).fetchone() == (200,)
    assert verified(connection, source(columns)) == (200, 0, 0)


def test_one_notice_names_all_null_columns(trained: Callable[..., list[str]]) -> None:
    said = trained(source(f"{NULL}, NULL::text AS remark"))
    left = 'text columns "note" and "remark" are left out of the features because they are null'
    assert f"{left} in every row" in said


def test_folds_and_searches_leave_null_text_out(connection: Connection) -> None:
    for call in (
        "cross_validate_model(%s, 'y', rounds => 2, folds => 3)",
        """tune_model(%s, 'y', '{"max_depth": [2, 3]}', rounds => 2, folds => 3)""",
    ):
        texts = f"{NULL}, (i % 3)::text AS colour"
        assert connection.execute(f"SELECT * FROM {call}", (source(texts),)).fetchall()


def test_features_of_null_text_alone_are_an_error(raises: Raises) -> None:
    said = raises("22023", TRAIN.format(""), ("SELECT NULL::text AS note, 1 AS y",))
    assert '"note"' in said.message_detail


@pytest.mark.parametrize("column", [
    "NULL::int AS x", "NULL::float8 AS x", "'NaN'::real AS x", "NULL::boolean AS x",
    "NULL::timestamp AS x", "'one'::text AS x", "ARRAY[NULL, NULL]::int[] AS x",
])  # fmt: skip
def test_columns_of_one_value_or_none_are_trained_on(
    connection: Connection, trained: Callable[..., list[str]], column: str
) -> None:
    trained(source(column))
    assert features(connection)[1].startswith("x")


@pytest.mark.parametrize(("columns", "arguments", "state", "name"), [
    ("repeat(i::text, 40000) AS x", "", "54000", "x"),
    ("i % 2 AS x, 0 AS w", ", weight => 'w'", "22000", "w"),
    ("NULL::int[] AS x", "", "22000", "x"),
    ("'infinity'::float8 AS x", "", "22003", "x"),
    *[
        (f"{target} AS y2", f""", features => '{{age}}', params => '{{"objective": "{objective}"}}'""",
         "22003", "y2")
        for objective, target in (
            ("reg:logistic", 2), ("reg:squaredlogerror", -1), ("reg:gamma", 0), ("count:poisson", -1),
            ("reg:tweedie", -1),
        )
    ],
    *[
        (f"{target} AS y2", f", features => '{{age}}', qid => 'y', "
         f"""params => '{{"objective": "{objective}"}}'""", "22003", "y2")
        for objective, target in (
            ("rank:ndcg", 0.5), ("rank:ndcg", 32), ("rank:map", 2), ("rank:pairwise", -1),
        )
    ],
    ("-1 AS y2, 1 AS up", ", label_upper_bound => 'up'", "22003", "y2"),
], ids=str)  # fmt: skip
def test_refusals_name_the_column(
    raises: Raises, columns: str, arguments: str, state: str, name: str
) -> None:
    statement = TRAIN.format(arguments)
    if name == "y2":
        statement = statement.replace("'y'", "'y2'", 1)
    said = raises(
        state, statement, (source(columns) + (" ORDER BY y" if "qid" in arguments else ""),)
    )
    assert f'"{name}"' in said.message_primary
    assert "libxgboost" not in said.message_primary


def test_text_that_is_nearly_unique_is_named(trained: Callable[..., list[str]]) -> None:
    said = trained(source("i || '@example.org' AS email, (i % 5)::text AS colour"))
    assert 'text column "email" is nearly unique: 200 distinct texts in 200 rows' in said
    assert not any("colour" in message for message in said if "unique" in message)


@pytest.mark.parametrize("rows", ["SELECT * FROM ship", "ship", "SELECT * FROM crew"], ids=str)
def test_maintained_scores_are_left_out(
    connection: Connection, trained: Callable[..., list[str]], rows: str
) -> None:
    with connection.transaction(force_rollback=True):
        connection.execute(
            """CREATE TABLE ship AS
                SELECT i AS age, i % 3 AS class, i % 7 AS y FROM generate_series(1, 200) AS i;
            CREATE VIEW crew AS SELECT * FROM ship"""
        )
        assert not any("left out" in message for message in trained(rows))
        connection.execute("SELECT maintain_scores('ship', 'm')")
        connection.execute("CREATE OR REPLACE VIEW crew AS SELECT * FROM ship")
        left = 'columns "score" and "score_version" are left out of the features because maintain_scores'
        assert f"{left} writes them" in trained(rows)
        assert features(connection) == ["age", "class"]
        connection.execute("UPDATE ship SET age = age")
        assert one(connection, "SELECT rows_behind FROM pgboost_scores") == 0
        # Another model may learn from them.
        named = trained(rows, ", features => '{age, score}', deploy => false")
        assert not any("left out" in message for message in named)
        said = trained("SELECT age, score AS before, y FROM ship", ", deploy => false")
        assert (
            'column "before" is left out of the features because maintain_scores writes it' in said
        )


def test_results_of_get_params_are_accepted(connection: Connection) -> None:
    params = {
        "objective": "binary:logistic", "base_score": None, "booster": None, "callbacks": None,
        "device": None, "early_stopping_rounds": None, "enable_categorical": True, "eval_metric": None,
        "gpu_id": -1, "importance_type": None, "interaction_constraints": "", "max_depth": 2,
        "missing": "NaN", "monotone_constraints": "()", "n_estimators": 4, "n_jobs": None,
        "predictor": "auto", "random_state": None, "use_label_encoder": False,
        "validate_parameters": True, "verbosity": None,
    }  # fmt: skip
    rows = "SELECT i AS a, i % 2 = 0 AS y FROM generate_series(1, 50) AS i"
    connection.execute(
        "SELECT * FROM train_model('m', %s, 'y', params => %s)", (rows, json.dumps(params))
    )
    assert one(connection, "SELECT rounds FROM pgboost_models WHERE name = 'm'") == 4


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


def test_one_feature_is_no_features(raises: Raises, said: Callable[..., Said]) -> None:
    chosen, *_ = said("train_model", "SELECT age, survived FROM passenger")
    assert chosen.detail == 'The feature is "age".'
    wrong = raises("22000", "SELECT predict('m', 1, 2)")
    assert wrong.message_primary == 'model "m" expects 1 feature, not 2'
    assert wrong.message_detail == "The feature is age."


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


@pytest.mark.parametrize(("source", "key"), [
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
])  # fmt: skip
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
