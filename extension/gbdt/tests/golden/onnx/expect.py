"""Writes what ONNX Runtime predicts with each model beside it: expect.py <folder of the results>

With one thread, since with several ONNX Runtime adds the trees of a row in another order.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

import onnx
from onnx import helper
from rows import COLUMNS, asked


def thresholds(model):
    found = [[] for _ in range(COLUMNS)]
    for node in model.graph.node:
        values = {
            attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute
        }
        features = values.get("nodes_featureids", [])
        for name in ("nodes_values", "nodes_values_as_tensor", "nodes_splits"):
            splits = values.get(name, [])
            splits = onnx.numpy_helper.to_array(splits) if hasattr(splits, "dims") else splits
            for feature, split in zip(features, splits):
                found[feature].append(float(split))
    return [np.array(values) for values in found]


def expected(path):
    model = onnx.load(path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path.read_bytes(), options)
    inputs = session.get_inputs()
    kind = np.float64 if "double" in inputs[0].type else np.float32
    rows = asked(thresholds(model)).astype(kind)
    feed = {inputs[0].name: rows}
    if len(inputs) > 1:
        feed = {port.name: rows[:, i : i + 1] for i, port in enumerate(inputs)}
    classes, values = None, None
    for given in session.run(None, feed):
        # ZipMap gives a dictionary per row.
        rows_of = [list(row.values()) for row in given] if isinstance(given, list) else given
        result = np.asarray(rows_of).reshape(len(rows), -1)
        if result.dtype.kind == "f":
            values = result.astype(np.float32)
        else:
            classes = [str(label) for label in result[:, 0]]
    if classes and values.shape[1] == 2:
        values = values[:, 1:]
    text = {
        "rows": [row.astype(">f8").tobytes().hex() for row in rows],
        "values": [row.astype(">f4").tobytes().hex() for row in values],
    }
    if classes:
        text["classes"] = classes
    path.with_suffix(".expected.json").write_text(json.dumps(text, indent=0) + "\n")


for path in sorted(Path(sys.argv[1]).glob("*/*.onnx")):
    expected(path)
