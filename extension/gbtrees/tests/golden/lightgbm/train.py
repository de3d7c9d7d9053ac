"""Trains the cases with the installed LightGBM, and records its predictions.

    train.py <folder> [--core]

Writes <folder>/<release>/<case>.txt and <case>.expected.json. expect.py then adds the newest release's
predictions. ../README.md says how all releases are run.
"""

import os
import sys

import numpy as np

import cases
import expected
import lightgbm as lgb
import rows


def text_of(trained, table):
    """Returns the values of the categories of some rows; null if missing."""
    listed = []
    for index in range(min(25, len(table))):
        values = {}
        for feature in trained.categorical:
            value = trained.frame.iloc[index, feature]
            given = value.item() if hasattr(value, "item") else value
            missing = given is None or (isinstance(given, float) and np.isnan(given))
            values[str(feature)] = None if missing else given
        listed.append({"row": expected.hex_row(table[index]), "values": values})
    margins = trained.booster.predict(trained.frame.iloc[: len(listed)], raw_score=True)
    return {"rows": listed, "margins": expected.hex_rows(margins)}


def train(folder, name, case):
    """Trains a case and writes its files."""
    trained = case["train"]()
    path = os.path.join(folder, name + ".txt")
    trained.booster.save_model(path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    check(name, text)
    chosen = rows.choose(trained.table, text, trained.categorical)
    loaded = load(path)
    record = {"trained_by": lgb.__version__, **expected.predict(loaded, chosen)}
    record["feature_names"] = trained.booster.feature_name()
    record["categorical"] = list(trained.categorical)
    record["rows"] = expected.hex_rows(chosen)
    for kind in ("split", "gain"):
        record[kind] = expected.hex_row(trained.booster.feature_importance(kind))
    if trained.frame is not None:
        record["text"] = text_of(trained, trained.table)
    expected.write(os.path.join(folder, name + ".expected.json"), record)


def load(path):
    """Returns a file's booster, for rows of numbers only."""
    booster = lgb.Booster({"verbosity": -1}, model_file=path)
    booster.pandas_categorical = None
    return booster


def check(name, text):
    """Checks that each case shows what its name says; training that no longer does is an error."""
    kinds = {
        int(kind)
        for line in text.split("\n")
        if line.startswith("decision_type=")
        for kind in line[14:].split()
    }
    missing = {kind >> 2 for kind in kinds if not kind & 1}
    wanted = {
        "missing_none": {0},
        "missing_zero": {1},
        "missing_unused": {0},
        "missing_mixed": {0, 2},
    }
    if name in wanted:
        assert missing == wanted[name], missing
    if name.startswith("linear"):
        assert any(
            set(line[13:].split()) - {"0"}
            for line in text.split("\n")
            if line.startswith("num_features=")
        ), "no linear model"
    if name.startswith(("categorical", "frame", "linear_frame")):
        assert any(kind & 1 for kind in kinds), "no categorical split"
    if name.startswith("forest"):
        assert "\naverage_output\n" in text
    if name in ("one_leaf", "one_leaf_later"):
        assert "\nnum_leaves=1\n" in text
    if name == "regression":
        assert {kind & 2 for kind in kinds} == {0, 2}, "missing values go one way only"


def main():
    folder = os.path.join(sys.argv[1], lgb.__version__)
    core_only = "--core" in sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    for name, case in sorted(cases.CASES.items()):
        if case["since"] > cases.RELEASE or (core_only and not case["core"]):
            continue
        try:
            train(folder, name, case)
        except Exception as error:  # a release may refuse a case; the list is printed and kept
            print(lgb.__version__, name, type(error).__name__, str(error).strip().splitlines()[:1])
            for file in os.listdir(folder):
                if file.split(".")[0] == name:
                    os.remove(os.path.join(folder, file))


if __name__ == "__main__":
    main()
