"""Models of PostgresML come over: real bytes of XGBoost and LightGBM, in tables as pgml 2.10 writes them."""

import pickle
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psycopg import Connection
from psycopg.types.json import Jsonb

from tests.connections import Connect
from tests.extension.e2e import golden
from tests.extension.lifecycle.models import drop_all, one
from tools.cluster import Cluster
from tools.cluster.server import bin_directory

HERE = Path(__file__).resolve().parent
SQL = HERE.parents[2] / "sql" / "pgml"
NUMBERS = ["a", "b", "c", "d", "e", "f"]


def psql(cluster: Cluster, dbname: str, *arguments: str, given: bytes | None = None) -> bytes:
    command = [str(bin_directory() / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", *arguments]
    done = subprocess.run(
        command, input=given, capture_output=True, check=False, env=cluster.environment(dbname)
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def column(name: str, position: int, **more: Any) -> dict[str, Any]:
    """A column of a snapshot, as pgml writes it."""
    return {
        "name": name, "pg_type": "float4", "nullable": True, "label": False, "position": position,
        "size": 1, "array": False,
        "preprocessor": {"encode": "native", "impute": "error", "scale": "preserve"},
        "statistics": {"mean": 0.5, "std_dev": 1.0, "categories": None},
    } | more  # fmt: skip


def texts(name: str, position: int, *values: str, **more: Any) -> dict[str, Any]:
    """A column of texts, or of numbers if there are none."""
    found = {text: {"value": float(code), "members": 9} for code, text in enumerate(values)}
    return column(name, position, statistics={"categories": found or None}, **more)


def numbers(*labels: str) -> list[dict[str, Any]]:
    """Six columns of numbers, and a label."""
    features = [column(name, place) for place, name in enumerate(NUMBERS, 1)]
    return [*features, texts("y", 7, *labels, label=True)]


class Pgml:
    """A database with pgml's tables."""

    def __init__(self, cluster: Cluster, connection: Connection) -> None:
        self._cluster, self._connection = cluster, connection
        connection.execute(
            "DROP SCHEMA IF EXISTS pgml CASCADE; DROP TABLE IF EXISTS pgml_model CASCADE"
        )
        connection.execute((HERE / "pgml.sql").read_text(encoding="utf-8"))

    def one(self, query: str, *values: Any) -> Any:
        return one(self._connection, query, values)

    def psql(self, *arguments: str) -> bytes:
        return psql(self._cluster, self._connection.info.dbname, *arguments)

    def come_over(self) -> dict[int, tuple[str | None, int | None, str | None]]:
        """Runs sql/pgml/from_pgml.sql; returns the model, version and note of each of pgml's models."""
        self.psql("-f", str(SQL / "from_pgml.sql"))
        rows = self._connection.execute("SELECT id, model, version, note FROM pgml_model")
        return {number: tuple(found) for number, *found in rows.fetchall()}

    def regression(self, project: str, name: str, **known: Any) -> int:
        """A training of numbers whose file is that golden model of XGBoost."""
        data = golden.file(f"xgboost/{name}")
        return self.train(project, "regression", "xgboost", data, numbers(), **known)

    def train(  # noqa: PLR0913, PLR0917 (the columns of a table)
        self, project: str, task: str, algorithm: str, data: bytes, columns: list[dict[str, Any]],
        runtime: str = "rust", deploy: bool = False, parts: int = 1,
    ) -> int:  # fmt: skip
        """Writes the rows of a training; returns the model's id."""
        found = self._connection.execute(
            "SELECT id FROM pgml.projects WHERE name = %s", [project]
        ).fetchone()
        number = found[0] if found else self.one(
            "INSERT INTO pgml.projects (name, task) VALUES (%s, %s) RETURNING id", project, task
        )  # fmt: skip
        snapshot = self.one(
            "INSERT INTO pgml.snapshots (relation_name, y_column_name, test_size, status, columns)"
            " VALUES ('t', '{y}', 0.25, 'complete', %s) RETURNING id", Jsonb(columns),
        )  # fmt: skip
        model = self.one(
            "INSERT INTO pgml.models (project_id, snapshot_id, num_features, algorithm, runtime,"
            " hyperparams, status, metrics) VALUES (%s, %s, 6, %s, %s, '{\"n_estimators\": 3}',"
            " 'successful', '{\"r2\": 0.5}') RETURNING id", number, snapshot, algorithm, runtime,
        )  # fmt: skip
        size = -(-len(data) // parts)
        for part in range(parts):
            self._connection.execute(
                "INSERT INTO pgml.files (model_id, path, part, data) VALUES (%s, 'estimator.rmp', %s, %s)",
                [model, part, data[part * size : (part + 1) * size]],
            )
        if deploy:
            self._connection.execute(
                "INSERT INTO pgml.deployments (project_id, model_id, strategy) VALUES (%s, %s, 'new_score')",
                [number, model],
            )
        return model


def expected(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows and the margins of a golden model."""
    record = golden.record(f"xgboost/{name}.expected.json")
    return golden.hex_rows(record["rows"]), golden.hex_rows(record["margins"])


@pytest.fixture
def pgml(cluster: Cluster, connection: Connection) -> Pgml:
    """pgml's tables, and no models in pgboost."""
    drop_all(connection)
    return Pgml(cluster, connection)


def assert_margins(connection: Connection, model: str, name: str) -> None:
    rows, margins = expected(name)
    for row, margin in zip(rows, margins, strict=True):
        found = one(connection, "SELECT predict_margin(%s, %s::real[])", (model, row.tolist()))
        assert np.array(found, np.float32).tobytes() == margin.tobytes()


def test_all_releases_keep_their_bits(connection: Connection, pgml: Pgml) -> None:
    releases = ("1.6.2", "1.7.6", "2.0.3")
    ids = [
        pgml.regression("price", f"{release}/reg_squarederror.bin", deploy=release == "1.7.6")
        for release in releases
    ]
    prefixed = pgml.train(
        "first", "regression", "xgboost", b"\x10" * 16 + golden.file("xgboost/1.6.2/dart.bin"),
        numbers(), deploy=True, parts=3,
    )  # fmt: skip
    found = pgml.come_over()
    assert [found[number] for number in ids] == [("price", number, None) for number in (1, 2, 3)]
    assert found[prefixed] == ("first", 1, None)
    for version, release in enumerate(releases, 1):
        assert_margins(connection, f"price@{version}", f"{release}/reg_squarederror")
    assert_margins(connection, "price", "1.7.6/reg_squarederror")
    assert_margins(connection, "first", "1.6.2/dart")
    info = one(connection, "SELECT model_info('price')")
    assert info["version"] == 2
    assert info["parameters"] == {"n_estimators": 3}
    assert info["metrics"] == {"r2": 0.5}
    assert one(connection, "SELECT array_agg(feature) FROM model_features('price')") == NUMBERS


def test_the_page_shows_the_output_of_the_script(pgml: Pgml) -> None:
    pgml.regression("flights", "1.6.2/reg_squarederror.bin")
    pgml.train("flights", "regression", "linear", b"a linear model", numbers())
    pgml.regression("flights", "1.7.6/reg_squarederror.bin", deploy=True)
    printed = pgml.psql("-f", str(SQL / "from_pgml.sql")).decode()
    shown = "\n".join(line.rstrip() for line in printed.splitlines())
    page = (HERE.parents[2] / "docs" / "from-pgml.md").read_text(encoding="utf-8")
    assert shown.strip("\n") in page, printed


def test_texts_and_labels_are_carried(connection: Connection, pgml: Pgml) -> None:
    kind = golden.file("xgboost/1.7.6/multi_softprob.bin")
    # A project keeps its name where its labels change.
    for labels in (("a", "b", "c"), ("low", "middle", "high")):
        columns = numbers(*labels)
        columns[5] = texts("f", 6, "x", "y", "z", pg_type="text")
        pgml.train("kind", "classification", "xgboost", kind, columns, deploy=True)
    pgml.come_over()
    same = connection.execute(
        "SELECT predict_margin('kind', 1::real, 2::real, 3::real, 4::real, 5::real, 'y'::text)"
        "     = predict_margin('kind', ARRAY[1, 2, 3, 4, 5, 1]::real[]),"
        " predict_class('kind', ARRAY[1, 2, 3, 4, 5, 1]::real[]) IN ('low', 'middle', 'high')"
    ).fetchone()
    assert same == (True, True)


def test_skipped_models_have_a_reason(connection: Connection, pgml: Pgml) -> None:
    scaled = numbers()
    scaled[2]["preprocessor"] = {"encode": "native", "impute": "mean", "scale": "standard"}
    price = golden.file("xgboost/2.0.3/reg_squarederror.bin")
    cases = {
        pgml.train("p", "regression", "xgboost", pickle.dumps({}), numbers(), runtime="python"): "pickle",
        pgml.train("p", "regression", "linear", b"\x93", numbers()): "not a model of trees",
        pgml.regression("p", "2.1.4/no_trees.ubj"): "no trees",
        pgml.train("p", "regression", "xgboost", price, scaled): 'column "c" is preprocessed',
        pgml.train("p", "regression", "xgboost", price[:-900], numbers()): "invalid model",
    }  # fmt: skip
    kept = pgml.train(
        "p", "regression", "lightgbm", golden.file("lightgbm/4.0.0/one_leaf.txt"), [], deploy=True
    )
    found = pgml.come_over()
    for number, words in cases.items():
        assert found[number][1] is None
        assert words in found[number][2], found[number]
    assert found[kept][:2] == ("p", 1)
    assert one(connection, "SELECT count(*) FROM pgboost_models WHERE name = 'p'") == 1


def test_a_second_run_adds_new_models(pgml: Pgml) -> None:
    made = []
    for _ in range(2):
        made.append(pgml.regression("again", "2.0.3/reg_squarederror.bin", deploy=True))
        found = pgml.come_over()
    assert [found[number][1] for number in made] == [1, 2]


def test_models_that_pgml_predicts_differently_are_skipped(
    connection: Connection, pgml: Pgml
) -> None:
    price = golden.file("xgboost/2.0.3/reg_squarederror.bin")
    kind = golden.file("xgboost/1.7.6/multi_softprob.bin")
    columns = numbers()
    same = pgml.train("price", "regression", "xgboost", price, columns, deploy=True)
    other = pgml.train("price", "regression", "xgboost", price, columns, deploy=True)
    classes = pgml.train("kind", "classification", "xgboost", kind, columns, deploy=True)
    connection.execute("SELECT load_model('their_price', %s)", [price])
    connection.execute("SELECT load_model('their_kind', %s)", [kind])
    # The results of pgml's library, for one model with other numbers in some rows.
    connection.execute(
        "CREATE FUNCTION pgml.predict(model_id bigint, features real[]) RETURNS real LANGUAGE sql AS"
        " $$ SELECT (predict('their_price', features)"
        f"       + CASE WHEN model_id = {other} AND features[1] > 1 THEN 0.01 ELSE 0 END)::real $$;"
        "CREATE FUNCTION pgml.predict_proba(model_id bigint, features real[]) RETURNS real[]"
        " LANGUAGE sql AS $$ SELECT predict_array('their_kind', features) $$"
    )
    found = pgml.come_over()
    assert found[same] == ("price", 1, None)
    assert found[classes] == ("kind", 1, None)
    model, version, note = found[other]
    assert (model, version) == (None, None)
    assert re.fullmatch(r"pgml predicts {.*} for {.*}, pgboost {.*}", note or ""), note
    assert one(connection, "SELECT count(*) FROM pgboost_models WHERE name = 'price'") == 1


def test_models_of_another_server(cluster: Cluster, connect: Connect, pgml: Pgml) -> None:
    pgml.regression("far", "1.7.6/reg_squarederror.bin", deploy=True)
    cluster.create_database("pgml_new", replace=True)
    psql(cluster, "pgml_new", "-c", "CREATE EXTENSION pgboost", "-f", str(SQL / "pgml_model.sql"))
    copy = "COPY (SELECT * FROM pgml_found) TO STDOUT"
    copied = pgml.psql("-f", str(SQL / "pgml_found.sql"), "-c", copy)
    columns = (
        "project, id, task, runtime, algorithm, hyperparams, metrics, columns, deployed, bytes"
    )
    psql(cluster, "pgml_new", "-c", f"COPY pgml_model ({columns}) FROM STDIN", given=copied)
    psql(cluster, "pgml_new", "-f", str(SQL / "from_pgml.sql"))
    assert_margins(connect(dbname="pgml_new"), "far", "1.7.6/reg_squarederror")


def test_pgmls_calls(connection: Connection, pgml: Pgml) -> None:
    pgml.regression("price", "1.7.6/reg_squarederror.bin", deploy=True)
    kind = golden.file("xgboost/1.7.6/multi_softprob.bin")
    pgml.train("kind", "classification", "xgboost", kind, numbers(), deploy=True)
    pgml.come_over()
    connection.execute("DROP SCHEMA pgml CASCADE")
    pgml.psql("-f", str(SQL / "pgml_calls.sql"))
    row = "ARRAY[1, 2, 3, 4, 5, 6]::real[]"
    found = connection.execute(
        f"SELECT pgml.predict('price', {row}) = predict('price', {row}),"
        f" pgml.predict('price', 1, 2, 3, 4, 5, 6) = predict('price', {row}),"
        f" pgml.predict_proba('kind', {row}) = predict_array('kind', {row}),"
        f" pgml.predict('kind', {row})::text = predict_class('kind', {row}),"
        f" (SELECT array_agg(p) FROM pgml.predict_batch('price', {row} || {row}) AS p)"
        f"     = ARRAY[predict('price', {row}), predict('price', {row})]"
    ).fetchone()
    assert found == (True,) * 5
    deployed = connection.execute("SELECT name FROM pgml.deployed_models ORDER BY name").fetchall()
    assert deployed == [("kind",), ("price",)]
