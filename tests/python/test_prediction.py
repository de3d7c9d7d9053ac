"""Frames are predicted and explained in SQL through every kind of connection."""

from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import psycopg2
import pytest
import xgboost
from psycopg import Connection
from psycopg.types.json import set_json_loads
from psycopg2.extras import register_default_jsonb

import lightgbm
import pgboost
from tests.connections import Connect, make_table
from tests.python.models import FRAME, NUMBER, THREE, Changed
from tools.cluster import Cluster

CHANGED = Changed(n_estimators=2).fit(FRAME, NUMBER)
SENT = """
    SELECT info -> 'parameters', info -> 'metrics'
    FROM pgboost_models, model_info(name) AS info WHERE name = 'sent'
"""


@pytest.fixture(scope="module")
def classifier(cluster: Cluster, dbname: str) -> xgboost.XGBClassifier:
    """Stores a model of three classes as `classes`."""
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=3).fit(FRAME, THREE // 10 - 1)
    with cluster.connect(dbname) as connection:
        pgboost.push(connection, "classes", model, labels=["low", "middle", "high"])
    return model


@pytest.fixture(scope="module")
def regressor(cluster: Cluster, dbname: str) -> xgboost.XGBRegressor:
    """Stores a model of a number as `number`."""
    model = xgboost.XGBRegressor(n_estimators=5, max_depth=3).fit(FRAME, NUMBER)
    with cluster.connect(dbname) as connection:
        pgboost.push(connection, "number", model)
    return model


@pytest.fixture(scope="module")
def of_texts(cluster: Cluster, dbname: str) -> tuple[Any, pd.DataFrame]:
    """Stores a model of texts as `texts`, and its rows with a time in the table `seen`."""
    texts = np.resize(np.array(["é", "NULL", None, "e"], object), len(FRAME))
    rows = FRAME[["other"]].astype(float).assign(**{"Größe": pd.Series(texts, dtype="category")})
    model = lightgbm.LGBMRegressor(n_estimators=5, min_data_per_group=1, verbose=-1)
    model.fit(rows, NUMBER + (texts == "é") * 9 - (texts == "NULL") * 9)
    with cluster.connect(dbname) as connection:
        pgboost.push(connection, "texts", model)
        cells = rows.astype(object).where(rows.notna(), None).assign(seen="2001-02-03")
        columns = 'other float8, "Größe" text, seen timestamp'
        make_table(connection, "seen", columns, cells.to_numpy().tolist())
    return model, rows


def test_every_connection_predicts(given: Any, regressor: xgboost.XGBRegressor) -> None:
    found, expected = pgboost.predict(given, "number", FRAME), regressor.predict(FRAME)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)
    assert pgboost.verify(given, "number", regressor, FRAME)
    assert "number" in {version.name for version in pgboost.models(given)}
    pulled = pgboost.pull(given, "number")
    np.testing.assert_array_equal(pulled.predict(xgboost.DMatrix(FRAME)), expected)


def test_every_connection_commits_as_it_does(
    given: Any, regressor: xgboost.XGBRegressor, connection: Connection
) -> None:
    """A string, a pool and an engine commit at once, others with the caller; a refusal changes nothing."""
    connection.execute("SELECT drop_model(name) FROM pgboost_models WHERE name = 'sent' LIMIT 1")
    with pytest.raises(pgboost.PredictionsDifferError):
        pgboost.push(given, "sent", CHANGED, check=FRAME)
    assert pgboost.push(given, "sent", regressor, params={"eta": 0.1}, metrics={"rmse": 1.5}) == 1
    if hasattr(given, "commit"):
        assert connection.execute(SENT).fetchone() is None
        given.commit()
    assert connection.execute(SENT).fetchone() == ({"eta": 0.1}, {"rmse": 1.5})
    with pytest.raises(LookupError, match='model "none" does not exist'):
        pgboost.predict(given, "none", FRAME)


