"""Explainable Boosting Machines of InterpretML and models of YDF predict and explain in SQL as in Python."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psycopg import Connection

import pgboost
from tests.python import models
from tests.python.conftest import Refused, Same

glassbox, ydf = (pytest.importorskip(name) for name in ("interpret.glassbox", "ydf"))

NUMBERS = models.numbers()
NUMBER = models.target(NUMBERS)
FIT = {"max_rounds": 30, "random_state": 1, "n_jobs": 1, "outer_bags": 2}
MACHINE, CLASSES = glassbox.ExplainableBoostingRegressor, glassbox.ExplainableBoostingClassifier
MACHINES: dict[str, Any] = {
    "pairs": MACHINE(interactions=4, **FIT),
    "triple": MACHINE(interactions=[(0, 1, 2)], **FIT),
    "poisson": MACHINE(objective="poisson_deviance", **FIT),
    "gamma": MACHINE(objective="gamma_deviance", **FIT),
}
FRAME = models.with_categories(3)
ROWS = models.with_categories(6)
BOOSTED, FOREST = {"num_trees": 20, "max_depth": 5}, {"num_trees": 25, "max_depth": 6}
TREES = ydf.GradientBoostedTreesLearner
LEARNERS: dict[str, Callable[..., Any]] = {
    "boosted": lambda **given: TREES(**BOOSTED, **given),
    "best first": lambda **given: TREES(
        growing_strategy="BEST_FIRST_GLOBAL", max_num_nodes=9, num_trees=20, **given),
    "discretized": lambda **given: TREES(discretize_numerical_columns=True, **BOOSTED, **given),
    "local imputation": lambda **given: TREES(
        missing_value_policy="LOCAL_IMPUTATION", allow_na_conditions=True, **BOOSTED, **given),
    "forest": lambda **given: ydf.RandomForestLearner(**FOREST, **given),
    "shares": lambda **given: ydf.RandomForestLearner(winner_take_all=False, **FOREST, **given),
    "CART": ydf.CartLearner,
}  # fmt: skip


def of_ydf(learner: Callable[..., Any], y: Any, **given: Any) -> Any:
    named = [ydf.Feature("zone", ydf.Semantic.CATEGORICAL), *models.FRAME.columns, "city"]
    data = ROWS.assign(target=y)
    return learner(label="target", features=named, random_seed=1, **given).train(data, verbose=0)


def regressor(learner: Callable[..., Any], **given: Any) -> Any:
    y = NUMBER + 5 * (ROWS.city > "P") + 3 * (ROWS.zone == 4)
    return of_ydf(learner, y, task=ydf.Task.REGRESSION, **given)


@pytest.mark.parametrize("name", MACHINES)
def test_machines_of_numbers(same: Same, name: str) -> None:
    same(MACHINES[name].fit(FRAME, np.abs(NUMBER) + 1), FRAME.assign(city="Rome"))


@pytest.mark.parametrize(("classes", "interactions"), [(2, 3), (2, 0), (3, 0)])
def test_machines_of_classes(same: Same, classes: int, interactions: int) -> None:
    labels = models.classes(NUMBERS, list("abc")[:classes])
    same(CLASSES(interactions=interactions, **FIT).fit(FRAME, labels), FRAME)


@pytest.mark.parametrize("name", LEARNERS)
def test_regressors_of_ydf(same: Same, name: str) -> None:
    same(regressor(LEARNERS[name]), ROWS)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", LEARNERS)
def test_classifiers_of_ydf(same: Same, name: str, classes: int) -> None:
    same(of_ydf(LEARNERS[name], models.classes(NUMBERS, list("abcd")[:classes])), ROWS)


def test_unknown_categories_go_where_ydf_sends_them(same: Same) -> None:
    same(regressor(LEARNERS["boosted"]), ROWS.assign(city="Kyiv", zone=77))


@pytest.mark.parametrize("policy", ["LOCAL_IMPUTATION", "GLOBAL_IMPUTATION"])
@pytest.mark.parametrize("name", ["boosted", "forest", "CART"])
def test_empty_texts_are_missing_values_of_ydf(same: Same, name: str, policy: str) -> None:
    """Its engine of conditions on missing values divides the sum of a forest, not each leaf."""
    rows = ROWS.assign(city=ROWS.city.astype(object).where(np.arange(len(ROWS)) % 4 > 0, ""))
    options = {"label": "target", "task": ydf.Task.REGRESSION, "missing_value_policy": policy}
    data = rows.assign(target=NUMBER + 9 * (rows.city == "") + 5 * (rows.city > "P"))
    same(LEARNERS[name](**options).train(data, verbose=0), rows)


def test_contributions_are_the_terms_of_a_machine(connection: Connection, same: Same) -> None:
    """Those of a pair are shared by its two features."""
    pytest.importorskip("shap")
    alone = MACHINE(interactions=0, **FIT).fit(FRAME, NUMBER)
    same(alone, FRAME)
    found = pgboost.explain(connection, "model", FRAME)
    terms = alone.eval_terms(FRAME)
    order = [alone.term_features_.index((column,)) for column in range(FRAME.shape[1])]
    np.testing.assert_allclose(found.values, terms[:, order], atol=1e-6 * np.abs(terms).max())
    np.testing.assert_allclose(found.base_values, alone.intercept_, rtol=1e-6)

    pair = MACHINE(interactions=[(0, 5)], **FIT).fit(FRAME, NUMBER)
    same(pair, FRAME)
    found = pgboost.explain(connection, "model", FRAME)
    terms = dict(zip(pair.term_features_, pair.eval_terms(FRAME).T, strict=True))
    both = terms[(0,)] + terms[(5,)] + terms[(0, 5)]
    scale = np.abs(both).max()
    np.testing.assert_allclose(found.values[:, [0, 5]].sum(axis=1), both, atol=1e-5 * scale)
    np.testing.assert_allclose(found.values[:, 1], terms[(1,)], atol=1e-6 * scale)


def test_contributions_are_those_of_predict_shap(connection: Connection, same: Same) -> None:
    pytest.importorskip("shap")
    model = regressor(LEARNERS["boosted"])
    same(model, ROWS)
    found = pgboost.explain(connection, "model", ROWS)
    by_name, base = model.predict_shap(ROWS)
    for place, name in enumerate(found.feature_names):
        np.testing.assert_allclose(found.values[:, place], by_name[name], atol=2e-4)
    np.testing.assert_allclose(found.base_values, base, rtol=1e-5)


def test_unsupported_models_are_refused_by_name(refused: Refused) -> None:
    boosted = LEARNERS["boosted"]
    logits = of_ydf(boosted, models.classes(NUMBERS, ["a", "b"]))
    logits.set_output_logits(True)
    counts = np.arange(len(ROWS)) % 5
    isolation = ydf.IsolationForestLearner(features=["single"]).train(ROWS, verbose=0)
    cases = {
        "RegressionTree is not scored": glassbox.RegressionTree(max_depth=2).fit(NUMBERS, NUMBER),
        "is not fitted": MACHINE(),
        "the loss POISSON": of_ydf(boosted, counts, task=ydf.Task.REGRESSION, loss="POISSON"),
        "gives logits": logits,
        "NumericalSparseObliqueCondition": regressor(boosted, split_axis="SPARSE_OBLIQUE"),
        "IsolationForestModel is not scored": isolation,
    }
    for reason, model in cases.items():
        refused(reason, model)


def test_private_machines(same: Same) -> None:
    privacy = pytest.importorskip("interpret.privacy")
    model = privacy.DPExplainableBoostingRegressor(random_state=1, max_rounds=20)
    same(model.fit(NUMBERS, NUMBER), NUMBERS)


def test_a_saved_directory_of_ydf_is_read(connection: Connection, tmp_path: Path) -> None:
    model = regressor(LEARNERS["boosted"])
    model.save(str(tmp_path / "model"))
    pgboost.push(connection, "model", tmp_path / "model")
    assert pgboost.verify(connection, "model", model, ROWS)
