"""Predicts all models of train.py, from any release, with the newest XGBoost.

    expect.py <folder>

The engine follows the newest release, so its margins, values and leaves are the expected ones. Where
the release that trained the model gave others, those are kept under `own`, for the record. Memory
snapshots are left as they are: only a pickle brings them back, and only to the release that wrote it.
So are the models of 0.90, for which oldest.py has what to expect.
"""

import json
import os
import pathlib
import sys

import xgboost as xgb

import expected
import rows

KEPT = ("margins", "values", "leaves")
# SHAP values do not depend on the writer, so a few releases suffice.
EXPLAINED = ("1.0.2", "2.1.4", "3.4.1")


DELETED = 2**31 - 1


def complete(text):
    """Returns the file with keys that old releases omit and the newest requires.

    These are the count of deleted nodes, if there are any, the first tree of each round, if there are none,
    and whether a linear model has been boosted.
    """
    if not text.startswith(b'{"learner"'):  # UBJSON, or a memory snapshot
        return text
    document = json.loads(text)
    model = rows.model_of(document)
    for tree in rows.trees_of(document):
        tree["tree_param"].setdefault("num_deleted", str(tree["split_indices"].count(DELETED)))
    if model.get("trees") == []:
        model.setdefault("iteration_indptr", [0])
    if "weights" in model:
        model.setdefault("boosted_rounds", int(bool(model["weights"])))
    return json.dumps(document).encode() if document != json.loads(text) else text


def load(content):
    """Returns the newest release's booster of a file."""
    booster = xgb.Booster()
    booster.load_model(bytearray(content))
    return booster


def predict(content, table):
    """Returns the newest release's predictions for a file."""
    return expected.predict(load(content), table)


def expect(base):
    """Completes a case; returns the differences between the releases."""
    with open(base + ".expected.json", encoding="utf-8") as file:
        record = json.load(file)
    own = record.pop("own", None) or {key: record[key] for key in KEPT if key in record}
    table = expected.from_hex(record["rows"])
    files = [pathlib.Path(base + suffix) for suffix in (".json", ".ubj")]
    contents = [file.read_bytes() for file in files if file.exists()]
    whole = complete(contents[0])
    now = predict(whole, table)
    if whole is contents[0]:
        assert all(predict(content, table) == now for content in contents), (
            base + ": the formats differ"
        )
    differing = [key for key in KEPT if own.get(key) != now.get(key)]
    for key in KEPT:
        record.pop(key, None)
    record = {
        "trained_by": record.pop("trained_by"),
        "expected_by": xgb.__version__,
        **record,
        **now,
    }
    if differing:
        record["own"] = own
    if record["trained_by"] in EXPLAINED:
        record["contribs"] = expected.contributions(load(whole), table)
    expected.write(base + ".expected.json", record)
    return differing


def main():
    for folder, _, files in sorted(os.walk(sys.argv[1])):
        for file in sorted(files):
            if os.path.basename(folder) == "0.90" or file.startswith("snapshot."):
                continue
            if file.endswith(".expected.json"):
                base = os.path.join(folder, file[: -len(".expected.json")])
                differing = expect(base)
                if differing:
                    print(os.path.relpath(base, sys.argv[1]), "differs in", ", ".join(differing))


if __name__ == "__main__":
    main()
