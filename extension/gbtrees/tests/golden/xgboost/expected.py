"""A release's predictions, and their format: f32 as eight hex digits, a row as one string."""

import json

import numpy as np
import xgboost as xgb


def hex_row(row):
    """Returns the bits of a row's floats, eight hex digits each."""
    return "".join(
        "%08x" % bits
        for bits in np.ascontiguousarray(row, dtype=np.float32).view(np.uint32).ravel()
    )


def hex_rows(table):
    """Returns a string per row."""
    table = np.asarray(table, dtype=np.float32)
    return [hex_row(row) for row in table.reshape(len(table), -1)]


def from_hex(lines):
    """Parses a table of hex_rows."""
    bits = [[int(line[at : at + 8], 16) for at in range(0, len(line), 8)] for line in lines]
    return np.array(bits, dtype=np.uint32).view(np.float32)


def matrix(booster, table):
    """Returns the rows as a DMatrix that the booster accepts."""
    options = {}
    names = getattr(booster, "feature_names", None)
    kinds = getattr(booster, "feature_types", None)
    if kinds and "c" in kinds:
        options = {"feature_types": kinds, "enable_categorical": True}
    return xgb.DMatrix(table, missing=np.nan, feature_names=names, **options)


def predict(booster, table):
    """Returns margins, values and leaf ids of every row."""
    booster.set_param({"nthread": 1})
    data = matrix(booster, table)
    leaves = []
    linear = '"name":"gblinear"' in booster.save_config()
    if not linear and booster.get_dump():
        leaves = booster.predict(data, pred_leaf=True).reshape(len(table), -1).astype(int).tolist()
    return {
        "leaves": [" ".join(str(leaf) for leaf in row) for row in leaves],
        **outputs(booster, data),
    }


def outputs(booster, data):
    """Returns margins and values; values are omitted if they equal the margins."""
    margins = hex_rows(booster.predict(data, output_margin=True))
    values = hex_rows(booster.predict(data))
    return {"margins": margins} if values == margins else {"margins": margins, "values": values}


def contributions(booster, table):
    """Returns SHAP values of two table rows, a missing row, and zeros; an output's bias is last."""
    chosen = [row for row in (0, 1, 24, 25) if row < len(table)]
    values = booster.predict(matrix(booster, table[chosen]), pred_contribs=True)
    return {"rows": chosen, "values": hex_rows(values)}


def write(path, record):
    """Returns one line per key, so that a changed file is readable in a diff."""
    with open(path, "w", encoding="utf-8") as file:
        lines = [
            "%s: %s"
            % (json.dumps(key), json.dumps(value, separators=(",", ":"), ensure_ascii=False))
            for key, value in record.items()
        ]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
