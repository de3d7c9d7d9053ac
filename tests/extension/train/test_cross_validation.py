"""cross_validate_model and tune_model: folds and figures are those of xgboost.cv, a trial is a training."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from psycopg import Connection
from sklearn import datasets

from tests.connections import Connect
from tests.extension.train.conftest import Raises
from tests.extension.train.rows import diabetes, store

ROUNDS = 8
COLUMNS = "round, metric, train_mean, train_std, eval_mean, eval_std, train, eval"


def _validated(
    connection: Connection, source: str, params: dict[str, Any], **more: Any
) -> list[Any]:
    more = {"rounds": ROUNDS} | more
    named = "".join(f", {name} => %({name})s" for name in more)
    arguments = {"source": source, "params": json.dumps({"nthread": 1} | params)}
    query = f"SELECT {COLUMNS} FROM cross_validate_model(%(source)s, 'y', %(params)s{named})"
    return connection.execute(query, arguments | more).fetchall()


def _holds(rows: list[Any], found: dict[str, list[float]]) -> None:
    """Each round's means and deviations are Python's, and no round is left out."""
    metrics = {row[1] for row in rows}
    rounds = len(rows) // len(metrics)
    assert {len(values) for values in found.values()} == {rounds}
    for number, metric, train_mean, train_std, eval_mean, eval_std, train, evaluated in rows:
        said = {
            f"train-{metric}-mean": train_mean, f"train-{metric}-std": train_std,
            f"test-{metric}-mean": eval_mean, f"test-{metric}-std": eval_std,
        }  # fmt: skip
        for name, value in said.items():
            assert value == pytest.approx(found[name][number - 1], rel=1e-12, abs=1e-15), name
        assert (train_mean, eval_mean) == (
            pytest.approx(np.mean(train), rel=1e-12), pytest.approx(np.mean(evaluated), rel=1e-12)
        )  # fmt: skip
        assert (train_std, eval_std) == (
            pytest.approx(np.std(train), rel=1e-9), pytest.approx(np.std(evaluated), rel=1e-9)
        )  # fmt: skip


def _diabetes(connection: Connection) -> tuple[str, dict[str, Any]]:
    features, label = diabetes()
    fold = np.random.default_rng(1).integers(0, 4, len(label))
    weight = np.random.default_rng(2).random(len(label)).astype("f4")
    others = {"y": ("real", label), "fold": ("integer", fold * 10), "w": ("real", weight)}
    source = store(connection, features, **others).source
    return source, {"features": features, "label": label, "fold": fold, "weight": weight}


@pytest.mark.parametrize("params", [
    {},
    {"max_depth": 3, "eta": 0.1, "eval_metric": ["mae", "rmse"]},
    {"subsample": 0.7, "colsample_bytree": 0.6},
    {"num_parallel_tree": 2, "subsample": 0.5, "max_bin": 16},
    {"rate_drop": 0.4, "seed": 5},
], ids=str)  # fmt: skip
def test_figures_are_those_of_python(
    connection: Connection, python_cv: Callable[..., Any], params: Any
) -> None:
    source, arrays = _diabetes(connection)
    rows = _validated(connection, source, params, fold_by="fold", weight="w")
    _holds(rows, python_cv(arrays, params=params, rounds=ROUNDS))


def test_folds_that_differ_in_a_last_digit_are_apart(connection: Connection) -> None:
    """Whatever digits the session shows."""
    source, _ = _diabetes(connection)
    columns = connection.execute(f"SELECT * FROM ({source}) AS s LIMIT 0").description
    features = [column.name for column in columns if column.name not in ("y", "fold", "w")]
    expected = _validated(connection, source, {}, fold_by="fold", features=features)
    connection.execute("SET extra_float_digits = 0")
    fine = f"SELECT *, 1 + fold / 1e16::float8 AS fine FROM ({source}) AS s"
    found = _validated(connection, fine, {}, fold_by="fine", features=features)
    assert np.allclose([row[6:] for row in found], [row[6:] for row in expected], rtol=1e-12)


def test_early_stopping_is_that_of_python(
    connection: Connection, python_cv: Callable[..., Any]
) -> None:
    source, arrays = _diabetes(connection)
    job = {"rounds": 300, "early_stopping_rounds": 5}
    rows = _validated(connection, source, {"eta": 0.2}, fold_by="fold", weight="w", **job)
    assert 3 < len(rows) < 100
    _holds(rows, python_cv(arrays, params={"eta": 0.2}, **job))
    assert min(row[4] for row in rows) == rows[-1][4]


def test_classes(connection: Connection, python_cv: Callable[..., Any]) -> None:
    data = datasets.load_wine()
    features, label = data.data.astype("f4"), data.target
    fold = np.random.default_rng(3).integers(0, 10, len(label))
    texts, folds = [f"class {code}" for code in label], [f"fold {number}" for number in fold]
    source = store(connection, features, y=("text", texts), fold=("text", folds)).source
    params = {"eval_metric": ["merror", "mlogloss"]}
    rows = _validated(connection, source, params, fold_by="fold")
    params |= {"objective": "multi:softprob", "num_class": 3}
    arrays = {"features": features, "label": label.astype("f4"), "fold": fold}
    _holds(rows, python_cv(arrays, params=params, rounds=ROUNDS))
    assert {len(row[6]) for row in rows} == {10}


def test_a_metric_of_two_names_has_one_value_for_each_fold(connection: Connection) -> None:
    source = "SELECT i AS x, i % 7 = 0 AS y FROM generate_series(1, 90) AS i"
    rows = _validated(connection, source, {"eval_metric": ["error", "error@0.5"]}, folds=3)
    assert [(row[0], row[1], len(row[6])) for row in rows] == [
        (number + 1, "error", 3) for number in range(ROUNDS)
    ]


def test_groups_stay_whole(
    connection: Connection, python_cv: Callable[..., Any], raises: Raises
) -> None:
    random = np.random.default_rng(6)
    group = np.repeat(np.arange(60), random.integers(5, 20, 60))
    features = random.normal(size=(len(group), 4)).astype("f4")
    label = np.clip(np.round(features[:, 0] + 1), 0, 3).astype("f4")
    others = {"y": ("real", label), "q": ("integer", group), "fold": ("integer", group % 3)}
    source = store(connection, features, **others).source
    params = {"objective": "rank:ndcg", "eval_metric": ["ndcg@3", "ndcg@5"]}
    rows = _validated(connection, source, params, fold_by="fold", qid="q")
    arrays = {"features": features, "label": label, "group": group, "fold": group % 3}
    _holds(rows, python_cv(arrays, params=params, rounds=ROUNDS))
    call = "SELECT * FROM cross_validate_model(%s, 'y', qid => 'q', rounds => 2{})"
    torn = source.replace("fold", "(id % 3) AS fold")
    said = raises("22023", call.format(", fold_by => 'fold'"), (torn,))
    assert said.message_primary == "rows of a group are in different folds"
    assert connection.execute(call.format(""), (source.replace(", fold", ""),)).fetchall()


@pytest.mark.parametrize("groups", [False, True])
def test_folds_by_chance_are_even_and_follow_the_seed(connection: Connection, groups: bool) -> None:
    source = (
        "SELECT i / 5 AS q, sin(i) AS x, i * 7919 % 11 % 4 AS y FROM generate_series(0, 1999) AS i"
    )
    call = (
        f"SELECT {COLUMNS} FROM cross_validate_model(%s, 'y', %s, rounds => 3, seed => %s, folds => 4"
        f"{', qid => $$q$$' if groups else ''})"
    )
    params = json.dumps({"nthread": 1, "objective": "rank:ndcg"} if groups else {"nthread": 1})
    first, again, other = (
        connection.execute(call, (source, params, seed)).fetchall() for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    assert {len(row[7]) for row in first} == {4}
    assert len(first) == 3


def test_stratified_folds_have_all_classes(connection: Connection, raises: Raises) -> None:
    """Five rare rows in five folds: with one in each, none has the metric of a fold without."""
    source = "SELECT i AS x, i % 100 = 0 AS y FROM generate_series(0, 499) AS i"
    call = (
        "SELECT eval FROM cross_validate_model(%s, 'y', '{\"eval_metric\": \"auc\"}', rounds => 1, "
        "folds => 5, stratified => %s, seed => %s)"
    )
    for seed in range(5):
        (areas,) = connection.execute(call, (source, True, seed)).fetchone()
        # XGBoost gives NaN where there is one class only.
        assert not any(np.isnan(areas))
    without = [connection.execute(call, (source, False, seed)).fetchone()[0] for seed in range(5)]
    assert np.isnan(without).any()
    said = raises("22023", call, (source.replace("i % 100 = 0", "i"), True, 1))
    assert said.message_primary == "folds are stratified by classes, and the target has none"


@pytest.mark.parametrize(("arguments", "sqlstate", "message"), [
    ("folds => 1", "22023", "folds must be between 2 and 100, not 1"),
    ("folds => 101", "22023", "folds must be between 2 and 100, not 101"),
    ("folds => 3, fold_by => 'f'", "22023", "folds and fold_by exclude each other"),
    ("fold_by => 'f', stratified => true", "22023", "stratified is for random folds"),
    ("fold_by => 'one'", "22023", "all rows are in one fold"),
    ("fold_by => 'many'", "54000", 'column "many" has more than 100 distinct values'),
    ("fold_by => 'holes'", "22000", 'a value of column "holes" is null, so it cannot be a fold'),
    ("fold_by => 'nowhere'", "42703", 'column "nowhere" is not in the source'),
    ("fold_by => 'y'", "42701", "two purposes"),
    ("folds => 100", "22023", "a fold has no rows to evaluate on"),
    ("params => '[]'", "22023", "params must be a jsonb object, not an array"),
    ("params => '{\"etaa\": 1}'", "22023", 'unknown training parameter "etaa"'),
])  # fmt: skip
def test_errors(raises: Raises, arguments: str, sqlstate: str, message: str) -> None:
    rows = 99 if "100" in arguments else 300
    source = (
        "SELECT i AS x, i * 2 AS y, i % 3 AS f, 1 AS one, i AS many, nullif(i % 3, 0) AS holes "
        f"FROM generate_series(1, {rows}) AS i"
    )
    if "fold_by => 'y'" in arguments:
        arguments += ", features => '{x,y}'"
    call = f"SELECT * FROM cross_validate_model(%s, 'y', {arguments}, rounds => 2)"
    assert message in raises(sqlstate, call, (source,)).message_primary


def test_predictions_count_for_each_fold(connection: Connection, raises: Raises) -> None:
    source = "SELECT i AS x, i AS y FROM generate_series(1, 100) AS i"
    call = "SELECT * FROM cross_validate_model(%s, 'y', rounds => 1, folds => 3)"
    connection.execute("SET pgboost_train.max_prediction_memory = 3")
    said = raises("54000", call, (source,))
    assert said.message_primary == "too many predictions to train: 300 rows times 1 outputs"
    connection.execute("SET pgboost_train.max_prediction_memory = 4")
    assert connection.execute(call, (source,)).fetchall()
    connection.execute("RESET pgboost_train.max_prediction_memory")


def test_it_writes_nothing_and_runs_with_the_rights_of_the_caller(
    connection: Connection, connect: Connect, raises: Raises
) -> None:
    half = connect("half", new=True)
    for statement in (
        "DROP TABLE IF EXISTS rows",
        "CREATE TABLE rows AS SELECT i AS a, i * 2 AS y FROM generate_series(1, 400) AS i",
        "ALTER TABLE rows ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY small ON rows FOR SELECT TO half USING (a <= 50)",
    ):  # fmt: skip
        connection.execute(statement)
    half.execute("SET default_transaction_read_only = on")
    call = "SELECT round FROM cross_validate_model('rows', 'y', rounds => 1, folds => 60)"
    assert "cross_validate_model" in raises("42501", call, on=half).message_primary
    connection.execute("GRANT EXECUTE ON FUNCTION cross_validate_model TO half")
    assert "table rows" in raises("42501", call, on=half).message_primary
    connection.execute("GRANT SELECT ON rows TO half")
    assert connection.execute(call).fetchall() == [(1,)]
    said = raises("22023", call, on=half)
    assert said.message_primary == "a fold has no rows to evaluate on"
    assert half.execute(call.replace("60", "50")).fetchall() == [(1,)]
    connection.execute("DROP TABLE rows")


SOURCE = (
    "SELECT i AS a, i % 17 AS b, i % 5 AS c, sin(i / 20.0) * 10 + i % 17 + (i * 7919 % 13) AS y "
    "FROM generate_series(1, 600) AS i"
)
TRIAL = "trial, best, metric, best_round, train, eval, eval_std, params"


def _tuned(
    connection: Connection, search: Any, params: Any = None, **more: Any
) -> list[dict[str, Any]]:
    named = "".join(f", {name} => %({name})s" for name in more)
    rows = connection.execute(
        f"SELECT {TRIAL} FROM tune_model(%(source)s, 'y', %(search)s, %(params)s{named})",
        {"source": SOURCE, "search": json.dumps(search),
         "params": json.dumps({"nthread": 1} | (params or {})), **more},
    ).fetchall()  # fmt: skip
    return [dict(zip(TRIAL.split(", "), row, strict=True)) for row in rows]


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
    ({"tweedie_variance_power": [1.2, 1.8]}, "", "22023", '_power" of search changes the metric'),
    ({"quantile_alpha": [0.5, [0.1, 0.9]]},
     ', params => \'{"objective": "reg:quantileerror", "eval_metric": "mae"}\'', "22023",
     "metric mae needs an objective with one output"),
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
def test_errors_of_a_search(
    raises: Raises, search: Any, arguments: str, sqlstate: str, message: str
) -> None:
    call = f"SELECT * FROM tune_model(%s, 'y', %s{arguments}, rounds => 2)"
    assert message in raises(sqlstate, call, (SOURCE, json.dumps(search))).message_primary


def test_search_must_be_given(raises: Raises) -> None:
    raises("22004", "SELECT * FROM tune_model(%s, 'y', NULL)", (SOURCE,))
