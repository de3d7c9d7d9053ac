"""The command `pgboost`: models in pickles and files, and the life of their versions."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost
from psycopg import Connection
from sklearn import ensemble, preprocessing
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline

import catboost
import lightgbm
import pgboost
from pgboost.__main__ import main
from tests.python import models
from tools.cluster import Cluster

SOURCE = Path(pgboost.__file__).parents[1]
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environment(cluster: Cluster, dbname: str) -> dict[str, str]:
    """Returns the environment of the package and of the module's database."""
    return cluster.environment(dbname) | {"PYTHONPATH": str(SOURCE)}


@pytest.fixture
def run(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Runs the command on the module's database, in this process, which has imported the libraries."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def done(*arguments: Any) -> subprocess.CompletedProcess[str]:
        status = main([*map(str, arguments)])
        return subprocess.CompletedProcess(arguments, status, *capsys.readouterr())

    return done


@pytest.fixture
def program(environment: dict[str, str]) -> Command:
    """Runs the program in a process."""

    def done(*arguments: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "ignore", "-m", "pgboost", *map(str, arguments)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return done


def assert_done(found: subprocess.CompletedProcess[str], output: str) -> None:
    assert (found.returncode, found.stdout) == (0, output), found.stderr


def assert_failed(found: subprocess.CompletedProcess[str], reason: str = "") -> None:
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("pgboost: ") and reason in found.stderr
    assert "Traceback" not in found.stderr


def test_a_pickle_of_a_pipeline(
    run: Command, program: Command, connection: Connection, tmp_path: Path
) -> None:
    frame = models.numbers().assign(city=np.array(["Graz", "Linz", "Wien"])[np.arange(400) % 3])
    encoder = preprocessing.OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((encoder, ["city"]), remainder="passthrough")
    model = make_pipeline(columns, xgboost.XGBClassifier(n_estimators=5))
    model.fit(frame, models.target(models.numbers()) + 9 * (frame["city"] == "Linz") > 0)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    joblib.dump(model, tmp_path / "model.joblib", compress=3)
    skops.io.dump(model, tmp_path / "model.skops")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    files = ("model.pkl", "model.joblib", "model.skops")
    for version, (push, file) in enumerate(zip((program, run, run), files, strict=True), 1):
        found = push("push", tmp_path / file, "--name", "churn")
        assert_done(found, f"churn@{version}\n")
        assert "which runs what is in it" in found.stderr
    assert pgboost.verify(connection, "churn", model, frame)
    rows = ("--rows", tmp_path / "rows.csv")
    found = run("verify", tmp_path / "model.pkl", "--name", "churn", *rows)
    assert_done(found, "400 rows: all the same\n")
    listed = program("list").stdout
    assert "churn@1 XGBClassifier" in listed
    assert "churn@3 deployed XGBClassifier" in listed


def test_a_model_among_others_with_labels(
    run: Command, connection: Connection, tmp_path: Path
) -> None:
    frame = models.numbers()
    encoder = preprocessing.LabelEncoder()
    codes = encoder.fit_transform(models.classes(frame, ["high", "low", "middle"]))
    model = xgboost.XGBClassifier(n_estimators=5).fit(frame, codes)
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps({"model": model, "target": encoder, "threshold": 0.4}))
    found = run("push", path, "--name", "price")
    assert found.returncode == 0, found.stderr
    assert "not sent: threshold (float)" in found.stderr
    row = connection.execute("SELECT model_info('price')->'labels'").fetchone()
    assert row == (["high", "low", "middle"],)


def test_labels_of_a_model_file(run: Command, connection: Connection, tmp_path: Path) -> None:
    frame, labels = models.numbers(), ["small", "large", "very large"]
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1)
    model.fit(frame, models.classes(frame, [0, 1, 2]))
    path = tmp_path / "model.txt"
    model.booster_.save_model(path)
    found = run("push", path, "--name", "size", "--labels", *labels)
    assert_done(found, "size@1\n")
    in_sql = pgboost.predict_class(connection, "size", frame.to_numpy())
    assert list(in_sql) == [labels[code] for code in model.predict(frame)]
    found = run("push", path, "--name", "size", "--labels", *labels[:2])
    assert_failed(found, "labels")