@pytest.mark.parametrize("setting", [
    (psycopg, "client_encoding", "LATIN1"), (psycopg, "client_encoding", "SQL_ASCII"),
    *[(driver, *setting) for driver in (psycopg, psycopg2) for setting in (
        ("extra_float_digits", "-15"), ("DateStyle", "German, DMY"), ("array_nulls", "off"))],
], ids=lambda setting: f"{setting[0].__name__}, {setting[2]}")  # fmt: skip
@pytest.mark.parametrize("autocommit", [False, True])
def test_settings_of_a_session_change_no_value(
    cluster: Cluster, dbname: str, of_texts: Any, setting: Any, autocommit: bool
) -> None:
    (model, rows), (driver, name, value) = of_texts, setting
    with closing(driver.connect(cluster.conninfo(dbname))) as connection:
        connection.autocommit = autocommit
        cursor = connection.cursor()
        cursor.execute("SELECT set_config(%s, %s, false)", [name, value])
        found = pgboost.predict(connection, "texts", rows)
        np.testing.assert_array_equal(found, model.predict(rows).astype(np.float32))
        assert pgboost.verify(connection, "texts", model, "seen").differing == 0
        with pytest.raises(pgboost.ArgumentError):
            pgboost.predict(connection, "texts", None)
        assert pgboost.models(connection)[0].loaded_at.year > 2000
        cursor.execute("SELECT convert_to(current_setting(%s), 'UTF8')", [name])
        assert bytes(cursor.fetchone()[0]).decode() == value


def test_a_call_asks_the_session_once(connect: Connect, regressor: xgboost.XGBRegressor) -> None:
    """Where the extension is, and the settings: a server may be far away."""
    sent: list[Any] = []

    class Counted(psycopg.Cursor):
        def execute(self, query: Any, *arguments: Any, **options: Any) -> Any:
            sent.append(query)
            return super().execute(query, *arguments, **options)

    connection = connect()
    connection.cursor_factory = Counted
    calls: list[tuple[Callable[[], Any], int]] = [
        (lambda: pgboost.predict(connection, "number", FRAME), 3),
        (lambda: pgboost.deploy(connection, "number@1"), 2),
        (lambda: pgboost.drift(connection, "number", "nowhere"), 2),
    ]
    for call, count in calls:
        sent.clear()
        with suppress(pgboost.PgboostError):
            call()
        assert len(sent) == count, sent


@pytest.mark.parametrize("autocommit", [False, True])
def test_a_pipeline_predicts(
    connect: Connect, regressor: xgboost.XGBRegressor, autocommit: bool
) -> None:
    connection = connect(autocommit=autocommit)
    with connection.pipeline():
        before = connection.execute("SELECT 1")
        found = pgboost.predict(connection, "number", FRAME)
        np.testing.assert_array_equal(found, regressor.predict(FRAME))
        assert pgboost.verify(connection, "number", regressor, FRAME)
        pgboost.set_baseline(connection, "number", FRAME)
        with pytest.raises(pgboost.ModelNotFoundError):
            pgboost.predict(connection, "none", FRAME)
        connection.rollback()
        assert pgboost.models(connection)
    assert before.fetchone() == (1,)


@pytest.mark.parametrize("driver", [psycopg, psycopg2])
def test_jsonb_may_be_left_as_text(
    cluster: Cluster, dbname: str, classifier: xgboost.XGBClassifier, driver: Any
) -> None:
    def as_it_is(text: Any) -> Any:
        return text

    with closing(driver.connect(cluster.conninfo(dbname))) as connection:
        if driver is psycopg:
            set_json_loads(as_it_is, connection)
        else:
            register_default_jsonb(connection, loads=as_it_is)
        found = pgboost.predict_proba(connection, "classes", FRAME)
        np.testing.assert_allclose(found, classifier.predict_proba(FRAME), rtol=1e-6)


@pytest.mark.parametrize("autocommit", [False, True])
def test_psycopg2_has_savepoints(
    cluster: Cluster, dbname: str, regressor: xgboost.XGBRegressor, autocommit: bool
) -> None:
    connection = psycopg2.connect(cluster.conninfo(dbname))
    connection.autocommit = autocommit
    pgboost.predict(connection, "number", FRAME)
    with pytest.raises(pgboost.PredictionsDifferError):
        pgboost.push(connection, "savepoint", CHANGED, check=FRAME)
    assert "savepoint" not in {version.name for version in pgboost.models(connection)}
    connection.close()


