"""The package's errors, each of which is also the usual built-in class, and its warning.

No other exception leaves the package's functions. The original one is the cause (`__cause__`): PostgreSQL's
error, with its SQLSTATE, detail and hint, or an exception of the model's library.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn


class PgboostError(Exception):
    """Any error of this package."""


class ArgumentError(PgboostError, TypeError):
    """An argument of a type that the function does not take."""


class DatabaseError(PgboostError):
    """Another error of the connection or of the server."""


class ExtensionMissingError(PgboostError, RuntimeError):
    """The database does not have the extension."""


class MissingLibraryError(PgboostError, ImportError):
    """A library that the model or the function needs is not installed."""


class ModelNotFoundError(PgboostError, LookupError):
    """The model or version does not exist, or the user may not see it."""


class UnsupportedModelError(PgboostError, TypeError):
    """A model that pgboost does not score."""


class InvalidModelError(PgboostError, ValueError):
    """A model, name or value that the server refuses."""


class InvalidDataError(PgboostError, ValueError):
    """Rows, or a source of rows, that the model or the server refuses."""


class PredictionsDifferError(PgboostError, ValueError):
    """The database would not predict what the model predicts, so nothing was stored."""


class PermissionDeniedError(PgboostError, PermissionError):
    """The user does not have a privilege."""


class PgboostWarning(UserWarning):
    """A notice or a warning of the server, with its severity and, except by psycopg 2, its SQLSTATE."""

    def __init__(
        self, message: str, severity: str = "WARNING", sqlstate: str | None = None
    ) -> None:
        super().__init__(message)
        self.severity = severity
        self.sqlstate = sqlstate


# By SQLSTATE, and the classes of SQLSTATEs of which an argument is the cause.
_BY_SQLSTATE: dict[str, type[PgboostError]] = {
    "42704": ModelNotFoundError,
    "42501": PermissionDeniedError,
    "0A000": UnsupportedModelError,
}
_INVALID = ("22", "42", "54")
_DRIVERS = ("psycopg", "psycopg2", "sqlalchemy")
# By SQL's name, the functions that hints name and that have another name here.
_FUNCTIONS = {
    "load_model": "pgboost.push",
    "train_model": "pgboost.train",
    "deploy_model": "pgboost.deploy",
    "evaluate_model": "pgboost.evaluate",
    "predict_array": "pgboost.predict",
}
_OF_SQL = re.compile(rf""""[^"]*"|\b(?:{"|".join(_FUNCTIONS)})\b|(\w+) => (\w+|'[^']*')""")


def needed(module: str, extra: str) -> ModuleType:
    """Imports a module that an extra of the package installs."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingLibraryError(f"{error}: pip install 'pgboost[{extra}]'") from error


@contextmanager
def translated(
    invalid: type[PgboostError] = InvalidModelError, doing: str | None = None
) -> Iterator[None]:
    """Translates any exception to one of this package; also a decorator.

    It is `invalid` for values that the server refuses, and for any failure of `doing`.
    """
    try:
        yield
    except (PgboostError, Warning):
        raise
    except Exception as error:
        raise _translation(error, invalid, doing) from error


def _translation(error: Any, invalid: type[PgboostError], doing: str | None) -> PgboostError:
    # SQLAlchemy wraps the driver's error, and psycopg 3 and psycopg 2 name the state differently.
    error = getattr(error, "orig", None) or error
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    # MLflow's errors have a state too, and are no server's.
    diag = getattr(error, "diag", None)
    if state is not None and diag is not None:
        kind = _BY_SQLSTATE.get(state) or (invalid if state[:2] in _INVALID else DatabaseError)
        return kind(told(diag) or str(error))
    if doing is not None:
        # XGBoost's message ends with the stack.
        message = str(error).partition("\nStack trace")[0]
        return invalid(f"{doing}: {type(error).__qualname__}: {message}")
    if type(error).__module__.partition(".")[0] in _DRIVERS:
        # Without a state, the driver itself cannot send a value, such as a text with NUL.
        return (invalid if type(error).__name__ == "DataError" else DatabaseError)(str(error))
    kinds: dict[type, type[PgboostError]] = {
        TypeError: ArgumentError,
        ImportError: MissingLibraryError,
        ValueError: invalid,
        ArithmeticError: invalid,
    }
    found = next((kinds[one] for one in kinds if isinstance(error, one)), PgboostError)
    return found(f"{type(error).__qualname__}: {error}")


def refuse(model: Any, reason: str) -> NoReturn:
    """Raises the error that a model or a step, named by its class, is not scored."""
    raise UnsupportedModelError(f"the {type(model).__qualname__} {reason}")


def told(diag: Any) -> str:
    """Returns the server's message with its detail and hint."""
    hint = in_python(diag.message_hint or "")
    return "\n".join(line for line in (diag.message_primary, diag.message_detail, hint) if line)


def in_python(hint: str) -> str:
    """Writes the functions and arguments of a hint, which are SQL's, as this package has them."""

    def written(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name is None:
            return _FUNCTIONS.get(found[0], found[0])
        if value in ("true", "false"):
            return f"{name}={value.title()}"
        if value.startswith("'{"):
            # An array of numbers, or an empty object.
            text = value.strip("'")
            return f"{name}={text if text == '{}' else f'[{text[1:-1]}]'}"
        return f"{name}={value}".replace("'", '"')

    return _OF_SQL.sub(written, hint)


def warn(warning: PgboostWarning) -> None:
    """Warns at the line outside of the package that called it."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "pgboost",
        "contextlib",
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
