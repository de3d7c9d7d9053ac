"""Pushes models to the database, lists, pulls, deploys and drops them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from psycopg import sql

from .connecting import Connection, connected
from .errors import (
    ArgumentError,
    InvalidDataError,
    PredictionsDifferError,
    UnsupportedModelError,
    translated,
)
from .extension import Extension, require_list, require_name
from .frames import columns_of, framed, has_singles
from .inputs import drawn
from .libraries import model_file
from .model_file import ModelFile, label_text, with_label_type
from .rows import source_of
from .tables import Table
from .verification import compare, for_rows


@dataclass(frozen=True)
class Version:
    """A version of a model, as the view `pgboost_models` shows it."""

    name: str
    version: int
    deployed: bool
    objective: str
    features: int
    outputs: int
    trees: int
    format: str
    size: int
    loaded_by: str
    loaded_at: datetime


@translated()
def push(  # noqa: PLR0913 (all but three are options)
    connection: Connection,
    name: str,
    model: Any,
    *,
    check: Any = True,
    deploy: bool = True,
    labels: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    categories: Mapping[str, Sequence[Any]] | None = None,
    rounds: int | None = None,
    params: Mapping[str, Any] | None = None,
    metrics: Mapping[str, Any] | None = None,
    real_input: str | None = None,
    allow_change: bool = False,
    baseline: Any = False,
    comment: str | None = None,
) -> int:
    """Stores a model as a new version, deploys it and returns the version's number.

    `model` is a model of XGBoost, LightGBM, CatBoost or scikit-learn, its file (a path or bytes), or the
    URI of one in MLflow. Before anything is deployed, the database predicts the rows `check`, a frame or a
    table as `verify` takes it: if it predicts something else than the model, nothing is stored and
    `PredictionsDifferError` names the first row. By default the rows are drawn around the model's
    thresholds; `check=False` compares nothing. `deploy=False` stores the version only.

    Class labels, feature names, categories and the best iteration come from the model, unless they
    are given here. `categories` has the values of each categorical feature in the order of their
    codes, for models of before XGBoost 3.1; a frame `check` with pandas' categories has them too.
    `real_input='float32'` is for models of doubles that were trained on `float32`, which a frame `check` of
    such columns says too: a `real` of a table is then not read as its shortest decimal. A version that
    means something else than the one before is refused without `allow_change`.

    `baseline=True` stores the distributions of the features in the rows `check`, for `drift` to compare with;
    another frame or table may be given instead. `comment` describes the version.

    As with any statement, the version is there for others once the connection commits; a connection string
    is connected to, committed and closed.
    """
    require_name(name, model)
    rows = check if baseline is True else baseline
    if baseline is not False and (rows is None or isinstance(rows, bool)):
        raise ArgumentError(
            "baseline=True takes the rows of check: pass a frame or table as either"
        )
    if labels is not None:
        require_list("labels", labels)
    file = model_file(model, rounds)
    with connected(connection) as database:
        extension = Extension(database)
        known = _of_check(extension, file, check)
        if known.get("real_input") == "float32" and real_input in (None, "float32"):
            file = for_rows(file, framed(check))
        given = {
            "labels": [label_text(label) for label in labels]
            if labels is not None
            else file.sent_labels(),
            "feature_names": feature_names if feature_names is not None else file.feature_names,
            "categories": categories,
            "rounds": rounds if rounds is not None else file.rounds,
            "params": params if labels is not None else with_label_type(file, params),
            "metrics": metrics,
            "deploy": None if deploy else False,
            "real_input": real_input,
            "allow_change": allow_change or None,
        }
        given |= {key: value for key, value in known.items() if given[key] is None}
        if given["categories"] is None:
            given["categories"] = _own_categories(file)
        # A savepoint, since the extension's schema was read in the transaction.
        with database.transaction():
            arguments = given | {"model": name, "file": file.content}
            version = int(extension.call("load_model", arguments))
            if check is not False:
                _require_same(extension, f"{name}@{version}", file, check, given)
            reference = f"{name}@{version}"
            if baseline is not False:
                with source_of(extension, rows, reference) as source:
                    extension.call("set_baseline", {"model": reference, "source": source})
            if comment is not None:
                extension.call("set_model_comment", {"model": reference, "comment": comment})
        return version


def _of_check(extension: Extension, file: ModelFile, check: Any) -> dict[str, Any]:
    """Returns the arguments of `load_model` that the rows of `check` have and the file has not."""
    if isinstance(check, bool):
        return {}
    if isinstance(check, str):
        columns = dict.fromkeys(Table(extension.database, check).names)
    else:
        check = framed(check)
        columns = dict(columns_of(check)) if hasattr(check, "columns") else {}
    found: dict[str, Any] = {}
    # LightGBM's files have no blanks in names.
    blanks = {name.replace(" ", "_"): name for name in columns if " " in name}
    if not set(file.blanks) <= set(columns) and {*blanks} & {*file.blanks}:
        found["feature_names"] = [
            name if name in columns else blanks.get(name, name) for name in file.blanks
        ]
    if isinstance(check, str):
        return found
    inputs = None
    # LightGBM's cannot always be told, which is an error for drawn rows alone.
    with suppress(UnsupportedModelError):
        inputs = file.inputs() if file.inputs else None
    if inputs and inputs.coded and not columns:
        # An array has codes.
        found["categories"] = {}
    elif inputs and inputs.coded and inputs.names:
        names = [inputs.names[column] for column in inputs.coded]
        dtypes = {name: columns[name].dtype for name in names if name in columns}
        categories = {
            name: dtype.categories.tolist()
            for name, dtype in dtypes.items()
            if hasattr(dtype, "categories")
        }
        found["categories"] = categories or None
    if has_singles(check) and extension.takes("load_model", "real_input"):
        found["real_input"] = "float32"
    return found


def _own_categories(file: ModelFile) -> Mapping[str, Any] | None:
    if file.lost:
        raise UnsupportedModelError(
            f"{file.lost}: pass them in the order of their codes, as categories={{name: [...]}}, or rows with"
            " their dtype as check; categories={} if the training had the codes 0, 1 and so on"
        )
    return file.categories


def _require_same(
    extension: Extension, reference: str, file: ModelFile, check: Any, given: Mapping[str, Any]
) -> None:
    """Raises if the database's predictions differ, for the rows of `check` or for drawn ones."""
    info = extension.info(reference)
    if file.values is None:
        file = _with_object(info["format"], file, given["rounds"])
    frame, rows = check, "rows of check"
    if check is True and file.inputs is not None:
        with translated(UnsupportedModelError, "no rows can be drawn: pass some as check"):
            frame = drawn(file.inputs(), info["feature_names"], given["categories"])
        rows = "rows drawn around the model's thresholds"
    try:
        found = compare(extension, info, file, frame)
    except InvalidDataError as error:
        if frame is check:
            raise
        message = f"{error}\nThese are {rows}: pass some as check, or check=False"
        raise UnsupportedModelError(message) from error
    if not found:
        raise PredictionsDifferError(
            f"the database does not predict what the model predicts, first in {found.first}"
            f"\nNothing was stored. Of the {rows}: {found}."
        )


