"""The command `pgboost`: models from a terminal.

It opens pickles, which a database must not do, and reports it, since opening one runs its content.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

from . import (
    deploy,
    drop,
    drop_alias,
    evaluate,
    export_sql,
    models,
    push,
    rollback,
    set_alias,
    verify,
)
from .errors import ArgumentError, PgboostError, PgboostWarning, translated
from .libraries import model_file
from .model_file import ModelFile
from .pickled import ENDINGS, opened
from .tables import as_fitted

_DATABASE = "what to connect to, as psql takes it; by default the environment's PGHOST, PGDATABASE and so on"
_CHANGE = "allows a version that means something else than the one before"
_NAMES = (
    "the columns, in order, where the file has other names: LightGBM writes blanks as underscores"
)


# By an argument of the package's functions, the option that is the same.
_OPTIONS = {
    "allow_change=True": "--allow-change",
    "check=False": "--no-check",
    "deploy=False": "--no-deploy",
}


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns its exit status."""
    given = _parser().parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("always", PgboostWarning)
        warnings.showwarning = _shown
        try:
            with translated():
                return int(given.run(given) or 0)
        except PgboostError as error:
            _shown(error)
            return 1


def _shown(message: Exception | str, *_: Any) -> None:
    text = str(message)
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    print(f"pgboost: {text}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("pgboost", description="Sends models of trees to PostgreSQL.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Any, does: str, model: str | None = None) -> Any:
        found = commands.add_parser(name, help=does)
        found.set_defaults(run=run)
        found.add_argument("--database", default="", help=_DATABASE)
        if model is not None:
            found.add_argument("model", help=model)
        return found

    one = command("push", _push, "compare a model, store and deploy it")
    _with_file(one, "a pickle, joblib file or model file", with_names=True)
    one.add_argument("--no-check", dest="check", action="store_false", help="does not compare it")
    one.add_argument("--no-deploy", dest="deploy", action="store_false", help="stores it only")
    one.add_argument("--allow-change", action="store_true", help=_CHANGE)
    one = command("verify", _verify, "compare a model with the database's, row by row")
    _with_file(one, "a pickle or joblib file")
    rows = one.add_mutually_exclusive_group(required=True)
    rows.add_argument("--rows", type=Path, help="a CSV or Parquet file of features")
    rows.add_argument("--source", help="a table, a view or a query in the database")
    one = command("export-sql", _export_sql, "print a script of plain SQL functions that predict")
    _with_file(one, "a pickle, joblib file or model file", with_names=True)
    one.add_argument("--schema", default="public", help="the schema of the functions (public)")
    one.add_argument("--version", type=int, help="a number: NAME_3 then stands behind NAME")
    one.add_argument(
        "--unknown-category",
        choices=["error", "missing"],
        default="error",
        help="the meaning of categories that the model does not know (error)",
    )
    command("list", _list, "list the models")
    version = "the version, such as churn@2 or churn@champion"
    name = "the model's name, such as churn"
    for one in (
        command("deploy", _deploy, "deploy a version", version),
        command("rollback", _rollback, "deploy the version that was deployed before", name),
    ):
        one.add_argument("--allow-change", action="store_true", help=_CHANGE)
        one.add_argument("--comment", help="why, for the view pgboost_deployments")
    version = "the version, such as churn@2; churn@champion with --drop"
    one = command("alias", _alias, "give a version an alias, or move the alias", version)
    one.add_argument("alias", nargs="?", help="the alias, such as champion")
    one.add_argument("--drop", action="store_true", help="drops the alias")
    one.add_argument("--allow-change", action="store_true", help=_CHANGE)
    version = "churn@2, or churn for all versions"
    command("drop", _drop, "drop a version, or all of a model", version)
    version = "churn, churn@2 or churn@champion"
    one = command("evaluate", _evaluate, "print a model's metrics", version)
    one.add_argument("--source", required=True, help="a table, a view or a query")
    one.add_argument("--target", required=True, help="its column with the true value")
    return parser


