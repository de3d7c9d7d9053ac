"""Writes the files that the engine must refuse, and the memory snapshots that it must unwrap.

    refused.py <folder>

Run under several releases, since each wrote its own layouts: <folder>/refused/<release>-<name> with one
line in <release>.json that says what the refusal has to name, and <folder>/<release>/snapshot.* with its
expected predictions. Only files that the release can write are made.
"""

import json
import os
import pickle
import sys

import numpy as np
import xgboost as xgb

import cases
import expected
import rows
import tables

SMALL = {**cases.COMMON, "max_depth": 2}


def small(params, label=None, rounds=2):
    """Trains a small model on the common table."""
    table = tables.features()
    label = tables.signal(table) if label is None else label
    data = xgb.DMatrix(table, label=label, missing=np.nan)
    return xgb.train({**SMALL, **params}, data, rounds)


def unscored(folder, release, major):
    """Trees that are known but not supported; name of each file and the word required in the message."""
    if not (2, 0) <= major < (3, 2):
        return {}
    signal = tables.signal(tables.features())
    params = {"tree_method": "hist", "multi_strategy": "multi_output_tree"}
    file = "%s-vector_leaf.json" % release
    booster = small(params, np.stack([signal, -signal], axis=1))
    booster.save_model(os.path.join(folder, file))
    return {file: "vector"}


def not_models(folder, release, major):
    """Files of XGBoost users that are not model files."""
    booster = small({})
    made = {}

    def keep(name, content, named):
        file = "%s-%s" % (release, name)
        with open(os.path.join(folder, file), "wb") as output:
            output.write(content)
        made[file] = named

    dump = booster.get_dump()
    text = "".join("booster[%d]:\n%s" % (number, tree) for number, tree in enumerate(dump))
    keep("dump.txt", text.encode(), "dump")
    keep(
        "dump.json",
        ("[\n" + ",\n".join(booster.get_dump(dump_format="json")) + "\n]").encode(),
        "dump",
    )
    keep("booster.pickle", pickle.dumps(booster, protocol=2 if major < (2, 0) else 4), "pickle")
    return made


def snapshot(folder, release):
    """The contents of a Booster's pickle: the engine reads the model inside, in any format."""
    booster = small({"objective": "binary:logistic"}, tables.classes(tables.features(), 2))
    content = bytes(booster.__getstate__()["handle"])
    suffix = {b'{"': ".json", b"CO": ".bin"}.get(content[:2], ".ubj")
    os.makedirs(os.path.join(folder, release), exist_ok=True)
    base = os.path.join(folder, release, "snapshot")
    booster.save_model(base + ".model.json")
    with open(base + ".model.json", encoding="utf-8") as file:
        document = json.load(file)
    os.remove(base + ".model.json")
    with open(base + suffix, "wb") as file:
        file.write(content)
    chosen = rows.choose(tables.features(), document)
    record = {"trained_by": release, "expected_by": release, **expected.predict(booster, chosen)}
    record["feature_names"] = record["feature_types"] = []
    record["rows"] = expected.hex_rows(chosen)
    expected.write(base + ".expected.json", record)


def main():
    folder = sys.argv[1]
    release = xgb.__version__
    refused = os.path.join(folder, "refused")
    os.makedirs(refused, exist_ok=True)
    made = {
        **unscored(refused, release, cases.RELEASE),
        **not_models(refused, release, cases.RELEASE),
    }
    snapshot(folder, release)
    expected.write(os.path.join(refused, release + ".list.json"), made)


if __name__ == "__main__":
    main()