def _with_object(file_format: str, file: ModelFile, rounds: int | None) -> ModelFile:
    """Returns the file with the functions of its object, which its library loads."""
    if file_format.startswith(("onnx", "tree ensemble")):
        raise UnsupportedModelError(
            f"a file of the format {file_format} is not compared here: push the model's object, or pass"
            " check=False"
        )
    try:
        return model_file(_object(file_format, file.content), rounds)
    except ImportError as error:
        message = f"a file is compared by its library ({error}): install it, or pass check=False"
        raise UnsupportedModelError(message) from error


@translated()
def models(connection: Connection) -> list[Version]:
    """Returns all versions of all models that the user may predict with, by name and number."""
    columns = sql.SQL(", ").join(sql.Identifier(field.name) for field in fields(Version))
    query = sql.SQL("SELECT {} FROM {} ORDER BY name, version")
    with connected(connection) as database:
        extension = Extension(database)
        rows = extension.rows(query.format(columns, extension.name("pgboost_models")))
    return [Version(*row) for row in rows]


@translated()
def pull(connection: Connection, model: str) -> Any:
    """Returns a model as a `Booster`, a `CatBoost` or an ONNX `ModelProto`, or a tree ensemble as bytes.

    `model` is a reference: `m` for the version that is deployed, `m@2` or `m@alias`. Only the owner of a
    model can have its bytes.
    """
    with connected(connection) as database:
        extension = Extension(database)
        info = extension.info(model)
        content = bytes(extension.call("export_model", {"model": model}))
    return _object(info["format"], content)


def _object(file_format: str, content: bytes) -> Any:
    library = file_format.partition(" ")[0]
    if library == "xgboost":
        booster = import_module("xgboost").Booster()
        booster.load_model(bytearray(content))
        return booster
    if library == "lightgbm":
        return import_module("lightgbm").Booster(model_str=content.decode())
    if library == "catboost":
        kind = file_format.partition(" ")[2]
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "model")
            path.write_bytes(content)
            return import_module("catboost").CatBoost().load_model(str(path), format=kind)
    if library == "tree":
        return content
    if library == "onnx":
        return import_module("onnx").load_from_string(content)
    raise UnsupportedModelError(f"no Python library is known for the format {file_format!r}")


@translated()
def deploy(
    connection: Connection, model: str, *, allow_change: bool = False, comment: str | None = None
) -> None:
    """Deploys a version: from the commit on, the name alone means it. `model` is `m@2` or `m@alias`.

    One that means something else than the one before is refused without `allow_change`. The view
    `pgboost_deployments` shows the comment.
    """
    _change("deploy_model", locals())


@translated()
def rollback(
    connection: Connection, model: str, *, allow_change: bool = False, comment: str | None = None
) -> int:
    """Deploys the version that was deployed before the present one, and returns its number."""
    return int(_change("rollback_model", locals()))


@translated()
def set_alias(
    connection: Connection, model: str, alias: str, *, allow_change: bool = False
) -> None:
    """Gives a version, such as `m@3`, another name, or moves the name: `m@alias`.

    One that means something else than the alias did is refused without `allow_change`.
    """
    _change("set_alias", locals())


@translated()
def drop_alias(connection: Connection, model: str) -> None:
    """Drops an alias, given as `m@alias`."""
    _change("drop_alias", locals())


@translated()
def drop(connection: Connection, model: str) -> None:
    """Drops a version, or all versions of a model that is given by its name alone."""
    _change("drop_model", locals())


@translated()
def rename(connection: Connection, model: str, new_name: str) -> None:
    """Renames a model."""
    _change("rename_model", locals())


def _change(function: str, given: dict[str, Any]) -> Any:
    """Calls a function with the caller's arguments. An earlier release has none that may be False."""
    arguments = {
        name: one for name, one in given.items() if name != "connection" and one is not False
    }
    with connected(given["connection"]) as database:
        return Extension(database).call(function, arguments)
