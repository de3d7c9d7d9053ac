"""Makes the tiny models that the SQL regression tests load, as files next to this one.

Each is trained on a handful of rows so that its predictions can be worked out by
hand: the learning rate is 1, nothing is regularised, and the targets are sums of
powers of two or whole numbers, so a regression gives back exactly what it was shown.
The table of what each model answers is in setup.sql. Run it again only to change a
model, with the XGBoost of requirements.txt: python tests/extension/sql/models/generate.py
"""

from pathlib import Path

import numpy as np
import pandas as pd
import xgboost as xgb

HERE = Path(__file__).resolve().parent
EXACT = {
    "learning_rate": 1, "reg_lambda": 0, "min_child_weight": 0, "base_score": 0,
    "tree_method": "exact", "nthread": 1, "seed": 1,
}  # fmt: skip


def save(booster: xgb.Booster, name: str) -> None:
    """Writes the model file; the suffix chooses the format."""
    booster.save_model(HERE / name)
    print(f"{name}: {(HERE / name).stat().st_size} bytes")


def price(scale: int) -> xgb.Booster:
    """Area under 50 or not, rooms under 3 or not: four prices from two stumps."""
    grid = [(area, rooms, age) for area in (40, 60) for rooms in (2, 4) for age in (1, 9)]
    features = np.array(grid, dtype=np.float32)
    target = scale * ((features[:, 0] > 50) * 100 + (features[:, 1] > 3) * 10)
    data = xgb.DMatrix(features, target, feature_names=["area", "rooms", "age"])
    return xgb.train({**EXACT, "max_depth": 1, "objective": "reg:squarederror"}, data, 2)


def churn() -> xgb.Booster:
    """Binary: the probability is 0.5 at no margin, and grows with the calls."""
    features = np.array([[0, 5], [1, 5], [8, 5], [9, 5], [8, 30], [9, 30]], dtype=np.float32)
    target = np.array([0, 0, 1, 1, 0, 1])
    data = xgb.DMatrix(features, target, feature_names=["calls", "months"])
    params = {**EXACT, "base_score": 0.5, "learning_rate": 0.5, "max_depth": 2}
    return xgb.train({**params, "objective": "binary:logistic"}, data, 1)


def flower(objective: str) -> xgb.Booster:
    """Three classes, told apart by the length alone: below 2, below 4, and above."""
    features = np.array([[1, 1], [1, 2], [3, 1], [3, 2], [5, 1], [5, 2]], dtype=np.float32)
    target = np.array([0, 0, 1, 1, 2, 2])
    data = xgb.DMatrix(features, target, feature_names=["length", "width"])
    params = {**EXACT, "base_score": 0.5, "max_depth": 2, "num_class": 3}
    return xgb.train({**params, "objective": objective}, data, 1)


def gaps() -> xgb.Booster:
    """Where x is missing 7, where y is missing as where it is large."""
    nan = np.nan
    features = np.array([[1, 1], [9, 1], [nan, 1], [1, 9], [9, 9], [nan, nan], [1, nan]])
    target = np.array([1, 2, 7, 11, 12, 17, 11])
    data = xgb.DMatrix(features, target, feature_names=["x", "y"])
    return xgb.train({**EXACT, "max_depth": 3, "objective": "reg:squarederror"}, data, 1)


def tickets() -> xgb.Booster:
    """Weekday (text) and zone (integers) are categories that the file names; hours is a number."""
    weekdays = ["mon", "tue", "sat", "sun"]
    rows = [(day, zone, hours) for day in weekdays for zone in (10, 20, 30) for hours in (1, 5)]
    frame = pd.DataFrame(rows, columns=["weekday", "zone", "hours"])
    target = frame.weekday.isin(["sat", "sun"]) * 1 + (frame.zone == 20) * 2 + (frame.hours > 3) * 4
    frame["weekday"] = pd.Categorical(frame.weekday, categories=weekdays)
    frame["zone"] = pd.Categorical(frame.zone, categories=[10, 20, 30])
    frame["hours"] = frame.hours.astype("float32")
    data = xgb.DMatrix(frame, target, enable_categorical=True)
    params = {**EXACT, "tree_method": "hist", "max_depth": 3, "objective": "reg:squarederror"}
    return xgb.train({**params, "max_cat_to_onehot": 1}, data, 1)


def codes() -> xgb.Booster:
    """A categorical feature without names for its categories: only codes will do."""
    features = np.array([[code, x] for code in (0, 1, 2) for x in (1, 9)], dtype=np.float32)
    target = (features[:, 0] == 1) * 5 + (features[:, 1] > 5) * 1
    data = xgb.DMatrix(
        features, target, feature_names=["code", "x"], feature_types=["c", "q"],
        enable_categorical=True,
    )  # fmt: skip
    params = {**EXACT, "tree_method": "hist", "max_depth": 2, "objective": "reg:squarederror"}
    return xgb.train(params, data, 1)


def targets() -> xgb.Booster:
    """Two targets of one feature: 10 or 20, and its opposite."""
    features = np.array([[1, 0], [1, 1], [9, 0], [9, 1]], dtype=np.float32)
    target = np.array([[10, -10], [10, -10], [20, -20], [20, -20]])
    data = xgb.DMatrix(features, target, feature_names=["x", "y"])
    params = {**EXACT, "tree_method": "hist", "max_depth": 1}
    return xgb.train({**params, "objective": "reg:squarederror"}, data, 1)


def nameless() -> xgb.Booster:
    """Two features without names: their sum, in tens and ones."""
    features = np.array([[x, y] for x in (0, 1) for y in (0, 1)], dtype=np.float32)
    data = xgb.DMatrix(features, features[:, 0] * 10 + features[:, 1])
    return xgb.train({**EXACT, "max_depth": 1, "objective": "reg:squarederror"}, data, 2)


def linear() -> xgb.Booster:
    """A quarter of a feature, and a half."""
    features = np.array([[0], [1]], dtype=np.float32)
    data = xgb.DMatrix(features, np.array([0, 1]))
    return xgb.train({"booster": "gblinear", "nthread": 1, "seed": 1}, data, 1)


def large() -> xgb.Booster:
    """Forty trees, for the planner to find dear."""
    generator = np.random.default_rng(1)
    features = generator.random((500, 3), dtype=np.float32)
    data = xgb.DMatrix(features, features.sum(axis=1), feature_names=["area", "rooms", "age"])
    params = {"max_depth": 2, "tree_method": "hist", "nthread": 1, "seed": 1}
    return xgb.train(params, data, 40)


def main() -> None:
    """Writes all files."""
    save(price(1), "price.ubj")
    save(price(2), "price_doubled.json")
    save(churn(), "churn.ubj")
    save(flower("multi:softprob"), "flower.json")
    save(flower("multi:softmax"), "flower_class.ubj")
    save(gaps(), "gaps.json")
    save(tickets(), "tickets.ubj")
    save(codes(), "codes.json")
    save(targets(), "targets.ubj")
    save(nameless(), "nameless.ubj")
    save(linear(), "linear.json")
    save(large(), "large.ubj")


if __name__ == "__main__":
    main()
