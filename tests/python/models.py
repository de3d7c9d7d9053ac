"""Small data that every library trains on, and a comparison of SQL's predictions with Python's."""

from typing import Any

import numpy as np
import pandas as pd
import psycopg
import xgboost

import pgboost

ROWS = 400
SEED = 20261122


class Changed(xgboost.XGBRegressor):
    """A model that predicts other numbers than its file, where its first feature is missing."""

    def predict(self, frame: Any, **options: Any) -> Any:
        found = super().predict(frame, **options)
        return np.where(np.isnan(np.asarray(frame, float)[:, 0]), found + 0.5, found)


def frame(rows: int = ROWS) -> pd.DataFrame:
    """Numbers of four types, with missing ones, and a category."""
    generator = np.random.default_rng(SEED)
    x = generator.normal(size=(rows, 3))
    x[generator.random((rows, 3)) < 0.05] = np.nan
    return pd.DataFrame(
        {
            "single": x[:, 0].astype(np.float32),
            "Double precision": x[:, 1],
            "whole": generator.integers(-5, 5, rows),
            "flag": generator.random(rows) < 0.5,
            "other": x[:, 2].astype(np.float32),
        }
    )


def numbers(rows: int = ROWS) -> pd.DataFrame:
    """Columns that every library reads, without missing values."""
    return frame(rows).astype(np.float32).fillna(0)


def target(of: pd.DataFrame) -> np.ndarray:
    """Returns a number that depends on all columns."""
    values = of.astype(float).fillna(0).to_numpy()
    return np.asarray(values @ np.arange(1, values.shape[1] + 1) + values[:, 0] ** 2)


def classes(of: pd.DataFrame, labels: list[Any]) -> np.ndarray:
    """Returns labels by the size of the target."""
    codes = pd.qcut(target(of), len(labels), labels=False)
    return np.asarray(labels)[codes]


def assert_same(connection: psycopg.Connection, model: Any, rows: Any) -> None:
    """Asserts equal predictions for the rows, and for drawn ones next to the thresholds."""
    pgboost.push(connection, "model", model, allow_change=True)
    found = pgboost.verify(connection, "model", model, rows)
    assert found and found.classes_differing == 0, found
