"""Trains tree models of Spark MLlib, and packs them into saved.tar.xz with Spark's predictions.

It needs pyspark and Java: PYSPARK_PYTHON=python python tests/python/spark/make.py
"""

import json
import re
import shutil
import tarfile
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.ml import Pipeline, classification, regression
from pyspark.ml.feature import (
    IndexToString,
    OneHotEncoder,
    StringIndexer,
    VectorAssembler,
    VectorIndexer,
)
from pyspark.ml.linalg import Vectors
from pyspark.sql import SparkSession

HERE = Path(__file__).parent
SAVED = HERE / "saved"
BOOSTED: dict[str, Any] = {"maxIter": 9, "maxDepth": 4, "seed": 1}
FOREST: dict[str, Any] = {"numTrees": 7, "maxDepth": 5, "seed": 1}


def estimators() -> dict[str, Any]:
    """Returns unfitted estimators, which need a session."""
    return {
        "gbt_regressor": regression.GBTRegressor(labelCol="y", stepSize=0.3, **BOOSTED),
        "gbt_classifier": classification.GBTClassifier(labelCol="two", **BOOSTED),
        "forest_regressor": regression.RandomForestRegressor(labelCol="y", **FOREST),
        "forest_classifier": classification.RandomForestClassifier(labelCol="three", **FOREST),
        "forest_binary": classification.RandomForestClassifier(labelCol="two", **FOREST),
        "tree_regressor": regression.DecisionTreeRegressor(labelCol="y", maxDepth=4),
        "tree_classifier": classification.DecisionTreeClassifier(labelCol="three", maxDepth=4),
    }


def pipelines() -> dict[str, Pipeline]:
    """Returns unfitted pipelines of texts: others are kept, or an error."""
    kept, error = ({"handleInvalid": invalid} for invalid in ("keep", "error"))
    index = {"inputCols": ["city", "size"], "outputCols": ["city_index", "size_index"]}
    encode = {"inputCols": ["city_index"], "outputCols": ["city_vector"]}
    assemble = {"inputCols": ["a", "city_vector", "size_index"], "outputCol": "features"}
    classes = classification.RandomForestClassifier(labelCol="class", numTrees=5, seed=1)
    regressor = regression.GBTRegressor(labelCol="y", maxIter=5, maxDepth=4, seed=1)
    return {
        "texts_kept": Pipeline(stages=[
            StringIndexer(**index, **kept), OneHotEncoder(**encode, **kept),
            VectorAssembler(**assemble, **kept), regressor,
        ]),
        "texts_known": Pipeline(stages=[
            StringIndexer(inputCol="label", outputCol="class"), StringIndexer(**index, **error),
            OneHotEncoder(**encode, dropLast=False),
            VectorAssembler(inputCols=["a", "city_vector"], outputCol="part", **kept),
            VectorAssembler(inputCols=["part", "size_index"], outputCol="features", **kept), classes,
            IndexToString(inputCol="prediction", outputCol="text", labels=["Y", "N", "?"]),
        ]),
    }  # fmt: skip


def of_texts(spark: SparkSession, generator: Any) -> dict[str, Any]:
    """Saves pipelines of texts; returns the rows and what each predicts."""
    count = 400
    a = generator.normal(size=count).round(3)
    city = generator.choice(["Graz", "Linz", "Köln", "Wien"], count, p=[0.4, 0.3, 0.2, 0.1])
    size = generator.choice(["1", "2", "10"], count)
    y = 3 * a + 5 * (city == "Graz") - 4 * (city == "Köln") + 2 * (size == "10")
    label = np.digitize(y, np.quantile(y, [0.4, 0.7])).astype(str)
    columns = ["a", "city", "size", "y", "label"]
    rows = zip(*(part.tolist() for part in (a, city, size, y, label)), strict=True)
    data = spark.createDataFrame(list(rows), columns)
    known = product((-1.5, -0.2, 0.1, 2.0), ("Graz", "Linz", "Köln", "Wien"), ("1", "2", "10"))
    others = product((-1.0, 0.4, None), ("Graz", "Rom", None), ("1", "7", None))
    known, others = ([list(row) for row in rows] for rows in (known, others))
    found: dict[str, Any] = {"known": known, "others": others}
    for name, pipeline in pipelines().items():
        model = pipeline.fit(data)
        save(model, name)
        given = known + others if name == "texts_kept" else known
        query = spark.createDataFrame(
            [(place, *row) for place, row in enumerate(given)],
            "place int, a double, city string, size string",
        )
        collected = model.transform(query).orderBy("place").collect()
        found[name] = {"prediction": [row.prediction for row in collected]}
        if "probability" in collected[0]:
            found[name]["probability"] = [row.probability.toArray().tolist() for row in collected]
            found[name]["prediction"] = [row.text for row in collected]
    return found


