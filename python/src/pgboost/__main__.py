"""The command `pgboost`: models from a terminal.

It opens pickles, which a database must not do, and reports it, since opening one runs its content.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import psycopg

from . import models, push, verify
from .errors import PgboostError
from .libraries import model_file
from .model_file import ModelFile
from .pickled import ENDINGS, opened

_DATABASE = "what to connect to, as psql takes it; by default the environment's PGHOST, PGDATABASE and so on"


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns its exit status."""
    given = _parser().parse_args(arguments)
    try:
        return int(given.run(given))
    except (PgboostError, psycopg.Error, ImportError, OSError) as error:
        print(f"pgboost: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("pgboost", description="Sends models of trees to PostgreSQL.")
    commands = parser.add_subparsers(required=True, metavar="push, verify or list")
    command = commands.add_parser("push", help="compares a model, stores and deploys it")
    command.set_defaults(run=_push)
    _with_model(command, "a pickle, joblib file or model file")
    command.add_argument(
        "--labels",
        nargs="+",
        metavar="LABEL",
        help="the classes of a model file without them, in order",
    )
    command.add_argument(
        "--feature-names",
        nargs="+",
        metavar="NAME",
        help="the columns, in order, where the file has other names: LightGBM writes blanks as underscores",
    )
    command.add_argument(
        "--no-check", dest="check", action="store_false", help="does not compare it"
    )
    command.add_argument("--no-deploy", dest="deploy", action="store_false", help="stores it only")
    command = commands.add_parser("verify", help="compares a model with the database's, row by row")
    command.set_defaults(run=_verify)
    _with_model(command, "a pickle or joblib file")
    command.add_argument(
        "--rows", required=True, type=Path, help="a CSV or Parquet file of features"
    )
    command = commands.add_parser("list", help="lists the models")
    command.set_defaults(run=_list)
    command.add_argument("--database", default="", help=_DATABASE)
    return parser


def _with_model(command: argparse.ArgumentParser, files: str) -> None:
    command.add_argument("model", type=Path, help=files)
    command.add_argument("--name", required=True, help="the model's name in the database")
    command.add_argument("--database", default="", help=_DATABASE)


def _push(given: argparse.Namespace) -> int:
    model, labels = _model(given.model)
    version = push(
        given.database,
        given.name,
        model,
        labels=given.labels or labels,
        feature_names=given.feature_names,
        check=given.check,
        deploy=given.deploy,
    )
    print(f"{given.name}@{version}")
    return 0


def _verify(given: argparse.Namespace) -> int:
    file = model_file(_model(given.model)[0])
    found = verify(given.database, given.name, file, _rows(given.rows, file))
    print(found)
    return 0 if found else 1


def _list(given: argparse.Namespace) -> int:
    for found in models(given.database):
        deployed = " deployed" if found.deployed else ""
        print(f"{found.name}@{found.version}{deployed} {found.objective} ({found.format})")
    return 0


def _model(path: Path) -> tuple[Any, list[str] | None]:
    """The model in a pickle with the labels next to it, or the path of another file."""
    if path.suffix.lower() not in ENDINGS:
        return path, None
    print(f"pgboost: opening {path} with Python, which runs what is in it", file=sys.stderr)
    found = opened(path)
    if found.others:
        print(f"pgboost: not sent: {', '.join(found.others)}", file=sys.stderr)
    return found.model, found.labels


def _rows(path: Path, file: ModelFile) -> Any:
    """The rows to predict. A CSV has no types, so its categories of pandas are those of the model."""
    import pandas

    if path.suffix == ".parquet":
        return pandas.read_parquet(path)
    inputs = file.inputs() if file.inputs else None
    categories = inputs.categories if inputs and not inputs.plain else {}
    types = {
        name: pandas.CategoricalDtype(categories[column])
        for column, name in enumerate(pandas.read_csv(path, nrows=0))
        if column in categories
    }
    return pandas.read_csv(path, dtype=types)


if __name__ == "__main__":
    sys.exit(main())
