"""The aggregates of metrics have scikit-learn's figures, to 1e-9, or NULL where it has none.

They are given made-up rows rather than a model's: with ties, weights and NULLs, as a whole, by group, by
parallel workers, and of more rows than work_mem holds.
"""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from psycopg import Connection, errors
from sklearn import metrics

from tests.connections import in_parallel, make_table, plan_of
from tests.extension.e2e.test_evaluation import NUMBERS
from tools.cluster import Cluster

ROWS = 30_000
TOLERANCE = 1e-9

Score = Callable[..., float]
TWO_CLASSES: dict[str, Score] = {
    "logloss": metrics.log_loss,
    "brier": metrics.brier_score_loss,
    "auc": metrics.roc_auc_score,
    "aucpr": metrics.average_precision_score,
}
# A metric's arguments in SQL, and for scikit-learn.
CALLS = {
    **{name: (f"{name}(p, y)", "y", "p", score) for name, score in NUMBERS.items()},
    **{f"{name} of numbers": (f"{name}(s, c)", "c", "s", score) for name, score in TWO_CLASSES.items()},
    **{f"{name} of booleans": (f"{name}(s, c = 1)", "c", "s", score) for name, score in TWO_CLASSES.items()},
    **{f"{name} of doubles": (f"{name}(d, c)", "c", "d", score) for name, score in TWO_CLASSES.items()},
    "auc of margins": ("auc(p, c)", "c", "p", metrics.roc_auc_score),
    "accuracy of numbers": ("accuracy(g, k)", "k", "g", metrics.accuracy_score),
    "accuracy of texts": ("accuracy(g::text, k::varchar)", "k", "g", metrics.accuracy_score),
    "mlogloss": ("mlogloss(a, k)", "k", "a", metrics.log_loss),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def rows(cluster: Cluster, dbname: str) -> None:
    draw = np.random.default_rng(3)
    p = draw.normal(size=ROWS) * 10
    y = p + draw.normal(size=ROWS) * 3 + 1e6
    c = (draw.random(ROWS) < 1 / (1 + np.exp(-p / 10))).astype(int)
    s = np.round(1 / (1 + np.exp(-p / 8)), 3).astype(np.float32)
    d = 1 / (1 + np.exp(-p / 8))
    a = np.round(draw.dirichlet([1, 1, 1, 1], ROWS), 5).astype(np.float32)
    k, g = draw.integers(0, 4, ROWS), draw.integers(0, 4, ROWS)
    w, part = np.round(draw.random(ROWS) * 3, 1), draw.integers(0, 5, ROWS)
    with cluster.connect(dbname) as connection:
        declared = "y float8, p float8, c int, s real, d float8, a real[], k int, g int, w float8, part int"
        make_table(connection, "t", declared, zip(y, p, c, s, d, a, k, g, w, part, strict=True))
        connection.execute("ALTER TABLE t SET (parallel_workers = 2); ANALYZE t")


@pytest.fixture(scope="module")
def columns(cluster: Cluster, dbname: str) -> dict[str, np.ndarray]:
    names = ["y", "p", "c", "s", "d", "a", "k", "g", "w", "part"]
    with cluster.connect(dbname) as connection:
        read = connection.execute(f"SELECT {', '.join(names)} FROM t").fetchall()
    single = {"s": np.float32, "a": np.float32}
    return {
        name: np.array(values, single.get(name)).astype(
            np.float64 if name in single else None, copy=False
        )
        for name, values in zip(names, zip(*read, strict=True), strict=True)
    }


def wanted(score: Score, truth: np.ndarray, given: np.ndarray, weight: np.ndarray | None) -> float:
    with warnings.catch_warnings(action="ignore"):  # probabilities of 32 bits
        return score(truth, given, sample_weight=weight)


def weighted(call: str) -> str:
    return call.removesuffix(")") + ", w)"


@pytest.mark.parametrize("work_mem", ["4MB", "64kB"])
@pytest.mark.parametrize("name", CALLS)
def test_metrics_are_those_of_scikit_learn(
    connection: Connection, columns: dict[str, np.ndarray], name: str, work_mem: str
) -> None:
    call, truth, given, score = CALLS[name]
    connection.execute(f"SET work_mem = '{work_mem}'")
    query = f"SELECT {call}, {weighted(call)} FROM t"
    plain, with_weights = connection.execute(query).fetchone()
    truth, given = columns[truth], columns[given]
    assert plain == pytest.approx(wanted(score, truth, given, None), rel=TOLERANCE)
    expected = wanted(score, truth, given, columns["w"])
    assert with_weights == pytest.approx(expected, rel=TOLERANCE)
    connection.execute("SET enable_sort = off; SET enable_hashagg = on")
    by_hash = dict(connection.execute(f"SELECT part, {call} FROM t GROUP BY part").fetchall())
    connection.execute("SET enable_sort = on; SET enable_hashagg = off")
    by_order = dict(connection.execute(f"SELECT part, {call} FROM t GROUP BY part").fetchall())
    assert len(by_hash) == 5
    assert by_hash.keys() == by_order.keys()
    for part, value in by_hash.items():
        rows = columns["part"] == part
        expected = wanted(score, truth[rows], given[rows], None)
        assert value == pytest.approx(expected, rel=TOLERANCE)
        assert by_order[part] == pytest.approx(expected, rel=TOLERANCE)
    connection.execute("RESET ALL")


@pytest.mark.parametrize("seed", range(8))
def test_r2_of_targets_far_from_0(connection: Connection, seed: int) -> None:
    """Such as seconds since 1970; a mean of the first row that is not its target would be a deviation."""
    draw = np.random.default_rng(seed)
    y, w = draw.integers(0, 9, 30) + 1.7e9, draw.random(30)
    query = "SELECT r2(1.7e9::float8, y, w) FROM unnest(%s::float8[], %s::float8[]) AS t(y, w)"
    (found,) = connection.execute(query, (y.tolist(), w.tolist())).fetchone() or ()
    expected = metrics.r2_score(y, np.full(30, 1.7e9), sample_weight=w)
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", CALLS)
def test_rows_with_a_null_do_not_count(connection: Connection, name: str) -> None:
    call = CALLS[name][0]
    some = f"SELECT {call} FILTER (WHERE part < 3), {weighted(call)} FILTER (WHERE part < 3) FROM t"
    arguments = call[call.index("(") + 1 : -1].split(", ")
    for place, argument in enumerate(arguments):
        missing = [
            f"CASE WHEN part < 3 THEN {one} END" if number == place else one
            for number, one in enumerate(arguments)
        ]
        with_nulls = f"{call[: call.index('(')]}({', '.join(missing)})"
        query = f"SELECT {with_nulls}, {weighted(with_nulls)} FROM t"
        found = connection.execute(query).fetchone()
        assert found == pytest.approx(connection.execute(some).fetchone(), rel=1e-12), argument
    without = f"SELECT {call}, {weighted(call)} FROM t WHERE false"
    assert connection.execute(without).fetchone() == (None, None)
    weightless = "SELECT y, p, c, s, d, a, k, g, NULL::float8 AS w FROM t"
    no_weight = f"SELECT {weighted(call)} FROM ({weightless}) AS t"
    assert connection.execute(no_weight).fetchone() == (None,)


@pytest.mark.parametrize(
    "name", [*NUMBERS, "logloss of numbers", "brier of booleans", "accuracy of numbers"]
)
def test_workers_add_up_their_sums(connection: Connection, name: str) -> None:
    call = CALLS[name][0]
    alone = connection.execute(f"SELECT {call} FROM t").fetchone()
    in_parallel(connection)
    plan = plan_of(connection, f"SELECT {call} FROM t")
    assert "Partial Aggregate" in plan
    assert "Workers Planned: 2" in plan
    found = connection.execute(f"SELECT {call} FROM t").fetchone()
    connection.execute("RESET ALL")
    assert found == pytest.approx(alone, rel=1e-11)


def test_metrics_with_the_same_arguments_share_a_state(connection: Connection) -> None:
    """Both are computed from one state, in either order, and once more in a later execution."""
    both = connection.execute("SELECT auc(s, c), aucpr(s, c) FROM t").fetchone()
    turned = connection.execute("SELECT aucpr(s, c), auc(s, c) FROM t").fetchone()
    assert both == turned[::-1]
    again = connection.execute(
        "SELECT n, m.* FROM generate_series(1, 3) AS n,"
        " LATERAL (SELECT auc(s, c) + 0 * n, aucpr(s, c) FROM t WHERE n > 0) AS m"
    ).fetchall()
    assert [row[1:] for row in again] == [both] * 3


@pytest.mark.parametrize(("query", "message"), [
    ("rmse('NaN'::float8, 1)", "prediction is not a number"),
    ("mae(1, 'Infinity'::float8)", "target is infinite"),
    ("rmse(1, 1, -1)", "weight is negative"),
    ("rmse(1, 1, 1e39)", "weight is too large"),
    ("rmse(1, 1, 'NaN'::float8)", "weight is not a number"),
    ("logloss(1.5, 1)", "probability is not between 0 and 1"),
    ("logloss('NaN'::float8, true)", "probability is not between 0 and 1"),
    ("brier(0.5, 2)", "target is neither 0 nor 1"),
    ("auc('NaN'::float8, 1)", "score is not a number"),
    ("auc('-Infinity'::real, 1)", "score is infinite"),
    ("aucpr(0.5, 0.5)", "target is neither 0 nor 1"),
    ("auc(0.5, 1, -2)", "weight is negative"),
    ("mlogloss('{0.5,0.5}', 2)", "target is not the number of a class"),
    ("mlogloss('{0.5,0.5}', -1)", "target is not the number of a class"),
    ("mlogloss('{0.5,NULL}', 0)", "does not have one dimension without nulls"),
    ("mlogloss('{{0.5},{0.5}}', 0)", "does not have one dimension without nulls"),
    ("mlogloss('{}', 0)", "does not have one dimension without nulls"),
    ("mlogloss('{0.5,NaN}', 0)", "probability is not between 0 and 1"),
])  # fmt: skip
def test_values_that_scikit_learn_refuses_are_errors(
    connection: Connection, query: str, message: str
) -> None:
    with pytest.raises(errors.DataException, match=message) as raised:
        connection.execute(f"SELECT {query}")
    assert raised.value.sqlstate == "22000"


def test_classes_without_an_equality_are_refused(connection: Connection) -> None:
    with pytest.raises(errors.UndefinedFunction, match="equality operator"):
        connection.execute("SELECT accuracy('(1,1)'::point, '(1,1)'::point)")


def test_one_class_alone_has_no_area(connection: Connection) -> None:
    query = "SELECT auc(s, c), aucpr(s, c), auc(s, c, 0), rmse(s, c, 0), auc(s, c, w) FROM t WHERE c = 0"
    assert connection.execute(query).fetchone() == (None,) * 5
    query = "SELECT auc(s, c), aucpr(s, c) FROM t WHERE c = 1"
    assert connection.execute(query).fetchone() == (None, 1.0)


def test_areas_are_no_window_functions_and_means_are(connection: Connection) -> None:
    with pytest.raises(errors.FeatureNotSupported, match="window function"):
        connection.execute("SELECT auc(s, c) OVER () FROM t")
    query = """SELECT rmse(p, y) OVER (ORDER BY part), part FROM t ORDER BY part DESC LIMIT 1"""
    last = connection.execute(query).fetchone()[0]
    assert last == pytest.approx(connection.execute("SELECT rmse(p, y) FROM t").fetchone()[0])


def test_an_error_leaves_no_file_and_no_harm(connection: Connection) -> None:
    """The aggregate has written a temporary file when the statement, or a part of it, fails."""
    connection.execute("SET work_mem = '64kB'")
    failing = "SELECT auc(d, c, w), 1 / min(CASE WHEN p > 1e9 THEN 1 ELSE 0 END) FROM t"
    for _ in range(3):
        with pytest.raises(errors.DivisionByZero):
            connection.execute(failing)
    # In a block of PL/pgSQL, whose subtransaction closes its files before its memory is freed.
    caught = f"""DO $$ DECLARE r record; BEGIN
        FOR i IN 1..3 LOOP
            BEGIN EXECUTE $q${failing}$q$ INTO r; EXCEPTION WHEN division_by_zero THEN NULL; END;
            SELECT auc(d, c, w) INTO r FROM t;
        END LOOP; END $$"""
    connection.execute(caught)
    # A failing row while the aggregate takes in rows.
    with pytest.raises(errors.DataException, match="is infinite"):
        connection.execute("SELECT auc(CASE WHEN p > 25 THEN 'Infinity' ELSE p END, c) FROM t")
    with connection.transaction():
        cursor = connection.cursor("some")
        cursor.execute("SELECT part, auc(d, c, w) FROM t GROUP BY part ORDER BY part")
        assert cursor.fetchone()[0] == 0
    files = "SELECT count(*) FROM pg_ls_tmpdir()"
    assert connection.execute(files).fetchone()[0] == 0
    connection.execute("RESET work_mem")
    assert connection.execute("SELECT auc(d, c) FROM t").fetchone()[0] > 0.5


def test_the_functions_of_an_aggregate_are_nobody_elses(connection: Connection) -> None:
    for call in (
        "error_add('{0,0,0,0,0,0,0}', 1, 1)", "rmse('{1,1,1,1,1,1,1}')", "first_mean('{1,1,1}')",
        "mean_combine('{1,1,1}', '{1,1,1}')", "error_combine('{0}', '{0}')", "class_add('{0,0,0}', 1, 1)",
        "probability_add('{0,0,0}', 0.5, true)", "probabilities_add('{0,0,0}', '{1}', 0)",
    ):  # fmt: skip
        with pytest.raises(errors.FeatureNotSupported, match="only be called by its aggregate"):
            connection.execute(f"SELECT pgboost_catalog.{call}")
