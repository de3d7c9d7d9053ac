"""Exports models as plain SQL functions, for servers without the extension, and compares these.

The engine writes the scripts: the package `gbtrees`, which needs no server.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from psycopg import sql

from .comparison import Predictions, Verification, compared
from .connecting import Connection, Database, connected
from .errors import (
    InvalidDataError,
    InvalidModelError,
    MissingLibraryError,
    ModelNotFoundError,
    PgboostWarning,
    UnsupportedModelError,
    translated,
    warn,
)
from .extension import require_list, require_name
from .frames import TIMES, framed
from .inputs import drawn
from .libraries import model_file
from .model_file import ModelFile, label_text
from .rows import Rows, of_features
from .verification import in_python

# The arguments of the functions of one row: columns, or an array if there are too many; and an object.
_ARGUMENTS = """
    SELECT p.proargnames[1:p.pronargs], p.proargtypes::pg_catalog.regtype[]::pg_catalog.text[]
      FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
     WHERE n.nspname = %s AND p.proname = %s AND NOT p.proretset
       AND NOT 'pg_catalog.record'::pg_catalog.regtype = ANY (p.proargtypes)
     ORDER BY p.proargtypes[0] = 'pg_catalog.jsonb'::pg_catalog.regtype
"""
# By type of a column, the type in which it is sent to a function of numbers.
_CAST = dict.fromkeys(("boolean", *TIMES), "double precision")


@translated()
def model_bytes(model: Any, rounds: int | None = None) -> bytes:
    """Returns the model file that `push` would store.

    That is the library's own file, or a tree ensemble for models and pipelines of scikit-learn, with their
    encoders folded into the trees. The package `gbtrees` predicts with it.
    """
    return model_file(model, rounds).content


@translated()
def export_sql(  # noqa: PLR0913 (all but two are options)
    model: Any,
    name: str,
    *,
    schema: str = "public",
    version: int | None = None,
    labels: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    rounds: int | None = None,
    unknown_category: str = "error",
) -> str:
    """Returns a script of plain SQL functions that predict with a model, for any PostgreSQL since 13.

    It creates `name`, `name_margin` and so on in `schema` in one transaction; with `version`, `name_3` stands
    behind `name`. Categories that the model does not know are errors, or with `unknown_category="missing"`
    missing values. `model` is what `push` takes, and so are the other options. The margins are those of the
    library to the bit. It needs the package `gbtrees` and no server.
    """
    require_name(name, model)
    for argument, given in (("labels", labels), ("feature_names", feature_names)):
        if given is not None:
            require_list(argument, given)
    engine, file = _engine(), model_file(model, rounds)
    if file.lost:
        warn(PgboostWarning(f"{file.lost}, so the functions take their codes"))
    given = file.sent_labels() if labels is None else [label_text(label) for label in labels]
    names = file.feature_names if feature_names is None else feature_names
    try:
        loaded = engine.Model(
            file.content,
            rounds=file.rounds if rounds is None else rounds,
            feature_names=names,
            labels=given,
        )
        return str(
            loaded.to_sql(name, schema=schema, version=version, unknown_category=unknown_category)
        )
    except engine.GbtreesError as error:
        raise InvalidModelError(str(error)) from error


@translated(InvalidDataError)
def verify_sql(
    connection: Connection,
    name: str,
    model: Any,
    frame: Any = None,
    *,
    schema: str = "public",
) -> Verification:
    """Compares the functions of `export_sql` in a database with the model's own predictions.

    `frame` is a `DataFrame` of pandas or Polars, a `Table` of Arrow or a NumPy array; without one, rows are
    drawn around the model's thresholds, as by `push`. Numbers and classes are compared as by `verify`.
    """
    require_name(name, model)
    file = model_file(model)
    if file.values is None:
        raise UnsupportedModelError("verify_sql needs the model's object, not its file")
    with connected(connection) as database:
        database.first(sql.NULL)
        arguments = _arguments(database, schema, name)
        features = _features(file, arguments)
        if frame is None:
            if file.inputs is None:
                raise UnsupportedModelError("no rows can be drawn: pass some as frame")
            frame = drawn(file.inputs(), features)
        frame = framed(frame)
        endings = ["", "_class"] if file.classes else [""]
        functions = [sql.Identifier(schema, f"{name}{ending}") for ending in endings]
        found = _in_sql(
            database, functions, arguments, of_features(frame, features, by_position=True)
        )
    return compared(found, in_python(file, None, frame), file.tolerance)


def _engine() -> ModuleType:
    try:
        return import_module("gbtrees")
    except ImportError as error:
        message = (
            f"the engine writes the script ({error}): in a clone of pgboost, make wheel and"
            " pip install .build/wheel/*.whl"
        )
        raise MissingLibraryError(message) from error


def _arguments(database: Database, schema: str, name: str) -> dict[str, str]:
    """Returns the types of a function's arguments by name."""
    _, rows = database.fetched(sql.SQL(_ARGUMENTS), [schema, name])
    if not rows:
        raise ModelNotFoundError(f"there is no function {name!r} of one row in schema {schema!r}")
    names, types = rows[0]
    return dict(zip(names or types, types, strict=True))


def _features(file: ModelFile, arguments: dict[str, str]) -> Sequence[str]:
    """Returns the names of the features, which arguments have cut to 63 bytes."""
    names = file.feature_names or (file.inputs().names if file.inputs else None)
    return names if names and len(names) == len(arguments) else list(arguments)


def _in_sql(
    database: Database, functions: list[sql.Identifier], arguments: dict[str, str], rows: Rows
) -> Predictions:
    (kind, *others) = arguments.values()
    rows.form = kind if not others and kind in ("jsonb", "double precision[]") else "columns"
    if rows.form == "columns" and len(rows.types) != len(arguments):
        message = (
            f"the frame has {len(rows.types)} columns, the function {len(arguments)} arguments"
        )
        raise InvalidDataError(message)
    # PostgreSQL casts neither booleans nor times to double precision.
    rows.types = {name: _CAST.get(kind, kind) for name, kind in rows.types.items()}
    passed = sql.SQL(", ").join(
        sql.SQL("t.{}::{}").format(sql.Identifier(f"c{number}"), sql.SQL(kind))
        for number, kind in enumerate(arguments.values())
    )
    calls = sql.SQL(", ").join(sql.SQL("{}({})").format(function, passed) for function in functions)
    query = sql.SQL("SELECT {} FROM {} ORDER BY row").format(calls, rows.relation())
    found = [row for arrays in rows.chunks() for row in database.fetched(query, arrays)[1]]
    return Predictions.of(found, len(functions))
