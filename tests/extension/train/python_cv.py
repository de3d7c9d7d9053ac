"""Run as a process: cross-validates with XGBoost in Python, and prints the metrics of each round as JSON.

It is told what to do as python_side.py is. arrays.npz also has `fold`, the fold of each row; folds are
numbered from 0. Rows of groups are cut into matrices by hand, because `xgboost.cv` refuses given folds
for them.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def _matrix(xgboost: Any, arrays: dict[str, Any], rows: np.ndarray, ref: Any) -> Any:
    there = {name: arrays[name][rows] for name in ("label", "weight") if name in arrays}
    if "group" in arrays:
        _, sizes = np.unique(arrays["group"][rows], return_counts=True)
        there["group"] = sizes
    return xgboost.QuantileDMatrix(arrays["features"][rows], ref=ref, nthread=1, **there)


def _by_hand(xgboost: Any, arrays: dict[str, Any], job: dict[str, Any]) -> dict[str, list[float]]:
    """The folds take each round in turn, as `xgboost.cv` has them do."""
    folds = []
    for fold in np.unique(arrays["fold"]):
        train = _matrix(xgboost, arrays, arrays["fold"] != fold, None)
        test = _matrix(xgboost, arrays, arrays["fold"] == fold, train)
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


def _metrics(xgboost: Any, directory: Path) -> dict[str, list[float]]:
    job = json.loads((directory / "job.json").read_text())
    job["params"] = {"tree_method": "hist", "nthread": 1} | job["params"]
    arrays = dict(np.load(directory / "arrays.npz"))
    if job.get("by_hand"):
        found = _by_hand(xgboost, arrays, job)
    else:
        fold, rows = arrays["fold"], np.arange(len(arrays["fold"]))
        folds = [(rows[fold != number], rows[fold == number]) for number in np.unique(fold)]
        matrix = xgboost.DMatrix(
            arrays["features"], arrays["label"], weight=arrays.get("weight"), nthread=1
        )
        found = xgboost.cv(
            job["params"], matrix, job["rounds"], folds=folds, as_pandas=False,
            early_stopping_rounds=job.get("early_stopping_rounds"),
        )  # fmt: skip
    return {name: list(map(float, values)) for name, values in found.items()}


def main() -> None:
    """Cross-validates and prints, for each line."""
    sys.path.insert(0, sys.argv[1])
    import xgboost  # noqa: PLC0415

    for line in sys.stdin:
        print(json.dumps(_metrics(xgboost, Path(line.rstrip("\n")))), flush=True)


if __name__ == "__main__":
    main()
