"""Train the two models that the single-row benchmark measures, and write rows to score.

Usage: python train_models.py FOLDER

Writes into FOLDER, the same bytes for the same release of xgboost:

    25x6.ubj, 500x8.ubj   models: trees x depth, ten features, binary:logistic
    rows.f32              4,096 rows of ten little-endian f32, none of them in the training set

The columns are shaped like a table of flights: small whole numbers, identifiers with many values,
and a few measurements; one value in fifty of one column is missing. Needs xgboost and numpy.
"""

import sys
from pathlib import Path

import numpy as np
import xgboost as xgb

NAMES = [
    "year",
    "quarter",
    "month",
    "day_of_month",
    "day_of_week",
    "distance",
    "origin_airport_id",
    "dest_airport_id",
    "scheduled_hour",
    "wind_speed",
]
TRAINING_ROWS = 200_000
SCORED_ROWS = 4_096


def flights(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of features and whether each flight left late."""
    month = rng.integers(1, 13, rows)
    hour = np.clip(rng.normal(13.0, 4.5, rows), 0.0, 24.0)
    origin = rng.integers(10_000, 10_350, rows)
    dest = rng.integers(10_000, 10_350, rows)
    wind = rng.gamma(2.0, 6.0, rows)
    columns = [
        rng.integers(2018, 2023, rows),
        (month + 2) // 3,
        month,
        rng.integers(1, 29, rows),
        rng.integers(1, 8, rows),
        np.round(rng.gamma(2.2, 360.0, rows)),
        origin,
        dest,
        hour,
        wind,
    ]
    features = np.stack([column.astype(np.float32) for column in columns], axis=1)
    # Some of the signal is in single identifiers, so that deep trees find something to split.
    airport = np.sin(origin * 0.7) + np.cos(dest * 1.3)
    logit = 0.16 * (hour - 13.0) + 0.06 * (wind - 12.0) + 0.7 * airport + 0.3 * np.sin(month)
    late = rng.random(rows) < 1.0 / (1.0 + np.exp(-logit))
    features[rng.random(rows) < 0.02, 9] = np.nan
    return features, late.astype(np.float32)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20_180_101)
    features, late = flights(rng, TRAINING_ROWS)
    rows, _ = flights(rng, SCORED_ROWS)
    rows.astype("<f4").tofile(folder / "rows.f32")
    matrix = xgb.QuantileDMatrix(features, label=late, feature_names=NAMES)
    for trees, depth in ((25, 6), (500, 8)):
        params = {
            "objective": "binary:logistic",
            "max_depth": depth,
            "eta": 0.1,
            "min_child_weight": 0.0,
            "tree_method": "hist",
            "nthread": 2,
            "seed": 7,
        }
        booster = xgb.train(params, matrix, num_boost_round=trees)
        booster.save_model(folder / f"{trees}x{depth}.ubj")


if __name__ == "__main__":
    main()
