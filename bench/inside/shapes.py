"""Model files of given shapes; what a shape leaves open is the library's default.

A shape is the number of trees, and their depth, or for LightGBM their leaves.
"""

import numpy as np
import xgboost

import catboost
import lightgbm


def target(X: np.ndarray) -> np.ndarray:
    """Returns labels for these rows: any function of the features gives trees of the shapes."""
    return np.nan_to_num(X[:, 0] * np.sin(X[:, 3]) + X[:, 2] * X[:, 5])


def of_xgboost(X: np.ndarray, names: list[str], trees: int, depth: int) -> bytes:
    """Trains XGBoost, and returns UBJSON."""
    matrix = xgboost.DMatrix(X, target(X), feature_names=names)
    return bytes(xgboost.train({"max_depth": depth}, matrix, trees).save_raw("ubj"))


def of_lightgbm(X: np.ndarray, names: list[str], trees: int, leaves: int) -> bytes:
    """Trains LightGBM, and returns its text."""
    model = lightgbm.LGBMRegressor(n_estimators=trees, num_leaves=leaves, verbose=-1, n_jobs=1)
    return model.fit(X, target(X), feature_name=names).booster_.model_to_string().encode()


def of_catboost(X: np.ndarray, names: list[str], trees: int, depth: int) -> bytes:
    """Trains CatBoost, and returns its binary file."""
    model = catboost.CatBoostRegressor(
        iterations=trees, depth=depth, verbose=0, allow_writing_files=False
    )
    return model.fit(catboost.Pool(X, target(X), feature_names=names))._serialize_model()