def test_features_of_a_model_file_get_the_tables_names(
    run: Command, connection: Connection, tmp_path: Path
) -> None:
    frame = models.numbers().rename(columns={"single": "Hours per Week"})
    model = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(frame, models.target(frame))
    path = tmp_path / "model.txt"
    model.booster_.save_model(path)
    found = run("push", path, "--name", "weekly", "--feature-names", *frame.columns)
    assert_done(found, "weekly@1\n")
    in_sql = pgboost.predict(connection, "weekly", frame)
    assert np.array_equal(in_sql, model.predict(frame).astype(np.float32))


@pytest.mark.parametrize("model", [
    lightgbm.LGBMRegressor(n_estimators=9, min_data_per_group=5, verbose=-1),
    xgboost.XGBRegressor(n_estimators=9, enable_categorical=True),
], ids=lambda model: type(model).__name__)  # fmt: skip
def test_texts_of_a_csv_are_the_models_categories(
    run: Command, connection: Connection, tmp_path: Path, model: Any
) -> None:
    """Also texts that look like numbers, and categories that the file does not have."""
    frame = models.frame()[["whole"]].assign(
        city=pd.Categorical(np.resize(["Wien", "Graz", "Linz", None], models.ROWS)),
        code=pd.Categorical(np.resize(["9", "10", "20"], models.ROWS)),
    )
    model.fit(frame, frame["whole"] + 9 * (frame["city"] == "Linz") + 5 * (frame["code"] == "10"))
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    rows = frame[frame["city"] != "Graz"]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    name = type(model).__name__
    pgboost.push(connection, name, model)
    pgboost.push(connection, name, model, rounds=1)
    given = ("verify", tmp_path / "model.pkl", "--rows", tmp_path / "rows.csv", "--name")
    found = run(*given, f"{name}@1")
    assert_done(found, "300 rows: all the same\n")
    # Where the versions differ, its numbers are those of the rows with their categories.
    in_sql = pgboost.predict(connection, f"{name}@2", rows)
    in_python = model.predict(rows).astype(np.float32)
    worst = np.abs(in_sql.astype(float) - in_python).argmax()
    found = run(*given, f"{name}@2")
    shown = f"row {worst}: {in_sql[worst]:.9g} in SQL, {in_python[worst]:.9g} in Python"
    assert found.returncode == 1, found.stderr
    assert f"worst {shown}" in found.stdout


@pytest.mark.parametrize("kind", ["category", object])
def test_texts_of_parquet_are_the_models_categories(
    run: Command, connection: Connection, tmp_path: Path, kind: Any
) -> None:
    """As databases and Polars write them, which LightGBM does not take for categories."""
    pytest.importorskip("pyarrow")
    cities = pd.Categorical(np.resize(["Wien", "Graz", "Linz", None], models.ROWS))
    frame = models.frame()[["whole"]].assign(city=cities)
    model = lightgbm.LGBMRegressor(n_estimators=9, min_data_per_group=5, verbose=-1)
    model.fit(frame, frame["whole"] + 9 * (frame["city"] == "Linz"))
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    frame.astype({"city": kind}).to_parquet(tmp_path / "rows.parquet")
    pgboost.push(connection, "parquet", model)
    rows = ("--rows", tmp_path / "rows.parquet")
    found = run("verify", tmp_path / "model.pkl", "--name", "parquet", *rows)
    assert_done(found, "400 rows: all the same\n")


