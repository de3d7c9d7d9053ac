"""Models with known answers, in XGBoost's JSON format.

A constant model answers one number whatever the row, so a test can tell which of
many versions answered. A grown model is as large as a test needs: complete trees
with random thresholds and leaves.
"""

import json
from functools import lru_cache
from typing import Any

import numpy as np
from psycopg import Connection

NO_PARENT = 2147483647
# A row of a grown model's features.
ROW = "ARRAY[0.1, 0.9, 0.3, 0.7, 0.5, 0.2, 0.8, 0.4, 0.6, 0.5]::real[]"


def _tree(index: int, features: int, left: list[int], right: list[int], split: dict) -> dict:
    """A tree of numerical splits; a leaf's value stands in its place among the thresholds."""
    nodes = len(left)
    parents = [NO_PARENT] * nodes
    for parent, children in enumerate(zip(left, right, strict=True)):
        for child in children:
            if child >= 0:
                parents[child] = parent
    return {
        "base_weights": [0.0] * nodes, "categories": [], "categories_nodes": [],
        "categories_segments": [], "categories_sizes": [], "default_left": split["default_left"],
        "id": index, "left_children": left, "loss_changes": [0.0] * nodes, "parents": parents,
        "right_children": right, "split_conditions": split["conditions"],
        "split_indices": split["indices"], "split_type": [0] * nodes, "sum_hessian": [1.0] * nodes,
        "tree_param": {
            "num_deleted": "0", "num_feature": str(features), "num_nodes": str(nodes),
            "size_leaf_vector": "1",
        },
    }  # fmt: skip


def _leaf(value: float, features: int) -> dict:
    split = {"default_left": [1], "conditions": [float(value)], "indices": [0]}
    return _tree(0, features, [-1], [-1], split)


def _learner(trees: list[dict], features: int) -> dict:
    return {
        "learner": {
            "attributes": {}, "feature_names": [f"f{i + 1}" for i in range(features)],
            "feature_types": [],
            "gradient_booster": {
                "model": {
                    "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
                    "iteration_indptr": np.arange(len(trees) + 1, dtype=np.int32),
                    "tree_info": np.zeros(len(trees), np.int32),
                    "trees": trees,
                },
                "name": "gbtree",
            },
            "learner_model_param": {
                "base_score": "0E0", "boost_from_average": "0", "num_class": "0",
                "num_feature": str(features), "num_target": "1",
            },
            "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
        },
        "version": np.array([3, 2, 0], np.int32),
    }  # fmt: skip


def _json(model: dict) -> bytes:
    return json.dumps(model, default=np.ndarray.tolist).encode()


def constant(value: float) -> bytes:
    """A model of one feature that answers the value, which must be a whole number."""
    return _json(_learner([_leaf(value, 1)], 1))


def named(features: int) -> bytes:
    """A constant model of features with long names."""
    model = _learner([_leaf(1, features)], features)
    model["learner"]["feature_names"] = [f"feature_{index:052}" for index in range(features)]
    return _json(model)


# The largest takes a second to make, and several modules load it.
@lru_cache(maxsize=2)
def grown(trees: int, depth: int, features: int = 10, seed: int = 1) -> bytes:
    """Complete trees of that depth, with random splits on features between 0 and 1."""
    generator = np.random.default_rng(seed)
    inner, nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    leaves = [-1] * (nodes - inner)
    left = [2 * i + 1 for i in range(inner)] + leaves
    right = [2 * i + 2 for i in range(inner)] + leaves
    made = [
        _tree(index, features, left, right, {
            "default_left": generator.integers(0, 2, nodes).tolist(),
            "conditions": generator.random(nodes).round(6).tolist(),
            "indices": generator.integers(0, features, inner).tolist() + [0] * len(leaves),
        })
        for index in range(trees)
    ]  # fmt: skip
    return _json(_learner(made, features))


def uneven(trees: int, leaves: int, depth: int, features: int = 30, seed: int = 1) -> bytes:
    """Trees of random splits, with this number of leaves and depth."""
    generator = np.random.default_rng(seed)
    made = [_uneven(index, leaves, depth, features, generator) for index in range(trees)]
    return _json(_learner(made, features))


def _uneven(
    index: int, leaves: int, depth: int, features: int, generator: np.random.Generator
) -> dict:
    left, right, open_leaves = [-1], [-1], [(0, 0)]
    for split in range(leaves - 1):
        # A chain first, then any leaf that is not at the bottom.
        at = len(open_leaves) - 1 if split < depth else int(generator.integers(len(open_leaves)))
        node, level = open_leaves.pop(at)
        left[node], right[node] = len(left), len(left) + 1
        for child in (left[node], right[node]):
            left.append(-1)
            right.append(-1)
            if level + 1 < depth:
                open_leaves.append((child, level + 1))
    nodes = len(left)
    return _tree(index, features, left, right, {
        "default_left": generator.integers(0, 2, nodes).tolist(),
        "conditions": generator.random(nodes).round(6).tolist(),
        "indices": generator.integers(0, features, nodes).tolist(),
    })  # fmt: skip


