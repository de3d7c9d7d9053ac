"""Trains the cases with the installed CatBoost, and records its predictions.

    train.py <folder> [--core]

A model is stored as cbm and as JSON. `expected.json` is for both: margins are the bits of f64,
sixteen hex digits each; values are rounded to f32, eight hex digits each, as the engine returns them.
"""

import json
import os
import shutil
import sys

import numpy as np

import cases
import catboost
from catboost import CatBoost, Pool

LARGEST = np.finfo(np.float32).max
SPECIAL = [np.nan, 0.0, -0.0, LARGEST, -LARGEST, np.inf, -np.inf, 1e-45, -1e-45]
UNKNOWN = ["", "unknown", "Red", "nan", "-0", "red "]
VALUES = {
    "Logloss": "Probability",
    "CrossEntropy": "Probability",
    "Focal": "Probability",
    "MultiClass": "Probability",
    "MultiClassOneVsAll": "Probability",
    "MultiLogloss": "Probability",
    "Poisson": "Exponent",
    "Tweedie": "Exponent",
    "RMSEWithUncertainty": "RMSEWithUncertainty",
}
CLASSIFIERS = ("Logloss", "CrossEntropy", "Focal", "MultiClass", "MultiClassOneVsAll")


def digits(array, width):
    """Returns the bits of a row's numbers."""
    kind, bits = {8: (np.float32, np.uint32), 16: (np.float64, np.uint64)}[width]
    row = np.ascontiguousarray(array, dtype=kind).view(bits).ravel()
    return "".join("%0*x" % (width, number) for number in row)


def hex_rows(table, width):
    """Returns a string per row."""
    table = np.asarray(table)
    return [digits(row, width) for row in table.reshape(len(table), -1)]


def borders(document, columns):
    """Returns the borders of each column."""
    found = [np.array([], dtype=np.float32) for _ in range(columns)]
    for feature in document["features_info"].get("float_features", []):
        found[feature["flat_feature_index"]] = np.array(feature["borders"] or [], dtype=np.float32)
    return found


def beside(values, step):
    """Returns the values, or their neighbours on one side."""
    return values if step == 0 else np.nextafter(values, np.float32(np.inf * step))


