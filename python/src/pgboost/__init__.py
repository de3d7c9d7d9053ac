"""Gradient-boosted trees in PostgreSQL, by its extension pgboost.

>>> pgboost.push(connection, "flights", model)        # compared, stored and deployed
>>> pgboost.verify(connection, "flights", model, X)   # the same predictions in SQL, row by row
>>> pgboost.predict(connection, "flights", X)
>>> pgboost.evaluate(connection, "flights", "SELECT * FROM flights WHERE month = 12", "delay")
>>> pgboost.pull(connection, "flights")

`pgboost.plots` draws explanations, and `pgboost.estimators` has estimators of scikit-learn.
"""

from . import plots
from .comparison import Difference, Verification
from .errors import (
    ArgumentError,
    DatabaseError,
    ExtensionMissingError,
    InvalidDataError,
    InvalidModelError,
    MissingLibraryError,
    ModelNotFoundError,
    PermissionDeniedError,
    PgboostError,
    PgboostWarning,
    PredictionsDifferError,
    UnsupportedModelError,
)
from .evaluation import (
    compare,
    drift,
    evaluate,
    partial_dependence,
    permutation_importance,
    set_baseline,
)
from .prediction import explain, predict, predict_class, predict_proba
from .registry import (
    Version,
    deploy,
    drop,
    drop_alias,
    models,
    pull,
    push,
    rename,
    rollback,
    set_alias,
)
from .sql_functions import export_sql, model_bytes, verify_sql
from .training import train
from .verification import verify

__all__ = [
    "ArgumentError",
    "DatabaseError",
    "Difference",
    "ExtensionMissingError",
    "InvalidDataError",
    "InvalidModelError",
    "MissingLibraryError",
    "ModelNotFoundError",
    "PermissionDeniedError",
    "PgboostError",
    "PgboostWarning",
    "PredictionsDifferError",
    "UnsupportedModelError",
    "Verification",
    "Version",
    "compare",
    "deploy",
    "drift",
    "drop",
    "drop_alias",
    "evaluate",
    "explain",
    "export_sql",
    "model_bytes",
    "models",
    "partial_dependence",
    "permutation_importance",
    "plots",
    "predict",
    "predict_class",
    "predict_proba",
    "pull",
    "push",
    "rename",
    "rollback",
    "set_alias",
    "set_baseline",
    "train",
    "verify",
    "verify_sql",
]
