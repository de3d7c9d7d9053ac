"""Gradient-boosted trees to PostgreSQL's extension pgboost, and back.

>>> pgboost.push(connection, "flights", model)        # compared, stored and deployed
>>> pgboost.verify(connection, "flights", model, X)   # the same predictions in SQL, row by row
>>> pgboost.models(connection)
>>> pgboost.pull(connection, "flights")
"""

from .comparison import Difference, Verification
from .errors import (
    ExtensionMissingError,
    InvalidModelError,
    ModelNotFoundError,
    PermissionDeniedError,
    PgboostError,
    PredictionsDifferError,
    UnsupportedModelError,
)
from .registry import Version, models, pull, push
from .verification import verify

__all__ = [
    "Difference",
    "ExtensionMissingError",
    "InvalidModelError",
    "ModelNotFoundError",
    "PermissionDeniedError",
    "PgboostError",
    "PredictionsDifferError",
    "UnsupportedModelError",
    "Verification",
    "Version",
    "models",
    "pull",
    "push",
    "verify",
]
