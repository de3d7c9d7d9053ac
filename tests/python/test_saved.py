"""Models that Spark MLlib has saved, or docs/tree_ensemble.R written, predict in SQL what they predict there.

The archives have the models, and the predictions of Spark 4.3.0, and of ranger 0.14.1 and gbm 2.1.8.1 of R.
"""

import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psycopg import Connection, errors

import pgboost
from tests.python.conftest import FOLDER


def content(folder: str) -> dict[str, bytes]:
    """The files of an archive by their names."""
    with tarfile.open(FOLDER / folder / "saved.tar.xz") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


OF_R, OF_SPARK = content("r"), content("spark")
BY_R = json.loads(OF_R["expected.json"])
BY_SPARK, TEXTS = (json.loads(OF_SPARK[f"{name}.json"]) for name in ("expected", "texts"))
NUMBERS = dict(zip("akb", np.array(BY_SPARK["rows"], float).T.tolist(), strict=True))
TYPES = {"a": "float8", "k": "float8", "b": "float8", "city": "text", "size": "int"}


def predicted(connection: Connection, call: str, rows: dict[str, list], **types: str) -> list[Any]:
    """The answers of a call for rows `f` of these columns."""
    arrays = ", ".join(f"%({name})s::{(TYPES | types)[name]}[]" for name in rows)
    table = f"unnest({arrays}) WITH ORDINALITY f({', '.join(rows)}, i)"
    return [one for (one,) in connection.execute(f"SELECT {call} FROM {table} ORDER BY i", rows)]


@pytest.mark.parametrize("name", [name for name in BY_R if name not in ("rows", "complete")])
def test_predictions_are_those_of_r(connection: Connection, tmp_path: Path, name: str) -> None:
    (tmp_path / "model.json").write_bytes(OF_R[f"{name}.json"])
    pgboost.push(connection, "model", tmp_path / "model.json", check=False)
    expected = np.float32(BY_R[name]["expected"])
    rows = BY_R["rows" if BY_R[name]["missing"] else "complete"]
    function = "predict" if expected.ndim == 1 else "predict_array"
    found = predicted(connection, f"{function}('model', a, k, b)", rows, k="text")
    # R computes exponentials by another library than Rust.
    np.testing.assert_array_max_ulp(np.float32(found), expected, 1)


@pytest.mark.parametrize("name", [name for name in BY_SPARK if name != "rows"])
def test_predictions_are_those_of_spark(connection: Connection, spark: Path, name: str) -> None:
    pgboost.push(connection, "model", spark / name, check=False)
    expected = BY_SPARK[name]
    values = np.float32(expected.get("probability", expected["prediction"]))
    is_vector = values.ndim == 2 and values.shape[1] > 2
    function = "predict_array" if is_vector else "predict"
    found = predicted(connection, f"{function}('model', a, k, b)", NUMBERS)
    if values.ndim == 2 and not is_vector:
        values = values[:, 1]
    np.testing.assert_array_equal(np.float32(found), values)
    if "probability" in expected:
        classes = predicted(connection, "predict_class('model', a, k, b)", NUMBERS)
        assert [float(one) for one in classes] == expected["prediction"]


def test_a_pipeline_of_an_assembler_names_the_columns(connection: Connection, spark: Path) -> None:
    pgboost.push(connection, "model", spark / "pipeline", check=False)
    row = "SELECT 0.5::float8 AS b, 2 AS k, -1.25::float8 AS a"
    query = f"SELECT predict('model', f), predict('model', a, k, b) FROM ({row}) f"
    found = connection.execute(query).fetchone()
    assert found is not None and found[0] == found[1]


def of_texts(connection: Connection, call: str, rows: list[list[Any]]) -> list[Any]:
    a, city, size = map(list, zip(*rows, strict=True))
    return predicted(connection, call, {"a": a, "city": city, "size": size})


def test_a_pipeline_numbers_texts_and_keeps_others(connection: Connection, spark: Path) -> None:
    pgboost.push(connection, "kept", spark / "texts_kept", check=False)
    found = of_texts(connection, "predict('kept', f)", TEXTS["known"] + TEXTS["others"])
    np.testing.assert_array_equal(np.float32(found), np.float32(TEXTS["texts_kept"]["prediction"]))


def test_the_texts_of_classes_come_from_the_stage_after_the_model(
    connection: Connection, spark: Path
) -> None:
    expected, known = TEXTS["texts_known"], TEXTS["known"]
    pgboost.push(connection, "known", spark / "texts_known", check=False)
    found = of_texts(connection, "predict_array('known', f)", known)
    np.testing.assert_array_equal(np.float32(found), np.float32(expected["probability"]))
    assert of_texts(connection, "predict_class('known', f)", known) == expected["prediction"]
    with pytest.raises(errors.InvalidTextRepresentation, match="Rom"):
        of_texts(connection, "predict('known', f)", [[0.1, "Rom", 1]])


def rewritten(folder: Path, *change: Any) -> None:
    """Replaces a text in the metadata of a saved model or stage."""
    [about] = (folder / "metadata").glob("part-*")
    about.write_text(about.read_text().replace(*change))


def test_the_texts_of_classes_come_from_the_indexer_of_the_label(
    connection: Connection, spark: Path
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    saved = spark / "texts_known"
    [about] = (saved / "metadata").glob("part-*")
    uids = json.loads(about.read_text())["paramMap"]["stageUids"]
    rewritten(saved, f',"{uids[-1]}"', "")
    pgboost.push(connection, "known", saved, check=False)
    [indexer] = saved.glob("stages/0_*/data/part-*")
    [row] = parquet.read_table(indexer).to_pylist()
    labels = connection.execute("SELECT model_info('known') -> 'labels'").fetchone()
    assert labels == (row["labelsArray"][0],)


@pytest.mark.parametrize(("saved", "change", "reason"), [
    ("gbt_regressor", ("GBTRegression", "FMRegression"), "the FMRegressionModel of Spark 4.3.0 is not"),
    ("gbt_regressor", ('"paramMap":{', '"paramMap":{"thresholds":[0.2,0.8],'), "has thresholds"),
    ("gbt_regressor", ("{", "["), "has no metadata of a model of Spark MLlib"),
    ("pipeline/stages/0_*", ('VectorAssembler"', 'PCAModel"', 1), r"PCAModel of Spark 4\.3\.0 comes"),
])  # fmt: skip
def test_unsupported_models_of_spark_are_refused_by_name(
    spark: Path, saved: str, change: tuple[Any, ...], reason: str
) -> None:
    [folder] = spark.glob(saved)
    rewritten(folder, *change)
    with pytest.raises(pgboost.UnsupportedModelError, match=reason):
        pgboost.model_bytes(spark / saved.partition("/")[0])


@pytest.mark.parametrize("part", ["data", "treesMetadata"])
def test_a_directory_without_parquet_is_refused(spark: Path, part: str) -> None:
    saved = spark / "gbt_regressor"
    for file in (saved / part).iterdir():
        file.unlink()
    with pytest.raises(pgboost.UnsupportedModelError, match="no Parquet files"):
        pgboost.model_bytes(saved)
