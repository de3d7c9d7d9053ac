"""The data sets of the ladder, each with its model and the right answers.

Made in a process of its own, because that loads the XGBoost that pgboost_train pins, and a process has one.
Of each data set it leaves, in a directory of its name:

    model.json      10 trees of depth 6, in XGBoost's JSON
    rows.json       columns, categories, raw rows and features, and the answers of Booster.predict
    features.f32    the features alone, as numbers of 32 bits, for programs that read no JSON
    answers.f32     and the answers
    categories.txt  a line for each column: its categories in the order of their codes, apart by tabs
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from data import titanic
from data.columns import FEATURES
from data.csv_text import NULL
from data.flights import Request, blocks
from python_baseline import releases

ROUNDS, DEPTH = 10, 6
FLIGHTS = 100_000
# So many of them are asked for.
ASKED = 10_000

Named = tuple[pd.DataFrame, np.ndarray, str]


def _people(directory: Path) -> Named:
    found = titanic.people(directory)
    table = pd.DataFrame(found.rows, columns=[*titanic.COLUMNS])
    for name in table:
        as_text = name in titanic.TEXTS
        table[name] = table[name].astype("category" if as_text else np.float32)
    return table, np.array(found.survived, np.float32), "binary:logistic"


def _flights(_: Path) -> Named:
    rows = np.concatenate([*blocks(Request(FLIGHTS))])
    rows = rows[rows[:, 0] != NULL].astype(np.float32)
    return pd.DataFrame(rows[:, 1:], columns=[*FEATURES]), rows[:, 0], "reg:squarederror"


SETS = {"titanic": _people, "flights": _flights}


def _codes(table: pd.DataFrame) -> pd.DataFrame:
    """Features: categories by their codes, NaN where one is missing."""
    return table.apply(
        lambda one: one.cat.codes.where(one.notna()) if one.dtype == "category" else one
    ).astype(np.float32)


def _listed(table: pd.DataFrame) -> list[list[Any]]:
    """Text as text; numbers as 64 bits have those of 32; None where one is missing."""
    return table.astype(object).where(table.notna(), None).to_numpy().tolist()


def _columns(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {"name": name, "categories": [*column.cat.categories]}
        if column.dtype == "category"
        else {"name": name, "categories": None}
        for name, column in table.items()
    ]


def prepare(name: str, directory: Path) -> None:
    """Trains, and writes the files."""
    xgboost = releases.load("pinned")
    table, labels, objective = SETS[name](directory)
    matrix = xgboost.DMatrix(table, labels, enable_categorical=True)
    settings = {"max_depth": DEPTH, "objective": objective, "nthread": 1, "seed": 0}
    model = xgboost.train(settings, matrix, ROUNDS)
    asked = table.iloc[:ASKED]
    answers = model.predict(xgboost.DMatrix(asked, enable_categorical=True))
    features = _codes(asked)
    place = directory / name
    place.mkdir(parents=True, exist_ok=True)
    model.save_model(place / "model.json")
    features.to_numpy().tofile(place / "features.f32")
    answers.astype(np.float32).tofile(place / "answers.f32")
    known = {
        "name": name, "xgboost": xgboost.__version__, "rounds": ROUNDS, "depth": DEPTH,
        "columns": _columns(table), "rows": _listed(asked), "features": _listed(features),
        "answers": answers.astype(np.float32).view(np.uint32).tolist(),
    }  # fmt: skip
    (place / "rows.json").write_text(json.dumps(known))
    lines = ("\t".join(one["categories"] or ()) for one in known["columns"])
    (place / "categories.txt").write_text("".join(f"{line}\n" for line in lines))


def prepare_all(directory: str) -> None:
    """Makes every data set in the directory."""
    for name in SETS:
        prepare(name, Path(directory))
