"""Run as a process: trains with XGBoost in Python and compares with a model from SQL.

Its argument is the directory of the package. Each line of its input names a directory with arrays.npz
(features and, as needed, label, weight, group, lower, upper and their eval_ counterparts), job.json (params,
rounds, categories by feature, early_stopping_rounds) and model.ubj. If there is a start.ubj, the training
goes on from its first job.start_rounds rounds. It prints what differs as a line of JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MAX_BIN = 256


def _table(values: np.ndarray, names: list[str], categories: dict[str, list[str]]) -> Any:
    if not categories:
        return pd.DataFrame(values, columns=names)
    table = {}
    for name, column in zip(names, values.T, strict=True):
        if name in categories:
            codes = np.where(np.isnan(column), -1, column).astype(int)
            table[name] = pd.Categorical.from_codes(codes, categories[name])
        else:
            table[name] = column
    return pd.DataFrame(table)


def _matrix(
    xgboost: Any, arrays: dict[str, Any], prefix: str, job: dict[str, Any], ref: Any
) -> Any:
    there = {name: arrays.get(prefix + name) for name in ("weight", "group", "lower", "upper")}
    table = _table(arrays[prefix + "features"], job["names"], job.get("categories", {}))
    matrix = xgboost.QuantileDMatrix(
        table, arrays.get(prefix + "label"), weight=there["weight"], group=there["group"],
        label_lower_bound=there["lower"], label_upper_bound=there["upper"],
        enable_categorical=True, max_bin=job["params"].get("max_bin", MAX_BIN), ref=ref,
        nthread=1,
    )  # fmt: skip
    return matrix, table


def _start(xgboost: Any, directory: Path, rounds: int | None) -> bytearray | None:
    file = directory / "start.ubj"
    if not file.exists():
        return None
    content = bytearray(file.read_bytes())
    if rounds is None:
        return content
    return xgboost.Booster(model_file=content)[:rounds].save_raw("ubj")


def _trees(booster: Any) -> Any:
    document = json.loads(booster.save_raw("json"))
    return document["learner"]["gradient_booster"]["model"]["trees"]


def _compared(xgboost: Any, directory: Path) -> dict[str, Any]:
    job = json.loads((directory / "job.json").read_text())
    arrays = dict(np.load(directory / "arrays.npz"))
    train, table = _matrix(xgboost, arrays, "", job, None)
    sets = [(train, "train")]
    if "eval_features" in arrays:
        sets.append((_matrix(xgboost, arrays, "eval_", job, train)[0], "eval"))
    history: dict[str, Any] = {}
    start = _start(xgboost, directory, job.get("start_rounds"))
    before = xgboost.Booster(model_file=start).num_boosted_rounds() if start else 0
    python = xgboost.train(
        {"tree_method": "hist", "nthread": 1} | job["params"], train, job["rounds"], evals=sets,
        early_stopping_rounds=job.get("early_stopping_rounds"), evals_result=history,
        verbose_eval=False, xgb_model=start,
    )  # fmt: skip
    rounds = before + job["rounds"]
    if job.get("early_stopping_rounds"):
        rounds = python.best_iteration + 1
        python = python[:rounds]
    in_sql = xgboost.Booster(model_file=bytearray((directory / "model.ubj").read_bytes()))
    rows = xgboost.DMatrix(table, enable_categorical=True)
    margins = [model.predict(rows, output_margin=True).ravel() for model in (python, in_sql)]
    return {
        "version": xgboost.__version__,
        "same_trees": _trees(python) == _trees(in_sql),
        "differing_margins": int((margins[0].view("u4") != margins[1].view("u4")).sum()),
        "rounds": rounds,
        "names": in_sql.feature_names,
        "scores": {
            name: {metric: values[rounds - before - 1] for metric, values in metrics.items()}
            for name, metrics in history.items()
        },
    }


def main() -> None:
    """Trains, compares and prints, for each line."""
    sys.path.insert(0, sys.argv[1])
    import xgboost  # noqa: PLC0415

    for line in sys.stdin:
        print(json.dumps(_compared(xgboost, Path(line.rstrip("\n")))), flush=True)


if __name__ == "__main__":
    main()
