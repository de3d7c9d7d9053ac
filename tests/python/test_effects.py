"""Partial dependence and permutation importance come as data frames, which plots take."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import psycopg
import pytest
import xgboost
from sklearn.inspection import partial_dependence

import pgboost
from tests.python import models

DRAW = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "size": DRAW.normal(size=200),
        "age": np.where(DRAW.random(200) < 0.1, np.nan, DRAW.integers(0, 5, 200)),
        "port": pd.Categorical(np.array(["left", "right"])[DRAW.integers(0, 2, 200)]),
    }
)
TARGET = FRAME["size"] * 2 + (FRAME["port"] == "left") + FRAME["age"].fillna(9)


@pytest.fixture
def model(connection: psycopg.Connection) -> xgboost.XGBRegressor:
    sent = xgboost.XGBRegressor(n_estimators=9, enable_categorical=True).fit(FRAME, TARGET)
    pgboost.push(connection, "m", sent)
    return sent


def test_averages_are_scikit_learns(
    connection: psycopg.Connection, model: xgboost.XGBRegressor
) -> None:
    found = pgboost.partial_dependence(connection, "m", FRAME, "size", points=5)
    expected = partial_dependence(model, FRAME, ["size"], grid_resolution=5, method="brute")
    assert list(found.columns) == ["output", "size", "average"]
    assert found["size"].to_numpy() == pytest.approx(expected["grid_values"][0])
    assert found["average"].to_numpy() == pytest.approx(expected["average"][0], rel=1e-6)


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("features", "drawn"),
    [(["size"], (1, 0, 0)), (["port"], (0, 2, 0)), (["age", "port"], (0, 0, 1))],
)
def test_plots(
    connection: psycopg.Connection, tmp_path: Path, features: list, drawn: tuple
) -> None:
    """A line, bars, or a map."""
    found = pgboost.partial_dependence(connection, "m", FRAME, *features)
    axes = pgboost.plots.partial_dependence(found)
    assert (len(axes.lines), len(axes.patches), len(axes.collections)) == drawn
    assert axes.get_xlabel() == features[0]
    axes.figure.savefig(tmp_path / "plot.png")
    plt.close(axes.figure)


@pytest.mark.usefixtures("model")
def test_importances(connection: psycopg.Connection) -> None:
    rows = FRAME.assign(target=TARGET)
    found = pgboost.permutation_importance(connection, "m", rows, "target", "r2", repeats=2, seed=4)
    assert list(found.columns) == ["feature", "importance", "stddev"]
    assert found["feature"].to_list() == ["age", "size", "port"]
    with pytest.raises(pgboost.InvalidDataError, match="unknown metric"):
        pgboost.permutation_importance(connection, "m", rows, "target", "auc")


def test_a_plot_of_something_else_is_an_error() -> None:
    with pytest.raises(pgboost.PgboostError):
        pgboost.plots.partial_dependence(models.frame())
