"""Models that Spark MLlib has saved predict in SQL what Spark predicts.

spark/make.py made the directories in saved.tar.xz, and the predictions for `rows`, with Spark 4.3.0.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

import pgboost

pytest.importorskip("pyarrow")

FOLDER = Path(__file__).parent / "spark"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
TEXTS = json.loads((FOLDER / "texts.json").read_text())
ROWS = [[float(value) for value in row] for row in EXPECTED["rows"]]


def predicted(connection: psycopg.Connection, call: str) -> Any:
    rows = "SELECT * FROM unnest(%s::float8[], %s, %s) WITH ORDINALITY f(a, k, b, i)"
    query = f"SELECT {call} FROM ({rows}) f ORDER BY i"
    values = [list(column) for column in zip(*ROWS, strict=True)]
    found = [row[0] for row in connection.execute(query, values)]
    return np.array(found, str if isinstance(found[0], str) else np.float32)


@pytest.mark.parametrize("name", [name for name in EXPECTED if name != "rows"])
def test_predictions_are_those_of_spark(
    connection: psycopg.Connection, spark: Path, name: str
) -> None:
    expected = EXPECTED[name]
    pgboost.push(connection, "model", spark / name, check=False)
    if "probability" not in expected:
        found = predicted(connection, "predict('model', a, k, b)")
        np.testing.assert_array_equal(found, np.float32(expected["prediction"]))
        return
    probability = np.float32(expected["probability"])
    if probability.shape[1] == 2:
        found, probability = predicted(connection, "predict('model', a, k, b)"), probability[:, 1]
    else:
        found = predicted(connection, "predict_array('model', a, k, b)")
    np.testing.assert_array_equal(found, probability)
    classes = predicted(connection, "predict_class('model', a, k, b)")
    assert classes.astype(float).tolist() == expected["prediction"]


def test_a_pipeline_of_an_assembler_names_the_columns(
    connection: psycopg.Connection, spark: Path
) -> None:
    pgboost.push(connection, "model", spark / "pipeline", check=False)
    row = "SELECT 0.5::float8 AS b, 2 AS k, -1.25::float8 AS a"
    found = connection.execute(
        f"SELECT predict('model', f), predict('model', a, k, b) FROM ({row}) f"
    ).fetchone()
    assert found is not None and found[0] == found[1]


def of_texts(connection: psycopg.Connection, call: str, rows: list[list[Any]]) -> list[Any]:
    table = "unnest(%s::float8[], %s::text[], %s::int[]) WITH ORDINALITY f(a, city, size, i)"
    values = [list(column) for column in zip(*rows, strict=True)]
    query = f"SELECT {call} FROM (SELECT i, size, city, a FROM {table}) f ORDER BY i"
    return [value for (value,) in connection.execute(query, values)]


def test_a_pipeline_numbers_texts_and_keeps_others(
    connection: psycopg.Connection, spark: Path
) -> None:
    pgboost.push(connection, "kept", spark / "texts_kept", check=False)
    found = of_texts(connection, "predict('kept', f)", TEXTS["known"] + TEXTS["others"])
    expected = np.float32(TEXTS["texts_kept"]["prediction"])
    np.testing.assert_array_equal(np.float32(found), expected)


def test_the_texts_of_classes_come_from_the_stage_after_the_model(
    connection: psycopg.Connection, spark: Path
) -> None:
    expected, known = TEXTS["texts_known"], TEXTS["known"]
    pgboost.push(connection, "known", spark / "texts_known", check=False)
    found = of_texts(connection, "predict_array('known', f)", known)
    np.testing.assert_array_equal(np.float32(found), np.float32(expected["probability"]))
    assert of_texts(connection, "predict_class('known', f)", known) == expected["prediction"]
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="Rom"):
        of_texts(connection, "predict('known', f)", [[0.1, "Rom", 1]])


def test_the_texts_of_classes_come_from_the_indexer_of_the_label(
    connection: psycopg.Connection, spark: Path
) -> None:
    saved = spark / "texts_known"
    [about] = (saved / "metadata").glob("part-*")
    uids = json.loads(about.read_text())["paramMap"]["stageUids"]
    about.write_text(about.read_text().replace(f',"{uids[-1]}"', ""))
    pgboost.push(connection, "known", saved, check=False)
    [indexer] = saved.glob("stages/0_*/data/part-*")
    [row] = pytest.importorskip("pyarrow.parquet").read_table(indexer).to_pylist()
    labels = connection.execute("SELECT model_info('known') -> 'labels'").fetchone()
    assert labels == (row["labelsArray"][0],)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            ("GBTRegressionModel", "FMRegressionModel"),
            "the FMRegressionModel of Spark 4.3.0 is not",
        ),
        (('"paramMap":{', '"paramMap":{"thresholds":[0.2,0.8],'), "has thresholds"),
        (("{", "["), "has no metadata of a model of Spark MLlib"),
    ],
)
def test_unsupported_models_are_refused_by_name(
    spark: Path, change: tuple[str, str], reason: str
) -> None:
    saved = spark / "gbt_regressor"
    [about] = (saved / "metadata").glob("part-*")
    about.write_text(about.read_text().replace(*change))
    with pytest.raises(pgboost.UnsupportedModelError, match=reason):
        pgboost.model_bytes(saved)


@pytest.mark.parametrize("part", ["data", "treesMetadata"])
def test_a_directory_without_parquet_is_refused(spark: Path, part: str) -> None:
    saved = spark / "gbt_regressor"
    for file in (saved / part).iterdir():
        file.unlink()
    with pytest.raises(pgboost.UnsupportedModelError, match="no Parquet files"):
        pgboost.model_bytes(saved)


def test_other_stages_are_refused_by_name(spark: Path) -> None:
    saved = spark / "pipeline"
    [about] = saved.glob("stages/0_*/metadata/part-*")
    about.write_text(about.read_text().replace('VectorAssembler"', 'PCAModel"', 1))
    with pytest.raises(pgboost.UnsupportedModelError, match=r"PCAModel of Spark 4\.3\.0 comes"):
        pgboost.model_bytes(saved)
