"""feature_drift has evidently's figures for the same columns; a baseline has a training's distributions.

evidently itself is not installed here: `stability_index` follows its formula (psi.py and `get_binned_data` of
src/evidently/calculations/stattests), with numpy's bins, and the statistic is scipy's.
"""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from psycopg import Connection, errors
from psycopg.types.json import Jsonb
from scipy import stats

from tests.connections import make_table
from tests.extension.e2e.reference import model_bytes
from tools.cluster import Cluster

ROWS = 4_000
NAMES = ["exact", "many", "few", "region"]
# Of more than a thousand distinct numbers, a baseline has as many quantiles.
QUANTILES = 2e-3
REGIONS = np.array(["east", "north", "south", "west"])


def drawn(seed: int, shift: float, rows: int = ROWS) -> dict[str, np.ndarray]:
    """Columns: numbers of fewer than a thousand distinct values, of more, of fewer than 20, texts."""
    draw = np.random.default_rng(seed)
    normal = draw.normal(shift, 1 + shift, rows)
    return {
        "exact": np.round(normal * 8) / 8,
        "many": draw.exponential(3 + shift, rows).astype(np.float32).astype(np.float64),
        "few": np.floor(draw.random(rows) ** (1 + shift) * (6 + 3 * (shift > 0))),
        "region": REGIONS[(draw.random(rows) ** (1 + shift) * (3 + (shift > 0))).astype(int)],
    }


def replaced(shares: np.ndarray) -> np.ndarray:
    least = shares[shares > 0].min()
    return np.where(shares == 0, least / 1e6 if least <= 1e-4 else 1e-4, shares)


def stability_index(reference: np.ndarray, current: np.ndarray) -> float:
    """The index as evidently computes it."""
    if reference.dtype.kind == "f" and len(np.unique(reference)) > 20:
        borders = np.histogram_bin_edges(np.concatenate([reference, current]), bins="sturges")
        counts = [np.histogram(side, borders)[0] for side in (reference, current)]
    else:
        keys = np.unique(np.concatenate([reference, current]))
        counts = [np.array([(side == key).sum() for key in keys]) for side in (reference, current)]
    r, c = (
        replaced(count / len(side))
        for count, side in zip(counts, (reference, current), strict=True)
    )
    return float(((r - c) * np.log(r / c)).sum())


@pytest.fixture(scope="module", autouse=True)
def tables(cluster: Cluster, dbname: str) -> None:
    """Tables `before` and `now`; a model trained on the first, which has a baseline, and a loaded one."""
    with cluster.connect(dbname) as connection:
        connection.execute("CREATE EXTENSION pgboost_train")
        for table, columns in (("before", drawn(1, 0)), ("now", drawn(2, 0.3))):
            declared = "exact float8, many float8, few float8, region text, y float8"
            rows = zip(*columns.values(), columns["exact"], strict=True)
            make_table(connection, table, declared, rows)
        connection.execute("SELECT * FROM train_model('trained', 'before', 'y', rounds => 2)")
        data = xgb.DMatrix(np.ones((4, 2)), label=np.arange(4), feature_names=["exact", "many"])
        booster = xgb.train({"nthread": 1}, data, 1)
        connection.execute("SELECT load_model('loaded', %s)", (model_bytes(booster),))


def drift(connection: Connection, source: str, model: str = "trained") -> dict[str, tuple]:
    query = "SELECT feature, psi, ks, p_value, baseline_missing, missing FROM feature_drift(%s, %s)"
    return {name: tuple(row) for name, *row in connection.execute(query, (model, source))}


def test_distances_are_those_of_evidently(connection: Connection) -> None:
    before, now = drawn(1, 0), drawn(2, 0.3)
    found = drift(connection, "now")
    assert list(found) == NAMES
    for name, (psi, ks, p_value, *_) in found.items():
        near = QUANTILES if name == "many" else 1e-9
        assert psi == pytest.approx(stability_index(before[name], now[name]), abs=near), name
        if name == "region":
            assert (ks, p_value) == (None, None)
            continue
        test = stats.ks_2samp(before[name], now[name], mode="asymp")
        assert ks == pytest.approx(test.statistic, abs=near), name
        assert p_value == pytest.approx(test.pvalue, abs=0.01), name


