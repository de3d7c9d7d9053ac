"""Models of XGBoost 0.90, which only writes the binary format, and whose base scores are margins.

    oldest.py train <folder>     under 0.90
    oldest.py expect <folder>    under 3.0.5, the last release that reads the format

Later releases cannot read them even by way of 3.0, which saves the margin as if it were a base score.
"""

import json
import os
import pathlib
import struct
import sys
import tempfile

import xgboost as xgb

import cases
import expected
import rows
import tables

NAMES = (
    "binary_logistic",
    "count_poisson",
    "dart",
    "gblinear_multiclass",
    "multi_softprob",
    "reg_squarederror",
)
CANDIDATE = "release_candidate"


def train(folder):
    """Trains the cases; one has a copy with a score in place of the margin, as 1.0.0rc1 wrote it."""
    os.makedirs(folder, exist_ok=True)
    for name in NAMES:
        cases.CASES[name]["train"]().booster.save_model(os.path.join(folder, name + ".bin"))
    model = pathlib.Path(folder, "binary_logistic.bin").read_bytes()
    # The base score is the first word.
    score = struct.pack("<f", 0.5)
    pathlib.Path(folder, CANDIDATE + ".bin").write_bytes(score + model[len(score) :])


def expect(folder):
    """Predicts with the installed release."""
    for name in (*NAMES, CANDIDATE):
        booster = xgb.Booster()
        booster.load_model(os.path.join(folder, name + ".bin"))
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "model.json")
            booster.save_model(path)
            with open(path, encoding="utf-8") as file:
                document = json.load(file)
        chosen = rows.choose(tables.features(), document)
        record = {"trained_by": "0.90", "expected_by": xgb.__version__}
        record.update(expected.predict(booster, chosen))
        record.update(feature_names=[], feature_types=[], rows=expected.hex_rows(chosen))
        expected.write(os.path.join(folder, name + ".expected.json"), record)


if __name__ == "__main__":
    {"train": train, "expect": expect}[sys.argv[1]](os.path.join(sys.argv[2], "0.90"))
