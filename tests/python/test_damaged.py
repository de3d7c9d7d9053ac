"""Damaged models of libraries that have no file format: an error of the package, or a model that is read.

Files have changed bytes and changed values, objects changed attributes. `PGBOOST_TIMES` makes it longer.
"""

import copy
import json
import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gbtrees
import pgboost
from tests.damage import changed
from tests.python import models
from tests.state import TIMES

DAMAGED = 100 * TIMES
ODD: list[Any] = [
    None, True, -1, 0, 1, 2, 3, 7, 2**31, -(2**31), 2**63, 10**30, 0.5, float("nan"), float("inf"), "", "x",
    "\ud800", [], [0], [None], {}, {"a": 1},
]  # fmt: skip


def attempted(model: Any) -> bool:
    """Whether a model is taken; if not, the error is one of the package, which says something."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            content = pgboost.model_bytes(model)
        except pgboost.PgboostError as error:
            assert str(error), type(error)
            return False
    try:
        gbtrees.Model(content)
    except gbtrees.GbtreesError:
        return False
    return True


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each value in a document: its container, and its key or index."""
    of = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(of):
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from places(inner)


def change_value(document: Any, draw: random.Random) -> None:
    holder, key = draw.choice(list(places(document)))
    if isinstance(holder, dict) and draw.random() < 0.2:
        del holder[key]
    elif isinstance(holder[key], int) and draw.random() < 0.5:
        holder[key] += draw.choice((-1, 1, 2, 100))
    else:
        holder[key] = copy.deepcopy(draw.choice(ODD))


def change_json(file: Path, draw: random.Random) -> None:
    about = json.loads(file.read_text())
    change_value(about, draw)
    # As text, since files have no lone surrogates.
    file.write_text(json.dumps(about))


