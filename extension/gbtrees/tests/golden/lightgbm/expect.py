"""Predicts all models of train.py, from any release, with the newest LightGBM.

    expect.py <folder>

The engine follows the newest release, so its margins, values and leaves are the expected ones.
Where the release that trained the model gave others, those are kept under `own`, for the record.
"""

import json
import os
import sys

import expected
import lightgbm as lgb
from train import load

KEPT = ("margins", "values", "leaves")


def expect(base):
    """Completes a case; returns the differences between the releases."""
    with open(base + ".expected.json", encoding="utf-8") as file:
        record = json.load(file)
    own = record.pop("own", None) or {key: record[key] for key in KEPT if key in record}
    booster = load(base + ".txt")
    now = expected.predict(booster, expected.from_hex(record["rows"]))
    differing = [key for key in KEPT if own.get(key) != now.get(key)]
    for key in KEPT:
        record.pop(key, None)
    record = {
        "trained_by": record.pop("trained_by"),
        "expected_by": lgb.__version__,
        **record,
        **now,
    }
    if "text" in record:
        coded = expected.from_hex([row["row"] for row in record["text"]["rows"]])
        record["text"]["margins"] = expected.hex_rows(booster.predict(coded, raw_score=True))
    if differing:
        record["own"] = {key: own[key] for key in differing if key in own}
    expected.write(base + ".expected.json", record)
    return differing


def main():
    for folder, _, files in sorted(os.walk(sys.argv[1])):
        for file in sorted(files):
            if file.endswith(".expected.json"):
                base = os.path.join(folder, file[: -len(".expected.json")])
                differing = expect(base)
                if differing:
                    print(os.path.relpath(base, sys.argv[1]), "differs in", ", ".join(differing))


if __name__ == "__main__":
    main()
