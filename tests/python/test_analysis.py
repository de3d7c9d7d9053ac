"""Metrics, comparisons, drift, explanations and effects come as data frames or shap's, which plots take."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import psycopg2
import pytest
import shap
import xgboost
from psycopg import Connection
from sklearn import metrics
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.inspection import partial_dependence
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import catboost
import pgboost
from tests.python import models
from tests.python.models import FRAME, NUMBER
from tools.cluster import Cluster

mpl.use("Agg")
NUMBERS = models.numbers().rename(columns={"Double precision": "double"})
ROWS = FRAME.assign(target=NUMBER, weight=np.arange(len(FRAME)) % 3, part=np.arange(len(FRAME)) % 2)
DRAW = np.random.default_rng(3)
SOLD = pd.DataFrame({
    "size": DRAW.normal(size=200),
    "age": np.where(DRAW.random(200) < 0.1, np.nan, DRAW.integers(0, 5, 200)),
    "port": pd.Categorical(np.array(["left", "right"])[DRAW.integers(0, 2, 200)]),
})  # fmt: skip
PRICE = SOLD["size"] * 2 + (SOLD["port"] == "left") + SOLD["age"].fillna(9)


@pytest.fixture(scope="module")
def model(cluster: Cluster, dbname: str) -> xgboost.XGBRegressor:
    """Stores two versions of a model, of which the second is better and not deployed."""
    sent = [xgboost.XGBRegressor(n_estimators=rounds).fit(FRAME, NUMBER) for rounds in (2, 20)]
    with cluster.connect(dbname) as connection:
        pgboost.push(connection, "m", sent[0])
        pgboost.push(connection, "m", sent[1], deploy=False)
        pgboost.set_baseline(connection, "m@1", FRAME)
    return sent[0]


@pytest.fixture
def sold(connection: Connection) -> xgboost.XGBRegressor:
    """Stores a model of sales, with missing values and a category, as `sold`."""
    sent = xgboost.XGBRegressor(n_estimators=9, enable_categorical=True).fit(SOLD, PRICE)
    pgboost.push(connection, "sold", sent)
    return sent


@pytest.fixture
def cursor(cluster: Cluster, dbname: str) -> Iterator[psycopg2.extensions.cursor]:
    """Opens a connection of psycopg 2."""
    with closing(psycopg2.connect(cluster.conninfo(dbname))) as connection:
        yield connection.cursor()


def test_metrics_are_scikit_learns(connection: Connection, model: xgboost.XGBRegressor) -> None:
    found = pgboost.evaluate(connection, "m", ROWS, "target", weight="weight", slice_by="part")
    assert list(found.columns) == ["slice", "metric", "value", "rows"]
    part = ROWS[ROWS["part"] == 1]
    given = model.predict(part[FRAME.columns])
    expected = metrics.mean_absolute_error(part["target"], given, sample_weight=part["weight"])
    (value,) = found[(found["slice"] == "1") & (found["metric"] == "mae")]["value"]
    assert value == pytest.approx(expected, rel=1e-6)


@pytest.mark.filterwarnings("ignore:identifier .* will be truncated")
def test_sources_have_the_names_that_postgresql_cuts(connection: Connection) -> None:
    """A row of a table does not, but the feature can be no other column."""
    names = {"single": "single " + "é" * 40, "whole": "w" * 64}
    sent = xgboost.XGBRegressor(n_estimators=9).fit(FRAME.rename(columns=names), NUMBER)
    pgboost.push(connection, "long", sent)
    pgboost.push(connection, "short", xgboost.XGBRegressor(n_estimators=9).fit(FRAME, NUMBER))
    long = ROWS.rename(columns={**names, "target": "t" * 70})
    expected = pgboost.evaluate(connection, "short", ROWS, "target")
    pd.testing.assert_frame_equal(pgboost.evaluate(connection, "long", long, "t" * 70), expected)
    pgboost.set_baseline(connection, "long", long)
    drift = pgboost.drift(connection, "long", long)
    assert drift.feature.tolist() == [names.get(name, name) for name in FRAME]
    found = pgboost.partial_dependence(connection, "long", long, names["single"])
    other = pgboost.partial_dependence(connection, "short", ROWS, "single")
    assert found.set_axis(other.columns, axis=1).equals(other)
    found = pgboost.permutation_importance(connection, "long", long, "t" * 70, seed=1)
    assert set(found.feature) == {names.get(name, name) for name in FRAME}
    cut = {name: name.encode()[:63].decode(errors="ignore") for name in names.values()}
    trained = xgboost.XGBRegressor(n_estimators=9).fit(
        FRAME.rename(columns=names).rename(columns=cut), NUMBER
    )
    pgboost.push(connection, "trained", trained)
    compared = pgboost.compare(connection, "long", "trained", long, "t" * 70)
    assert compared.difference.tolist() == pytest.approx([0] * len(compared))
    twins = f'SELECT 1 AS "{"w" * 63}", * FROM (VALUES (1, 2)) AS t(other, y)'
    two = pd.DataFrame({"w" * 63: [1, 2], "w" * 64: [2, 1]})
    pgboost.push(connection, "twins", xgboost.XGBRegressor(n_estimators=1).fit(two, [1, 2]))
    with pytest.raises(pgboost.InvalidDataError, match=f'column "{"w" * 64}" is not in the source'):
        pgboost.evaluate(connection, "twins", twins, "y")


def test_losses_of_estimators_choose_the_metrics(connection: Connection) -> None:
    numbers = NUMBERS.astype(float)
    rows = numbers.assign(target=NUMBER)
    boosted = HistGradientBoostingRegressor(loss="quantile", quantile=0.25, max_iter=5)
    quantile = make_pipeline(MinMaxScaler(), boosted).fit(numbers, NUMBER)
    pgboost.push(connection, "quantile", quantile)
    for level, given in ((0.25, {}), (0.75, {"quantile_alpha": [0.75]})):
        found = pgboost.evaluate(connection, "quantile", rows, "target", **given)
        expected = metrics.mean_pinball_loss(NUMBER, quantile.predict(numbers), alpha=level)
        assert found.set_index("metric").value["quantile"] == pytest.approx(expected, rel=1e-6)
    hazard = xgboost.XGBRegressor(objective="survival:cox", n_estimators=3)
    survival = make_pipeline(MinMaxScaler(), hazard).fit(numbers, NUMBER - NUMBER.min() + 1)
    pgboost.push(connection, "hazard", survival)
    with pytest.raises(pgboost.UnsupportedModelError, match="survival:cox"):
        pgboost.evaluate(connection, "hazard", rows, "target")


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_times_are_labels(connection: Connection, unit: str) -> None:
    """A label is the text that SQL has, not ISO 8601's with a T."""
    codes = (np.median(NUMBER) < NUMBER) * 1
    times = np.array(["2020-01-01", "2021-06-30"], f"M8[{unit}]")
    model = HistGradientBoostingClassifier(max_iter=5).fit(NUMBERS, times[codes])
    pgboost.push(connection, "times", model)
    expected = metrics.log_loss(codes, model.predict_proba(NUMBERS)[:, 1])
    stamps = pd.Series(times[codes].astype("M8[s]"))
    for given in (stamps, times[codes].astype("M8[us]"), stamps.dt.date):
        rows = NUMBERS.assign(at=given)
        found = pgboost.evaluate(connection, "times", rows, "at").set_index("metric")
        assert found.value["logloss"] == pytest.approx(expected, rel=1e-5)
    found = pgboost.predict_class(connection, "times", NUMBERS[:9])
    assert pd.to_datetime(found).tolist() == pd.to_datetime(model.predict(NUMBERS[:9])).tolist()
    with pytest.raises(pgboost.InvalidDataError, match="is not a class of the model"):
        pgboost.evaluate(connection, "times", rows.assign(at=stamps + pd.Timedelta("1d")), "at")