def number_rows(table, cuts):
    """Returns training rows, rows on and next to borders, and rows of special values."""
    rows = [table[:6]]
    at = table[np.arange(18) % len(table)].copy()
    for column, values in enumerate(cuts):
        for row in range(18):
            if len(values):
                at[row, column] = beside(values[(row // 3 + column) % len(values)], row % 3 - 1)
    special = np.empty((len(SPECIAL) + 3, table.shape[1]), dtype=np.float32)
    for row in range(len(special)):
        for column in range(table.shape[1]):
            whole = row < len(SPECIAL)
            special[row, column] = SPECIAL[row if whole else (row + 2 * column) % len(SPECIAL)]
    return np.concatenate([*rows, at, special]).astype(np.float32)


def choose(trained, cuts):
    """Returns the scoring rows: the table for CatBoost, the numbers as f32, and the categories by column."""
    if not trained.categorical:
        rows = number_rows(trained.table, cuts)
        return rows, rows, {}
    table = trained.table.copy()
    numeric = [index for index in range(table.shape[1]) if index not in trained.categorical]
    given = number_rows(
        table.iloc[:, numeric].to_numpy(dtype=np.float32), [cuts[index] for index in numeric]
    )
    given = np.concatenate([table.iloc[: trained.whole, numeric].to_numpy(dtype=np.float32), given])
    numbers = np.zeros((len(given), table.shape[1]), dtype=np.float32)
    numbers[:, numeric] = given
    columns, texts = {}, {}
    for index, name in enumerate(table.columns):
        if index in trained.categorical:
            values = list(dict.fromkeys(table[name].tolist()))
            values += [99, -1] if isinstance(values[0], int) else UNKNOWN
            whole = table[name].tolist()[: trained.whole]
            further = range(len(given) - len(whole))
            texts[str(index)] = columns[name] = whole + [
                values[row % len(values)] for row in further
            ]
        else:
            columns[name] = numbers[:, index]
    return type(table)(columns), numbers, texts


def predict(model, rows, trained, loss):
    """Returns the release's predictions for the rows."""
    pool = Pool(rows, cat_features=trained.categorical) if trained.categorical else Pool(rows)
    margins = model.predict(pool, prediction_type="RawFormulaVal", thread_count=1)
    margins = margins.reshape(len(rows), -1)
    # A declared class absent from training has no leaves; CatBoost adds it as a column of -inf.
    seen = ~np.isneginf(margins).any(axis=0)
    found = {"margins": hex_rows(margins[:, seen], 16)}
    if loss in VALUES:
        values = model.predict(pool, prediction_type=VALUES[loss], thread_count=1)
        if loss in ("Logloss", "CrossEntropy", "Focal"):
            values = values[:, 1:]
        found["values"] = hex_rows(values.reshape(len(rows), -1)[:, seen], 8)
    if loss in CLASSIFIERS and loss != "CrossEntropy":
        classes = model.predict(pool, prediction_type="Class", thread_count=1)
        found["classes"] = [text(label) for label in np.asarray(classes).ravel().tolist()]
    return found


def text(label):
    """Returns the engine's name of a class."""
    if isinstance(label, str):
        return {"True": "true", "False": "false"}.get(label, label)
    if isinstance(label, bool):
        return str(label).lower()
    return "%g" % label


def leaves(model, rows, trained):
    """Returns leaf indices, a row as one string."""
    pool = Pool(rows, cat_features=trained.categorical) if trained.categorical else Pool(rows)
    return [
        " ".join(map(str, row)) for row in model.calc_leaf_indexes(pool, thread_count=1).tolist()
    ]


def write(path, record):
    """Returns one line per key, so that a changed file is readable in a diff."""
    with open(path, "w", encoding="utf-8") as file:
        lines = [
            "%s: %s"
            % (json.dumps(key), json.dumps(value, separators=(",", ":"), ensure_ascii=False))
            for key, value in record.items()
        ]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def store(folder, name, trained):
    """Writes a model's two files and its expected predictions."""
    base = os.path.join(folder, name)
    trained.model.save_model(base + ".cbm")
    trained.model.save_model(base + ".json", format="json")
    with open(base + ".json", encoding="utf-8") as file:
        # Without spaces between tokens; numbers stay as CatBoost wrote them.
        content = "".join(line.strip() for line in file)
    with open(base + ".json", "w", encoding="utf-8") as file:
        file.write(content)
    document = json.loads(content)
    info = document["model_info"]
    loss = (
        info["params"]["loss_function"] if "params" in info else json.loads(info["loss_function"])
    )
    loss = loss["type"]
    rows, numbers, texts = choose(trained, borders(document, trained.table.shape[1]))
    names = list(trained.model.feature_names_)
    if "json" not in trained.formats:
        os.remove(base + ".json")
    record = {
        "trained_by": catboost.__version__,
        "objective": loss,
        "feature_names": names if names != [str(index) for index in range(len(names))] else [],
        "categorical": trained.categorical,
        "rows": hex_rows(numbers, 8),
        "texts": texts,
        **predict(trained.model, rows, trained, loss),
        "leaves": leaves(trained.model, rows, trained),
    }
    if "trees" in document:
        # JSON files order leaves differently.
        again = CatBoost().load_model(base + ".json", format="json")
        record["json_leaves"] = leaves(again, rows, trained)
    write(base + ".expected.json", record)


def main():
    folder = os.path.join(sys.argv[1], catboost.__version__)
    core = "--core" in sys.argv[2:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name, case in cases.CASES.items():
        if case["since"] <= cases.RELEASE and (case["core"] or not core):
            store(folder, name, case["train"]())


if __name__ == "__main__":
    main()
