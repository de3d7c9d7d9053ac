"""Rewrites the release's models in the binary format of releases up to 3.0.

    binary.py <folder>

The binary format has no categorical splits and no feature names, and predicts like the JSON next to
it, so the expected predictions are the same. Every release writes the cases marked `core`.
"""

import json
import os
import sys

import xgboost as xgb

import cases
import rows


def has_categories(document):
    """Returns whether a split is categorical, which the format cannot represent."""
    trees = rows.trees_of(document)
    return any(any(tree.get("split_type", ())) for tree in trees)


def main():
    folder = os.path.join(sys.argv[1], xgb.__version__)
    for name in sorted(cases.CASES):
        path = os.path.join(folder, name + ".json")
        if not cases.CASES[name]["core"] or not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            if has_categories(json.load(file)):
                continue
        booster = xgb.Booster()
        booster.load_model(path)
        booster.save_model(os.path.join(folder, name + ".bin"))


if __name__ == "__main__":
    main()
