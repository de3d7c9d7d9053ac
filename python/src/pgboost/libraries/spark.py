"""Converts saved tree models of Spark MLlib to the tree ensembles of docs/formats.md, without Spark.

A directory that `model.write().save(path)` made has JSON in `metadata`, a Parquet row per node in `data`, and
the weights of several trees in `treesMetadata`. Spark compares and sums doubles in the order of the trees.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UnsupportedModelError, needed
from ..model_file import ModelFile
from .ensemble import Ensemble, Tree

_MODELS = {
    "GBTRegressionModel": "regression",
    "GBTClassificationModel": "boosted classes",
    "RandomForestRegressionModel": "regression",
    "RandomForestClassificationModel": "classes",
    "DecisionTreeRegressionModel": "regression",
    "DecisionTreeClassificationModel": "classes",
}
_ASSEMBLER = "VectorAssembler"
# The engine's own limit.
_MOST_FEATURES = 65_536
_DAMAGED = "the directory is damaged, or not whole"


def model_file(path: Path) -> ModelFile:
    names = None
    about = _metadata(path)
    if _kind(about) == "PipelineModel":
        path, about, names = _last_stage(path, about)
    if _kind(about) not in _MODELS:
        _refuse(about, f"is not scored: {', '.join(_MODELS)} are")
    width = int(about.get("numFeatures") or 0)
    if not 0 < width <= _MOST_FEATURES:
        _refuse(about, f"has {width} features, not 1 to {_MOST_FEATURES}")
    if names and len(names) != width:
        _refuse(about, "was fitted on vectors that an assembler took whole: push its directory")
    return ModelFile(_ensemble(path, about).file(_kind(about), width, names), has_labels=True)


def _metadata(path: Path) -> dict[str, Any]:
    """Returns what Spark saved about a stage."""
    parts = sorted((path / "metadata").glob("part-*"))
    message = f"{path} has no metadata of a model of Spark MLlib"
    try:
        about = json.loads("".join(part.read_text(encoding="utf-8") for part in parts))
    except ValueError as error:
        raise UnsupportedModelError(f"{message}: {error}") from error
    if not isinstance(about, dict):
        raise UnsupportedModelError(message)
    return about


def _kind(about: dict[str, Any]) -> str:
    return str(about.get("class", "")).rpartition(".")[2]


def _parameter(about: dict[str, Any], name: str) -> Any:
    values = {**about.get("defaultParamMap", {}), **about.get("paramMap", {})}
    return values.get(name)


def _refuse(about: dict[str, Any], reason: str) -> None:
    release = about.get("sparkVersion", "an unknown release")
    raise UnsupportedModelError(f"the {_kind(about)} of Spark {release} {reason}")


def _last_stage(path: Path, about: dict[str, Any]) -> tuple[Path, dict[str, Any], list[str] | None]:
    """Returns a pipeline's model and the columns that assemblers put into its vector."""
    uids = _parameter(about, "stageUids") or []
    stages = {stage.name.partition("_")[2]: stage for stage in (path / "stages").iterdir()}
    if not uids or not {*uids} <= {*stages}:
        _refuse(about, "has no stages, or does not have them all")
    vectors: dict[str, list[str]] = {}
    for uid in uids[:-1]:
        stage = _metadata(stages[uid])
        if _kind(stage) != _ASSEMBLER:
            _refuse(
                stage,
                f"comes before the trees: push {stages[uids[-1]]}, and compute its vector in SQL",
            )
        columns = _parameter(stage, "inputCols")
        vectors[_parameter(stage, "outputCol")] = [
            name for column in columns for name in vectors.get(column, [column])
        ]
    model = stages[uids[-1]]
    about = _metadata(model)
    return model, about, vectors.get(_parameter(about, "featuresCol"))


