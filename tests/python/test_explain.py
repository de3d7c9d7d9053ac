"""Contributions come as shap's Explanation, and shap draws them."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import psycopg
import pytest
import shap
import xgboost

import pgboost
from tests.python import models

mpl.use("Agg")
FRAME = models.frame()


def contributions(model: xgboost.XGBModel) -> np.ndarray:
    matrix = xgboost.DMatrix(FRAME)
    return np.asarray(model.get_booster().predict(matrix, pred_contribs=True))


def test_a_value(connection: psycopg.Connection) -> None:
    model = xgboost.XGBRegressor(n_estimators=8, max_depth=3).fit(FRAME, models.target(FRAME))
    pgboost.push(connection, "number", model)
    found = pgboost.explain(connection, "number", FRAME.assign(unused="a"))
    assert isinstance(found, shap.Explanation)
    expected = contributions(model)
    np.testing.assert_allclose(found.values, expected[:, :-1], atol=1e-4)
    np.testing.assert_allclose(found.base_values, expected[:, -1], rtol=1e-5)
    assert found.feature_names == list(FRAME.columns)
    np.testing.assert_array_equal(found.data[:, 2], FRAME["whole"])


def test_classes(connection: psycopg.Connection) -> None:
    labels = models.classes(FRAME, [0, 1, 2])
    model = xgboost.XGBClassifier(n_estimators=4, max_depth=3).fit(FRAME, labels)
    pgboost.push(connection, "classes", model, labels=["low", "middle", "high"])
    found = pgboost.explain(connection, "classes", FRAME)
    expected = contributions(model)
    assert found.values.shape == (len(FRAME), len(FRAME.columns), 3)
    assert found.output_names == ["low", "middle", "high"]
    for output in range(3):
        one = found[:, :, output]
        np.testing.assert_allclose(one.values, expected[:, output, :-1], atol=1e-5)
        np.testing.assert_allclose(one.base_values, expected[:, output, -1], atol=1e-5)


@pytest.mark.parametrize("plot", ["waterfall", "beeswarm", "importance"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_pictures(connection: psycopg.Connection, tmp_path: Path, plot: str, outputs: int) -> None:
    if outputs == 1:
        model = xgboost.XGBRegressor(n_estimators=3).fit(FRAME, models.target(FRAME))
    else:
        model = xgboost.XGBClassifier(n_estimators=3).fit(FRAME, models.classes(FRAME, [0, 1, 2]))
    pgboost.push(connection, "drawn", model)
    explanation = pgboost.explain(connection, "drawn", FRAME)
    axes = getattr(pgboost.plots, plot)(explanation, max_display=3)
    # The features that matter most are named, and the sum of the others.
    shown = " ".join(label.get_text() for label in axes.get_yticklabels())
    values = explanation.values if outputs == 1 else explanation.values[:, :, 0]
    sizes = np.abs(values[:1] if plot == "waterfall" else values).mean(axis=0)
    assert FRAME.columns[sizes.argmax()] in shown
    assert FRAME.columns[sizes.argmin()] not in shown
    axes.figure.savefig(tmp_path / "plot.png")
    plt.close(axes.figure)


def test_a_waterfall_names_the_prediction_of_large_numbers(connection: psycopg.Connection) -> None:
    model = xgboost.XGBRegressor(n_estimators=3).fit(FRAME, 1000 + models.target(FRAME))
    pgboost.push(connection, "large", model)
    axes = pgboost.plots.waterfall(pgboost.explain(connection, "large", FRAME))
    drawn = [label.get_text() for other in axes.figure.axes for label in other.get_xticklabels()]
    assert any("f(x)" in label for label in drawn), drawn
    plt.close(axes.figure)
