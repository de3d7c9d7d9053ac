"""Records LightGBM's and CatBoost's feature contributions for their golden models.

Usage: python contributions.py

Writes contributions.json next to the models of each library: by release and name, the numbers of a
few rows and, sixteen hex digits per number, what `predict(pred_contrib=True)` and
`get_feature_importance(type="ShapValues")` return for them. The models must be extracted. Needs lightgbm
4.7.0 and catboost 1.2.10.
"""

import json
import re
import struct
from pathlib import Path

import numpy as np
import pandas as pd

import catboost
import lightgbm as lgb

# CatBoost 1.2.10 crashes without features to explain, explains only the mean of a model with uncertainty,
# has one bias for several, and does not add up to its own margins for asymmetric trees.
UNEXPLAINED = re.compile("constant|uncertainty|scale_and_biases|depthwise|lossguide")
CHOSEN = (0, 1, 2, 24)
# Models with categories, some unknown to training.
WITH_TEXTS = (*CHOSEN, 13, 45, 51, 60)
HERE = Path(__file__).parent


def numbers(lines: list[str], code: str) -> np.ndarray:
    """Parses rows of hex digits."""
    values = (struct.iter_unpack(f">{code}", bytes.fromhex(line)) for line in lines)
    return np.array([[number for (number,) in row] for row in values])


def hex_rows(values: np.ndarray) -> list[str]:
    """Writes rows as hex digits."""
    return [row.astype(">f8").tobytes().hex() for row in values.reshape(len(values), -1)]


def with_texts(rows: np.ndarray, record: dict, chosen: list[int]) -> pd.DataFrame:
    """Returns the rows with their categories."""
    frame = pd.DataFrame(rows, columns=record["feature_names"])
    for column, values in record["texts"].items():
        frame[frame.columns[int(column)]] = [values[row] for row in chosen]
    return frame


def by_lightgbm(path: Path, rows: np.ndarray) -> np.ndarray:
    """Returns contributions, output by output, an output's bias last."""
    return lgb.Booster(model_file=path).predict(rows, pred_contrib=True, num_threads=1)


def by_catboost(path: Path, rows: np.ndarray | pd.DataFrame) -> np.ndarray:
    """Returns CatBoost's contributions, in the same order."""
    model = catboost.CatBoost().load_model(str(path))
    pool = catboost.Pool(rows, cat_features=model.get_cat_feature_indices())
    return model.get_feature_importance(pool, type="ShapValues", thread_count=1)


def write(library: str, suffix: str, code: str, explain) -> None:
    """Explains every model of a library."""
    found = {}
    for path in sorted((HERE / library).glob(f"*/*{suffix}")):
        expected = path.with_suffix(".expected.json")
        if not expected.exists() or (suffix == ".cbm" and UNEXPLAINED.search(path.name)):
            continue
        record = json.loads(expected.read_text())
        if not record["rows"]:
            continue
        texts = record.get("texts")
        chosen = [row for row in (WITH_TEXTS if texts else CHOSEN) if row < len(record["rows"])]
        rows = numbers([record["rows"][row] for row in chosen], code)
        if texts:
            rows = with_texts(rows, record, chosen)
        name = f"{path.parent.name}/{path.name}"
        try:
            values = explain(path, rows)
        except Exception as error:  # models that the newest release cannot explain
            print(f"{name}: {str(error)[:100]}")
            continue
        found[name] = {"rows": chosen, "values": hex_rows(np.asarray(values))}
    with open(HERE / library / "contributions.json", "w", encoding="utf-8") as file:
        lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in found.items()]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
    print(library, len(found))


if __name__ == "__main__":
    write("lightgbm", ".txt", "d", by_lightgbm)
    write("catboost", ".cbm", "f", by_catboost)