def _rows(path: Path) -> list[dict[str, Any]]:
    pyarrow, parquet = (needed(module, "spark") for module in ("pyarrow", "pyarrow.parquet"))
    parts = sorted(path.glob("*.parquet"))
    if not parts:
        raise UnsupportedModelError(f"{path} has no Parquet files of Spark MLlib")
    table = pyarrow.concat_tables(parquet.read_table(part) for part in parts)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _ensemble(path: Path, about: dict[str, Any]) -> Ensemble:
    if _parameter(about, "thresholds"):
        _refuse(about, "has thresholds of classes, which are not scored: save it without")
    task = _MODELS[_kind(about)]
    grown: dict[int, list[dict[str, Any]]] = {}
    for row in _rows(path / "data"):
        grown.setdefault(row.get("treeID", 0), []).append(row.get("nodeData", row))
    weights = {0: 1.0}
    if (path / "treesMetadata").is_dir():
        weights = {
            row[0]: row[-1] for row in (list(of.values()) for of in _rows(path / "treesMetadata"))
        }
    if {*weights} != {*grown} or len(grown) != int(about.get("numTrees", 1)):
        _refuse(about, f"does not have the nodes of all trees: {_DAMAGED}")
    categories: dict[int, int] = {}
    classes = int(about.get("numClasses", 2)) if task == "classes" else 0
    if task == "classes" and classes < 2:
        _refuse(about, "was trained on one class")
    trees = []
    for number in sorted(grown):
        nodes = sorted(grown[number], key=lambda node: node["id"])
        _check(about, nodes, classes)
        trees.append(_tree(nodes, weights[number], classes, categories))
    outputs = classes if classes > 2 else 1
    for tree in trees:
        tree.output = 0 if outputs == 1 else None
    found = Ensemble(trees, str(about.get("sparkVersion")), outputs, value_type="float64")
    found.categories = {feature: list(range(count)) for feature, count in categories.items()}
    found.unknown = {*categories}
    if "GBT" not in _kind(about):
        found.others["divisor"] = float(len(trees))
    if task == "boosted classes":
        found.task, found.link, found.others["slope"] = "binary", "logistic", 2.0
    elif task == "classes":
        found.task = "binary" if outputs == 1 else "multiclass"
    if found.task != "regression":
        found.labels = [str(label) for label in range(max(classes, 2))]
    return found


def _check(about: dict[str, Any], nodes: list[dict[str, Any]], classes: int) -> None:
    """Refuses nodes that are not a whole tree over the features and classes."""
    width, most = int(about["numFeatures"]), int(_parameter(about, "maxBins"))
    counts = [classes] * len(nodes) if classes else [len(node["impurityStats"]) for node in nodes]
    is_whole = [node["id"] for node in nodes] == list(range(len(nodes))) and all(
        len(node["impurityStats"]) == count > 0 for node, count in zip(nodes, counts, strict=True)
    )
    for node in nodes:
        if node["leftChild"] < 0:
            continue
        split = node["split"]
        count, codes = split["numCategories"], split["leftCategoriesOrThreshold"]
        # Spark numbers categories below the number of bins.
        is_set = 0 < count <= most and all(code in range(count) for code in codes)
        is_number = count < 0 and len(codes) == 1
        is_whole &= split["featureIndex"] in range(width) and (is_set or is_number)
    if not is_whole:
        _refuse(about, f"has nodes that are no tree: {_DAMAGED}")


def _tree(
    nodes: list[dict[str, Any]], weight: float, classes: int, categories: dict[int, int]
) -> Tree:
    """Converts the nodes of a tree, whose ids are their places."""
    left = np.array([node["leftChild"] for node in nodes])
    statistics = np.array([node["impurityStats"] for node in nodes], np.float64)
    cover = statistics.sum(axis=1) if classes else statistics[:, 0]
    if classes:
        shares = statistics / cover[:, np.newaxis]
        values = shares[:, 1:] if classes == 2 else shares
    else:
        values = weight * np.array([[node["prediction"]] for node in nodes])
    threshold, missing, sets = np.zeros(len(nodes)), np.zeros(len(nodes)), {}
    for place in np.flatnonzero(left >= 0):
        split = nodes[place]["split"]
        count, codes = split["numCategories"], split["leftCategoriesOrThreshold"]
        if count < 0:
            threshold[place] = codes[0]
            continue
        # Spark looks a value up in the smaller side: others, and NaN, go to the other one.
        others_left = len(codes) > count // 2
        sets[int(place)] = [int(code) for code in codes] + [count] * others_left
        missing[place] = others_left
        categories[split["featureIndex"]] = count
    return Tree(
        left,
        np.array([node["rightChild"] for node in nodes]),
        np.array([node["split"]["featureIndex"] for node in nodes]),
        threshold,
        missing,
        cover,
        np.array([node["gain"] for node in nodes]) * cover,
        values[left < 0],
        sets=sets,
    )
