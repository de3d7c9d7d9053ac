"""Models of YDF predict and explain in SQL as they do in Python."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest

import pgboost
from tests.python import models
from tests.python.models import assert_same

ydf = pytest.importorskip("ydf")

BOOSTED = {"num_trees": 20, "max_depth": 5}
FOREST = {"num_trees": 25, "max_depth": 6}
LEARNERS: dict[str, Callable[..., Any]] = {
    "boosted": lambda **given: ydf.GradientBoostedTreesLearner(**BOOSTED, **given),
    "best first": lambda **given: ydf.GradientBoostedTreesLearner(
        growing_strategy="BEST_FIRST_GLOBAL", max_num_nodes=9, num_trees=20, **given
    ),
    "discretized": lambda **given: ydf.GradientBoostedTreesLearner(
        discretize_numerical_columns=True, **BOOSTED, **given
    ),
    "local imputation": lambda **given: ydf.GradientBoostedTreesLearner(
        missing_value_policy="LOCAL_IMPUTATION", allow_na_conditions=True, **BOOSTED, **given
    ),
    "forest": lambda **given: ydf.RandomForestLearner(**FOREST, **given),
    "shares": lambda **given: ydf.RandomForestLearner(winner_take_all=False, **FOREST, **given),
    "CART": ydf.CartLearner,
}


def rows() -> pd.DataFrame:
    """Numbers of several types with missing ones, flags, and categories of text and of numbers."""
    generator = np.random.default_rng(5)
    frame = models.frame()
    city = generator.choice(["Rome", "Oslo", "Bern", "Riga"], len(frame))
    return frame.assign(city=city.astype(object), zone=np.arange(len(frame)) % 6)


def fitted(learner: Callable[..., Any], y: Any, **given: Any) -> Any:
    named = [ydf.Feature("zone", ydf.Semantic.CATEGORICAL), *models.frame().columns, "city"]
    data = rows().assign(target=y)
    return learner(label="target", features=named, random_seed=1, **given).train(data, verbose=0)


def regressor(learner: Callable[..., Any], **given: Any) -> Any:
    y = models.target(models.numbers()) + 5 * (rows().city > "P") + 3 * (rows().zone == 4)
    return fitted(learner, y, task=ydf.Task.REGRESSION, **given)


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS.keys())
def test_regressors(connection: psycopg.Connection, learner: Callable[..., Any]) -> None:
    assert_same(connection, regressor(learner), rows())


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS.keys())
def test_classifiers(
    connection: psycopg.Connection, learner: Callable[..., Any], classes: int
) -> None:
    y = models.classes(models.numbers(), list("abcd")[:classes])
    assert_same(connection, fitted(learner, y), rows())


def test_unknown_categories_go_where_ydf_sends_them(connection: psycopg.Connection) -> None:
    assert_same(connection, regressor(LEARNERS["boosted"]), rows().assign(city="Kyiv", zone=77))


def test_contributions_are_those_of_predict_shap(connection: psycopg.Connection) -> None:
    pytest.importorskip("shap")
    model = regressor(LEARNERS["boosted"])
    pgboost.push(connection, "model", model)
    found = pgboost.explain(connection, "model", rows())
    by_name, base = model.predict_shap(rows())
    for place, name in enumerate(found.feature_names):
        np.testing.assert_allclose(found.values[:, place], by_name[name], atol=2e-4)
    np.testing.assert_allclose(found.base_values, base, rtol=1e-5)


def test_unsupported_models_are_refused_by_name() -> None:
    learner = LEARNERS["boosted"]
    counts = np.arange(len(rows())) % 5
    poisson = fitted(learner, counts, task=ydf.Task.REGRESSION, loss="POISSON")
    logits = fitted(learner, models.classes(models.numbers(), ["a", "b"]))
    logits.set_output_logits(True)
    oblique = regressor(learner, split_axis="SPARSE_OBLIQUE")
    isolation = ydf.IsolationForestLearner(features=["single"]).train(rows(), verbose=0)
    cases = {
        "the loss POISSON": poisson,
        "gives logits": logits,
        "NumericalSparseObliqueCondition": oblique,
        "IsolationForestModel is not scored": isolation,
    }
    for reason, model in cases.items():
        with pytest.raises(pgboost.UnsupportedModelError, match=reason):
            pgboost.model_bytes(model)


def test_a_saved_directory_is_read(connection: psycopg.Connection, tmp_path: Path) -> None:
    model = regressor(LEARNERS["boosted"])
    model.save(str(tmp_path / "model"))
    pgboost.push(connection, "model", tmp_path / "model")
    assert pgboost.verify(connection, "model", model, rows())
