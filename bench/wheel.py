"""`python -m bench.wheel`: the engine's wheel and each library's fastest call from Python, on one thread.

What is compared is called in turns, in blocks, and timed by the processor's time of the thread, so that other
programs take none of it but caches. A run writes wheel.json to a new directory of bench/results, from which
`make report` generates a page. Margins are compared before anything is timed. `make wheel` builds what is
measured.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Compared:
    """Calls of one library's model by name, each with rows made beforehand."""

    model: gbtrees.Model
    margins: dict[str, Call]
    one_row: dict[str, Call]
    contributions: dict[str, Call]


def _xgboost(X: np.ndarray, y: np.ndarray, params: dict[str, Any], rounds: int) -> Compared:
    params = {"nthread": 1, "objective": "binary:logistic", **params}
    booster = xgboost.train(params, xgboost.DMatrix(X, y, nthread=1), rounds)
    rows, first, few = X[:ROWS], X[:1], X[:EXPLAINED]
    explained = xgboost.DMatrix(few, nthread=1)
    explainer = shap.TreeExplainer(booster)

    def margins(X: np.ndarray) -> dict[str, Call]:
        # Of a matrix that it has predicted, XGBoost returns what it found before.
        return {
            "predict of a new DMatrix": lambda: booster.predict(
                xgboost.DMatrix(X, nthread=1), output_margin=True
            ),
            "inplace_predict": lambda: booster.inplace_predict(X, predict_type="margin"),
        }

    return Compared(
        gbtrees.Model(booster),
        margins(rows),
        margins(first),
        {
            "pred_contribs": lambda: booster.predict(explained, pred_contribs=True),
            "shap": lambda: explainer.shap_values(few),
        },
    )


def _lightgbm(X: np.ndarray, y: np.ndarray, params: dict[str, Any], rounds: int) -> Compared:
    params = {"num_threads": 1, "objective": "binary", "verbose": -1, **params}
    booster = lightgbm.train(params, lightgbm.Dataset(X, y), rounds)
    options = {"raw_score": True, "num_threads": 1}
    # Doubles, which it reads faster.
    rows = X[:ROWS].astype(np.float64)
    few = rows[:EXPLAINED]
    explainer = shap.TreeExplainer(booster)
    return Compared(
        gbtrees.Model(booster),
        {"predict": lambda: booster.predict(rows, **options)},
        {"predict": lambda: booster.predict(rows[:1], **options)},
        {
            "pred_contrib": lambda: booster.predict(few, pred_contrib=True, num_threads=1),
            "shap": lambda: explainer.shap_values(few),
        },
    )


def _catboost(X: np.ndarray, y: np.ndarray, params: dict[str, Any], rounds: int) -> Compared:
    model = catboost.CatBoost(
        {"loss_function": "Logloss", "thread_count": 1, "logging_level": "Silent", **params}
        | {"iterations": rounds, "allow_writing_files": False}
    )
    model.fit(X, y)
    rows, one, few = (catboost.Pool(X[:count]) for count in (ROWS, 1, EXPLAINED))
    options = {"prediction_type": "RawFormulaVal", "thread_count": 1}
    return Compared(
        gbtrees.Model(model),
        {"predict of a Pool": lambda: model.predict(rows, **options)},
        {"predict of a Pool": lambda: model.predict(one, **options)},
        {
            "ShapValues": lambda: model.get_feature_importance(
                few, type="ShapValues", thread_count=1
            )
        },
    )


MODELS: dict[str, tuple[Callable[..., Compared], dict[str, Any], int]] = {
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


def in_turns(calls: dict[str, Call], repetitions: int = REPETITIONS) -> dict[str, list[float]]:
    """Returns the time of each call by repetition."""
    measures = {}
    for name, call in calls.items():
        call()
        times = max(1, int(BLOCK / max(seconds(call, 3), 1e-7)))
        measures[name] = partial(seconds, call, times)
    return interleaved(measures, repetitions)


def subjects() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields what is measured of each model."""
    X, y = data()
    for name, (fit, params, rounds) in MODELS.items():
        made = fit(X, y, params, rounds)
        rows, few = X[:ROWS], X[:EXPLAINED]
        found = made.model.margins(rows)
        for call in made.margins.values():
            if not np.array_equal(np.asarray(call(), found.dtype).ravel(), found):
                raise SystemExit(f"error: the margins of {name} differ from the library's")
        engine = made.model
        calls: dict[str, tuple[Call, dict[str, Call]]] = {
            "margins": (partial(engine.margins, rows), made.margins),
            "one row": (partial(engine.margins, X[:1]), made.one_row),
            "contributions": (partial(engine.contributions, few), made.contributions),
        }
        yield (
            name,
            {what: in_turns({"gbtrees": ours, **theirs}) for what, (ours, theirs) in calls.items()},
        )


def overhead() -> list[float]:
    """Returns the times of a call for one row of a model of one split: what Python adds, and all but that."""
    X, y = data()
    booster = xgboost.train({"max_depth": 1}, xgboost.DMatrix(X, y, nthread=1), 1)
    model, row = gbtrees.Model(booster), X[:1]
    return in_turns({"call": lambda: model.margins(row)})["call"]


def measure() -> dict[str, Any]:
    """Measures everything."""
    load = os.getloadavg()[0]
    found = {
        "overhead": overhead(),
        "subjects": dict(subjects()),
        "rows": {"margins": ROWS, "one row": 1, "contributions": EXPLAINED},
        "versions": packages(["catboost", "lightgbm", "shap", "xgboost-cpu"])
        | {"gbtrees": gbtrees.__version__},
    }
    return found | {"load": [load, os.getloadavg()[0]]}


def main() -> None:
    """Measures, records, and prints the page."""
    path = keep(RESULTS, "wheel", measure)
    print("\n" + page("wheel", path.parent))


if __name__ == "__main__":
    main()
