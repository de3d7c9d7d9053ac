"""The data sets that scikit-learn carries, as they come: no download, 64-bit floats, real names."""

from dataclasses import dataclass

import numpy as np
from psycopg import Connection, sql
from sklearn import datasets

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

    def store(self, connection: Connection) -> None:
        """Makes a temporary table of the data set: `id`, then a column a feature; NaN is NULL."""
        columns = [sql.SQL("{} float8").format(sql.Identifier(name)) for name in self.names]
        connection.execute(
            sql.SQL("CREATE TEMP TABLE {} (id int PRIMARY KEY, {})").format(
                sql.Identifier(self.name), sql.SQL(", ").join(columns)
            )
        )
        into = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(self.name))
        with connection.cursor() as cursor, cursor.copy(into) as copy:
            for number, row in enumerate(self.features):
                copy.write_row([number, *(None if np.isnan(value) else value for value in row)])


def load(name: str) -> Dataset:
    """A data set; a tenth of its values is missing, always the same ones."""
    loaded = LOADERS[name]()
    features = loaded.data.astype(np.float64)
    features[np.random.default_rng(5).random(features.shape) < 0.1] = np.nan
    names = [str(column).lower() for column in loaded.feature_names]
    return Dataset(name, features, names, loaded.target.astype(np.float64))
