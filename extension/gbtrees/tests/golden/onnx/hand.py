"""Creates models that no converter writes: hand.py <folder for the results>"""

import sys
from pathlib import Path

import numpy as np

from onnx import TensorProto, helper, numpy_helper
from rows import COLUMNS, TEXTS

random = np.random.default_rng(7)
MODES = {"LEQ": 0, "LT": 1, "GTE": 2, "GT": 3, "EQ": 4, "NEQ": 5, "MEMBER": 6}
ORDER = ("LEQ", "LT", "GTE", "GT")
EQUAL = ("LEQ", "GT", "EQ", "NEQ")


def numbers(count):
    return random.normal(size=count).astype(np.float32)


def model(nodes, outputs, element=TensorProto.FLOAT, opset=3, constants=(), inputs=None):
    inputs = inputs or [helper.make_tensor_value_info("X", element, [None, COLUMNS])]
    graph = helper.make_graph(nodes, "trees", inputs, outputs, list(constants))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def output(name, columns=None, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, [None, columns] if columns else [None])


def some(count, kind):
    """Returns thresholds: few distinct integers, or any numbers."""
    return random.integers(-1, 8, size=count).astype(kind) if kind is int else numbers(count)


def full(trees, depth, targets, double=False, modes=ORDER, kind=float, **more):
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
            mode = "LEAF" if leaf else f"BRANCH_{modes[random.integers(len(modes))]}"
            lists["modes"].append(mode)
            lists["truenodeids"].append(0 if leaf else nodes - (2 * node + 1))
            lists["falsenodeids"].append(0 if leaf else nodes - (2 * node + 2))
            values.append(0.0 if leaf else float(some(1, kind)[0]))
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


def chain(column, members, weights, **more):
    """A tree with one equality test after another, as onnxmltools writes a set."""
    count = len(members)
    ids = list(range(2 * count + 1))
    leaves = ids[count:]
    return helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["Y"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=[0] * len(ids),
        nodes_nodeids=ids,
        nodes_featureids=[column] * count + [0] * (count + 1),
        nodes_modes=["BRANCH_EQ"] * count + ["LEAF"] * (count + 1),
        nodes_values=[*members, *[0.0] * (count + 1)],
        nodes_truenodeids=[*range(count, 2 * count), *[0] * (count + 1)],
        nodes_falsenodeids=[*range(1, count), 2 * count, *[0] * (count + 1)],
        target_treeids=[0] * (count + 1),
        target_nodeids=leaves,
        target_ids=[0] * (count + 1),
        target_weights=weights,
        **more,
    )


def five(trees, depth, targets, element=TensorProto.FLOAT, modes=ORDER, sets=(), **more):
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
    features = random.integers(COLUMNS, size=count).tolist()
    drawn = random.integers(len(modes), size=count)
    drawn = np.array([MODES[mode] for mode in modes], np.uint8)[drawn]
    if sets:
        asked = [[*sets[random.integers(len(sets))], np.nan] for _ in range((drawn == 6).sum())]
        more["membership_values"] = tensor(np.concatenate(asked))
    return helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["Y"],
        domain="ai.onnx.ml",
        n_targets=targets,
        tree_roots=[tree * splits for tree in range(trees)],
        nodes_featureids=features,
        nodes_modes=numpy_helper.from_array(drawn),
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


def scaler(source, to, offset, scale):
    offset, scale = np.array(offset, np.float32), np.array(scale, np.float32)
    lists = {"offset": offset.tolist(), "scale": scale.tolist()}
    return helper.make_node("Scaler", [source], [to], domain="ai.onnx.ml", **lists)


def imputer(source, to, replaced, values):
    lists = {"replaced_value_float": replaced, "imputed_value_floats": values}
    return helper.make_node("Imputer", [source], [to], domain="ai.onnx.ml", **lists)


def table(name, element=TensorProto.FLOAT):
    return [helper.make_tensor_value_info(name, element, [None, COLUMNS])]


