"""Run as a process: trains with XGBoost in Python and compares with a model from SQL, or cross-validates.

Its argument is the directory of the package. Each line of its input names a directory with arrays.npz
(features and, as needed, label, weight, group, lower, upper and their eval_ counterparts), job.json (params,
rounds, categories by feature, early_stopping_rounds) and model.ubj. If there is a start.ubj, the training
goes on from its first job.start_rounds rounds. It prints the differences as a line of JSON.

Arrays with `fold`, the fold of each row, are cross-validated instead, and the metrics of each round printed.
Rows of groups are cut into matrices by hand then, because `xgboost.cv` refuses given folds for them.
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


def _compared(
    xgboost: Any, directory: Path, arrays: dict[str, Any], job: dict[str, Any]
) -> dict[str, Any]:
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


def _part(xgboost: Any, arrays: dict[str, Any], rows: np.ndarray, ref: Any) -> Any:
    there = {name: arrays[name][rows] for name in ("label", "weight") if name in arrays}
    _, sizes = np.unique(arrays["group"][rows], return_counts=True)
    return xgboost.QuantileDMatrix(
        arrays["features"][rows], group=sizes, ref=ref, nthread=1, **there
    )


def _by_hand(xgboost: Any, arrays: dict[str, Any], job: dict[str, Any]) -> dict[str, list[float]]:
    """The folds take each round in turn, as `xgboost.cv` has them do."""
    folds = []
    for fold in np.unique(arrays["fold"]):
        train = _part(xgboost, arrays, arrays["fold"] != fold, None)
        test = _part(xgboost, arrays, arrays["fold"] == fold, train)
        folds.append((xgboost.Booster(job["params"], [train, test]), train, test))
    found: dict[str, list[Any]] = {}
    for number in range(job["rounds"]):
        for booster, train, _ in folds:
            booster.update(train, number)
        by_fold: dict[str, list[float]] = {}
        for booster, train, test in folds:
            line = booster.eval_set([(train, "train"), (test, "test")], number)
            for part in line.split("\t")[1:]:
                name, value = part.rsplit(":", 1)
                by_fold.setdefault(name, []).append(float(value))
        for name, values in by_fold.items():
            found.setdefault(f"{name}-mean", []).append(np.mean(values))
            found.setdefault(f"{name}-std", []).append(np.std(values))
    return found


def _cross_validated(xgboost: Any, arrays: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    job["params"] = {"tree_method": "hist", "nthread": 1} | job["params"]
    if "group" in arrays:
        found = _by_hand(xgboost, arrays, job)
    else:
        fold, rows = arrays["fold"], np.arange(len(arrays["fold"]))
        folds = [(rows[fold != number], rows[fold == number]) for number in np.unique(fold)]
        weight = arrays.get("weight")
        matrix = xgboost.DMatrix(arrays["features"], arrays["label"], weight=weight, nthread=1)
        found = xgboost.cv(
            job["params"], matrix, job["rounds"], folds=folds, as_pandas=False,
            early_stopping_rounds=job.get("early_stopping_rounds"),
        )  # fmt: skip
    return {name: list(map(float, values)) for name, values in found.items()}


def _done(xgboost: Any, directory: Path) -> dict[str, Any]:
    job = json.loads((directory / "job.json").read_text())
    arrays = dict(np.load(directory / "arrays.npz"))
    if "fold" in arrays:
        return _cross_validated(xgboost, arrays, job)
    return _compared(xgboost, directory, arrays, job)


def main() -> None:
    """Does the job of each line and prints its result."""
    sys.path.insert(0, sys.argv[1])
    import xgboost  # noqa: PLC0415

    for line in sys.stdin:
        print(json.dumps(_done(xgboost, Path(line.rstrip("\n")))), flush=True)


if __name__ == "__main__":
    main()
