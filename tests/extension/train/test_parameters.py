"""Parameters and arguments that are refused, before a row is read where no row is needed."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg import Connection, errors

from tests.connections import Connect, Notice
from tests.extension.train.conftest import Raises
from tests.extension.train.running import FOREST, LONG_ROUND, Running, trainer_of

# Its columns are known, and its first row divides by zero.
UNREADABLE = "SELECT i AS a, 1 / (i - 1) AS y FROM generate_series(1, 9) AS i"
FEW = "SELECT i AS a, i AS y FROM generate_series(1, 9) AS i"
ROLE = "before_rounds"
CALL = "SELECT * FROM train_model('m', 'rows', 'y', %s, rounds => 2, allow_change => true)"
UNREAD = f"SELECT * FROM train_model('m', '{UNREADABLE}', 'y', %s, rounds => 2)"


@pytest.fixture(autouse=True, scope="module")
def table(cluster: Any, dbname: str) -> None:
    with cluster.connect(dbname) as connection:
        connection.execute(
            "CREATE TABLE rows AS SELECT i AS a, (i % 5) AS b, (i * 2)::real AS y, "
            "'class ' || i % 3 AS label FROM generate_series(1, 100) AS i"
        )


@pytest.mark.parametrize(("params", "message"), [
    ({"max_depth": -1}, '"max_depth" must be a whole number between 0 and 64, not -1'),
    ({"max_depth": 2.5}, '"max_depth" must be a whole number between 0 and 64, not 2.5'),
    ({"max_depth": "6"}, '"max_depth" must be a whole number between 0 and 64, not "6"'),
    ({"eta": "fast"}, '"eta" must be a number of 0 or more, not "fast"'),
    ({"subsample": 0}, '"subsample" must be a number between 0.000001 and 1, not 0'),
    ({"tree_method": "exact"}, '"tree_method" must be "hist" or "auto", not "exact"'),
    ({"booster": "gblinear"}, '"booster" must be "gbtree" or "dart", not "gblinear"'),
    ({"objective": "binary:logistik"}, 'such as "binary:logistic", not "binary:logistik"'),
    ({"objective": 1}, '"objective" must be an objective, not 1'),
    ({"eval_metric": ["rmse", "rmsse"]}, 'a metric such as "rmse", or an array of metrics, not "rmsse"'),
    ({"eval_metric": "ndcg@2.7"}, 'must be a metric, or an array of metrics, not "ndcg@2.7"'),
    ({"rate_drop": 1.5}, '"rate_drop" must be a number between 0 and 1, not 1.5'),
    ({"sample_type": "all"}, '"sample_type" must be "uniform" or "weighted", not "all"'),
    ({"max_bin": 1}, '"max_bin" must be a whole number between 2 and 65536, not 1'),
    ({"quantile_alpha": [0.5] * 5000}, "0 and 1, or an array of at most 4096 such numbers, not [0"),
    ({"quantile_alpha": [0.5, 1.0]}, "at most 4096 such numbers, not [0.5,1.0]"),
    ({"quantile_alpha": []}, "at most 4096 such numbers, not []"),
    ({"expectile_alpha": [0.5] * 65}, "0 and 1, or an array of at most 64 such numbers, not [0.5"),
    ({"nthread": 0}, '"nthread" must be a whole number between 1 and 1024, not 0'),
    ({"learning_rate": 1, "eta": 2},
     'training parameter "eta" and training parameter "learning_rate" have different values'),
    ({"n_estimators": 5, "num_boost_round": 6}, '"n_estimators" and training parameter "num_bo'),
    ({"random_state": 1, "seed": 2}, '"random_state" and training parameter "seed" have'),
    ({"n_estimators": 3}, 'argument rounds and training parameter "n_estimators" have different'),
    ({"n_estimators": 0}, '"n_estimators" must be a whole number between 1 and 1000000, not 0'),
    ({"early_stopping_rounds": 5}, "early_stopping_rounds needs rows for evaluation"),
])  # fmt: skip
def test_out_of_range(raises: Raises, params: Any, message: str) -> None:
    """Before a row is read."""
    assert message in raises("22023", UNREAD, (json.dumps(params),)).message_primary


@pytest.mark.parametrize(("params", "message"), [
    ({"monotone_constraints": {"a": 2}}, '"monotone_constraints" must be an object of features'),
    ({"interaction_constraints": "a"}, '"interaction_constraints" must be an array of arrays'),
])  # fmt: skip
def test_constraints_of_another_form(raises: Raises, params: Any, message: str) -> None:
    assert message in raises("22023", CALL, (json.dumps(params),)).message_primary


@pytest.mark.parametrize(("name", "nearest"), [
    ("max_dept", "max_depth"), ("learning_rat", "learning_rate"), ("sub_sample", "subsample"),
    ("colsample_by_tree", "colsample_bytree"), ("n_job", "n_jobs"),
    ("Max_Depht", "max_depth"), ("temperature", None),
])  # fmt: skip
def test_unknown_comes_with_the_nearest(raises: Raises, name: str, nearest: str | None) -> None:
    said = raises("22023", UNREAD, (json.dumps({name: 1}),))
    assert said.message_primary == f'unknown training parameter "{name}"'
    if nearest:
        assert said.message_hint == f'Perhaps you mean "{nearest}".'
    else:
        assert "Perhaps" not in said.message_hint


@pytest.mark.parametrize("name", ["device", "updater", "process_type", "verbosity", "missing"])
def test_some_are_not_for_users(raises: Raises, name: str) -> None:
    assert raises("0A000", CALL, (json.dumps({name: 2}),)).message_hint


def test_null_leaves_a_parameter_at_its_default(connection: Connection, raises: Raises) -> None:
    """As in the result of `get_params`; an unknown name is still an error."""
    connection.execute(CALL, ('{"subsample": null, "device": null, "objective": null}',))
    raises("22023", CALL, ('{"sub_sample": null}',))


@pytest.mark.parametrize("name", ["model_in", "save_period", "dsplit", "data_uri", "plugin"])
def test_other_parameters_do_not_reach_libxgboost(raises: Raises, name: str) -> None:
    raises("22023", CALL, (json.dumps({name: "/etc/passwd"}),))


def test_params_must_be_an_object(raises: Raises, connection: Connection) -> None:
    for params in ("[1]", "1", '"x"', "null"):
        raises("22023", CALL, (params,))
    assert connection.execute(CALL, (None,)).fetchall(), "null means the defaults"


@pytest.mark.parametrize("value", ["1e400", "[" * 200 + "]" * 200])
def test_json_beyond_the_limits_is_refused(raises: Raises, value: str) -> None:
    said = raises("22023", CALL, (f'{{"eta": {value}}}',))
    assert said.message_primary.startswith("params must be a jsonb object, not one with")


@pytest.mark.parametrize(("argument", "sqlstate"), [
    ("rounds => 0", "22023"), ("rounds => -5", "22023"), ("rounds => 1000001", "22023"),
    ("seed => 1, params => '{\"random_state\": 2}'", "22023"),
    ("eval_fraction => 0.5, early_stopping_rounds => 5, params => '{\"early_stopping_rounds\": 6}'",
     "22023"),
    ("eval_fraction => 0", "22023"), ("eval_fraction => 1", "22023"),
    ("eval_fraction => 'NaN'", "22023"), ("early_stopping_rounds => 5", "22023"),
    ("eval_fraction => 0.5, early_stopping_rounds => 0", "22023"),
    ("eval_fraction => 0.5, eval_source => 'rows'", "22023"),
    ("verbose_eval => 0", "22023"), ("features => '{}'", "22023"),
    ("features => '{NULL}'", "22004"), ("weight => 'label'", "42804"),
    ("qid => 'b', params => '{\"objective\": \"reg:gamma\"}'", "22023"),
    ("params => '{\"objective\": \"rank:ndcg\"}'", "22023"),
    ("label_upper_bound => 'b', params => '{\"objective\": \"reg:gamma\"}'", "22023"),
    ("params => '{\"objective\": \"binary:logistic\"}'", "22023"),
    ("params => '{\"objective\": \"multi:softprob\", \"num_class\": 7}'", "22023"),
    ("label_upper_bound => 'a', params => '{\"eval_metric\": \"rmse\"}'", "22023"),
    *[
        (f"params => '{json.dumps(params)}'", "22023")
        for params in (
            {"objective": "survival:aft"}, {"objective": "reg:quantileerror"},
            {"objective": "reg:expectileerror"}, {"eval_metric": "quantile"}, {"eval_metric": "expectile"},
            {"eval_metric": ["rmse", "merror"]}, {"eval_metric": "mlogloss"},
            {"eval_metric": "aft-nloglik"}, {"eval_metric": "interval-regression-accuracy"},
            {"objective": "multi:softprob", "eval_metric": "rmse"},
            {"objective": "multi:softprob", "eval_metric": "error@0.3"},
            {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.9], "eval_metric": "mae"},
            {"objective": "reg:expectileerror", "expectile_alpha": [0.1, 0.9], "eval_metric": "quantile",
             "quantile_alpha": 0.5},
        )
    ],
])  # fmt: skip
def test_arguments(raises: Raises, argument: str, sqlstate: str) -> None:
    raises(sqlstate, f"SELECT train_model('m', 'rows', 'y', {argument})")


@pytest.mark.parametrize("call", [
    "NULL, 'rows', 'y'", "'m', NULL, 'y'", "'m', 'rows', NULL",
])  # fmt: skip
def test_arguments_that_must_be_there(raises: Raises, call: str) -> None:
    raises("22004", f"SELECT train_model({call})")


# Calls of the functions with named arguments, all of them NULL.
NULLS = """
SELECT p.proargnames[:p.pronargs],
       format('%s %s(%s)', CASE p.prokind WHEN 'p' THEN 'CALL' ELSE 'SELECT' END, p.proname, a.nulls)
  FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.deptype = 'e',
       LATERAL (SELECT string_agg(format('NULL::%s', replace(format_type(t, NULL), '"any"', 'real')), ', ')
                  FROM unnest(p.proargtypes::oid[]) AS t) AS a (nulls)
 WHERE d.classid = 'pg_proc'::regclass AND p.pronamespace = 'public'::regnamespace
   AND p.prokind IN ('f', 'p') AND p.pronargs > 0
