"""InterpretML's Explainable Boosting Machines predict and explain in SQL as they do in Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest

import pgboost
from tests.python import models
from tests.python.models import assert_same

glassbox = pytest.importorskip("interpret.glassbox")

FIT = {"max_rounds": 30, "random_state": 1, "n_jobs": 1, "outer_bags": 2}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "pairs": lambda: glassbox.ExplainableBoostingRegressor(interactions=4, **FIT),
    "triple": lambda: glassbox.ExplainableBoostingRegressor(interactions=[(0, 1, 2)], **FIT),
    "poisson": lambda: glassbox.ExplainableBoostingRegressor(objective="poisson_deviance", **FIT),
    "gamma": lambda: glassbox.ExplainableBoostingRegressor(objective="gamma_deviance", **FIT),
}
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "pairs": lambda: glassbox.ExplainableBoostingClassifier(interactions=3, **FIT),
    "alone": lambda: glassbox.ExplainableBoostingClassifier(interactions=0, **FIT),
}


def rows() -> pd.DataFrame:
    """Numbers with missing ones, flags, and categories of text and of numbers, with unknown ones."""
    frame = models.frame()
    generator = np.random.default_rng(5)
    return frame.assign(
        city=generator.choice(["Rome", "Oslo", "Bern", "Riga"], len(frame)).astype(object),
        zone=np.arange(len(frame)) % 3,
    )


@pytest.mark.parametrize("make", REGRESSORS.values(), ids=REGRESSORS.keys())
def test_regressors(connection: psycopg.Connection, make: Callable[[], Any]) -> None:
    frame = rows()
    y = np.abs(models.target(models.numbers())) + 1
    assert_same(connection, make().fit(frame, y), frame.assign(city="Rome"))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("make", CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
def test_classifiers(connection: psycopg.Connection, make: Callable[[], Any], classes: int) -> None:
    frame = rows()
    if classes > 2:
        make = lambda: glassbox.ExplainableBoostingClassifier(interactions=0, **FIT)  # noqa: E731
    model = make().fit(frame, models.classes(models.numbers(), ["a", "b", "c"][:classes]))
    assert_same(connection, model, frame)


def test_scores_are_equal_to_the_bit_and_contributions_are_the_terms(
    connection: psycopg.Connection,
) -> None:
    frame = rows()
    model = glassbox.ExplainableBoostingRegressor(interactions=0, **FIT)
    model.fit(frame, models.target(models.numbers()))
    pgboost.push(connection, "model", model)
    pytest.importorskip("shap")
    found = pgboost.explain(connection, "model", frame)
    terms = model.eval_terms(frame)
    order = [model.term_features_.index((column,)) for column in range(frame.shape[1])]
    np.testing.assert_allclose(found.values, terms[:, order], atol=1e-6 * np.abs(terms).max())
    np.testing.assert_allclose(found.base_values, model.intercept_, rtol=1e-6)


def test_a_pairs_score_is_shared_by_its_two_features(connection: psycopg.Connection) -> None:
    pytest.importorskip("shap")
    frame = rows()
    model = glassbox.ExplainableBoostingRegressor(interactions=[(0, 5)], **FIT)
    model.fit(frame, models.target(models.numbers()))
    pgboost.push(connection, "model", model)
    found = pgboost.explain(connection, "model", frame)
    terms = dict(zip(model.term_features_, model.eval_terms(frame).T, strict=True))
    both = terms[(0,)] + terms[(5,)] + terms[(0, 5)]
    scale = np.abs(both).max()
    np.testing.assert_allclose(found.values[:, [0, 5]].sum(axis=1), both, atol=1e-5 * scale)
    np.testing.assert_allclose(found.values[:, 1], terms[(1,)], atol=1e-6 * scale)


def test_unsupported_models_are_refused_by_name() -> None:
    frame = models.numbers()
    tree = glassbox.RegressionTree(max_depth=2).fit(frame, models.target(frame))
    unfitted = glassbox.ExplainableBoostingRegressor()
    for reason, model in {"RegressionTree is not scored": tree, "is not fitted": unfitted}.items():
        with pytest.raises(pgboost.UnsupportedModelError, match=reason):
            pgboost.model_bytes(model)


def test_private_machines(connection: psycopg.Connection) -> None:
    privacy = pytest.importorskip("interpret.privacy")
    frame = models.numbers()
    model = privacy.DPExplainableBoostingRegressor(random_state=1, max_rounds=20)
    assert_same(connection, model.fit(frame, models.target(frame)), frame)
