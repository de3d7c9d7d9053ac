"""The engine's wheel and each library's fastest call from Python, on one thread.

`make wheel` builds what `PYTHONPATH=.build/gbtrees .venv/bin/python -m bench.wheel` measures.
What is compared is called in turns, in blocks, and timed by the processor's time of the thread, so that other
programs take none of it but caches. A run writes wheel.json to a new directory of bench/results, from which
`make report` generates a page. Margins are compared before anything is timed.
"""

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import shap
import xgboost

import catboost
import gbtrees
import lightgbm
from bench.interleaving import interleaved
from bench.record import RESULTS, keep, packages
from bench.report.pages import page

ROWS = 2048
# Rows that are explained.
EXPLAINED = 256
FEATURES = 10
REPETITIONS = 5
# The time of a block, of which there is one per repetition and call.
BLOCK = 0.05

Call = Callable[[], Any]
# Makes the library's calls for rows, by name.
Calls = Callable[[np.ndarray], dict[str, Call]]
# A library's model, its calls for margins, and those for contributions.
Fitted = tuple[Any, Calls, Calls]


def _xgboost(X: np.ndarray, y: np.ndarray, params: dict[str, Any], rounds: int) -> Fitted:
    params = {"nthread": 1, "objective": "binary:logistic", **params}
    matrix = partial(xgboost.DMatrix, nthread=1)
    booster = xgboost.train(params, matrix(X, y), rounds)

    def margins(rows: np.ndarray) -> dict[str, Call]:
        # Of a matrix that it has predicted, XGBoost returns what it found before.
        return {
            "predict of a new DMatrix": lambda: booster.predict(matrix(rows), output_margin=True),
            "inplace_predict": partial(booster.inplace_predict, rows, predict_type="margin"),
        }

    def contributions(rows: np.ndarray) -> dict[str, Call]:
        explained = partial(shap.TreeExplainer(booster).shap_values, rows)
        own = partial(booster.predict, matrix(rows), pred_contribs=True)
        return {"pred_contribs": own, "shap": explained}

    return booster, margins, contributions


def _lightgbm(X: np.ndarray, y: np.ndarray, params: dict[str, Any], rounds: int) -> Fitted:
    params = {"num_threads": 1, "objective": "binary", "verbose": -1, **params}
    booster = lightgbm.train(params, lightgbm.Dataset(X, y), rounds)

    # Doubles, which it reads faster.
    def margins(rows: np.ndarray) -> dict[str, Call]:
        doubles = rows.astype(np.float64)
        return {"predict": partial(booster.predict, doubles, raw_score=True, num_threads=1)}

    def contributions(rows: np.ndarray) -> dict[str, Call]:
        doubles = rows.astype(np.float64)
        own = partial(booster.predict, doubles, pred_contrib=True, num_threads=1)
        return {
            "pred_contrib": own,
            "shap": partial(shap.TreeExplainer(booster).shap_values, doubles),
        }

    return booster, margins, contributions


def _catboost(X: np.ndarray, y: np.ndarray, params: dict[str, Any], rounds: int) -> Fitted:
    model = catboost.CatBoost(
        {"loss_function": "Logloss", "thread_count": 1, "logging_level": "Silent", **params}
        | {"iterations": rounds, "allow_writing_files": False}
    )
    model.fit(X, y)

    def of_pool(name: str, call: Callable[..., Any], **options: str) -> Calls:
        def calls(rows: np.ndarray) -> dict[str, Call]:
            return {name: partial(call, catboost.Pool(rows), thread_count=1, **options)}

        return calls

    return (
        model,
        of_pool("predict of a Pool", model.predict, prediction_type="RawFormulaVal"),
        of_pool("ShapValues", model.get_feature_importance, type="ShapValues"),
    )


MODELS: dict[str, tuple[Callable[..., Fitted], dict[str, Any], int]] = {
    "LightGBM, 100 trees of 31 leaves (default)": (_lightgbm, {}, 100),
    "LightGBM, 300 of 63": (_lightgbm, {"num_leaves": 63}, 300),
    "XGBoost, 100 of depth 6 (default)": (_xgboost, {}, 100),
    "XGBoost, 500 of depth 8": (_xgboost, {"max_depth": 8}, 500),
    "CatBoost, 200 of depth 6": (_catboost, {}, 200),
    "CatBoost, 1,000 of depth 6 (default)": (_catboost, {}, 1000),
}


def data() -> tuple[np.ndarray, np.ndarray]:
    """Returns rows of float32, and labels that depend on all columns."""
    generator = np.random.default_rng(1)
    X = generator.normal(size=(20_000, FEATURES)).astype(np.float32)
    noise = generator.normal(size=len(X))
    return X, (np.sin(X[:, 0] * 2) + X @ np.linspace(-1, 1, FEATURES) + noise > 0).astype(int)


def seconds(call: Call, times: int) -> float:
    """Returns the processor's time of one of several calls."""
    start = time.thread_time()
    for _ in range(times):
        call()
    return (time.thread_time() - start) / times


def in_turns(calls: dict[str, Call]) -> dict[str, list[float]]:
    """Returns the time of each call by repetition."""
    measures = {}
    for name, call in calls.items():
        call()
        times = max(1, int(BLOCK / max(seconds(call, 3), 1e-7)))
        measures[name] = partial(seconds, call, times)
    return interleaved(measures, REPETITIONS)


def subject(name: str) -> dict[str, Any]:
    """Returns the times of a model's calls."""
    (X, y), (fit, params, rounds) = data(), MODELS[name]
    fitted, margins, contributions = fit(X, y, params, rounds)
    engine, rows = gbtrees.Model(fitted), X[:ROWS]
    found = engine.margins(rows)
    for call in margins(rows).values():
        if not np.array_equal(np.asarray(call(), found.dtype).ravel(), found):
            raise SystemExit(f"error: the margins of {name} differ from the library's")
    kinds = {
        "margins": (rows, engine.margins, margins),
        "one row": (X[:1], engine.margins, margins),
        "contributions": (X[:EXPLAINED], engine.contributions, contributions),
    }
    return {
        what: in_turns({"gbtrees": partial(ours, some), **theirs(some)})
        for what, (some, ours, theirs) in kinds.items()
    }


def overhead() -> list[float]:
    """Returns the times of a call for one row of a model of one split: what Python adds, and all but that."""
    X, y = data()
    booster = xgboost.train({"max_depth": 1}, xgboost.DMatrix(X, y, nthread=1), 1)
    model, row = gbtrees.Model(booster), X[:1]
    return in_turns({"call": lambda: model.margins(row)})["call"]


def measure() -> dict[str, Any]:
    load = os.getloadavg()[0]
    found = {
        "overhead": overhead(),
        "subjects": {name: subject(name) for name in MODELS},
        "rows": {"margins": ROWS, "one row": 1, "contributions": EXPLAINED},
        "versions": packages(["catboost", "lightgbm", "shap", "xgboost-cpu"])
        | {"gbtrees": gbtrees.__version__},
    }
    return found | {"load": [load, os.getloadavg()[0]]}


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    path = keep(RESULTS, "wheel", measure)
    print("\n" + page("anywhere.md", path.parent))


if __name__ == "__main__":
    main()