def doubles() -> bytes:
    """A model that compares doubles: 10 up to 0.1, else 20, so that a real of 0.1 tells how it is read."""
    tree = {
        "left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, 0, 0],
        "threshold": [0.1, 0, 0], "leaf_values": [10, 20],
    }  # fmt: skip
    return json.dumps({"tree_ensemble": 1, "feature_names": ["f1"], "trees": [tree]}).encode()


REAL_INPUTS = ["decimal 10", "float32 20"]


def load_doubles(connection: Connection, name: str) -> str:
    """Loads a version for each meaning of a real. Returns a query whose answer is REAL_INPUTS."""
    for real_input in ("decimal", "float32"):
        load = "SELECT load_model(%s, %s, real_input => %s)"
        connection.execute(load, (name, doubles(), real_input))
    return f"""SELECT array_agg(concat(model_info(m) ->> 'real_input', ' ', predict(m, 0.1::real)))
        FROM unnest('{{{name}@1,{name}@2}}'::text[]) AS m"""


def load(connection: Connection, name: str, content: bytes) -> int:
    """Loads the model and gives its version."""
    return one(connection, "SELECT load_model(%s, %s)", (name, content))


def call(connection: Connection, change: int | str) -> Any:
    """Loads the model m that answers a number, or calls a function."""
    if isinstance(change, int):
        return load(connection, "m", constant(change))
    return connection.execute(f"SELECT {change}").fetchone()


def drop_all(connection: Connection) -> None:
    """Drops every model of the database, pinned or not."""
    pinned = "FROM pgboost_models WHERE pinned ORDER BY version"
    connection.execute(f"SELECT unpin_model(name || '@' || version) {pinned}")
    names = "SELECT DISTINCT name FROM pgboost_models"
    connection.execute(f"SELECT drop_model(name) FROM ({names}) AS models")


def value(connection: Connection, model: str = "m") -> float:
    """The model's prediction for the row (1)."""
    return one(connection, "SELECT predict(%s, 1)", (model,))


def one(connection: Connection, query: str, parameters: tuple = ()) -> Any:
    """The only value of a query's only row."""
    row = connection.execute(query, parameters or None).fetchone()
    assert row is not None and len(row) == 1
    return row[0]


def chains(trees: int, depth: int, features: int = 10, seed: int = 1) -> bytes:
    """Trees of one long chain each, in UBJSON: the slowest to walk for their size."""
    generator = np.random.default_rng(seed)
    splits, nodes = np.arange(depth), 2 * depth + 1

    def children(first: int) -> np.ndarray:
        # Node 2i splits into the leaf 2i + 1 and the node 2i + 2.
        found = np.full(nodes, -1, np.int16)
        found[2 * splits] = 2 * splits + first
        return found

    zeros = np.zeros(nodes, np.uint8)
    constant = {
        "default_left": zeros, "left_children": children(1), "loss_changes": zeros,
        "right_children": children(2), "sum_hessian": zeros,
        "tree_param": {"num_nodes": nodes, "size_leaf_vector": 1},
    }  # fmt: skip
    made = [
        {
            "split_indices": generator.integers(0, features, nodes).astype(np.uint8),
            "split_conditions": generator.random(nodes).astype(np.float32), **constant,
        }
        for _ in range(trees)
    ]  # fmt: skip
    return _ubjson(_learner(made, features))


def padded(content: bytes, more: int) -> bytes:
    """A UBJSON model with `more` bytes of padding, which readers skip."""
    values = np.frombuffer(np.random.default_rng(1).bytes(more), np.uint8)
    return _ubjson({"padding": values})[:-1] + content[1:]


UBJSON_TYPES = {"uint8": "U", "int16": "I", "int32": "l", "float32": "d"}


def _ubjson(value: Any) -> bytes:
    """Objects, lists, arrays of numbers, and texts."""
    if isinstance(value, dict):
        return b"{%s}" % b"".join(_key(name) + _ubjson(part) for name, part in value.items())
    if isinstance(value, list):
        return b"[%s]" % b"".join(map(_ubjson, value))
    if isinstance(value, np.ndarray):
        head = f"[${UBJSON_TYPES[value.dtype.name]}#l".encode() + len(value).to_bytes(4, "big")
        return head + value.astype(value.dtype.newbyteorder(">")).tobytes()
    return b"S" + _key(str(value))


def _key(name: str) -> bytes:
    return b"U" + bytes([len(name)]) + name.encode()