"""


def test_a_null_is_refused_by_the_arguments_name(connection: Connection) -> None:
    """Predictions and explanations are NULL."""
    calls = connection.execute(NULLS).fetchall()
    assert len(calls) > 40
    for names, call in calls:
        try:
            found = connection.execute(call).fetchall()
        except errors.NullValueNotAllowed as error:
            said = error.diag.message_primary
            assert said in {f"{name} must not be null" for name in names}, call
        else:
            assert found in ([(None,)], []) and re.search("predict", call), call


def test_text_cannot_be_regressed(raises: Raises) -> None:
    call = "SELECT train_model('m', 'rows', 'label', %s)"
    raises("42804", call, ('{"objective": "reg:squarederror"}',))
    raises("22023", call, ('{"objective": "binary:logistic"}',))


def test_libxgboost_itself_may_refuse(raises: Raises) -> None:
    """An error that only libxgboost can find has its message, without source places and addresses."""
    params = '{"objective": "binary:logistic", "base_score": 2}'
    rows = "SELECT i AS a, i > 1 AS y FROM generate_series(1, 2) AS i"
    said = raises("38000", "SELECT train_model('refused', %s, 'y', %s)", (rows, params))
    assert said.message_primary == "libxgboost reported an error"
    assert "base_score" in said.message_detail
    assert ".cc" not in said.message_detail
    assert "0x" not in said.message_detail


def test_parameters_of_scikit_learn(connection: Connection) -> None:
    """Parameters of XGBRegressor train the same model as XGBoost's own names and arguments."""
    call = "SELECT train_model(%s, 'SELECT a, b, y FROM rows ORDER BY a', 'y', "
    pasted = {
        "n_estimators": 6, "random_state": 7, "learning_rate": 0.5, "reg_lambda": 2,
        "reg_alpha": 0.5, "max_leaves": 5, "n_jobs": 1, "subsample": 0.5, "min_split_loss": 0.1,
        "early_stopping_rounds": 3,
    }  # fmt: skip
    own = {
        "eta": 0.5, "lambda": 2, "alpha": 0.5, "max_leaves": 5, "nthread": 1, "subsample": 0.5,
        "gamma": 0.1,
    }  # fmt: skip
    connection.execute(call + "%s, eval_fraction => 0.3)", ("pasted", json.dumps(pasted)))
    connection.execute(
        call + "%s, rounds => 6, seed => 7, eval_fraction => 0.3, early_stopping_rounds => 3)",
        ("own", json.dumps(own)),
    )
    both = {**own, "seed": 7, "num_boost_round": 6, "random_state": 7, "learning_rate": 0.50}
    connection.execute(
        call + "%s, rounds => 6, seed => 7, eval_fraction => 0.3, early_stopping_rounds => 3)",
        ("both", json.dumps(both)),
    )
    connection.execute(
        call + '\'{"seed": 8, "subsample": 0.5}\', rounds => 6, eval_fraction => 0.3)', ("other",)
    )
    said = [
        connection.execute(
            "SELECT model_info(%s) -> 'sha256', model_info(%s) -> 'parameters'", (name, name)
        ).fetchone()
        for name in ("pasted", "own", "both", "other")
    ]
    assert said[0] == said[1] == said[2] != said[3]
    assert said[3][1]["seed"] == 8


