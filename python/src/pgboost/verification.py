"""Predicts rows in SQL and in Python, and compares them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from .comparison import Predictions, Verification, compared
from .connecting import Connection, connected
from .errors import InvalidDataError, UnsupportedModelError, translated
from .extension import Extension, require_name
from .frames import are_singles, framed
from .libraries import model_file
from .model_file import ModelFile
from .rows import of_version, predicted
from .tables import Table, as_fitted


@translated(InvalidDataError)
def verify(  # noqa: PLR0913 (two are options)
    connection: Connection,
    name: str,
    model: Any,
    frame: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> Verification:
    """Compares `predict_array`, and a classifier's `predict_class`, with the model's own predictions.

    `name` is `m`, `m@3` or `m@champion`. `frame` is a `DataFrame` of pandas or Polars, a `Table` of Arrow, a
    NumPy array of shape `(rows, features)`, or the name of a table or view, or a query. Rows of a table are
    predicted as they are stored, by columns, by row and as jsonb, and Python has them as `pandas.read_sql`
    returns them. A number may differ by `atol + rtol * abs(number)`; without both, by the tolerance of the
    library's format. Classes are compared by their labels in the database.
    """
    require_name(name, model)
    file = model_file(model)
    if file.values is None:
        raise UnsupportedModelError("verify needs the model's object, not its file")
    if rtol is not None or atol is not None:
        tolerance = replace(file.tolerance, rtol=rtol or 0.0, atol=atol or 0.0)
        file = replace(file, tolerance=tolerance)
    with connected(connection) as database:
        extension = Extension(database)
        return compare(extension, extension.info(name), file, frame)


def compare(
    extension: Extension, info: Mapping[str, Any], file: ModelFile, rows: Any
) -> Verification:
    """Verifies the version with this metadata against the file's functions."""
    functions = ["predict_array", "predict_class"] if file.classes else ["predict_array"]
    if isinstance(rows, str):
        with translated(InvalidDataError):
            frame, found = Table(extension.database, rows).predicted(extension, functions, info)
    else:
        frame = framed(rows)
        sent = of_version(extension, info, frame, by_position=True)
        found = {"": predicted(extension, functions, info["reference"], sent)}
    # Not every library takes frames of Polars and Arrow, which are converted, as rows of a table are.
    if file.inputs and frame is not rows and hasattr(frame, "columns"):
        frame = as_fitted(frame, file.inputs(), info)
    if info.get("real_input") == "float32":
        file = for_rows(file, frame)
    if not any(found.values()):
        raise InvalidDataError("there are no rows to compare")
    theirs = in_python(file, info["labels"], frame)
    ours = {form: Predictions.of(rows, len(functions)) for form, rows in found.items()}
    by_form = [replace(compared(ours[form], theirs, file.tolerance), form=form) for form in ours]
    return max(by_form, key=lambda one: (one.beyond, one.differing))


def for_rows(file: ModelFile, frame: Any) -> ModelFile:
    """Returns the file for rows of `float32` alone, if they are such and the model has one."""
    if file.of_singles is not None and are_singles(frame):
        with suppress(UnsupportedModelError):
            return file.of_singles()
    return file


def in_python(file: ModelFile, stored: list[str] | None, frame: Any) -> Predictions:
    """Returns the object's predictions, with the database's labels."""
    with translated(InvalidDataError, "the model does not predict the rows"):
        values = file.values(frame) if file.values else []
        if file.classes is None or file.labels is None:
            return Predictions(values)
        labels = stored or file.labels
        label = dict(zip(file.labels, labels, strict=True))
        classes = [label[found] for found in file.classes(frame)]
        return Predictions(values, classes, labels, file.cut)