def test_texts_of_a_csv_that_look_like_numbers(
    run: Command, connection: Connection, tmp_path: Path
) -> None:
    """Steps of the model encode them, or CatBoost does."""
    frame = models.numbers()[["whole"]].assign(code=np.resize(["01067", "10115"], models.ROWS))
    target = frame["whole"] + 5 * (frame["code"] == "10115")
    encoder = (preprocessing.OneHotEncoder(), ["code"])
    columns = make_column_transformer(encoder, remainder="passthrough")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for model in (
        make_pipeline(columns, ensemble.RandomForestRegressor(5)),
        catboost.CatBoostRegressor(iterations=5, cat_features=["code"], **models.SILENT),
    ):
        (tmp_path / "model.pkl").write_bytes(pickle.dumps(model.fit(frame, target)))
        pgboost.push(connection, "codes", model, check=frame)
        given = (tmp_path / "model.pkl", "--name", "codes", "--rows", tmp_path / "rows.csv")
        found = run("verify", *given)
        assert_done(found, "400 rows: all the same\n")


def test_texts_of_a_csv_that_pandas_takes_for_missing(
    run: Command, connection: Connection, tmp_path: Path
) -> None:
    """An encoder refuses missing values that it was not fitted on."""
    frame = models.numbers()[["whole"]].assign(code=np.resize(["NA", "None", "x"], models.ROWS))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    encoder = (preprocessing.OrdinalEncoder(), ["code"])
    columns = make_column_transformer(encoder, remainder="passthrough")
    model = make_pipeline(columns, ensemble.RandomForestRegressor(5))
    model.fit(frame, frame["whole"] + 5 * (frame["code"] == "NA"))
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    pgboost.push(connection, "missing", model)
    found = run(
        "verify", tmp_path / "model.pkl", "--name", "missing", "--rows", tmp_path / "rows.csv"
    )
    assert_done(found, "400 rows: all the same\n")


@pytest.mark.parametrize("missing", [None, np.nan], ids=str)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_missing_texts_of_a_file_are_those_of_the_training(
    run: Command, connection: Connection, tmp_path: Path, missing: Any, ending: str
) -> None:
    """An encoder that was fitted on None does not know NaN."""
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    codes = pd.Series(np.resize(np.array(["a", missing, "x"], object), models.ROWS), dtype=object)
    frame = models.numbers()[["whole"]].assign(code=codes)
    encoder = (preprocessing.OneHotEncoder(handle_unknown="ignore"), ["code"])
    columns = make_column_transformer(encoder, remainder="passthrough")
    model = make_pipeline(columns, ensemble.RandomForestRegressor(5))
    model.fit(frame, frame["whole"] + 9 * frame["code"].isna())
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    rows = tmp_path / f"rows.{ending}"
    getattr(frame, f"to_{ending}")(rows, index=False)
    pgboost.push(connection, "missing", model)
    found = run("verify", tmp_path / "model.pkl", "--name", "missing", "--rows", rows)
    assert_done(found, "400 rows: all the same\n")


def test_any_text_of_a_csv_is_a_category_of_catboost(
    run: Command, connection: Connection, tmp_path: Path
) -> None:
    """The model has their hashes alone, and refuses missing values."""
    codes = np.resize(["NA", "null", "", "x", "1"], models.ROWS)
    frame = models.numbers()[["whole"]].assign(code=codes)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = catboost.CatBoostRegressor(iterations=9, cat_features=["code"], **models.SILENT)
    model.fit(frame, frame["whole"] + 5 * (frame["code"] == "NA") + 9 * (frame["code"] == ""))
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    pgboost.push(connection, "texts", model)
    given = (tmp_path / "model.pkl", "--name", "texts", "--rows", tmp_path / "rows.csv")
    assert_done(run("verify", *given), "400 rows: all the same\n")