def test_classes(connection: Connection, classifier: xgboost.XGBClassifier) -> None:
    expected = classifier.predict_proba(FRAME)
    for found in (
        pgboost.predict(connection, "classes", FRAME),
        pgboost.predict_proba(connection, "classes", FRAME),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    labels = np.array(["low", "middle", "high"])
    found = pgboost.predict_class(connection, "classes", FRAME)
    assert list(found) == list(labels[classifier.predict(FRAME)])


@pytest.mark.parametrize(("kind", "labels", "values"), [
    ("Python booleans", ["False", "True"], [False, True]),
    ("SQL booleans", ["true", "false"], [True, False]),
    ("booleans of both", ["TRUE", "False"], [True, False]),
    ("whole numbers", ["-2", "10"], [-2, 10]),
    ("numbers", ["0.5", "1e-05"], [0.5, 1e-05]),
    ("postal codes", ["01067", "10115"], ["01067", "10115"]),
    ("no numbers", ["nan", "inf"], ["nan", "inf"]),
    ("a boolean and a number", ["true", "1"], ["true", "1"]),
])  # fmt: skip
def test_labels_come_back_as_what_all_of_them_are(
    connection: Connection, kind: str, labels: list[str], values: list[Any]
) -> None:
    model = xgboost.XGBClassifier(n_estimators=2).fit(FRAME, (THREE > 10) * 1)
    pgboost.push(connection, kind, model, labels=labels)
    expected = [values[number] for number in model.predict(FRAME)]
    assert len({*expected}) == 2
    found = pgboost.predict_class(connection, kind, FRAME).tolist()
    assert [repr(label) for label in found] == [repr(label) for label in expected]


def test_frames_are_matched_by_names_and_arrays_by_position(
    connection: Connection, regressor: xgboost.XGBRegressor
) -> None:
    """So also on a standby."""
    expected = regressor.predict(FRAME)
    turned = FRAME[FRAME.columns[::-1]].assign(**{"note, in %": "100 %"})
    with connection.transaction():
        connection.execute("SET TRANSACTION READ ONLY")
        np.testing.assert_array_equal(pgboost.predict(connection, "number", turned), expected)
        numbers = FRAME.to_numpy()
        np.testing.assert_array_equal(pgboost.predict(connection, "number", numbers), expected)
        assert pgboost.verify(connection, "number", regressor, FRAME)
    with pytest.raises(ValueError, match=f"no column '{FRAME.columns[0]}'"):
        pgboost.predict(connection, "number", FRAME.drop(columns=FRAME.columns[0]))
    with pytest.raises(ValueError, match=f"no column '{FRAME.columns[0]}'"):
        pgboost.verify(connection, "number", regressor, FRAME.drop(columns=FRAME.columns[0]))
    assert pgboost.predict(connection, "number", FRAME[:0]).shape == (0,)


def test_text_and_names_of_any_characters(connection: Connection) -> None:
    texts = ['a"b', "c\\d", "{e,f}", "100 %", "NULL", "", "g\nh\t"]
    city = pd.Series(pd.Categorical(np.resize(texts, 200), texts))
    frame = pd.DataFrame({'per "cent" %': np.arange(200.0), "city %s": city})
    frame.loc[5, "city %s"] = None
    model = xgboost.XGBRegressor(n_estimators=8, enable_categorical=True, max_cat_to_onehot=1)
    model.fit(frame, np.arange(200) % 7)
    pgboost.push(connection, "names", model, feature_names=list(frame.columns))
    found = pgboost.predict(connection, "names", frame)
    np.testing.assert_array_equal(found, model.predict(frame))


def test_many_rows_go_in_several_statements(
    connection: Connection,
    regressor: xgboost.XGBRegressor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pgboost.rows._VALUES", 150)
    found = pgboost.predict(connection, "number", FRAME)
    np.testing.assert_array_equal(found, regressor.predict(FRAME))


def test_push_sends_rows_and_asks_for_metadata_once(
    connection: Connection,
    classifier: xgboost.XGBClassifier,
    logged: Callable[[], list[str]],
) -> None:
    connection.execute("SET log_statement = 'all'")
    pgboost.push(connection, "once", classifier)
    statements = [line for line in logged() if "execute <unnamed>: " in line]
    assert sum("unnest(" in line for line in statements) == 1, statements
    assert sum('"model_info"(' in line for line in statements) == 1, statements