def test_labels_of_catboost_are_rounded_floats(connection: Connection) -> None:
    codes = (np.median(NUMBER) < NUMBER) * 1
    for labels in ([1e-7, 1.0], [0.1, 2.5]):
        given = np.array(labels)[codes]
        model = catboost.CatBoostClassifier(iterations=5, **models.SILENT).fit(NUMBERS, given)
        pgboost.push(connection, "rounded", model, allow_change=True)
        expected = metrics.log_loss(codes, model.predict_proba(NUMBERS)[:, 1])
        for target in (given, given.astype(np.float32), [str(label) for label in given]):
            rows = NUMBERS.assign(target=target)
            found = pgboost.evaluate(connection, "rounded", rows, "target").set_index("metric")
            assert found.value["logloss"] == pytest.approx(expected, rel=1e-5)
        classes = pgboost.predict_class(connection, "rounded", NUMBERS)
        np.testing.assert_array_equal(
            classes.astype(np.float32), np.float32(model.predict(NUMBERS))
        )


def test_forests_are_compared_with_boosted_trees(connection: Connection) -> None:
    """Both have the probability of the second class."""
    label = np.where(np.median(NUMBER) < NUMBER, "yes", "no")
    forest = RandomForestClassifier(20, max_depth=5, random_state=1).fit(NUMBERS, label)
    boosted = xgboost.XGBClassifier(n_estimators=9).fit(NUMBERS, label == "yes")
    pgboost.push(connection, "forest", forest)
    pgboost.push(connection, "boosted", boosted, labels=["no", "yes"])
    rows = NUMBERS.assign(label=label)
    found = pgboost.compare(connection, "forest", "boosted", rows, "label").set_index("metric")
    for model, column in ((forest, "baseline_value"), (boosted, "candidate_value")):
        expected = metrics.log_loss(label == "yes", model.predict_proba(NUMBERS)[:, 1])
        assert found.loc["logloss", column] == pytest.approx(expected, rel=1e-5)


