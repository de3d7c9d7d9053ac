"""Models go to the database and come back."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from psycopg import Connection, sql
from psycopg.types.json import Jsonb

from .errors import UnsupportedModelError, translated
from .extension import Extension
from .libraries import model_file


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


def push(  # noqa: PLR0913 (all but three are options)
    connection: Connection[Any],
    name: str,
    model: Any,
    *,
    labels: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    categories: Mapping[str, Sequence[Any]] | None = None,
    rounds: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    metrics: Mapping[str, Any] | None = None,
) -> int:
    """Stores a model as a new version, deploys it and returns the version's number.

    `model` is a model of XGBoost, LightGBM, CatBoost or scikit-learn, or the URI of one in MLflow.
    Class labels, feature names, categories and the best iteration come from the model, unless they
    are given here. `categories` has the values of each categorical feature in the order of their
    codes, for models of before XGBoost 3.1. As with any statement, the version is there for others
    once the connection commits.
    """
    file = model_file(model)
    given = {
        "labels": [str(label) for label in labels] if labels is not None else file.labels,
        "feature_names": feature_names if feature_names is not None else file.feature_names,
        "categories": categories if categories is not None else file.categories,
        "rounds": rounds if rounds is not None else file.rounds,
        "parameters": parameters,
        "metrics": metrics,
    }
    arguments = {key: _argument(value) for key, value in given.items() if value is not None}
    extension = Extension(connection)
    call = sql.SQL("SELECT {}(%(name)s, %(model)s{})").format(
        extension.name("load_model"),
        sql.Composed(
            sql.SQL(", {} => {}").format(sql.Identifier(key), sql.Placeholder(key))
            for key in arguments
        ),
    )
    with translated():
        return int(extension.value(call, {"name": name, "model": file.content, **arguments}))


def _argument(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Jsonb({key: _plain(item) for key, item in value.items()})
    return value if isinstance(value, int) else list(value)


def _plain(value: Any) -> Any:
    """A value without NumPy's types, which json does not know."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def models(connection: Connection[Any]) -> list[Version]:
    """All versions of all models that the user may predict with, by name and number."""
    extension = Extension(connection)
    columns = sql.SQL(", ").join(sql.Identifier(field.name) for field in fields(Version))
    query = sql.SQL("SELECT {} FROM {} ORDER BY name, version")
    return [
        Version(*row)
        for row in extension.rows(query.format(columns, extension.name("pgboost_models")))
    ]


def pull(connection: Connection[Any], name: str, version: int | None = None) -> Any:
    """A model as an object of its library: a `Booster`, a `CatBoost` or an ONNX `ModelProto`.

    Without a number, the version that is deployed. Only the owner of a model can have its bytes.
    """
    extension = Extension(connection)
    reference = name if version is None else f"{name}@{version}"
    with translated():
        info = extension.value(
            sql.SQL("SELECT {}(%s)").format(extension.name("model_info")), [reference]
        )
        content = bytes(
            extension.value(
                sql.SQL("SELECT {}(%s, %s)").format(extension.name("export_model")),
                [name, info["version"]],
            )
        )
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
    if library == "onnx":
        return import_module("onnx").load_from_string(content)
    raise UnsupportedModelError(f"no Python library is known for the format {file_format!r}")
