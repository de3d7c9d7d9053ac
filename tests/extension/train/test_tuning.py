"""tune_model: each trial is a separate training, and the best one's parameters train the same model."""

import json
from typing import Any

import pytest
from psycopg import Connection

from tests.extension.train.conftest import Raises

SOURCE = (
    "SELECT i AS a, i % 17 AS b, i % 5 AS c, sin(i / 20.0) * 10 + i % 17 + (i * 7919 % 13) AS y "
    "FROM generate_series(1, 600) AS i"
)
COLUMNS = "trial, best, metric, best_round, train, eval, eval_std, params"


def _tuned(
    connection: Connection, search: Any, params: Any = None, **more: Any
) -> list[dict[str, Any]]:
    named = "".join(f", {name} => %({name})s" for name in more)
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM tune_model(%(source)s, 'y', %(search)s, %(params)s{named})",
        {"source": SOURCE, "search": json.dumps(search),
         "params": json.dumps({"nthread": 1} | (params or {})), **more},
    ).fetchall()  # fmt: skip
    return [dict(zip(COLUMNS.split(", "), row, strict=True)) for row in rows]


def _only_best(trials: list[dict[str, Any]], least: bool = True) -> dict[str, Any]:
    (best,) = [trial for trial in trials if trial["best"]]
    assert best["eval"] == (min if least else max)(trial["eval"] for trial in trials)
    return best


@pytest.mark.parametrize("search", [
    {"max_depth": [2, 5], "learning_rate": [0.1, 0.4]},
    {"max_bin": [8, 64], "subsample": [0.5, 1]},
    {"monotone_constraints": [{"a": 1}, {"b": -1}], "n_estimators": [3, 9]},
    {"rate_drop": [0, 0.5], "seed": [1, 2]},
], ids=str)  # fmt: skip
def test_a_trial_equals_train_model(connection: Connection, search: Any) -> None:
    evaluated = f"SELECT * FROM ({SOURCE}) AS s WHERE a % 4 = 0"
    rounds = {} if "n_estimators" in search else {"rounds": 9}
    trials = _tuned(connection, search, eval_source=evaluated, **rounds)
    assert [trial["trial"] for trial in trials] == [1, 2, 3, 4]
    _only_best(trials)
    assert len({json.dumps(trial["params"]) for trial in trials}) == 4
    for trial in trials:
        scores = connection.execute(
            "SELECT set, metric, best_round, value FROM train_model('m', %s, 'y', %s, eval_source => %s, "
            "allow_change => true)",
            (SOURCE, json.dumps(trial["params"]), evaluated),
        ).fetchall()
        rounds_used = trial["best_round"]
        assert scores == [
            ("train", trial["metric"], rounds_used, trial["train"]),
            ("eval", trial["metric"], rounds_used, trial["eval"]),
        ]
        assert trial["eval_std"] is None


def test_folds_are_those_of_a_cross_validation(connection: Connection) -> None:
    search = {"max_depth": [2, 4, 6]}
    folds = {"folds": 4, "seed": 3, "early_stopping_rounds": 3, "rounds": 60}
    trials = _tuned(connection, search, {"eta": 0.3, "subsample": 0.8}, **folds)
    _only_best(trials)
    for trial in trials:
        params = {name: value for name, value in trial["params"].items() if name != "rounds"}
        found = connection.execute(
            "SELECT round, train_mean, eval_mean, eval_std FROM cross_validate_model(%s, 'y', %s, "
            "rounds => 60, folds => 4, seed => 3, early_stopping_rounds => 3) ORDER BY 1 DESC LIMIT 1",
            (SOURCE, json.dumps(params)),
        ).fetchone()
        assert found == tuple(trial[c] for c in ("best_round", "train", "eval", "eval_std"))


def test_folds_are_the_default(connection: Connection) -> None:
    (trial,) = _tuned(connection, {"max_depth": [2]}, rounds=2)
    assert trial["best"]
    assert trial["eval_std"] > 0


