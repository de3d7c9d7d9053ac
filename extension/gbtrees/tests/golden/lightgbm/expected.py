"""LightGBM's predictions for rows, and their format: an f64 is the sixteen hex digits of its bits."""

import json
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def hex_row(row):
    """Returns a row as a string."""
    return np.asarray(row, dtype=">f8").tobytes().hex()


def hex_rows(rows):
    """Returns strings of rows, or of one number per row."""
    rows = np.asarray(rows, dtype=np.float64)
    return [hex_row(row) for row in rows.reshape(len(rows), -1)]


def from_hex(rows):
    """Parses rows from a list of strings."""
    return np.array([np.frombuffer(bytes.fromhex(row), dtype=">f8") for row in rows]).astype(
        np.float64
    )


def predict(booster, table):
    """Returns margins, values where they differ from them, and leaves."""
    margins = hex_rows(booster.predict(table, raw_score=True))
    values = hex_rows(booster.predict(table))
    leaves = np.asarray(booster.predict(table, pred_leaf=True)).reshape(len(table), -1)
    record = {"margins": margins}
    if values != margins:
        record["values"] = values
    record["leaves"] = [" ".join(str(int(leaf)) for leaf in row) for row in leaves]
    return record


def write(path, record):
    """Writes one value per line, for readable diffs."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=0, ensure_ascii=True)
        file.write("\n")
