"""Trains tree models of Spark MLlib, saves them here, and writes what Spark predicts to expected.json.

It needs pyspark and Java: PYSPARK_PYTHON=python python tests/python/spark/make.py
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.ml import Pipeline, classification, regression
from pyspark.ml.feature import VectorAssembler, VectorIndexer
from pyspark.ml.linalg import Vectors
from pyspark.sql import SparkSession

HERE = Path(__file__).parent
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


def save(model: Any, name: str) -> None:
    """Saves a model without checksums, under names that are the same each time."""
    path = HERE / name
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
    x = np.c_[
        generator.normal(size=400).round(3),
        generator.integers(0, 6, 400),
        generator.normal(size=400).round(3),
    ]
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
    (HERE / "expected.json").write_text(json.dumps(expected))
    shutil.rmtree(HERE / "spark-warehouse", ignore_errors=True)


main()