def test_the_best_is_trained_by_one_statement(connection: Connection) -> None:
    connection.execute(f"CREATE TABLE points AS {SOURCE}")
    connection.execute(
        "SELECT train_model('m', 'points', 'y', (SELECT params FROM tune_model('points', 'y', "
        "'{\"max_depth\": [2, 6]}', early_stopping_rounds => 3, rounds => 50) WHERE best), "
        "allow_change => true)"
    )
    (info,) = connection.execute("SELECT model_info('m')").fetchone()
    assert info["parameters"]["max_depth"] in (2, 6)
    assert info["rounds"] == info["parameters"]["rounds"] <= 50
    connection.execute("DROP TABLE points")


def test_random_combinations_follow_the_seed(connection: Connection) -> None:
    search = {
        "max_depth": {"min": 2, "max": 6}, "eta": {"min": 0.01, "max": 0.5, "scale": "log"},
        "subsample": [0.5, 1],
    }  # fmt: skip
    arguments = {"eval_fraction": 0.3, "rounds": 3, "trials": 6}
    first, again, other = (_tuned(connection, search, seed=seed, **arguments) for seed in (1, 1, 2))
    assert first == again
    assert [t["params"] for t in first] != [t["params"] for t in other]
    assert len(first) == 6
    for trial in first:
        assert 2 <= trial["params"]["max_depth"] <= 6
        assert 0.01 <= trial["params"]["eta"] <= 0.5
        assert trial["params"]["subsample"] in (0.5, 1)


def test_more_is_better_where_the_metric_says_so(connection: Connection) -> None:
    source = (
        "SELECT i AS a, i % 7 AS b, i % 3 = 0 OR i > 300 AS y FROM generate_series(1, 500) AS i"
    )
    rows = connection.execute(
        "SELECT metric, best, eval FROM tune_model(%s, 'y', '{\"max_depth\": [1, 3, 8]}', "
        "'{\"eval_metric\": [\"logloss\", \"auc\"]}', rounds => 4, stratified => true)", (source,)
    ).fetchall()  # fmt: skip
    assert {row[0] for row in rows} == {"auc"}
    ((_, _, best),) = [row for row in rows if row[1]]
    assert best == max(row[2] for row in rows)


@pytest.mark.parametrize(("search", "arguments", "sqlstate", "message"), [
    ([1], "", "22023", "search must be a jsonb object, not an array"),
    ({"eta": 0.1}, "", "22023", '"eta" of search must be an array of values or an object'),
    ({"eta": []}, "", "22023", 'training parameter "eta" of search has no values'),
    ({"eta": {"min": 1}}, "", "22023", 'training parameter "eta" of search has no range'),
    ({"eta": {"min": 1, "max": 2}}, "", "22023", '"eta" of search has a range, which needs'),
    ({"objective": ["reg:gamma"]}, "", "22023", '"objective" of search must be the same'),
    ({"eta": [0.1, "fast"]}, "", "22023", 'training parameter "eta" must be a number'),
    ({"etaa": [0.1]}, "", "22023", 'unknown training parameter "etaa"'),
    ({"eta": [0.1]}, ", params => '{\"eta\": 0.2}'", "22023", "a parameter is in both"),
    ({"eta": [0.1]}, ", params => '{\"learning_rate\": 0.2}'", "22023", "different values"),
    ({"eta": [0.1]}, ", trials => 0", "22023", "trials must be between 1 and 10000, not 0"),
    ({"eta": [0.1] * 101, "gamma": [1] * 100}, "", "54000",
     "search has 10100 combinations, and 10000 can be tried"),
    ({"eta": [0.1]}, ", eval_fraction => 0.5, folds => 3", "22023", "exclude each other"),
    ({"eta": [0.1]}, ", eval_fraction => 0.5, stratified => true", "22023", "stratified is for"),
    ({"monotone_constraints": [{"a": 1}, {"z": 1}]}, "", "42703",
     'column "z" is not in the features'),
])  # fmt: skip
def test_errors(raises: Raises, search: Any, arguments: str, sqlstate: str, message: str) -> None:
    call = f"SELECT * FROM tune_model(%s, 'y', %s{arguments}, rounds => 2)"
    assert message in raises(sqlstate, call, (SOURCE, json.dumps(search))).message_primary


def test_search_must_be_given(raises: Raises) -> None:
    raises("22004", "SELECT * FROM tune_model(%s, 'y', NULL)", (SOURCE,))
