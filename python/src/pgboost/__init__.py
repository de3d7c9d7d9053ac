"""Gradient-boosted trees to PostgreSQL's extension pgboost, and back.

>>> pgboost.push(connection, "flights", model)        # a new version, deployed
>>> pgboost.verify(connection, "flights", model, X)   # the same predictions in SQL, row by row
>>> pgboost.models(connection)
>>> pgboost.pull(connection, "flights")
"""

from .errors import (
    ExtensionMissingError,
    InvalidModelError,
    ModelNotFoundError,
    PermissionDeniedError,
    PgboostError,
    UnsupportedModelError,
)
from .registry import Version, models, pull, push
from .verification import Difference, Verification, verify

__all__ = [
    "Difference",
    "ExtensionMissingError",
    "InvalidModelError",
    "ModelNotFoundError",
    "PermissionDeniedError",
    "PgboostError",
    "UnsupportedModelError",
    "Verification",
    "Version",
    "models",
    "pull",
    "push",
    "verify",
]
