"""The package's errors: each is also the built-in error that Python's users would expect.

PostgreSQL's error is the cause (`__cause__`), with its SQLSTATE, detail and hint.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any


class PgboostError(Exception):
    """Any error of this package."""


class ExtensionMissingError(PgboostError, RuntimeError):
    """The database does not have the extension."""


class ModelNotFoundError(PgboostError, LookupError):
    """The database has no such model or version, or the user may not see it."""


class UnsupportedModelError(PgboostError, TypeError):
    """A model that pgboost does not score."""


class InvalidModelError(PgboostError, ValueError):
    """A model, name or value that the server refuses."""


class PredictionsDifferError(PgboostError, ValueError):
    """The database would not predict what the model predicts, so nothing was stored."""


class PermissionDeniedError(PgboostError, PermissionError):
    """The user does not have a privilege."""


# By SQLSTATE, or by its first two characters.
_BY_SQLSTATE: dict[str, type[PgboostError]] = {
    "42704": ModelNotFoundError,
    "42501": PermissionDeniedError,
    "0A000": UnsupportedModelError,
    "22": InvalidModelError,
    "42": InvalidModelError,
    "54": InvalidModelError,
}


def needed(module: str, extra: str) -> ModuleType:
    """A module that an extra of the package installs."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{error}: pip install 'pgboost[{extra}]'") from error


@contextmanager
def translated() -> Iterator[None]:
    """Raises this package's error for what the server refuses; others pass as they are."""
    try:
        yield
    except Exception as refused:
        error: Any = refused
        # psycopg 3 and psycopg 2 call it differently.
        state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or ""
        kind = _BY_SQLSTATE.get(state) or _BY_SQLSTATE.get(state[:2])
        if kind is None:
            raise
        diag = error.diag
        lines = [diag.message_primary, diag.message_detail, diag.message_hint]
        raise kind("\n".join(line for line in lines if line)) from error