def change_parquet(file: Path, draw: random.Random) -> None:
    """Changes a value of a row, or leaves out rows or writes one twice."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(file)
    rows = table.to_pylist()
    kind = draw.randrange(4)
    if kind == 0:
        del rows[draw.randrange(len(rows))]
    elif kind == 1:
        rows.append(copy.deepcopy(draw.choice(rows)))
    else:
        change_value(rows, draw)
    try:
        parquet.write_table(pyarrow.Table.from_pylist(rows, schema=table.schema), file)
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError, AttributeError):
        # The value is none of the column's type.
        parquet.write_table(pyarrow.table({"id": [1]}), file)


@pytest.mark.parametrize("part", ["bytes", "metadata", "rows"])
def test_saved_models_of_spark(tmp_path: Path, spark: Path, part: str) -> None:
    draw, taken = random.Random(part), 0
    originals = sorted(path for path in spark.iterdir() if path.is_dir())
    for _ in range(DAMAGED):
        saved = tmp_path / "model"
        shutil.copytree(draw.choice(originals), saved)
        files = [path for path in sorted(saved.rglob("part-*")) if path.is_file()]
        if part == "bytes":
            file = draw.choice(files)
            file.write_bytes(changed(file.read_bytes(), draw))
        elif part == "metadata":
            change_json(draw.choice([file for file in files if file.suffix == ".txt"]), draw)
        else:
            change_parquet(draw.choice([file for file in files if file.suffix == ".parquet"]), draw)
        taken += attempted(saved)
        shutil.rmtree(saved)
    print(f"{taken} of {DAMAGED} are taken")
    assert 0 < taken < DAMAGED


def rewritten(saved: Path, of: str, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Writes rows of a saved model again after a change."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    [file] = (saved / of).glob("*.parquet")
    table = parquet.read_table(file)
    rows = table.to_pylist()
    change(rows)
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=table.schema), file)


def _set_feature(rows: list[dict[str, Any]], feature: int) -> None:
    next(row for row in rows if row["leftChild"] >= 0)["split"]["featureIndex"] = feature


def _set_categories(rows: list[dict[str, Any]], count: int) -> None:
    split = next(row["split"] for row in rows if row["split"]["numCategories"] > 0)
    split["numCategories"] = count


# Each would be another model, or take all memory, if it was read as it stands.
@pytest.mark.parametrize("change", [
    lambda rows: rows.remove(rows[-2]),
    lambda rows: rows.append(rows[3]),
    lambda rows: _set_feature(rows, -1),
    lambda rows: _set_feature(rows, 3),
    lambda rows: _set_categories(rows, 2**31 - 1),
    lambda rows: rows[2]["impurityStats"].pop(),
])  # fmt: skip
def test_nodes_of_spark_that_are_no_tree_are_refused(
    spark: Path, change: Callable[[list[dict[str, Any]]], Any]
) -> None:
    saved = spark / "tree_classifier"
    rewritten(saved, "data", change)
    with pytest.raises(pgboost.UnsupportedModelError, match="no tree"):
        pgboost.model_bytes(saved)


@pytest.mark.parametrize(("key", "value", "reason"), [
    ("numClasses", 10**9, "no tree"),
    ("numClasses", 1, "one class"),
    ("numFeatures", 10**9, "features, not 1 to 65536"),
    ("numFeatures", 2, "no tree"),
    ("numTrees", 8, "nodes of all trees"),
])  # fmt: skip
def test_counts_of_spark_that_do_not_fit_are_refused(
    spark: Path, key: str, value: int, reason: str
) -> None:
    saved = spark / "forest_classifier"
    [file] = (saved / "metadata").glob("part-*")
    about = json.loads(file.read_text())
    file.write_text(json.dumps(about | {key: value}))
    with pytest.raises(pgboost.UnsupportedModelError, match=reason):
        pgboost.model_bytes(saved)


def odd(draw: random.Random, value: Any) -> Any:
    """Another value in the place of an attribute, or the same with one that it has changed."""
    if isinstance(value, np.ndarray) and value.size and draw.random() < 0.7:
        found = value.copy()
        if found.dtype.kind == "f":
            found.flat[draw.randrange(found.size)] = draw.choice((np.nan, np.inf, 1e300, -1.0))
            return found
        return draw.choice((found[:-1], found.astype(object), found.reshape(-1, 1), found[:0]))
    if isinstance(value, (list, dict)) and value and draw.random() < 0.7:
        found = copy.deepcopy(value)
        change_value(found, draw)
        return found
    return copy.deepcopy(draw.choice(ODD))


def test_objects_of_interpretml() -> None:
    glassbox = pytest.importorskip("interpret.glassbox")
    frame = models.frame().assign(city=np.resize(np.array(["a", "b", "c"], object), models.ROWS))
    fit = {"max_rounds": 10, "random_state": 1, "n_jobs": 1, "outer_bags": 1, "interactions": 2}
    fitted = [
        glassbox.ExplainableBoostingRegressor(**fit).fit(frame, models.target(models.numbers())),
        glassbox.ExplainableBoostingClassifier(**fit).fit(
            frame, models.classes(models.numbers(), ["x", "y"])
        ),
    ]
    draw, taken = random.Random(1), 0
    for _ in range(DAMAGED):
        model = copy.copy(draw.choice(fitted))
        names = [name for name in vars(model) if name.endswith("_")]
        for name in draw.sample(names, draw.choice((1, 1, 3))):
            setattr(model, name, odd(draw, getattr(model, name)))
        taken += attempted(model)
    print(f"{taken} of {DAMAGED} are taken")
    assert 0 < taken < DAMAGED


def test_saved_models_of_ydf(tmp_path: Path) -> None:
    ydf = pytest.importorskip("ydf")
    learner = ydf.GradientBoostedTreesLearner(
        label="target", task=ydf.Task.REGRESSION, num_trees=5, max_depth=4
    )
    data = models.frame().assign(target=models.target(models.numbers()))
    original = tmp_path / "original"
    learner.train(data, verbose=0).save(str(original))
    draw, taken = random.Random(1), 0
    # YDF takes long to open one.
    for _ in range(DAMAGED // 4):
        saved = tmp_path / "model"
        shutil.copytree(original, saved)
        file = draw.choice([path for path in sorted(saved.rglob("*")) if path.stat().st_size])
        file.write_bytes(changed(file.read_bytes(), draw))
        taken += attempted(saved)
        shutil.rmtree(saved)
    print(f"{taken} of {DAMAGED // 4} are taken")
    assert taken < DAMAGED // 4