@pytest.mark.usefixtures("model")
def test_models_are_compared(connection: Connection) -> None:
    found = pgboost.compare(connection, "m@1", "m@2", ROWS, "target").set_index("metric")
    assert set(found["verdict"]) == {"candidate is better"}
    assert (found["candidate_value"] < found["baseline_value"]).all()


@pytest.mark.usefixtures("model")
def test_drift(connection: Connection) -> None:
    moved = FRAME.assign(single=FRAME["single"] + 3)
    found = pgboost.drift(connection, "m", moved).set_index("feature")["severity"]
    assert found.to_dict() == dict.fromkeys(FRAME.columns, "none") | {"single": "major"}


@pytest.mark.usefixtures("model")
def test_tables_and_queries_are_sources(cursor: psycopg2.extensions.cursor) -> None:
    query = 'SELECT 1 AS single, 2.5 AS "Double precision", 3 AS whole, true AS flag, 4 AS other'
    cursor.execute(f"CREATE TABLE measured AS {query}")
    for source in ("measured", query, f"{query}, 5 AS unused"):
        assert set(pgboost.drift(cursor.connection, "m", source)["rows"]) == {1}


@pytest.mark.usefixtures("model")
def test_a_frame_has_timestamps_and_leaves_no_table(cursor: psycopg2.extensions.cursor) -> None:
    at = pd.to_datetime(["2026-11-26 04:00"]).tz_localize("Europe/Vienna")
    rows = ROWS[:1].assign(at=at, target=1)
    found = pgboost.evaluate(cursor.connection, "m", rows, "target", slice_by="at")
    cursor.execute(
        "SELECT '2026-11-26 04:00+01'::timestamptz::text, to_regclass('pg_temp.pgboost_rows')"
    )
    ((moment, table),) = cursor.fetchall()
    assert set(found["slice"]) == {moment}
    assert table is None


@pytest.mark.usefixtures("model")
def test_errors_of_the_server_are_translated(connection: Connection) -> None:
    with pytest.raises(ValueError, match='column "none"'):
        pgboost.evaluate(connection, "m", ROWS, "none")
    with pytest.raises(LookupError, match='model "none"'):
        pgboost.drift(connection, "none", ROWS)
    with pytest.raises(
        ValueError, match="quantile_alpha must be an array of length 1 of numbers between 0 and 1"
    ):
        pgboost.evaluate(connection, "m", ROWS, "target", quantile_alpha=[0.5, 1])
    found = connection.execute("SELECT to_regclass('pg_temp.pgboost_rows')").fetchone()
    assert found == (None,)


def test_averages_are_scikit_learns(connection: Connection, sold: xgboost.XGBRegressor) -> None:
    found = pgboost.partial_dependence(connection, "sold", SOLD, "size", points=5)
    expected = partial_dependence(sold, SOLD, ["size"], grid_resolution=5, method="brute")
    assert list(found.columns) == ["output", "size", "average"]
    assert found["size"].to_numpy() == pytest.approx(expected["grid_values"][0])
    assert found["average"].to_numpy() == pytest.approx(expected["average"][0], rel=1e-6)


def test_a_dependence_on_categories_has_all_digits(connection: Connection) -> None:
    codes = 2**60 + np.arange(40) % 4
    frame = pd.DataFrame({"code": codes, "number": np.arange(40.0)})
    sent = xgboost.XGBRegressor(n_estimators=3, enable_categorical=True)
    pgboost.push(connection, "coded", sent.fit(frame.astype({"code": "category"}), codes % 4))
    found = pgboost.partial_dependence(connection, "coded", frame, "code")
    assert sorted(found["code"]) == sorted({*codes.tolist()})