def test_versions_and_tables(run: Command, connection: Connection, tmp_path: Path) -> None:
    frame = models.numbers()[["whole", "flag"]]
    model = lightgbm.LGBMRegressor(n_estimators=9, verbose=-1).fit(frame, models.target(frame))
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    for _ in range(2):
        pgboost.push(connection, "table", model)
    query = "SELECT i AS whole, i % 2 AS flag, i::real AS y FROM generate_series(-5, 5) AS i"
    connection.execute(f"CREATE TABLE counted AS {query}")
    given = (tmp_path / "model.pkl", "--name", "table", "--source")
    for source in ("counted", query):
        found = run("verify", *given, source)
        assert_done(found, "11 rows: all the same\n")
    commands = (
        ("deploy", "table@1"),
        ("alias", "table@2", "champion"),
        ("alias", "table@2", "old"),
        ("alias", "table@old", "--drop"),
        ("evaluate", "table@champion", "--source", "counted", "--target", "y"),
    )
    for command in commands:
        found = run(*command)
        assert (found.returncode, found.stderr) == (0, ""), found.stderr
    assert "rmse" in found.stdout
    aliases = connection.execute("SELECT alias, version FROM pgboost_aliases WHERE name = 'table'")
    assert aliases.fetchall() == [("champion", 2)]
    assert [one.version for one in pgboost.models(connection) if one.deployed] == [1]
    assert run("drop", "table").returncode == 0
    for command in (("drop", "table"), ("alias", "table@1"), ("deploy", "table@9")):
        found = run(*command)
        assert_failed(found)


def test_notices_are_written(run: Command, connection: Connection) -> None:
    frame = models.numbers()[["whole"]]
    model = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1).fit(frame, models.target(frame))
    pgboost.push(connection, "noticed", model)
    query = "SELECT 1 AS whole, y FROM (VALUES (1), (NULL), (2)) AS t(y)"
    found = run("evaluate", "noticed", "--source", query, "--target", "y")
    assert found.returncode == 0
    assert found.stderr.startswith("pgboost: 1 row"), found.stderr


def test_hints_name_options(run: Command, connection: Connection, tmp_path: Path) -> None:
    frame = models.numbers()[["whole"]]
    pgboost.push(
        connection, "changed", xgboost.XGBRegressor(n_estimators=2).fit(frame, frame["whole"])
    )
    model = xgboost.XGBClassifier(n_estimators=2).fit(frame, frame["whole"] > 0)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    given = ("push", tmp_path / "model.pkl", "--name", "changed")
    assert_failed(run(*given), "Pass --allow-change if that is meant, or --no-deploy to store")
    assert run(*given, "--allow-change").returncode == 0


@pytest.mark.parametrize("written", [b"garbage", b"", None])
def test_pickles_that_do_not_open(run: Command, tmp_path: Path, written: bytes | None) -> None:
    """The error names the release that wrote it."""
    path = tmp_path / "model.pkl"
    state = {"_sklearn_version": "1.3.2"}
    path.write_bytes(pickle.dumps((state, Unopened())) if written is None else written)
    found = run("push", path, "--name", "m")
    assert_failed(found, "cannot be opened")
    assert written is not None or "since 1.3.2 wrote it" in found.stderr


class Unopened:
    """An object whose class a pickle cannot import."""

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return (getattr, (int, "missing"))


@pytest.mark.parametrize(("content", "reason"), [
    ({"a": ensemble.RandomForestClassifier(), "b": ensemble.RandomForestClassifier()}, "2 models"),
    (pd.DataFrame({"a": [1]}), "no model of XGBoost"),
])  # fmt: skip
def test_other_pickles_are_refused(run: Command, tmp_path: Path, content: Any, reason: str) -> None:
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(content))
    found = run("push", path, "--name", "m")
    assert_failed(found, reason)


def test_a_list_imports_neither_numpy_nor_pandas(environment: dict[str, str]) -> None:
    program = (
        "import sys; from pgboost.__main__ import main; assert main(['list']) == 0;"
        " assert not {'numpy', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_the_database_names_the_command(run: Command, tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(pickle.dumps({}))
    found = run("push", path, "--name", "m", "--no-check")
    assert_failed(found, "pgboost push model.pkl --name")
