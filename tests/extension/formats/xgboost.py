"""Models of XGBoost on a table of numbers, some of them missing."""

from collections.abc import Iterator

import numpy as np
import xgboost as xgb

from tests.extension.formats.model import Model

NAME = f"XGBoost {xgb.__version__}"
ROWS = 20_000
MODELS = {
    "squared error": {"objective": "reg:squarederror"},
    "logistic": {"objective": "binary:logistic"},
    "softprob": {"objective": "multi:softprob", "num_class": 3},
    "poisson": {"objective": "count:poisson"},
    "dart": {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.5},
    "forest": {"objective": "reg:squarederror", "num_parallel_tree": 8, "subsample": 0.5},
    "vector leaves": {
        "objective": "multi:softprob",
        "num_class": 3,
        "multi_strategy": "multi_output_tree",
    },
}


def models() -> Iterator[Model]:
    """Every model, and XGBoost's predictions for all rows."""
    draw = np.random.default_rng(31)
    table = np.round(draw.normal(size=(ROWS, 6)), 2).astype(np.float32)
    score = table[:, 0] * table[:, 1] + np.sin(table[:, 2] * 3)
    table[draw.random(table.shape) < 0.1] = np.nan
    rows = [[None if np.isnan(value) else value for value in row] for row in table.tolist()]
    kinds = {f"f{index}": "float4" for index in range(table.shape[1])}
    for name, params in MODELS.items():
        classes = np.digitize(score, [-0.5, 0.5])
        label = score if params["objective"] == "reg:squarederror" else classes
        label = np.minimum(classes, 1) if name == "logistic" else label
        data = xgb.DMatrix(table, label=label)
        booster = xgb.train({"nthread": 1, "seed": 3, **params}, data, 10)
        margins, values = booster.predict(data, output_margin=True), booster.predict(data)
        yield Model(name, bytes(booster.save_raw("ubj")), kinds, rows, margins, values)
