"""Estimators of scikit-learn that train and predict in the database.

`fit` sends the rows and trains a version of the model with the extension pgboost_train; predictions use this
version, whatever is deployed. Columns of a `DataFrame` may be text, and values may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas
from psycopg import sql
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .connecting import Connection, connected
from .extension import Extension
from .frames import framed
from .prediction import predict, predict_proba
from .training import train

_TARGET, _WEIGHT = "pgboost target", "pgboost weight"
_LAST = "SELECT max(version) FROM {} WHERE name = %s"


class _Estimator(BaseEstimator):
    def __init__(  # noqa: PLR0913 (all are options)
        self,
        connection: Connection = "",
        model: str = "model",
        *,
        params: Mapping[str, Any] | None = None,
        rounds: int = 100,
        seed: int = 0,
        deploy: bool = True,
        allow_change: bool = False,
    ) -> None:
        self.connection = connection
        self.model = model
        self.params = params
        self.rounds = rounds
        self.seed = seed
        self.deploy = deploy
        self.allow_change = allow_change

    def __sklearn_clone__(self) -> Any:
        # A connection cannot be copied.
        return type(self)(**self.get_params(deep=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _train(self, rows: Any, target: Any, sample_weight: Any) -> dict[str, Any]:
        """Trains a version; `model_` is its reference. Returns its metadata."""
        columns, weight = {_TARGET: target}, None
        if sample_weight is not None:
            columns[_WEIGHT], weight = _check_sample_weight(sample_weight, rows), _WEIGHT
        options: dict[str, Any] = {"rounds": self.rounds, "seed": self.seed, "deploy": self.deploy}
        options["allow_change"] = self.allow_change
        with connected(self.connection) as database, database.transaction():
            source = rows.assign(**columns)
            given = (self.model, source, _TARGET, self.params)
            train(database.connection, *given, weight=weight, **options)
            extension = Extension(database)
            query = sql.SQL(_LAST).format(extension.name("pgboost_models"))
            ((version,),) = extension.rows(query, [self.model])
            self.model_ = f"{self.model}@{version}"
            return extension.info(self.model_)

    def _rows_to_fit(self, rows: Any, target: Any) -> pandas.DataFrame:
        if target is None:
            raise ValueError("requires y to be passed, but the target y is None")
        found = self._rows(rows, reset=True)
        check_consistent_length(found, target)
        return found

    def _rows(self, rows: Any, reset: bool = False) -> pandas.DataFrame:
        """Returns the rows as a frame; those of an array have the columns `f0`, `f1` and so on."""
        if not reset:
            check_is_fitted(self)
        if hasattr(rows, "columns"):
            validate_data(self, rows, reset=reset, skip_check_array=True)
            return framed(rows)
        checked = validate_data(
            self, rows, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )
        return pandas.DataFrame(checked, columns=[f"f{n}" for n in range(checked.shape[1])])


class PgboostRegressor(RegressorMixin, _Estimator):
    """A regressor that the database trains.

    `connection` is that of the functions of `pgboost`, by default the environment's PGHOST, PGDATABASE and so
    on. `params`, `rounds`, `seed`, `deploy` and `allow_change` are those of `pgboost.train`. After `fit`,
    `model_` is the version, such as `model@3`.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PgboostRegressor:
        """Trains a new version of the model on the rows."""
        rows = self._rows_to_fit(X, y)
        target = column_or_1d(
            check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"), warn=True
        )
        self._train(rows, target, sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Returns the value of each row."""
        rows = self._rows(X)
        return predict(self.connection, self.model_, rows)


class PgboostClassifier(ClassifierMixin, _Estimator):
    """A classifier that the database trains; its parameters are those of `PgboostRegressor`.

    The labels in the database are the texts of the classes. After `fit`, `classes_` has the classes.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PgboostClassifier:
        """Trains a new version of the model on the rows."""
        rows = self._rows_to_fit(X, y)
        check_classification_targets(y)
        target = column_or_1d(y, warn=True)
        self.classes_, codes = np.unique(target, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class, {self.classes_[0]!r}: a classifier needs two")
        texts = [str(label) for label in self.classes_]
        labels = self._train(rows, np.array(texts, object)[codes], sample_weight)["labels"]
        self._order = [labels.index(text) for text in texts]
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Returns the probabilities of the classes, in the order of `classes_`."""
        rows = self._rows(X)
        return predict_proba(self.connection, self.model_, rows)[:, self._order]

    def predict(self, X: Any) -> np.ndarray:
        """Returns the likeliest class of each row."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])
