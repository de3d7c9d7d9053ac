"""Trains the cases with the installed XGBoost, and records its predictions.

    train.py <folder> [--core]

Writes <folder>/<release>/<case>.json, or also <case>.ubj, and <case>.expected.json. expect.py then adds
the newest release's predictions. ../README.md says how all releases are run.
"""

import json
import os
import sys

import numpy as np
import xgboost as xgb

import cases
import expected
import rows


def save(booster, folder, name, ubjson):
    """Writes the model's files, and returns the parsed JSON."""
    path = os.path.join(folder, name + ".json")
    booster.save_model(path)
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if ubjson and cases.RELEASE >= (1, 6):
        booster.save_model(os.path.join(folder, name + ".ubj"))
    return document


def text_rows(trained):
    """Returns rows with categories as values, and margins of a frame with another category order."""
    values, table, margins, lost = trained.text
    column = trained.categorical[0]
    if lost:
        return {"feature": column, "lost": True}
    listed = []
    for row in table:
        code = row[column]
        listed.append(
            {"row": expected.hex_row(row), "value": None if np.isnan(code) else values[int(code)]}
        )
    return {"feature": column, "rows": listed, "margins": expected.hex_rows(margins)}


def train(folder, name, case):
    """Trains a case and writes its files."""
    trained = case["train"]()
    document = save(trained.booster, folder, name, case["ubjson"])
    chosen = rows.choose(trained.table, document, trained.categorical, trained.codes)
    record = {"trained_by": xgb.__version__, **expected.predict(trained.booster, chosen)}
    record["feature_names"] = document["learner"].get("feature_names", [])
    record["feature_types"] = document["learner"].get("feature_types", [])
    record["rows"] = expected.hex_rows(chosen)
    if trained.text:
        record["text"] = text_rows(trained)
    expected.write(os.path.join(folder, name + ".expected.json"), record)
    check(name, document, trained)


def check(name, document, trained):
    """Checks that each case shows what its name says; training that no longer does is an error."""
    trees = rows.trees_of(document)
    cuts = rows.thresholds(document, trained.table.shape[1])
    if name == "pruned":
        assert any(int(tree["tree_param"].get("num_deleted", 1)) for tree in trees), (
            "nothing was pruned"
        )
    if name.startswith("no_trees"):
        assert not trees, "has trees"
    if name == "reg_squarederror":
        defaults = {
            bool(value)
            for tree in trees
            for value, left in zip(tree["default_left"], tree["left_children"])
            if left != -1
        }
        assert defaults == {False, True}, "missing values go one way only"
        assert 0 in cuts[4], "no threshold is 0"
    if name.startswith("dart") or name == "gbtree_dropout":
        booster = document["learner"]["gradient_booster"]
        weights = booster.get("weight_drop") or booster["model"]["weight_drop"]
        assert len(weights) == len(trees) and set(weights) != {1.0}, "no tree was dropped"
    if trained.categorical:
        assert any(any(tree["split_type"]) for tree in trees), "no categorical split"
    if name == "early_stopping":
        attributes = document["learner"]["attributes"]
        assert int(attributes["best_iteration"]) + 1 < len(trees), "did not stop early"


def main():
    folder = os.path.join(sys.argv[1], xgb.__version__)
    core_only = "--core" in sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    failed = []
    for name, case in sorted(cases.CASES.items()):
        if not case["since"] <= cases.RELEASE < case["until"] or (core_only and not case["core"]):
            continue
        try:
            train(folder, name, case)
        except Exception as error:  # a release may refuse a case; the list is printed and kept
            failed.append((name, type(error).__name__, str(error).strip().splitlines()[:1]))
            for file in os.listdir(folder):
                if file.split(".")[0] == name:
                    os.remove(os.path.join(folder, file))
    for line in failed:
        print(xgb.__version__, *line)


if __name__ == "__main__":
    main()