def test_training_data_has_not_drifted(connection: Connection) -> None:
    for psi, ks, p_value, *_ in drift(connection, "before").values():
        assert psi == pytest.approx(0, abs=QUANTILES)
        if ks is not None:
            assert ks < 1e-3
            assert p_value > 0.99


def test_a_baseline_describes_the_rows(connection: Connection) -> None:
    before = drawn(1, 0)
    rows = connection.execute("SELECT * FROM feature_baseline('trained')").fetchall()
    assert [row[:3] for row in rows] == [(name, ROWS, 0) for name in NAMES]
    for name, _, _, quantiles, *_ in rows[:3]:
        expected = np.quantile(before[name], np.arange(11) / 10, method="inverted_cdf")
        near = {"abs": 0.05} if name == "many" else {}
        assert quantiles == pytest.approx(expected, **near), name
    *_, categories, shares = rows[3]
    names, counts = np.unique(before["region"], return_counts=True)
    assert categories == names.tolist()
    assert shares == pytest.approx(counts / ROWS)


def test_a_loaded_model_has_a_baseline_once_it_is_set(connection: Connection) -> None:
    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="no baseline"):
        drift(connection, "now", "loaded")
    connection.execute("SELECT set_baseline('loaded', 'SELECT exact, many FROM before')")
    trained, loaded = drift(connection, "now"), drift(connection, "now", "loaded")
    assert loaded == {name: trained[name] for name in ("exact", "many")}


def test_no_setting_changes_a_baseline(connection: Connection) -> None:
    connection.execute("SET extra_float_digits = -15")
    connection.execute("CREATE TEMP TABLE found AS SELECT * FROM feature_drift('trained', 'now')")
    connection.execute("RESET extra_float_digits")
    differing = """SELECT count(*) FROM found FULL JOIN feature_drift('trained', 'now') AS f USING (feature)
                   WHERE (found.psi, found.ks) IS DISTINCT FROM (f.psi, f.ks)"""
    assert connection.execute(differing).fetchone() == (0,)


def test_severity_is_that_of_the_stability_index(connection: Connection) -> None:
    query = "SELECT psi, severity, baseline_rows, rows FROM feature_drift('trained', %s)"
    rows = connection.execute(query, ("now",)).fetchall()
    rows += connection.execute(query, ("SELECT * FROM before LIMIT 9",)).fetchall()
    assert {severity for _, severity, *_ in rows} == {"none", "minor", "major"}
    for psi, severity, before, now in rows:
        assert severity == ("none" if psi < 0.1 else "minor" if psi < 0.25 else "major")
        assert before == ROWS and now in (ROWS, 9)


def test_prices_have_not_drifted_from_themselves(connection: Connection) -> None:
    """A baseline has each number to the last bit, which 17 digits of a double tell."""
    for seed in range(20):
        prices = np.random.default_rng(seed).uniform(0, 1000, 15).round(2)
        source = f"SELECT p AS exact, -p AS many FROM unnest(ARRAY{prices.tolist()}) AS p"
        connection.execute("SELECT set_baseline('loaded', %s)", (source,))
        for psi, ks, *_ in drift(connection, source, "loaded").values():
            assert psi == pytest.approx(0, abs=1e-12)
            assert ks == 0
        quantiles = "SELECT quantiles[1] FROM feature_baseline('loaded') WHERE feature = 'exact'"
        (least,) = connection.execute(quantiles).fetchone() or ()
        assert least == np.float32(prices.min())


def test_missing_values_are_counted_and_left_out(connection: Connection) -> None:
    source = """SELECT CASE WHEN n % 4 > 0 THEN exact END AS exact, many, few,
                       CASE WHEN n % 2 > 0 THEN region END AS region
                  FROM (SELECT *, row_number() OVER () AS n FROM before) AS b"""
    found = drift(connection, source)
    assert [row[3:] for row in found.values()] == [(0, 0.25), (0, 0), (0, 0), (0, 0.5)]
    assert found["exact"][0] < 0.05


