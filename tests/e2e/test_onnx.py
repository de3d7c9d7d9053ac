"""ONNX files: the golden models in SQL, beside what ONNX Runtime has made of their rows."""

import json

import numpy as np
import psycopg
import pytest

from tests.e2e.golden import FOLDER, SUFFIX, hex_rows
from tests.e2e.reference import floats, order

# Those in `refused` have no answers.
MODELS = [
    path.with_name(path.name.replace(SUFFIX, ".onnx"))
    for path in sorted((FOLDER / "onnx").glob("*/*" + SUFFIX))
]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_values_are_within_a_unit_and_classes_the_same(
    connection: psycopg.Connection, path
) -> None:
    expected = json.loads(path.with_name(path.stem + SUFFIX).read_text())
    rows = [np.frombuffer(bytes.fromhex(row), ">f8").tolist() for row in expected["rows"]]
    connection.execute("SELECT load_model('onnx', %s)", (path.read_bytes(),))
    query = "SELECT predict_array('onnx', %s::float8[])"
    found = [connection.execute(query, (row,)).fetchone()[0] for row in rows]
    assert np.abs(order(floats(found)) - order(hex_rows(expected["values"]))).max() <= 1
    if "classes" in expected:
        query = "SELECT predict_class('onnx', %s::float8[])"
        assert [connection.execute(query, (row,)).fetchone()[0] for row in rows] == expected[
            "classes"
        ]


def test_model_info(connection: psycopg.Connection) -> None:
    path = FOLDER / "onnx" / "1.20.0" / "forest_classes.onnx"
    connection.execute("SELECT load_model('onnx', %s)", (path.read_bytes(),))
    info = connection.execute("SELECT model_info('onnx')").fetchone()[0]
    assert (info["format"], info["objective"]) == ("onnx", "TreeEnsembleClassifier")
