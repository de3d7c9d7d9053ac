"""ONNX files: the golden models in SQL, compared with what ONNX Runtime predicted."""

from pathlib import Path

import numpy as np
import onnxruntime
import psycopg
import pytest

import catboost
from tests.extension.e2e import golden
from tests.extension.e2e.golden import SUFFIX, hex_rows
from tests.extension.e2e.reference import floats, order

# Those in `refused` have no answers.
MODELS = [name.removesuffix(SUFFIX) for name in golden.names("onnx/*/*" + SUFFIX)]


@pytest.mark.parametrize("name", MODELS, ids=lambda name: name.removeprefix("onnx/"))
def test_values_are_within_a_unit_and_classes_the_same(
    connection: psycopg.Connection, name: str
) -> None:
    expected = golden.record(name + SUFFIX)
    rows = [np.frombuffer(bytes.fromhex(row), ">f8").tolist() for row in expected["rows"]]
    connection.execute("SELECT load_model('m', %s)", (golden.file(f"{name}.onnx"),))
    query = "SELECT predict_array('m', %s::float8[])"
    found = [connection.execute(query, (row,)).fetchone()[0] for row in rows]
    assert np.abs(order(floats(found)) - order(hex_rows(expected["values"]))).max() <= 1
    if "classes" in expected:
        query = "SELECT predict_class('m', %s::float8[])"
        assert [connection.execute(query, (row,)).fetchone()[0] for row in rows] == expected[
            "classes"
        ]


def test_two_classes_are_catboosts(connection: psycopg.Connection, tmp_path: Path) -> None:
    """CatBoost writes weights for both."""
    draw = np.random.default_rng(2)
    table = draw.normal(size=(300, 4)).astype(np.float32)
    label = table[:, 0] + table[:, 1] * table[:, 2] > 0
    model = catboost.CatBoostClassifier(
        iterations=9, depth=3, thread_count=1, verbose=False, allow_writing_files=False
    )
    path = tmp_path / "model.onnx"
    model.fit(table, label.astype(int)).save_model(str(path), format="onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path.read_bytes(), options)
    labels, values = session.run(None, {"features": table})
    connection.execute("SELECT load_model('two', %s)", (path.read_bytes(),))
    query = "SELECT predict('two', %s::real[]), predict_class('two', %s::real[])"
    found = [connection.execute(query, (row, row)).fetchone() for row in table.tolist()]
    expected = np.array([row[1] for row in values], np.float32)
    assert np.abs(order(floats([row[:1] for row in found])) - order(expected[:, None])).max() <= 1
    assert [row[1] for row in found] == [str(label) for label in labels]


def test_model_info(connection: psycopg.Connection) -> None:
    file = golden.file("onnx/1.20.0/forest_classes.onnx")
    connection.execute("SELECT load_model('m', %s)", (file,))
    info = connection.execute("SELECT model_info('m')").fetchone()[0]
    assert (info["format"], info["objective"]) == ("onnx", "TreeEnsembleClassifier")
