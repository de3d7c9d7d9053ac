"""Train trees limited in depth, and write rows to score; `shapes.py` trains others.

Usage: python train.py FOLDER

Writes into FOLDER, the same bytes for the same release of xgboost:

    TREESxDEPTHxFEATURES-KIND.ubj   models of XGBoost, binary:logistic
    lightgbm/                       a few models of LightGBM, of at most 2^DEPTH leaves, and their rows
    rows-FEATURES-KIND.f32          100,000 rows of little-endian f32, none of them trained on

Kinds are dense; missing, where one value in twenty is; categorical, where every fifth feature is
a code; and exact, where splits lie between any two values, so that a feature has thousands of
thresholds. Of a depth, a number of features and a kind, the models are the beginnings of one. Models
that are there are not trained again. Needs xgboost and numpy; models of LightGBM need lightgbm.
"""

import itertools
import sys
import time
from pathlib import Path

import numpy as np
import xgboost as xgb

try:
    import lightgbm as lgb
except ImportError:
    lgb = None

TREES = (25, 100, 500)
DEPTHS = (3, 6, 8)
FEATURES = (10, 50)
KINDS = ("dense", "missing", "categorical")
# Exact ones take long to train.
GRID = [*itertools.product(FEATURES, KINDS, DEPTHS), (10, "exact", 6), (10, "exact", 8)]
TRAINING_ROWS = 20_000
SCORED_ROWS = 100_000
CODES = (4, 12, 40, 150)


def is_code(kind: str, feature: int) -> bool:
    """Returns whether a feature holds codes."""
    return kind == "categorical" and feature % 5 == 4


def table(
    rng: np.random.Generator, rows: int, features: int, kind: str
) -> tuple[np.ndarray, np.ndarray]:
    """Returns rows and labels."""
    columns = []
    logit = np.zeros(rows)
    for feature in range(features):
        shape = 0 if kind == "exact" else feature % 4
        if is_code(kind, feature):
            codes = CODES[feature // 5 % len(CODES)]
            column = rng.integers(0, codes, rows).astype(float)
            signal = np.sin(column * 1.7)
        elif shape == 0:
            column = rng.normal(0.0, 1.0, rows)
            signal = np.sin(2.0 * column)
        elif shape == 1:
            column = rng.integers(0, 40, rows).astype(float)
            signal = np.cos(column * 0.9)
        elif shape == 2:
            column = rng.gamma(2.0, 6.0, rows)
            signal = np.log1p(column) - 2.3
        else:
            column = rng.integers(10_000, 10_350, rows).astype(float)
            signal = np.sin(column * 0.7)
        columns.append(column.astype(np.float32))
        logit += signal * 1.5 / (1.0 + feature % 10)
    values = np.stack(columns, axis=1)
    label = (rng.random(rows) < 1.0 / (1.0 + np.exp(-logit))).astype(np.float32)
    if kind == "missing":
        values[rng.random(values.shape) < 0.05] = np.nan
    return values, label


def train(folder: Path, depth: int, features: int, kind: str) -> None:
    """Trains a model, and writes its first rounds."""
    paths = {count: folder / f"{count}x{depth}x{features}-{kind}.ubj" for count in TREES}
    if all(path.exists() for path in paths.values()):
        return
    rng = np.random.default_rng([depth, features, len(kind)])
    values, label = table(rng, TRAINING_ROWS, features, kind)
    types = ["c" if is_code(kind, feature) else "q" for feature in range(features)]
    matrix = (xgb.DMatrix if kind == "exact" else xgb.QuantileDMatrix)(
        values, label=label, feature_types=types, enable_categorical=kind == "categorical"
    )
    params = {
        "objective": "binary:logistic",
        "max_depth": depth,
        "eta": 0.1,
        "tree_method": "exact" if kind == "exact" else "hist",
        "nthread": 1,
        "seed": 7,
    }
    booster = xgb.train(params, matrix, num_boost_round=max(TREES))
    for count, path in paths.items():
        booster[:count].save_model(path)


def train_lightgbm(folder: Path, trees: int, depth: int) -> None:
    """Train one model of LightGBM on ten dense features."""
    path = folder / f"{trees}x{depth}x10-dense.txt"
    if path.exists():
        return
    values, label = table(np.random.default_rng([depth, 10, 5]), TRAINING_ROWS, 10, "dense")
    params = {
        "objective": "binary",
        "max_depth": depth,
        "num_leaves": 2**depth,
        "min_data_in_leaf": 1,
        "num_threads": 1,
        "verbosity": -1,
        "deterministic": True,
        "seed": 7,
    }
    lgb.train(params, lgb.Dataset(values, label), trees).save_model(path)


def main() -> None:
    """Train all models."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for features, kind, depth in GRID:
        start = time.monotonic()
        rows = folder / f"rows-{features}-{kind}.f32"
        if not rows.exists():
            rng = np.random.default_rng([features, len(kind)])
            table(rng, SCORED_ROWS, features, kind)[0].astype("<f4").tofile(rows)
        train(folder, depth, features, kind)
        print(f"depth {depth}, {features} {kind}: {time.monotonic() - start:.0f} s", flush=True)
    if lgb is not None:
        own = folder / "lightgbm"
        own.mkdir(exist_ok=True)
        rows = "rows-10-dense.f32"
        if not (own / rows).exists():
            (own / rows).symlink_to(f"../{rows}")
        for trees, depth in ((25, 6), (100, 6), (500, 8)):
            train_lightgbm(own, trees, depth)


if __name__ == "__main__":
    main()