def test_parameters_are_stored_with_the_version(
    connection: Connection, notices: list[Notice]
) -> None:
    scores = connection.execute(
        "SELECT set, metric, best_round, value FROM train_model('kept', 'rows', 'y', "
        "'{\"learning_rate\": 0.5}', rounds => 4, seed => 7, eval_fraction => 0.3, verbose_eval => 2)"
    ).fetchall()
    (info,) = connection.execute("SELECT model_info('kept')").fetchone()
    assert info["parameters"] == {
        "eta": 0.5, "objective": "reg:squarederror", "rounds": 4, "seed": 7, "target": "y",
        "eval_fraction": 0.3,
    }  # fmt: skip
    assert info["rounds"] == info["metrics"]["best_round"] == 4
    for set_name, metric, best_round, value in scores:
        assert best_round == 4
        assert info["metrics"][set_name][metric] == pytest.approx(value)
    rounds = [notice.message.split(":")[0] for notice in notices[1:]]
    assert rounds == ["round 2 of 4", "round 4 of 4"]


def threads_of_a_training(connection: Connection, capped: Connection) -> int:
    """The threads of a training that requests 64."""
    running = Running(capped, LONG_ROUND, FOREST.replace("{", '{"nthread": 64, '))
    trainer = trainer_of(connection, running.pid)
    threads = len(list(Path(f"/proc/{trainer}/task").iterdir()))
    capped.cancel()
    assert running.ended() == "57014"
    return threads


