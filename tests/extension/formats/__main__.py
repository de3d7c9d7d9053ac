"""Compares predictions in SQL with those of each library, over freshly trained models: make compare-formats

For each model all rows are stored in a table, and `predict_margin` and `predict_array` of every row are
compared with the library's own answers, rounded to real; where a library names classes, `predict_class` must
give them. The table is written to standard output and into docs/benchmarks/formats.md.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import psycopg

from tests.connections import make_table
from tests.extension.e2e.reference import order
from tests.extension.formats import catboost, lightgbm, onnx, xgboost
from tests.extension.formats.frame import Model, rows_of
from tools.cluster import start, stop

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "benchmarks" / "formats.md"
STATE = ROOT / ".test" / "formats"
PORT = 54380
BEGIN = "<!-- begin: written by make compare-formats -->\n"
END = "<!-- end: written by make compare-formats -->\n"
HEAD = """| library | model | rows | margins: differing | largest ULP | values: differing | largest ULP |
|---|---|--:|--:|--:|--:|--:|
"""


def apart(found: list, expected: np.ndarray) -> tuple[int, int]:
    """In how many rows the bits differ, and the largest distance in units in the last place."""
    wanted = np.asarray(expected).reshape(len(expected), -1).astype(np.float32)
    given = np.array(found, dtype=np.float32).reshape(wanted.shape)
    differing = (given.view(np.uint32) != wanted.view(np.uint32)).any(axis=1).sum()
    return int(differing), int(np.abs(order(given) - order(wanted)).max())


def compare(connection: psycopg.Connection, model: Model) -> str:
    """One line of the table, without the library."""
    columns = ", ".join(model.kinds)
    kinds = ", ".join(f"{name} {kind}" for name, kind in model.kinds.items())
    connection.execute("DROP TABLE IF EXISTS compared")
    rows = ([number, *row] for number, row in enumerate(model.rows))
    make_table(connection, "compared", f"id int, {kinds}", rows)
    connection.execute("SELECT load_model('compared', %s, allow_change => true)", (model.file,))
    cells = [model.name, f"{len(model.rows):,}"]

    def found(function: str) -> list:
        query = f"SELECT {function}('compared', {columns}) FROM compared ORDER BY id"
        return [one for (one,) in connection.execute(query)]

    for function, expected in (("predict_margin", model.margins), ("predict_array", model.values)):
        if expected is None:
            cells.extend("--")
        else:
            cells.extend(map(str, apart(found(function), expected)))
    if model.classes is not None and found("predict_class") != model.classes:
        raise SystemExit(f"{model.name}: the classes of some rows differ")
    return " | ".join(cells)


def trained(library: ModuleType) -> Iterator[Model]:
    """A library's models, with files of its formats in turn, and its predictions for all rows."""
    frame = library.make_frame()
    label, rows = library.make_label(frame), rows_of(frame, library.KINDS)
    for number, (name, params) in enumerate(library.COMPARED.items()):
        model = library.train(frame, label, params)
        found = library.predictions(model, frame, params)
        place = number % 2 - 1
        named = f"{name} ({library.FORMATS[place]})" if library is catboost else name
        file = library.files(model)[place]
        yield Model(named, file, library.KINDS, rows, found.margins, found.values)


def lines(connection: psycopg.Connection) -> Iterator[str]:
    """The lines of the table."""
    for library in (catboost, lightgbm, onnx, xgboost):
        for model in library.models() if library is onnx else trained(library):
            yield f"| {library.NAME} | {compare(connection, model)} |"


def main() -> None:
    """Compare all, and write the table."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    running, _ = start(STATE, PORT)
    try:
        running.create_database("formats", replace=True)
        with running.connect("formats") as connection:
            connection.execute("CREATE EXTENSION pgboost")
            table = HEAD
            for line in lines(connection):
                print(line, flush=True)
                table += line + "\n"
    finally:
        stop(STATE, delete=True)
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(before + BEGIN + table + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