OFFSETS, SCALES = [0.3, -1.7, 100.0, 0.0, 1e-3], [1.9, -0.7, 33.3, 1e-6, 0.1]
FILLED = [0.25, -1.0, 2.0, 0.0, 5.0]
SETS = [[1], [1, 3, 5], [2, 30], [0, 7], list(range(0, 30, 3)), [0], [4, 3, 2]]
# ONNX Runtime 1.31.1 confuses several such sets.
LARGE = [[2, 40], [0.25, 7], [-3, 7], list(range(0, 90, 3)), [-2]]


def equal_models():
    """Splits by equality."""
    yield "equal", model([full(9, 4, 1, modes=EQUAL, kind=int)], [output("Y", 1)])
    yield "equal_alone", model([full(9, 4, 1, modes=("EQ",), kind=int)], [output("Y", 1)])
    yield "unequal_alone", model([full(9, 4, 1, modes=("NEQ",), kind=int)], [output("Y", 1)])
    yield "equal_fractions", model([full(9, 4, 1, modes=EQUAL)], [output("Y", 1)])
    members = [1.0, 4.0, 5.0, 31.0, 40.0]
    for name, weights, tracks in (
        ("equal_chain", [0.5, 1.5, 2.5, 3.5, 4.5, -1.0], [0, 1, 0, 0, 1]),
        ("equal_chain_alike", [*[0.5] * 5, -1.0], [0, 0, 0, 0, 0]),
        ("equal_chain_missing", [*[0.5] * 5, -1.0], [1, 1, 1, 1, 1]),
    ):
        missing = {"nodes_missing_value_tracks_true": [*tracks, *[0] * 6]}
        yield name, model([chain(2, members, weights, **missing)], [output("Y", 1)])
    double = TensorProto.DOUBLE
    equal = full(9, 4, 1, double=True, modes=EQUAL, kind=int)
    yield "equal_double", model([equal], [output("Y", 1)], double)
    members = {"modes": ("LEQ", "MEMBER", "EQ"), "sets": SETS}
    yield "five_members", model([five(9, 4, 1, **members)], [output("Y", 1)], opset=5)
    made = five(9, 4, 1, double, **members)
    yield "five_members_double", model([made], [output("Y", 1, double)], double, 5)


def prepared_models():
    """Steps before the trees."""
    scale = scaler("R", "X", OFFSETS, SCALES)
    yield "scaled", model([scale, full(9, 4, 1)], [output("Y", 1)], inputs=table("R"))
    one = scaler("R", "X", [0.5], [-3.0])
    yield "scaled_alike", model([one, full(5, 3, 1)], [output("Y", 1)], inputs=table("R"))
    double = table("R", TensorProto.DOUBLE)
    yield "scaled_double", model([scale, full(5, 3, 1)], [output("Y", 1)], inputs=double)
    whole = table("R", TensorProto.INT64)
    yield "scaled_integers", model([scale, full(5, 3, 1)], [output("Y", 1)], inputs=whole)
    equal = full(9, 4, 1, modes=EQUAL)
    yield "scaled_equal", model([scale, equal], [output("Y", 1)], inputs=table("R"))
    fill = imputer("R", "X", 0.5, FILLED)
    yield "imputed_value", model([fill, full(9, 4, 1)], [output("Y", 1)], inputs=table("R"))
    nodes = [
        imputer("R", "A", float("nan"), FILLED),
        scaler("A", "B", OFFSETS, SCALES),
        imputer("B", "X", -0.57, [0.9]),
        full(9, 4, 1, modes=EQUAL),
    ]
    yield "imputed_scaled", model(nodes, [output("Y", 1)], inputs=table("R"))
    lists = {"replaced_value_int64": 3, "imputed_value_int64s": [1, -2, 0, 5, 7]}
    nodes = [
        helper.make_node("Imputer", ["R"], ["A"], domain="ai.onnx.ml", **lists),
        helper.make_node("Cast", ["A"], ["X"], to=TensorProto.FLOAT),
        full(5, 3, 1),
    ]
    yield "imputed_integers", model(nodes, [output("Y", 1)], inputs=whole)
    order = numpy_helper.from_array(np.array([4, 2, 2], np.int64), "order")
    rest = numpy_helper.from_array(np.array([[0, 1]], np.int64), "rest")
    nodes = [
        helper.make_node("Gather", ["R", "order"], ["A"], axis=1),
        helper.make_node("ArrayFeatureExtractor", ["R", "rest"], ["B"], domain="ai.onnx.ml"),
        helper.make_node("Concat", ["A", "B"], ["X"], axis=1),
        full(5, 3, 1),
    ]
    yield (
        "picked",
        model(nodes, [output("Y", 1)], inputs=table("R"), constants=[order, rest]),
    )
    nodes = [
        five(9, 4, 3),
        helper.make_node("ArgMax", ["Y"], ["A"], axis=1, keepdims=0),
        helper.make_node(
            "LabelEncoder",
            ["A"],
            ["L"],
            domain="ai.onnx.ml",
            keys_int64s=[2, 0, 1],
            values_strings=["blue", "red", "green"],
        ),
    ]
    outputs = [helper.make_tensor_value_info("L", TensorProto.STRING, [None]), output("Y", 3)]
    yield "five_labels", model(nodes, outputs, opset=5)