@pytest.mark.parametrize("first", ["xgboost_version()", "predict('plain', 1, 2)"])
def test_threads_are_capped_by_a_setting_for_superusers(
    connection: Connection, connect: Connect, raises: Raises, first: str
) -> None:
    """Also if the other library, whose prefix begins alike, is loaded first."""
    train = "SELECT train_model('plain', 'rows', 'y', '{\"nthread\": 64}', 1, '{a,b}')"
    connection.execute(train)
    connect("capped", new=True)
    connection.execute("ALTER ROLE capped SUPERUSER")
    connection.execute("ALTER ROLE capped SET pgboost_train.max_threads = 1")
    capped = connect("capped")
    capped.execute(f"SELECT {first}")
    capped.execute(train)
    assert capped.execute("SHOW pgboost_train.max_threads").fetchone() == ("1",)
    assert threads_of_a_training(connection, capped) == 1
    capped.execute("SET pgboost_train.max_threads = 0")
    assert threads_of_a_training(connection, capped) == max(1, len(os.sched_getaffinity(0)) // 2)
    capped.execute("SET pgboost_train.max_threads = 1000")
    assert threads_of_a_training(connection, capped) == len(os.sched_getaffinity(0))
    raises("42602", "SET pgboost_train.max_thread = 1", on=capped)
    raises("22023", "SET pgboost_train.max_threads = -1", on=capped)
    connection.execute("ALTER ROLE capped NOSUPERUSER")
    raises("42501", "SET pgboost_train.max_threads = 64", on=capped)


@pytest.mark.parametrize(("target", "params", "outputs"), [
    ("label", {}, 3),
    ("y", {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.7, 0.9]}, 4),
    ("y", {"objective": "reg:expectileerror", "expectile_alpha": [0.1, 0.9]}, 2),
    ("y", {}, 1),
])  # fmt: skip
def test_predictions_are_capped_by_a_setting_for_superusers(
    connection: Connection, raises: Raises,
    target: str, params: dict[str, Any], outputs: int,
) -> None:  # fmt: skip
    train = "SELECT train_model('capped', 'rows', %s, %s, 1, '{a,b}', allow_change => true)"
    arguments = (target, json.dumps(params))
    connection.execute(f"SET pgboost_train.max_prediction_memory = {1200 * outputs // 1024}")
    said = raises("54000", train, arguments)
    assert f"100 rows times {outputs} outputs" in said.message_primary
    assert "pgboost_train.max_prediction_memory" in said.message_detail
    connection.execute(f"SET pgboost_train.max_prediction_memory = {1200 * outputs // 1024 + 1}")
    connection.execute(train, arguments)
    connection.execute("RESET pgboost_train.max_prediction_memory")
    connection.execute("DROP ROLE IF EXISTS modest; CREATE ROLE modest; SET ROLE modest")
    raises("42501", "SET pgboost_train.max_prediction_memory = 0")
    connection.execute("RESET ROLE; DROP ROLE modest")


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
    ("unknown feature", "", "'new', features => '{b}'", "42703", None),
    ("unknown weight", "", "'new', weight => 'w'", "42703", None),
    ("no such rows for evaluation", "", "'new', eval_source => 'nothing'", "42P01", None),
    ("no target for evaluation", "", "'new', eval_source => 'SELECT 1 AS a'", "42703", None),
    ("other types for evaluation", "", "'new', eval_source => $$SELECT 'x'::text AS a, 1 AS y$$",
     "42804", None),
    ("rows of another for evaluation", "", "'new', eval_source => 'their_rows'", "42501", None),
]  # fmt: skip


@pytest.fixture
def role(connection: Connection, connect: Connect) -> Iterator[Connection]:
    """A role that may train, and another role's model and table."""
    role = connect(ROLE, new=True)
    connection.execute(f"GRANT EXECUTE ON FUNCTION train_model, load_model TO {ROLE}")
    connection.execute("SELECT * FROM train_model('theirs', %s, 'y', rounds => 1)", (FEW,))
    connection.execute(f"CREATE TABLE their_rows AS {FEW}")
    yield role
    connection.execute("GRANT EXECUTE ON FUNCTION set_baseline(text, jsonb) TO PUBLIC")
    connection.execute("DROP TABLE their_rows; SELECT drop_model('theirs')")


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
        f"SELECT * FROM train_model('new', '{FEW}', 'y', continue_from => 'theirs')", on=role,
    )  # fmt: skip
    assert len(said.context or "") < 100
