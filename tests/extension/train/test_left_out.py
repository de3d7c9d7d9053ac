"""Notices name columns on which libxgboost cannot train, or that are seldom meant as features."""

import json
from collections.abc import Callable

import pytest
from psycopg import Connection

from tests.connections import Notice
from tests.extension.lifecycle.models import one
from tests.extension.train.alike import verified
from tests.extension.train.conftest import Raises

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
    rows = connection.execute(
        "SELECT feature FROM model_features('m') ORDER BY position"
    ).fetchall()
    return [name for (name,) in rows]


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
    (with_it,) = connection.execute("SELECT export_model('m')").fetchone()
    names = {name.partition("[")[0]: None for name in left}
    connection.execute(TRAIN.format(f", features => %s{arguments}"), (source(columns), list(names)))
    (without_it,) = connection.execute("SELECT export_model('m')").fetchone()
    assert with_it == without_it
    rows = connection.execute("SELECT feature FROM feature_baseline('m')").fetchall()
    assert [name for (name,) in rows] == left
    predicted = f"SELECT count(predict('m', s)) FROM ({source(columns)}) AS s"
    assert connection.execute(predicted).fetchone() == (200,)
    assert verified(connection, source(columns)) == (200, 0, 0)


def test_one_notice_names_all_null_columns(trained: Callable[..., list[str]]) -> None:
    said = trained(source(f"{NULL}, NULL::text AS remark"))
    assert (
        'text columns "note" and "remark" are left out of the features because they are null in every row'
        in said
    )


def test_folds_and_searches_leave_null_text_out(connection: Connection) -> None:
    for call in (
        "cross_validate_model(%s, 'y', rounds => 2, folds => 3)",
        """tune_model(%s, 'y', '{"max_depth": [2, 3]}', rounds => 2, folds => 3)""",
    ):
        texts = f"{NULL}, (i %% 3)::text AS colour".replace("%%", "%")
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
        for objective, target in (("rank:ndcg", 0.5), ("rank:ndcg", 32), ("rank:map", 2))
    ],
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