def save(model: Any, name: str) -> None:
    """Saves a model without checksums, under names that are the same each time."""
    path = SAVED / name
    model.write().overwrite().save(f"file://{path}")
    for file in [*path.rglob(".*.crc"), *path.rglob("_SUCCESS")]:
        file.unlink()
    for file in path.rglob("part-*"):
        file.rename(file.with_name(f"part-00000{file.suffix}"))


def main() -> None:
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    generator = np.random.default_rng(20261129)
    a, k = generator.normal(size=400).round(3), generator.integers(0, 6, 400)
    x = np.c_[a, k, generator.normal(size=400).round(3)]
    y = 10 * np.sin(x[:, 0]) + 3 * (x[:, 1] % 3) + x[:, 2]
    two, three = y > np.median(y), np.digitize(y, np.quantile(y, [0.33, 0.66]))
    data = spark.createDataFrame(
        np.c_[x, y, two, three].tolist(), ["a", "k", "b", "y", "two", "three"]
    )
    assembler = VectorAssembler(inputCols=["a", "k", "b"], outputCol="raw", handleInvalid="keep")
    indexer = VectorIndexer(
        inputCol="raw", outputCol="features", maxCategories=6, handleInvalid="keep"
    )
    vectors = assembler.transform(data)
    vectors = indexer.fit(vectors).transform(vectors)
    fitted = {name: estimator.fit(vectors) for name, estimator in estimators().items()}

    rows = np.c_[
        generator.normal(size=60), generator.integers(0, 6, 60), generator.normal(size=60)
    ].tolist()
    rows += [[np.nan, 1, 0.5], [0.5, 2, np.nan], [np.inf, 3, -np.inf], [0, 0, 0]]
    rows += [[0.1, k, b] for k in (np.nan, 5, 6, 2.5, -1) for b in (-1, 0.5)]
    for model in fitted.values():
        splits = re.findall(r"feature (\d+) <= (\S+)\)", model.toDebugString)
        for feature, threshold in splits[:12]:
            on = float(threshold)
            for value in (on, np.nextafter(on, np.inf), np.nextafter(on, -np.inf)):
                row = [0.1, 2, -0.3]
                row[int(feature)] = float(value)
                rows.append(row)
    query = spark.createDataFrame(
        [(place, Vectors.dense(row)) for place, row in enumerate(rows)], ["place", "features"]
    )
    expected: dict[str, Any] = {"rows": [[str(float(value)) for value in row] for row in rows]}
    for name, model in fitted.items():
        save(model, name)
        found = model.transform(query).orderBy("place").collect()
        expected[name] = {"prediction": [row.prediction for row in found]}
        if "probability" in found[0]:
            expected[name]["probability"] = [row.probability.toArray().tolist() for row in found]
    assemblers = [assembler, VectorAssembler(inputCols=["raw"], outputCol="features")]
    save(Pipeline(stages=[*assemblers, estimators()["gbt_regressor"]]).fit(data), "pipeline")
    (SAVED / "texts.json").write_text(json.dumps(of_texts(spark, generator)))
    (SAVED / "expected.json").write_text(json.dumps(expected))
    with tarfile.open(HERE / "saved.tar.xz", "w:xz") as archive:
        for path in sorted([*SAVED.rglob("part-*"), *SAVED.glob("*.json")]):
            archive.add(path, path.relative_to(SAVED))
    for folder in (SAVED, HERE / "spark-warehouse"):
        shutil.rmtree(folder, ignore_errors=True)


main()