@pytest.mark.usefixtures("sold")
@pytest.mark.parametrize(
    ("features", "drawn"),
    [(["size"], (1, 0, 0)), (["port"], (0, 2, 0)), (["age", "port"], (0, 0, 1))],
)
def test_a_dependence_is_drawn_as_a_line_bars_or_a_map(
    connection: Connection, tmp_path: Path, features: list, drawn: tuple
) -> None:
    found = pgboost.partial_dependence(connection, "sold", SOLD, *features)
    axes = pgboost.plots.partial_dependence(found)
    assert (len(axes.lines), len(axes.patches), len(axes.collections)) == drawn
    labels = (axes.get_xlabel(), axes.get_ylabel())
    assert labels == (*features, "average prediction")[:2]
    axes.figure.savefig(tmp_path / "plot.png")
    plt.close(axes.figure)


@pytest.mark.usefixtures("sold")
def test_importances(connection: Connection) -> None:
    rows = SOLD.assign(target=PRICE)
    found = pgboost.permutation_importance(
        connection, "sold", rows, "target", "r2", repeats=2, seed=4
    )
    assert list(found.columns) == ["feature", "importance", "stddev"]
    assert found["feature"].to_list() == ["age", "size", "port"]
    with pytest.raises(pgboost.InvalidDataError, match="unknown metric"):
        pgboost.permutation_importance(connection, "sold", rows, "target", "auc")


def contributions(model: xgboost.XGBModel) -> np.ndarray:
    matrix = xgboost.DMatrix(FRAME)
    return np.asarray(model.get_booster().predict(matrix, pred_contribs=True))


def test_contributions_to_a_value_are_an_explanation(connection: Connection) -> None:
    model = xgboost.XGBRegressor(n_estimators=8, max_depth=3).fit(FRAME, NUMBER)
    pgboost.push(connection, "number", model)
    found = pgboost.explain(connection, "number", FRAME.assign(unused="a"))
    assert isinstance(found, shap.Explanation)
    expected = contributions(model)
    np.testing.assert_allclose(found.values, expected[:, :-1], atol=1e-4)
    np.testing.assert_allclose(found.base_values, expected[:, -1], rtol=1e-5)
    assert found.feature_names == list(FRAME.columns)
    np.testing.assert_array_equal(found.data[:, 2], FRAME["whole"])


def test_contributions_to_classes_have_their_labels(connection: Connection) -> None:
    model = xgboost.XGBClassifier(n_estimators=4, max_depth=3).fit(FRAME, models.THREE // 10 - 1)
    pgboost.push(connection, "classes", model, labels=["low", "middle", "high"])
    found = pgboost.explain(connection, "classes", FRAME)
    expected = contributions(model)
    assert found.values.shape == (len(FRAME), len(FRAME.columns), 3)
    assert found.output_names == ["low", "middle", "high"]
    for output in range(3):
        one = found[:, :, output]
        np.testing.assert_allclose(one.values, expected[:, output, :-1], atol=1e-5)
        np.testing.assert_allclose(one.base_values, expected[:, output, -1], atol=1e-5)


@pytest.mark.parametrize("plot", ["waterfall", "beeswarm", "importance"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_explanations_are_drawn(
    connection: Connection, tmp_path: Path, plot: str, outputs: int
) -> None:
    kind = xgboost.XGBRegressor if outputs == 1 else xgboost.XGBClassifier
    model = kind(n_estimators=3).fit(FRAME, NUMBER if outputs == 1 else models.THREE // 10 - 1)
    pgboost.push(connection, "drawn", model)
    explanation = pgboost.explain(connection, "drawn", FRAME)
    axes = getattr(pgboost.plots, plot)(explanation, max_display=3)
    # The features that matter most are named, and the sum of the others.
    shown = " ".join(label.get_text() for label in axes.get_yticklabels())
    values = explanation.values if outputs == 1 else explanation.values[:, :, 0]
    sizes = np.abs(values[:1] if plot == "waterfall" else values).mean(axis=0)
    assert FRAME.columns[sizes.argmax()] in shown
    assert FRAME.columns[sizes.argmin()] not in shown
    axes.figure.savefig(tmp_path / "plot.png")
    plt.close(axes.figure)


def test_a_waterfall_names_the_prediction_of_large_numbers(connection: Connection) -> None:
    model = xgboost.XGBRegressor(n_estimators=3).fit(FRAME, 1000 + NUMBER)
    pgboost.push(connection, "large", model)
    axes = pgboost.plots.waterfall(pgboost.explain(connection, "large", FRAME))
    drawn = [label.get_text() for other in axes.figure.axes for label in other.get_xticklabels()]
    assert any("f(x)" in label for label in drawn), drawn
    plt.close(axes.figure)


def test_a_plot_of_something_else_is_an_error() -> None:
    with pytest.raises(pgboost.PgboostError):
        pgboost.plots.partial_dependence(FRAME)
