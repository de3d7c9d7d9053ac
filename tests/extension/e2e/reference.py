"""scikit-learn's data sets, models of them, and the distance of predictions from a library's."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xgboost as xgb
from psycopg import Connection
from sklearn import datasets

import lightgbm as lgb
from tests.connections import make_table

VALUE_ULPS = 2
LOADERS = {
    "wine": datasets.load_wine,
    "digits": datasets.load_digits,
    "breast_cancer": datasets.load_breast_cancer,
    "diabetes": datasets.load_diabetes,
}


@dataclass(frozen=True)
class Dataset:
    """Features by row, their names, and a target."""

    name: str
    features: np.ndarray
    names: list[str]
    target: np.ndarray

    @property
    def columns(self) -> str:
        """The features of a row `t` of the table."""
        return ", ".join(f't."{name}"' for name in self.names)

    def store(self, connection: Connection) -> None:
        """Makes a temporary table of the data set: `id`, then a column a feature; NaN is NULL."""
        columns = ", ".join(f'"{name}" float8' for name in self.names)
        rows = (
            [number, *(None if np.isnan(value) else value for value in row)]
            for number, row in enumerate(self.features)
        )
        make_table(connection, f"pg_temp.{self.name}", f"id int PRIMARY KEY, {columns}", rows)


def load(name: str) -> Dataset:
    """A data set as it comes, but for a tenth of its values, which is missing, always the same ones."""
    loaded = LOADERS[name]()
    features = loaded.data.astype(np.float64)
    features[np.random.default_rng(5).random(features.shape) < 0.1] = np.nan
    names = [str(column).lower() for column in loaded.feature_names]
    return Dataset(name, features, names, loaded.target.astype(np.float64))


def train(dataset: Dataset, params: dict) -> xgb.Booster:
    """A model of the data set: twelve rounds, one thread."""
    data = xgb.DMatrix(dataset.features, label=dataset.target, feature_names=dataset.names)
    return xgb.train({"nthread": 1, "seed": 3, "max_depth": 5, **params}, data, 12)


def margins(booster: xgb.Booster, features: np.ndarray) -> np.ndarray:
    """XGBoost's margins for a matrix of features, a row for each."""
    data = xgb.DMatrix(features, feature_names=booster.feature_names)
    return booster.predict(data, output_margin=True).reshape(len(features), -1)


def model_bytes(model: Any) -> bytes:
    """The file of a booster of XGBoost or LightGBM, or of a model of CatBoost."""
    if isinstance(model, xgb.Booster):
        return bytes(model.save_raw("ubj"))
    if isinstance(model, lgb.Booster):
        return model.model_to_string().encode()
    return model._serialize_model()


def create_functions(connection: Connection, model: str, function: str) -> None:
    """Runs the script of a model in the session's temporary schema, where the functions have that name."""
    query = "SELECT export_model_sql(%s, %s, 'pg_temp')"
    (script,) = connection.execute(query, (model, function)).fetchone()
    connection.execute(script.replace("BEGIN;", "").replace("COMMIT;", ""))


def column(connection: Connection, query: str, arguments: Any = None) -> list:
    """The values of a query of one column."""
    return [value for (value,) in connection.execute(query, arguments)]


def floats(rows: list) -> np.ndarray:
    """A query's numbers as f32: PostgreSQL's text for a real has the same bits when it is read."""
    return np.array(rows, dtype=np.float32)


def assert_same_bits(given: np.ndarray, expected: np.ndarray) -> None:
    """Both are f32 and equal bit for bit."""
    assert given.dtype == expected.dtype == np.float32
    assert given.shape == expected.shape
    differing = np.flatnonzero(given.view(np.uint32) != expected.view(np.uint32))
    assert not differing.size, (
        f"{differing.size} of {given.size} differ, the first by "
        f"{given.flat[differing[0]]!r} instead of {expected.flat[differing[0]]!r}"
    )


def assert_near(given: np.ndarray, expected: np.ndarray) -> None:
    """Both are f32, and at most VALUE_ULPS units in the last place apart."""
    assert given.dtype == expected.dtype == np.float32
    assert given.shape == expected.shape
    apart = np.abs(order(given) - order(expected))
    assert apart.max() <= VALUE_ULPS, f"up to {apart.max()} units in the last place apart"


def order(values: np.ndarray) -> np.ndarray:
    """Whole numbers that count the floats below a float of f32: neighbours differ by 1."""
    bits = values.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
