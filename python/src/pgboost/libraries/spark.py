"""Converts saved tree models of Spark MLlib to the tree ensembles of docs/formats.md, without Spark.

A directory that `model.write().save(path)` made has JSON in `metadata`, a Parquet row per node in `data`, and
the weights of several trees in `treesMetadata`. Spark compares and sums doubles in the order of the trees.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..model_file import ModelFile
from .ensemble import Ensemble, Tree
from .feature import Feature
from .folding import folded
from .spark_stages import Stages, about_stage, kind_of, parameter, refuse_stage, rows_of

_MODELS = {
    "GBTRegressionModel": "regression",
    "GBTClassificationModel": "boosted classes",
    "RandomForestRegressionModel": "regression",
    "RandomForestClassificationModel": "classes",
    "DecisionTreeRegressionModel": "regression",
    "DecisionTreeClassificationModel": "classes",
}
# The engine's own limit.
_MOST_FEATURES = 65_536
_DAMAGED = "the directory is damaged, or not whole"
# What turns the number of a class into its text, after the trees.
_OF_TEXT = "IndexToString"


def model_file(path: Path) -> ModelFile:
    about, stages, labels = about_stage(path), Stages(), None
    if kind_of(about) == "PipelineModel":
        path, about, labels = _model_of(path, about, stages)
    if kind_of(about) not in _MODELS:
        refuse_stage(about, f"is not scored: {', '.join(_MODELS)} are")
    width = int(about.get("numFeatures") or 0)
    if not 0 < width <= _MOST_FEATURES:
        refuse_stage(about, f"has {width} features, not 1 to {_MOST_FEATURES}")
    names, features = stages.vector(parameter(about, "featuresCol")) or (None, None)
    if features is not None and len(features) != width:
        refuse_stage(
            about, "was fitted on vectors that an assembler took whole: push its directory"
        )
    features = features or [Feature(column) for column in range(width)]
    found = _ensemble(path, about, features)
    if labels and found.labels:
        if len(labels) != len(found.labels):
            refuse_stage(
                about, f"has {len(found.labels)} classes, of which {len(labels)} have texts"
            )
        found.labels = labels
    content = found.file(kind_of(about), len(names) if names else width, names)
    return ModelFile(content, has_labels=True)


def _model_of(
    path: Path, about: dict[str, Any], stages: Stages
) -> tuple[Path, dict[str, Any], list[str] | None]:
    """Adds a pipeline's stages before its model; returns the model and the texts of its classes."""
    uids = parameter(about, "stageUids") or []
    saved = {stage.name.partition("_")[2]: stage for stage in (path / "stages").iterdir()}
    if not uids or not {*uids} <= {*saved}:
        refuse_stage(about, "has no stages, or does not have them all")
    paths = [saved[uid] for uid in uids]
    last, texts = about_stage(paths[-1]), None
    if kind_of(last) == _OF_TEXT and len(paths) > 1:
        texts = parameter(last, "labels")
        paths, last = paths[:-1], about_stage(paths[-2])
    for stage in paths[:-1]:
        stages.add(stage, paths[-1])
    return paths[-1], last, texts or stages.texts.get(parameter(last, "labelCol"))


def _ensemble(path: Path, about: dict[str, Any], features: list[Feature]) -> Ensemble:
    if parameter(about, "thresholds"):
        refuse_stage(about, "has thresholds of classes, which are not scored: save it without")
    task = _MODELS[kind_of(about)]
    grown: dict[int, list[dict[str, Any]]] = {}
    for row in rows_of(path / "data"):
        grown.setdefault(row.get("treeID", 0), []).append(row.get("nodeData", row))
    weights = {0: 1.0}
    if (path / "treesMetadata").is_dir():
        weights = {
            row[0]: row[-1] for row in (list(of.values()) for of in rows_of(path / "treesMetadata"))
        }
    if {*weights} != {*grown} or len(grown) != int(about.get("numTrees", 1)):
        refuse_stage(about, f"does not have the nodes of all trees: {_DAMAGED}")
    categories: dict[int, int] = {}
    classes = int(about.get("numClasses", 2)) if task == "classes" else 0
    if task == "classes" and classes < 2:
        refuse_stage(about, "was trained on one class")
    trees = []
    for number in sorted(grown):
        nodes = sorted(grown[number], key=lambda node: node["id"])
        _check(about, nodes, classes)
        trees.append(_tree(nodes, weights[number], classes, categories))
    outputs = classes if classes > 2 else 1
    for tree in trees:
        tree.output = 0 if outputs == 1 else None
    found = Ensemble(trees, str(about.get("sparkVersion")), outputs, value_type="float64")
    if "GBT" not in kind_of(about):
        found.others["divisor"] = float(len(trees))
    if task == "boosted classes":
        found.task, found.link, found.others["slope"] = "binary", "logistic", 2.0
    elif task == "classes":
        found.task = "binary" if outputs == 1 else "multiclass"
    if found.task != "regression":
        found.labels = [str(label) for label in range(max(classes, 2))]
    found.categories = {feature: list(range(count)) for feature, count in categories.items()}
    return folded(found, [_with_others(one, categories.get(n)) for n, one in enumerate(features)])


def _with_others(feature: Feature, count: int | None) -> Feature:
    """Returns the indices of a column of the table, of which others are no error to Spark."""
    if count is None or not feature.is_raw:
        return feature
    numbers = np.arange(count, dtype=np.float64)
    return Feature(feature.column, None, (), (), [*range(count)], numbers, np.nan, np.nan)


def _check(about: dict[str, Any], nodes: list[dict[str, Any]], classes: int) -> None:
    """Refuses nodes that are not a whole tree over the features and classes."""
    width, most = int(about["numFeatures"]), int(parameter(about, "maxBins"))
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
        refuse_stage(about, f"has nodes that are no tree: {_DAMAGED}")


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
        sets[int(place)] = [int(code) for code in codes]
        missing[place] = len(codes) > count // 2
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