def test_null_columns_have_no_distance(connection: Connection) -> None:
    source = "SELECT NULL::float8 AS exact, 1 AS many, 1 AS few, NULL::text AS region"
    found = drift(connection, source)
    assert found["exact"] == (None, None, None, 0, 1)
    assert found["region"] == (None, None, None, 0, 1)
    assert found["many"][0] > 1


def test_a_baseline_is_the_same_from_a_temporary_file(connection: Connection) -> None:
    connection.execute("SET work_mem = '64kB'")
    small = drift(connection, "now")
    connection.execute("RESET work_mem")
    assert small == drift(connection, "now")


def test_a_baseline_goes_with_its_version(connection: Connection) -> None:
    count = (
        "SELECT count(*) FROM pgboost_catalog.baseline JOIN pgboost_catalog.model AS m ON m.id = model"
        " WHERE name = 'trained'"
    )
    connection.execute("SELECT * FROM train_model('trained', 'before', 'y', rounds => 1)")
    assert connection.execute(count).fetchone() == (8,)
    connection.execute("SELECT drop_model('trained@1')")
    assert connection.execute(count).fetchone() == (4,)


@pytest.mark.parametrize("numbers", [
    [0.1, 0.2, 1.29, 2.99], [1.7e9 + second for second in range(200)], [-0.0, 1.0], [1e-50, 1e-49, 1.0],
], ids=["prices", "seconds", "zero", "tiny"])  # fmt: skip
def test_a_baseline_of_doubles_is_that_of_the_rows(
    connection: Connection, numbers: list[float]
) -> None:
    """Rows have `real` numbers, of which several doubles may be one."""
    shares = (np.arange(len(numbers) + 1) / len(numbers)).tolist()
    profiles = [
        {
            "feature": feature, "rows": len(numbers), "missing": 0, "numbers": numbers,
            "below": shares[:-1], "upto": shares[1:],
        }
        for feature in ("exact", "many")
    ]  # fmt: skip
    connection.execute("SELECT set_baseline('loaded', %s)", (Jsonb(profiles),))
    source = f"SELECT x AS exact, x AS many FROM unnest(ARRAY{numbers}::float8[]) AS x"
    for psi, ks, *_ in drift(connection, source, "loaded").values():
        assert psi == pytest.approx(0, abs=1e-12)
        assert ks == 0


@pytest.mark.parametrize("kind", ["int", "numeric(12, 2)", "numeric", "real", "float8"])
def test_categories_of_numbers_are_the_same_in_all_types(connection: Connection, kind: str) -> None:
    numbers = np.resize([1, 2, 5, 10**8], 20)
    frame = pd.DataFrame({"k": pd.Categorical(numbers)})
    data = xgb.DMatrix(frame, numbers % 7, enable_categorical=True)
    booster = xgb.train({"nthread": 1}, data, 1)
    connection.execute("SELECT load_model('numbers', %s)", (model_bytes(booster),))
    source = "SELECT k::{} FROM unnest(ARRAY[1.0, 1.00, 2, 5, 1e8]) AS k"
    connection.execute("SELECT set_baseline('numbers', %s)", (source.format("int"),))
    connection.execute("SET extra_float_digits = -15")
    assert drift(connection, source.format(kind), "numbers")["k"][0] == pytest.approx(0, abs=1e-12)
    query = "SELECT value FROM partial_dependence('numbers', %s, 'k')"
    found = connection.execute(query, (source.format(kind),)).fetchall()
    assert found == [("1",), ("2",), ("5",), ("100000000",)]
    connection.execute("RESET extra_float_digits")


def test_an_invalid_baseline_is_refused(connection: Connection) -> None:
    for baseline in ("{}", "[]", '[{"feature": "exact"}]'):
        with pytest.raises(errors.InvalidParameterValue, match="baseline"):
            connection.execute("SELECT set_baseline('loaded', %s::jsonb)", (baseline,))