def classifier(labels, post_transform, made):
    """Builds a `TreeEnsembleClassifier` from the weights of each leaf by class."""
    node = full(5, 3, len(labels))
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    lists = [given.pop(f"target_{name}") for name in ("treeids", "nodeids", "ids", "weights")]
    del given["n_targets"]
    leaves = {}
    for tree, leaf, _, weight in zip(*lists):
        leaves.setdefault((tree, leaf), []).append(weight)
    for name in ("treeids", "nodeids", "ids", "weights"):
        given[f"class_{name}"] = []
    for (tree, leaf), weights in leaves.items():
        for class_, weight in made(leaf, weights):
            given["class_treeids"].append(tree)
            given["class_nodeids"].append(leaf)
            given["class_ids"].append(class_)
            given["class_weights"].append(weight)
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["X"],
        ["L", "Y"],
        domain="ai.onnx.ml",
        post_transform=post_transform,
        classlabels_int64s=labels,
        **given,
    )
    return model([node], [output("L", element=TensorProto.INT64), output("Y", len(labels))])


def class_models():
    """Two classes as CatBoost writes them, and without weights of 0."""

    def opposites(_, weights):
        return [(0, -weights[1]), (1, weights[1])]

    def some_classes(leaf, weights):
        weights = enumerate(map(abs, weights))
        return [(class_, weight) for class_, weight in weights if class_ == leaf % 3 or weight > 1]

    yield "classes_two", classifier([0, 1], "LOGISTIC", opposites)
    yield "classes_some", classifier([3, 7, 9], "NONE", some_classes)
    yield "classes_some_softmax", classifier([3, 7, 9], "SOFTMAX", some_classes)


def refused_class_models():
    """Two classes whose weights are no opposites, and a class without a weight where some are below 0."""

    def all_but_one(leaf, weights):
        return [(class_, weight) for class_, weight in enumerate(weights) if class_ != leaf % 3]

    yield "classes_unlike", classifier([0, 1], "LOGISTIC", lambda _, weights: enumerate(weights))
    yield "classes_below", classifier([0, 1, 2], "NONE", all_but_one)


