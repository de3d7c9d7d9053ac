"""Makes models that no converter writes: hand.py <folder for the results>"""

import sys
from pathlib import Path

import numpy as np

from onnx import TensorProto, helper, numpy_helper
from rows import COLUMNS

random = np.random.default_rng(7)
MODES = {"LEQ": 0, "LT": 1, "GTE": 2, "GT": 3}


def numbers(count):
    return random.normal(size=count).astype(np.float32)


def model(nodes, outputs, element=TensorProto.FLOAT, opset=3, constants=(), inputs=None):
    inputs = inputs or [helper.make_tensor_value_info("X", element, [None, COLUMNS])]
    graph = helper.make_graph(nodes, "trees", inputs, outputs, list(constants))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def output(name, columns=None, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, [None, columns] if columns else [None])


def full(trees, depth, targets, double=False, **more):
    """`TreeEnsembleRegressor` of full trees, nodes numbered from the last to the first."""
    splits, nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    lists = {
        key: []
        for key in ("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids")
    }
    values, missing, weights = [], [], {"treeids": [], "nodeids": [], "ids": []}
    for tree in range(trees):
        for node in range(nodes):
            leaf = node >= splits
            lists["treeids"].append(3 * tree + 1)
            lists["nodeids"].append(nodes - node)
            lists["featureids"].append(0 if leaf else int(random.integers(COLUMNS)))
            lists["modes"].append("LEAF" if leaf else f"BRANCH_{list(MODES)[random.integers(4)]}")
            lists["truenodeids"].append(0 if leaf else nodes - (2 * node + 1))
            lists["falsenodeids"].append(0 if leaf else nodes - (2 * node + 2))
            values.append(0.0 if leaf else float(numbers(1)[0]))
            missing.append(int(random.integers(2)))
            for target in range(targets if leaf else 0):
                weights["treeids"].append(3 * tree + 1)
                weights["nodeids"].append(nodes - node)
                weights["ids"].append(target)
    found = numbers(len(weights["ids"])).tolist()
    attributes = {f"nodes_{key}": value for key, value in lists.items()}
    attributes |= {f"target_{key}": value for key, value in weights.items()}
    attributes |= {"nodes_missing_value_tracks_true": missing, "n_targets": targets, **more}
    if double:
        attributes["nodes_values_as_tensor"] = numpy_helper.from_array(np.array(values) + 1e-10)
        attributes["target_weights_as_tensor"] = numpy_helper.from_array(np.array(found) + 1e-10)
    else:
        attributes |= {"nodes_values": values, "target_weights": found}
    return helper.make_node(
        "TreeEnsembleRegressor", ["X"], ["Y"], domain="ai.onnx.ml", **attributes
    )


def five(trees, depth, targets, element=TensorProto.FLOAT, **more):
    """`TreeEnsemble` of ai.onnx.ml 5, of full trees."""
    kind = np.float64 if element == TensorProto.DOUBLE else np.float32
    splits, leaves = 2**depth - 1, 2**depth
    ways = {"true": ([], []), "false": ([], [])}
    for tree in range(trees):
        for node in range(splits):
            for child, (to, is_leaf) in zip((2 * node + 1, 2 * node + 2), ways.values()):
                is_leaf.append(int(child >= splits))
                to.append(
                    tree * leaves + child - splits if child >= splits else tree * splits + child
                )
    count = trees * splits
    tensor = lambda values: numpy_helper.from_array(values.astype(kind))  # noqa: E731
    return helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["Y"],
        domain="ai.onnx.ml",
        n_targets=targets,
        tree_roots=[tree * splits for tree in range(trees)],
        nodes_featureids=random.integers(COLUMNS, size=count).tolist(),
        nodes_modes=numpy_helper.from_array(random.integers(4, size=count).astype(np.uint8)),
        nodes_splits=tensor(random.normal(size=count)),
        nodes_truenodeids=ways["true"][0],
        nodes_trueleafs=ways["true"][1],
        nodes_falsenodeids=ways["false"][0],
        nodes_falseleafs=ways["false"][1],
        nodes_missing_value_tracks_true=random.integers(2, size=count).tolist(),
        leaf_targetids=random.integers(targets, size=trees * leaves).tolist(),
        leaf_weights=tensor(random.normal(size=trees * leaves)),
        **more,
    )


def models():
    base = {"base_values": [0.25]}
    yield "modes", model([full(9, 4, 1, **base)], [output("Y", 1)])
    yield "average", model([full(9, 3, 1, aggregate_function="AVERAGE", **base)], [output("Y", 1)])
    yield "average_targets", model([full(7, 3, 3, aggregate_function="AVERAGE")], [output("Y", 3)])
    yield "double", model([full(9, 4, 1, double=True)], [output("Y", 1)], TensorProto.DOUBLE)
    cast = helper.make_node("Cast", ["D"], ["X"], to=TensorProto.FLOAT)
    table = helper.make_tensor_value_info("D", TensorProto.DOUBLE, [None, COLUMNS])
    yield "rounded", model([cast, full(5, 3, 1)], [output("Y", 1)], inputs=[table])
    names = ["alpha", "beta", "gamma", "delta", "epsilon"]
    columns = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]) for name in names]
    joined = helper.make_node("Concat", names, ["X"], axis=1)
    yield "columns", model([joined, full(5, 3, 1)], [output("Y", 1)], inputs=columns)
    yield "five", model([five(9, 4, 1)], [output("Y", 1)], opset=5)
    yield "five_average", model([five(9, 4, 1, aggregate_function=0)], [output("Y", 1)], opset=5)
    double = TensorProto.DOUBLE
    yield "five_double", model([five(9, 4, 1, double)], [output("Y", 1, double)], double, 5)
    constant = numpy_helper.from_array(np.array([0.3], np.float32), "base")
    added = helper.make_node("Add", ["Y", "base"], ["Z"])
    yield (
        "five_base",
        model([five(9, 4, 1), added], [output("Z", 1)], opset=5, constants=[constant]),
    )
    names = helper.make_tensor("names", TensorProto.STRING, [3], [b"red", b"green", b"blue"])
    nodes = [
        five(9, 4, 3),
        helper.make_node("ArgMax", ["Y"], ["A"], axis=1, keepdims=0),
        helper.make_node("ArrayFeatureExtractor", ["names", "A"], ["L"], domain="ai.onnx.ml"),
    ]
    outputs = [helper.make_tensor_value_info("L", TensorProto.STRING, [1, None]), output("Y", 3)]
    yield "five_classes", model(nodes, outputs, opset=5, constants=[names])


folder = Path(sys.argv[1]) / "hand"
folder.mkdir(parents=True, exist_ok=True)
for name, made in models():
    (folder / f"{name}.onnx").write_bytes(made.SerializeToString())