def _with_file(command: argparse.ArgumentParser, files: str, with_names: bool = False) -> None:
    command.add_argument("model", type=Path, help=files)
    command.add_argument("--name", required=True, help="the model's name in the database")
    if with_names:
        classes = "the classes of a model file without them, in order"
        command.add_argument("--labels", nargs="+", metavar="LABEL", help=classes)
        command.add_argument("--feature-names", nargs="+", metavar="NAME", help=_NAMES)


def _push(given: argparse.Namespace) -> None:
    model, labels = _model(given.model)
    version = push(
        given.database,
        given.name,
        model,
        labels=given.labels or labels,
        feature_names=given.feature_names,
        check=given.check,
        deploy=given.deploy,
        allow_change=given.allow_change,
    )
    print(f"{given.name}@{version}")


def _verify(given: argparse.Namespace) -> int:
    file = model_file(_model(given.model)[0])
    rows = given.source if given.rows is None else _rows(given.rows, file)
    found = verify(given.database, given.name, file, rows)
    print(found)
    return int(not found)


def _export_sql(given: argparse.Namespace) -> None:
    model, labels = _model(given.model)
    script = export_sql(
        model,
        given.name,
        schema=given.schema,
        version=given.version,
        labels=given.labels or labels,
        feature_names=given.feature_names,
        unknown_category=given.unknown_category,
    )
    sys.stdout.buffer.write(script.encode())


def _list(given: argparse.Namespace) -> None:
    for found in models(given.database):
        deployed = " deployed" if found.deployed else ""
        print(f"{found.name}@{found.version}{deployed} {found.objective} ({found.format})")


def _deploy(given: argparse.Namespace) -> None:
    options = {"allow_change": given.allow_change, "comment": given.comment}
    deploy(given.database, given.model, **options)


def _rollback(given: argparse.Namespace) -> None:
    options = {"allow_change": given.allow_change, "comment": given.comment}
    print(f"{given.model}@{rollback(given.database, given.model, **options)}")


def _alias(given: argparse.Namespace) -> None:
    if given.drop == bool(given.alias):
        raise ArgumentError("pass an alias for the version, or --drop")
    if given.drop:
        drop_alias(given.database, given.model)
    else:
        set_alias(given.database, given.model, given.alias, allow_change=given.allow_change)


def _drop(given: argparse.Namespace) -> None:
    drop(given.database, given.model)


def _evaluate(given: argparse.Namespace) -> None:
    found = evaluate(given.database, given.model, given.source, given.target)
    print(found.dropna(axis="columns", how="all").to_string(index=False))


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
    """The rows to predict. Texts that are the model's categories stay texts, although a CSV has no types."""
    import pandas

    inputs = file.inputs() if file.inputs else None
    is_parquet = path.suffix == ".parquet"
    if inputs is None:
        return pandas.read_parquet(path) if is_parquet else pandas.read_csv(path)
    options = {"dtype": str, "keep_default_na": False}
    written = pandas.read_parquet(path) if is_parquet else pandas.read_csv(path, **options)
    names = list(inputs.names or written)
    texts = {
        names[column]: values
        for column, values in inputs.categories.items()
        if any(isinstance(value, str) for value in values)
    }
    given = {*texts} & {*written}
    if is_parquet:
        frame = written
        if all(frame[name].dtype == "category" for name in given):
            return frame
    else:
        frame = pandas.read_csv(path, dtype=dict.fromkeys(texts, str))
        # pandas takes "NA", "None" and others for missing, which may be categories.
        for name in given:
            is_known = written[name].isin(texts[name]) & (written[name] != "") | inputs.hashed
            frame[name] = frame[name].where(~is_known, written[name])
    known = {"feature_names": [name for name in names if name in frame]}
    return as_fitted(frame, inputs, known)


if __name__ == "__main__":
    sys.exit(main())