def refused_models():
    """Models to be refused; tests/malformed/onnx.rs has the reasons."""
    norm = helper.make_node("Normalizer", ["R"], ["X"], domain="ai.onnx.ml", norm="L2")
    steps = {
        "normalizer": norm,
        "scale_zero": scaler("R", "X", [0.5], [0.0]),
        "scales_missing": scaler("R", "X", [0.5] * 3, [1.0] * 3),
        "imputed_nan": imputer("R", "X", float("nan"), [float("nan")]),
    }
    for name, step in steps.items():
        yield name, model([step, full(2, 2, 1)], [output("Y", 1)], inputs=table("R"))
    order = numpy_helper.from_array(np.array([0, 9], np.int64), "order")
    pick = helper.make_node("Gather", ["R", "order"], ["X"], axis=1)
    made = model([pick, full(2, 2, 1)], [output("Y", 1)], inputs=table("R"), constants=[order])
    yield "column_beyond", made
    large = five(2, 2, 1, modes=("MEMBER",), sets=LARGE)
    yield "large_members", model([large], [output("Y", 1)], opset=5)
    yield "no_members", model([five(2, 2, 1, modes=("MEMBER",))], [output("Y", 1)], opset=5)


def ml(operator, source, to, **attributes):
    return helper.make_node(operator, [source], [to], domain="ai.onnx.ml", **attributes)


def cast(source, to, element=TensorProto.FLOAT):
    return helper.make_node("Cast", [source], [to], to=element)


def column(index, to):
    return helper.make_node("Gather", ["R", f"column{index}"], [to], axis=1)


def reshape(source, to, width):
    return helper.make_node("Reshape", [source, f"shape{width}"], [to])


def concat(*sources):
    return helper.make_node("Concat", sources, ["X"], axis=1)


WHOLE = {
    **{f"column{index}": np.array([index]) for index in range(COLUMNS)},
    **{f"shape{width}": np.array([-1, width]) for width in range(1, COLUMNS + 1)},
}


def encoded_model(nodes, inputs, opset=3):
    """Returns the graph with the constants that its nodes use."""
    names = {name for node in nodes for name in node.input}
    constants = [
        numpy_helper.from_array(numbers, name) for name, numbers in WHOLE.items() if name in names
    ]
    return model(nodes, [output("Y", 1)], opset=opset, inputs=inputs, constants=constants)


def encoded_models():
    """Encoders before the trees."""
    lists = {"keys_floats": [0.0, 1.0, -1.0, float("nan")], "values_floats": [2.5, -1.0, 0.1, 0.7]}
    lists["default_float"] = float("nan")
    nodes = [
        *[column(index, f"r{index}") for index in range(3)],
        cast("r0", "whole", TensorProto.INT64),
        ml("OneHotEncoder", "whole", "each", cats_int64s=[-1, 0, 1], zeros=1),
        reshape("each", "A", 3),
        ml("LabelEncoder", "r1", "label", **lists),
        reshape("label", "B", 1),
        scaler("r2", "scaled", [0.3], [-2.0]),
        cast("scaled", "cut", TensorProto.INT64),
        cast("cut", "C"),
        concat("A", "B", "C"),
        full(9, 4, 1, modes=EQUAL),
    ]
    yield "encoded", encoded_model(nodes, table("R"))
    yield "encoded_nan", encoded_model(nodes, table("R"), opset=4)
    lists = {"keys_int64s": [3, -2, 0, 7], "values_int64s": [1, 0, 2, -3], "default_int64": 4}
    nodes = [
        *[column(index, f"r{index}") for index in range(2)],
        ml("LabelEncoder", "r0", "label", **lists),
        scaler("label", "A", [0.5], [0.7]),
        ml("LabelEncoder", "label", "again", keys_int64s=[4, 2], values_floats=[0.5, -1.5]),
        ml("OneHotEncoder", "r1", "each", cats_int64s=[1, 0, -1, 2]),
        helper.make_node("Gather", ["each", "column3"], ["last"], axis=-1),
        helper.make_node("Gather", ["each", "column1"], ["second"], axis=-1),
        helper.make_node("Concat", ["second", "last"], ["two"], axis=2),
        reshape("two", "B", 2),
        cast("r1", "C"),
        concat("A", "B", "again", "C"),
        full(9, 4, 1),
    ]
    yield "encoded_integers", encoded_model(nodes, table("R", TensorProto.INT64))
    kinds = [TensorProto.STRING, TensorProto.STRING, TensorProto.FLOAT, TensorProto.FLOAT]
    inputs = [
        helper.make_tensor_value_info(f"c{index}", kind, [None, 1])
        for index, kind in enumerate(kinds)
    ]
    nodes = [
        ml("OneHotEncoder", "c0", "each", cats_strings=TEXTS[:3]),
        reshape("each", "A", 3),
        ml("LabelEncoder", "c1", "label", keys_strings=TEXTS, values_int64s=[2, 0, -1, 1, 5]),
        cast("label", "B"),
        helper.make_node("Identity", ["c2"], ["C"]),
        concat("A", "B", "C"),
        full(9, 4, 1, modes=EQUAL),
    ]
    yield "encoded_text", encoded_model(nodes, inputs)


