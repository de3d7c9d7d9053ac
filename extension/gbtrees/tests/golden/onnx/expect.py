"""Writes ONNX Runtime's predictions next to each model: expect.py <folder of the results>

Runs one thread, since with several ONNX Runtime adds the trees of a row in another order.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

import onnx
from onnx import helper
from rows import COLUMNS, TEXTS, asked, beside


def attributes(node):
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def steps(model):
    """Returns the inverses of the steps before the trees, last step first, and the replaced values."""
    constants = {
        tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer
    }
    back, replaced = [], []
    for node in model.graph.node:
        values = attributes(node)
        if "nodes_featureids" in values:
            break
        number = next((constants[name] for name in node.input if name in constants), None)
        if node.op_type == "Scaler":
            scale, offset = np.array(values["scale"]), np.array(values["offset"])
            back.insert(0, lambda t, s=scale, o=offset: t / s + o)
        elif node.op_type == "Imputer":
            names = ("replaced_value_float", "replaced_value_int64")
            replaced += [values[name] for name in names if name in values]
        elif node.op_type in ("Add", "Sub", "Mul", "Div"):
            inverse = {"Add": np.subtract, "Sub": np.add, "Mul": np.divide, "Div": np.multiply}
            back.insert(0, lambda t, f=inverse[node.op_type], n=number: f(t, n.ravel()))
    return back, replaced


def through(back, found):
    """Converts thresholds of columns into thresholds of the input."""
    width = max(map(len, found))
    table = np.full((width, COLUMNS), np.nan)
    for column, values in enumerate(found):
        table[: len(values), column] = values
    for step in back:
        table = step(table)
    return [table[: len(values), column] for column, values in enumerate(found)]


def thresholds(model):
    found = [[] for _ in range(COLUMNS)]
    for node in model.graph.node:
        values = attributes(node)
        features = values.get("nodes_featureids", [])
        members = values.get("membership_values")
        if members is not None:
            members = onnx.numpy_helper.to_array(members)
            for column in found:
                column.extend(map(float, members[~np.isnan(members)]))
        for name in ("nodes_values", "nodes_values_as_tensor", "nodes_splits"):
            splits = values.get(name, [])
            splits = onnx.numpy_helper.to_array(splits) if hasattr(splits, "dims") else splits
            for feature, split in zip(features, splits):
                found[feature].append(float(split))
    return [np.array(values) for values in found]


def texts(codes):
    """Returns the text of each category code; codes after the last are unknown texts."""
    all_texts = np.array([*TEXTS, "none of these"], object)
    return all_texts[np.minimum(codes, len(TEXTS)).astype(int)]


def expected(path):
    model = onnx.load(path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path.read_bytes(), options)
    inputs = session.get_inputs()
    kinds = {"tensor(double)": np.float64, "tensor(int64)": np.int64}
    kind = kinds.get(inputs[0].type, np.float32)
    own, (back, replaced) = thresholds(model), steps(model)
    rows = asked(own)
    if back or replaced:
        rows = np.concatenate([rows, beside(through(back, own), replaced)])
    if kind == np.int64:
        rows = np.clip(np.nan_to_num(np.rint(2 * rows)), -1000, 1000)
    rows = rows.astype(kind)
    if path.stem.startswith("encoded"):
        rows[1::2] = np.rint(rows[1::2])
    feed = {inputs[0].name: rows}
    if len(inputs) > 1:
        rows = rows[:, : len(inputs)]
        is_text = [port.type == "tensor(string)" for port in inputs]
        codes = np.abs(np.rint(2 * np.nan_to_num(rows[:, is_text], posinf=1, neginf=2)))
        rows[:, is_text] = codes % (len(TEXTS) + 1)
        feed = {port.name: rows[:, i : i + 1] for i, port in enumerate(inputs)}
        feed = {
            name: texts(column) if text else column
            for (name, column), text in zip(feed.items(), is_text)
        }
    classes, values = None, None
    for given in session.run(None, feed):
        # ZipMap returns a dictionary per row.
        rows_of = [list(row.values()) for row in given] if isinstance(given, list) else given
        result = np.asarray(rows_of).reshape(len(rows), -1)
        if result.dtype.kind == "f":
            # Isolation forests return the decision first.
            values = result.astype(np.float32) if values is None else values
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
    if path.parent.name != "refused":
        expected(path)
