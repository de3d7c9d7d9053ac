"""Models as plain SQL functions in a database without the extension, which predict as Python does."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
import xgboost
from psycopg import Connection, sql
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import catboost
import lightgbm
import pgboost
from tests.connections import make_table
from tests.python import models
from tests.python.models import FRAME, NUMBER, QUICK, QUIET
from tools.cluster import Cluster

NUMBERS = models.numbers().astype(float)
LABELS = models.classes(FRAME, ["no", "it's"])
FOREST = RandomForestClassifier(n_estimators=12, random_state=1)
LINE = [("line", LinearRegression()), ("trees", HistGradientBoostingRegressor(max_iter=9))]


@pytest.fixture
def bare(cluster: Cluster) -> Iterator[Connection]:
    """A connection to a database without the extension."""
    cluster.create_database("bare", replace=True)
    with cluster.connect("bare", autocommit=True) as connection:
        yield connection


LIBRARIES = ("XGBRegressor", "XGBClassifier", "LGBMClassifier", "CatBoostClassifier")
FITTED: dict[str, Callable[[], Any]] = {
    **{name: models.FITTED[name] for name in LIBRARIES},
    "scikit-learn": lambda: make_pipeline(StandardScaler(), FOREST).fit(NUMBERS, LABELS),
    "a weighted median": lambda: AdaBoostRegressor(n_estimators=20).fit(NUMBERS, NUMBER),
    "a line and trees": lambda: VotingRegressor(LINE).fit(NUMBERS, NUMBER),
    "pipeline of LightGBM": lambda: make_pipeline(
        StandardScaler(), lightgbm.LGBMRegressor(**QUIET)).fit(NUMBERS, NUMBER),
}  # fmt: skip


@pytest.mark.parametrize("name", FITTED)
def test_functions_predict_as_the_model(bare: Connection, name: str) -> None:
    model = FITTED[name]()
    bare.execute(pgboost.export_sql(model, "churn"))
    found = pgboost.verify_sql(bare, "churn", model)
    assert found and found.rows >= 1000 and found.classes_differing == 0, found
    assert pgboost.verify_sql(bare, "churn", model, NUMBERS)


def test_a_pipeline_over_a_frame_has_the_bits_of_python(bare: Connection) -> None:
    """Encoders are folded into the trees, so that a function takes the columns as they are in a table."""
    columns = ["plan", "Double precision", "whole"]
    plans = np.array(["basic", "it's", "pro"])[np.arange(len(FRAME)) % 3]
    frame = FRAME.assign(plan=plans).fillna({"Double precision": 0})[columns]
    encoders = [("plan", OneHotEncoder(), ["plan"]), ("numbers", StandardScaler(), columns[1:])]
    trees = lightgbm.LGBMClassifier(**QUIET)
    model = make_pipeline(ColumnTransformer(encoders), trees).fit(frame, LABELS)
    bare.execute(pgboost.export_sql(model, "churn", schema="public", version=3))
    declared = 'id int, plan text, "Double precision" float8, whole int'
    make_table(bare, "t", declared, frame.itertuples())
    expected = model.predict(frame, raw_score=True).tolist()
    for query in (
        'SELECT churn_margin(plan, "Double precision", whole) FROM t ORDER BY id',
        'SELECT churn_3_margin(plan, "Double precision", whole) FROM t ORDER BY id',
        "SELECT margin FROM churn_rows_margin('SELECT * FROM t') ORDER BY id::int",
    ):
        assert [margin for (margin,) in bare.execute(query)] == expected
    labels = bare.execute('SELECT churn_class(plan, "Double precision", whole) FROM t ORDER BY id')
    assert [label for (label,) in labels] == model.predict(frame).tolist()


def test_booleans_and_times_of_a_frame_are_numbers(bare: Connection) -> None:
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(FRAME)), unit="D")
    seconds = (days - pd.Timestamp(0)).total_seconds()
    frame = pd.DataFrame({"flag": FRAME["flag"], "day": seconds})
    model = HistGradientBoostingRegressor(max_iter=9).fit(frame, NUMBER)
    bare.execute(pgboost.export_sql(model, "churn"))
    assert pgboost.verify_sql(bare, "churn", model, frame).differing == 0
    model.predict = lambda rows: HistGradientBoostingRegressor.predict(model, frame)
    assert pgboost.verify_sql(bare, "churn", model, frame.assign(day=days)).differing == 0


def test_features_with_names_that_arguments_cut_are_found(bare: Connection) -> None:
    names = ["é" * 40, "a" * 70 + "1", "a" * 70 + "2"]
    frame = NUMBERS.iloc[:, :3].set_axis(names, axis="columns")
    chosen = ColumnTransformer([("all", StandardScaler(), names)])
    model = make_pipeline(chosen, HistGradientBoostingRegressor(max_iter=9)).fit(frame, NUMBER)
    bare.execute(pgboost.export_sql(model, "churn"))
    for given in (None, frame, frame[names[::-1]], frame.assign(other="x")):
        assert pgboost.verify_sql(bare, "churn", model, given).differing == 0


@pytest.mark.parametrize("form", ["cbm", "json"])
def test_a_category_that_no_split_tests_is_text(
    bare: Connection, form: str, tmp_path: Path
) -> None:
    frame = FRAME[["other"]].fillna(0).assign(plan="basic", **{"it's": "pro"})
    model = catboost.CatBoostRegressor(cat_features=["plan", "it's"], **models.CAT)
    model.fit(frame, frame["other"]).save_model(tmp_path / "model", format=form)
    bare.execute(pgboost.export_sql(tmp_path / "model", "churn"))
    assert pgboost.verify_sql(bare, "churn", model, frame).differing == 0
    for call in ("churn(r)", "churn(to_jsonb(r))", 'churn_scan(r.other, r.plan, r."it\'s")'):
        query = (
            f"SELECT {call} FROM (SELECT 1.5::float8 AS other, 'x' AS plan, 'y' AS \"it's\") AS r"
        )
        assert bare.execute(query).fetchone() is not None
    rows = "SELECT 1 AS id, 1.5 AS other, ''x'' AS plan, ''y'' AS \"it''s\""
    assert bare.execute(f"SELECT prediction FROM churn_rows('{rows}')").fetchone() is not None


def test_unknown_categories_are_errors_or_missing_values(bare: Connection) -> None:
    plans = pd.Categorical(np.resize(np.array(["basic", "pro", None]), len(FRAME)))
    frame = FRAME[["Double precision"]].assign(plan=plans)
    target = np.arange(len(FRAME)) % 3 + NUMBER
    model = xgboost.XGBRegressor(**QUICK, enable_categorical=True).fit(frame, target)
    rows = "SELECT churn_rows('SELECT 1 AS id, 0.5 AS \"Double precision\", ''nosuch'' AS plan')"
    bare.execute(pgboost.export_sql(model, "churn"))
    for query in ("SELECT churn(0.5, 'nosuch'), churn_scan(0.5, 'nosuch')", rows):
        with pytest.raises(psycopg.errors.InvalidTextRepresentation, match='"nosuch" for feature'):
            bare.execute(query)
    bare.execute(pgboost.export_sql(model, "churn", unknown_category="missing"))
    query = "SELECT churn(0.5, 'basic') <> churn(0.5, NULL)"
    assert bare.execute(query).fetchone() == (True,)
    query = "SELECT churn(0.5, 'nosuch'), churn_scan(0.5, 'nosuch'), churn(0.5, NULL)"
    assert len(set(bare.execute(query).fetchone() or ())) == 1
    bare.execute(rows)
    with pytest.raises(pgboost.InvalidModelError, match="unknown_category"):
        pgboost.export_sql(model, "churn", unknown_category="ignore")


def test_differences_are_found(bare: Connection) -> None:
    model = FITTED["XGBRegressor"]()
    other = xgboost.XGBRegressor(n_estimators=11).fit(FRAME, NUMBER)
    bare.execute(pgboost.export_sql(other, "churn"))
    assert not pgboost.verify_sql(bare, "churn", model)


def test_models_and_names_that_cannot_be_exported_or_found_are_errors(bare: Connection) -> None:
    model = FITTED["XGBRegressor"]()
    with pytest.raises(pgboost.InvalidModelError, match="name"):
        pgboost.export_sql(model, "")
    with pytest.raises(pgboost.ArgumentError, match="pass"):
        pgboost.export_sql("churn", model)  # type: ignore[arg-type]
    with pytest.raises(pgboost.ModelNotFoundError, match="'absent'"):
        pgboost.verify_sql(bare, "absent", model)
    with pytest.raises(pgboost.UnsupportedModelError, match="object"):
        pgboost.verify_sql(bare, "churn", pgboost.model_bytes(model))


@pytest.mark.skipif(xgboost.__version__ >= "3.4", reason="its slices have the categories")
def test_codes_of_a_slice_are_warned_of() -> None:
    rows = FRAME.assign(whole=FRAME["whole"].astype("category"))
    model = xgboost.XGBRegressor(enable_categorical=True, **QUICK).fit(rows, NUMBER)
    with pytest.warns(pgboost.PgboostWarning, match="'whole', since XGBoost .* take their codes"):
        pgboost.export_sql(model.get_booster()[:2], "churn")


def test_the_engine_is_named_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gbtrees", None)
    with pytest.raises(pgboost.MissingLibraryError, match="make wheel and pip install"):
        pgboost.export_sql(FITTED["XGBRegressor"](), "churn")


def test_the_command_prints_the_script(bare: Connection, tmp_path: Path) -> None:
    model = FITTED["XGBRegressor"]()
    path = tmp_path / "model.ubj"
    model.save_model(path)
    command = [sys.executable, "-m", "pgboost", "export-sql", str(path), "--name", "churn"]
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    printed = subprocess.run(command, capture_output=True, env=environment, check=True)
    bare.execute(printed.stdout.decode())
    assert pgboost.verify_sql(bare, "churn", model)


def test_a_model_of_many_features_takes_objects(bare: Connection) -> None:
    wide = np.random.default_rng(1).normal(size=(200, 120)).astype(np.float32)
    model = xgboost.XGBRegressor(n_estimators=5).fit(wide, wide[:, 0] - wide[:, 119])
    bare.execute(pgboost.export_sql(model, "wide"))
    assert pgboost.verify_sql(bare, "wide", model)


SWAP = """CREATE OR REPLACE FUNCTION swap(id int) RETURNS int LANGUAGE plpgsql AS $swap$
    BEGIN
        IF id = 50 THEN
            EXECUTE {};
        END IF;
        RETURN id;
    END $swap$"""
BEHIND = "FROM pg_proc WHERE proname ~ '^churn_[0-9a-f]{8}_'"


@pytest.mark.parametrize("query", [
    "SELECT churn_scan(a, b) FROM (SELECT swap(id), a, b FROM t ORDER BY id OFFSET 0) AS t",
    "SELECT churn(a, b) FROM (SELECT swap(id), a, b FROM t ORDER BY id OFFSET 0) AS t",
    "SELECT prediction FROM churn_rows('SELECT swap(id) AS id, a, b FROM t') ORDER BY id::int",
])  # fmt: skip
def test_a_running_statement_keeps_the_functions_that_it_began_with(
    connection: Connection, bare: Connection, query: str
) -> None:
    """A script without a version replaces them meanwhile, here from within the statement."""
    rows = np.random.default_rng(1).normal(size=(100, 2)).astype(np.float32)
    make_table(bare, "t", "id int, a real, b real", ([i, *row] for i, row in enumerate(rows)))
    targets = [np.arange(100) % 3, np.arange(100) // 34, np.arange(100) % 7 % 3]
    fitted = [xgboost.XGBClassifier(n_estimators=3).fit(rows, target) for target in targets]
    scripts = [pgboost.export_sql(model, "churn", feature_names=["a", "b"]) for model in fitted]
    plain = query.replace("swap(id)", "id")
    expected = []
    for script in scripts:
        bare.execute(script)
        expected.append(bare.execute(plain).fetchall())
    assert expected[0] != expected[1] != expected[2] != expected[0]
    for before, after in ((2, 0), (0, 1), (1, 1), (1, 2)):
        script = scripts[after].replace("BEGIN;", "").replace("COMMIT;", "")
        bare.execute(sql.SQL(SWAP).format(sql.Literal(script)).as_string())
        assert bare.execute(query).fetchall() == expected[before]
        assert bare.execute(plain).fetchall() == expected[after]
    assert bare.execute(f"SELECT count(DISTINCT substr(proname, 7, 8)) {BEHIND}").fetchone() == (2,)
    pgboost.push(connection, "dropped", fitted[0])
    drop = "SELECT export_model_sql('dropped', 'churn', drop => true)"
    bare.execute(connection.execute(drop).fetchone()[0])
    assert bare.execute("SELECT count(*) FROM pg_proc WHERE proname ~ '^churn'").fetchone() == (0,)