def refused_encoded_models():
    """Encoders with values that splits cannot have, and a feature beyond the limit."""
    text = [helper.make_tensor_value_info("R", TensorProto.STRING, [None, 1])]
    float_ = [helper.make_tensor_value_info("R", TensorProto.FLOAT, [None, 1])]
    to_text = {"keys_strings": TEXTS, "values_strings": TEXTS}
    one_hot = ml("OneHotEncoder", "R", "A", cats_int64s=[1, 2])
    for name, inputs, steps in (
        ("one_hot_fails", float_, [ml("OneHotEncoder", "R", "A", cats_int64s=[1, 2], zeros=0)]),
        ("one_hot_twice", float_, [ml("OneHotEncoder", "R", "A", cats_int64s=[1, 2, 1])]),
        ("one_hot_stacked", float_, [one_hot, helper.make_node("Identity", ["A"], ["X"])]),
        ("text_to_text", text, [ml("LabelEncoder", "R", "X", **to_text)]),
        ("text_to_number", text, [cast("R", "X")]),
    ):
        yield name, encoded_model([*steps, full(2, 2, 1)], inputs)
    far = chain(2**32 - 2, [1.0, 2.0], [0.5, 1.5, 2.5])
    wide = [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, None])]
    yield "feature_beyond", model([far], [output("Y", 1)], inputs=wide)


def added_models():
    """One number added to the sums of three targets."""
    constant = numpy_helper.from_array(np.array([0.3], np.float32), "base")
    nodes = [five(5, 3, 3), helper.make_node("Add", ["Y", "base"], ["Z"])]
    yield "five_bases", model(nodes, [output("Z", 3)], opset=5, constants=[constant])


def refused_ends():
    """The class of the largest of three probabilities, and numbers added twice."""
    nodes = [
        full(2, 2, 3, post_transform="SOFTMAX"),
        helper.make_node("ArgMax", ["Y"], ["A"], axis=1, keepdims=0),
    ]
    outputs = [output("A", element=TensorProto.INT64), output("Y", 3)]
    yield "chosen_probability", model(nodes, outputs)
    constant = numpy_helper.from_array(np.array([0.3], np.float32), "base")
    adds = [helper.make_node("Add", [one, "base"], [two]) for one, two in ("YZ", "ZW")]
    nodes = [full(2, 2, 1), *adds]
    yield "added_twice", model(nodes, [output("W", 1)], constants=[constant])


made = [
    ("hand", [models, equal_models, prepared_models]),
    ("refused", [refused_models]),
    ("hand", [class_models]),
    ("refused", [refused_class_models]),
    ("hand", [encoded_models]),
    ("refused", [refused_encoded_models]),
    ("hand", [added_models]),
    ("refused", [refused_ends]),
]
for kind, lists in made:
    folder = Path(sys.argv[1]) / kind
    folder.mkdir(parents=True, exist_ok=True)
    for name, one in (named for models_of in lists for named in models_of()):
        (folder / f"{name}.onnx").write_bytes(one.SerializeToString())
