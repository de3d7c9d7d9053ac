"""Explanations by the engine compared with the models' own libraries and shap, in turns in one run.

Usage: python explanations.py FOLDER BENCH [TURNS [MODEL...]] > explanations.jsonl

FOLDER keeps models and rows; those that are missing are trained. BENCH is the benchmark that
`cargo bench -p gbtrees --bench explanations --no-run` builds, which serves one model at a time. One thread
each.
What is explained of the first rows is compared first. Then the sides take turns; a line has, for each turn,
the nanoseconds of the processor per row, which other programs disturb less than those of the clock.

XGBoost and CatBoost explain a matrix that was made beforehand. `shap` is its C extension alone, called
as its TreeExplainer would with the trees of XGBoost's and LightGBM's models. Sides whose package is missing
are left out; an XGBoost unpacked into a folder comes first with PYTHONPATH.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import xgboost

import catboost
import lightgbm

try:
    import shap
except ImportError:
    shap = None

# Other output goes to standard error.
RESULTS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

TRAINING_ROWS, SCORED_ROWS = 20_000, 4096
# Name, features, and parameters: defaults of the libraries, what the grid has, and deep trees.
MODELS = {
    "xgboost-100x6": (10, {}),
    "xgboost-25x6": (10, {"n": 25}),
    "xgboost-500x8": (10, {"n": 500, "max_depth": 8}),
    "xgboost-100x10": (10, {"max_depth": 10}),
    "xgboost-50x12": (10, {"n": 50, "max_depth": 12}),
    "xgboost-25x12": (10, {"n": 25, "max_depth": 12}),
    "xgboost-100x6-wide": (200, {}),
    "xgboost-forest-50x20": (10, {"n": 1, "num_parallel_tree": 50, "max_depth": 20, "eta": 1.0}),
    "lightgbm-100x31": (10, {}),
    "lightgbm-100x31-30": (30, {}),
    "lightgbm-300x63": (10, {"n": 300, "num_leaves": 63}),
    "lightgbm-200x127": (10, {"n": 200, "num_leaves": 127}),
    "lightgbm-200x255": (10, {"n": 200, "num_leaves": 255}),
    "lightgbm-200x255-30": (30, {"n": 200, "num_leaves": 255}),
    "catboost-100x6": (10, {}),
}  # fmt: skip
# Kinds of explanations, with rows per call.
CALLS = (
    ("contributions", 2048),
    ("contributions", 16),
    ("contributions", 1),
    ("interactions", 256),
)
# Models of which interactions are computed, for which XGBoost walks each tree twice per feature.
INTERACTIONS = ("xgboost-100x6", "xgboost-25x6", "xgboost-500x8", "xgboost-25x12")
# Seconds that a side has for a turn; a slow one explains fewer rows per call, which stand for all.
SECONDS = float(os.environ.get("SECONDS_A_TURN", "0.5"))
FEW = 16

# Codes of shap's C extension.
PATH_DEPENDENT, IDENTITY = 1, 0

Explain = Callable[[str, np.ndarray], np.ndarray]


class Engine:
    """The engine with a model, in a separate process."""

    def __init__(self, bench: Path, model: Path, rows: Path) -> None:
        pipe = subprocess.PIPE
        self._child = subprocess.Popen([bench, model, rows], stdin=pipe, stdout=pipe, text=True)

    def ask(self, line: str) -> str:
        """Sends a request; returns its answer."""
        self._child.stdin.write(line + "\n")
        self._child.stdin.flush()
        return self._child.stdout.readline().strip()

    def close(self) -> None:
        """End the process."""
        self._child.stdin.close()
        self._child.wait()


def table(features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns training rows with targets, and rows to explain."""
    rng = np.random.default_rng(features)
    values = rng.normal(size=(TRAINING_ROWS + SCORED_ROWS, features)).astype(np.float32)
    target = np.sin(2 * values[:, 0]) + values[:, 1] * values[:, 2] - (values[:, 3] > 0.5)
    target += 0.3 * values[:, 4:8].sum(axis=1) + rng.normal(size=len(values))
    return values[:TRAINING_ROWS], target[:TRAINING_ROWS], values[TRAINING_ROWS:]


def train(path: Path, name: str, features: int, params: dict) -> None:
    """Writes the model's file."""
    values, target, _ = table(features)
    params = {**params, "seed": 7}
    rounds = params.pop("n", 100)
    if name.startswith("xgboost"):
        if "forest" in name:
            params |= {
                "subsample": 0.63,
                "colsample_bynode": 0.5,
                "lambda": 0,
                "min_child_weight": 1,
            }
        data = xgboost.DMatrix(values, target)
        xgboost.train({**params, "nthread": 1}, data, rounds).save_model(path)
    elif name.startswith("lightgbm"):
        params |= {"verbose": -1, "num_threads": 1}
        lightgbm.train(params, lightgbm.Dataset(values, target), rounds).save_model(path)
    else:
        params = {
            "iterations": rounds,
            "random_seed": 7,
            "verbose": False,
            "allow_writing_files": False,
        }
        catboost.CatBoost(params).fit(values, target).save_model(str(path))


def xgboost_sides(path: Path, rows: np.ndarray) -> dict[str, Explain]:
    """XGBoost with matrices made beforehand, and shap's code with its trees."""
    booster = xgboost.Booster({"nthread": 1}, model_file=path)
    matrices: dict[tuple, xgboost.DMatrix] = {}

    def explain(what: str, rows: np.ndarray) -> np.ndarray:
        key = (rows.ctypes.data, len(rows))
        if key not in matrices:
            matrices[key] = xgboost.DMatrix(rows, nthread=1)
        return booster.predict(matrices[key], **{f"pred_{what.replace('utions', 's')}": True})

    return {f"xgboost {xgboost.__version__}": explain} | shap_side(booster, rows)


def shap_side(booster: object, rows: np.ndarray) -> dict[str, Explain]:
    """shap's C extension, which has no interactions here."""
    if shap is None:
        return {}
    trees = shap.TreeExplainer(booster).model
    missing = np.zeros(rows.shape, dtype=bool)

    def explain(what: str, rows: np.ndarray) -> np.ndarray | None:
        if what == "interactions":
            return None
        out = np.zeros((len(rows), rows.shape[1] + 1, trees.num_outputs))
        # By the covers of the model, margins, no interactions.
        how = (PATH_DEPENDENT, IDENTITY, False)
        shap._cext.dense_tree_shap(
            trees.children_left, trees.children_right, trees.children_default, trees.features,
            trees.thresholds, trees.threshold_types, trees.values, trees.node_sample_weight,
            trees.max_depth, rows.astype(np.float64), missing[: len(rows)], None, None, None,
            len(trees.values), trees.base_offset, out, *how,
        )  # fmt: skip
        return out[:, :, 0]

    try:
        explain("contributions", rows[:1])
    except (TypeError, AttributeError) as error:
        print(f"shap {shap.__version__} is left out: {error}")
        return {}
    return {f"shap {shap.__version__}": explain}


def lightgbm_sides(path: Path, rows: np.ndarray) -> dict[str, Explain]:
    """LightGBM, which has no interactions, and shap's code."""
    booster = lightgbm.Booster(model_file=path)

    def explain(what: str, rows: np.ndarray) -> np.ndarray | None:
        if what == "interactions":
            return None
        return booster.predict(rows, pred_contrib=True, num_threads=1)

    return {f"lightgbm {lightgbm.__version__}": explain} | shap_side(booster, rows)


def catboost_sides(path: Path, _: np.ndarray) -> dict[str, Explain]:
    """CatBoost with pools made beforehand."""
    model = catboost.CatBoost().load_model(str(path))
    pools: dict[tuple, catboost.Pool] = {}

    def explain(what: str, rows: np.ndarray) -> np.ndarray | None:
        if what == "interactions":
            return None
        key = (rows.ctypes.data, len(rows))
        pool = pools.setdefault(key, catboost.Pool(rows))
        return model.get_feature_importance(pool, type="ShapValues", thread_count=1)

    return {f"catboost {catboost.__version__}": explain}


SIDES = {"xgboost": xgboost_sides, "lightgbm": lightgbm_sides, "catboost": catboost_sides}


def of_peer(explain: Explain, what: str, count: int, rows: np.ndarray) -> Callable[[], float]:
    """Returns the nanoseconds per row of as many calls as fit into a turn."""
    starts = [*range(0, len(rows) - count + 1, count)][:64]
    parts = [np.ascontiguousarray(rows[start : start + count]) for start in starts]
    a_row = _seconds(lambda: explain(what, parts[0][:FEW])) / min(count, FEW)
    if count > FEW:
        count = max(FEW, min(count, int(4 * SECONDS / a_row)))
    calls_fit = max(1, int(SECONDS / (a_row * count)))
    parts = [np.ascontiguousarray(part[:count]) for part in parts[:calls_fit]]
    for part in parts:
        # Matrices are made here.
        explain(what, part)

    def turn() -> float:
        begin, calls = time.process_time_ns(), 0
        while calls == 0 or time.process_time_ns() - begin < SECONDS * 1e9:
            explain(what, parts[calls % len(parts)])
            calls += 1
        return (time.process_time_ns() - begin) / (calls * count)

    return turn


def _seconds(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def of_engine(engine: Engine, what: str, kernel: str, count: int) -> Callable[[], float]:
    """Returns the nanoseconds per row of the engine."""
    first = float(engine.ask(f"{what} {kernel} {count} 1"))
    calls = max(1, int(SECONDS * 1e9 / (first * count)))
    return lambda: float(engine.ask(f"{what} {kernel} {count} {calls}"))


def measure(name: str, folder: Path, bench: Path, turns: int) -> None:
    """Measures all calls of a model."""
    features, params = MODELS[name]
    kind = name.split("-", maxsplit=1)[0]
    path = folder / f"{name}.{({'xgboost': 'ubj', 'lightgbm': 'txt', 'catboost': 'cbm'})[kind]}"
    if not path.exists():
        train(path, name, features, dict(params))
    rows = table(features)[2]
    rows_path = folder / f"explained-{features}.f32"
    rows.tofile(rows_path)
    engine = Engine(bench, path, rows_path)
    kernels = engine.ask("kernels").split()
    peers = SIDES[kind](path, rows)
    for what, count in CALLS:
        if what == "interactions" and name not in INTERACTIONS:
            continue
        few = 4 if what == "interactions" else 16
        ours = np.array(json.loads(engine.ask(f"values {what} {few}")))
        sides = {f"gbdt {kernel}": of_engine(engine, what, kernel, count) for kernel in kernels}
        apart = {}
        for side, explain in peers.items():
            theirs = explain(what, rows[:few])
            if theirs is None:
                continue
            difference = np.abs(ours.reshape(theirs.shape) - theirs).max()
            apart[side] = float(difference / np.abs(theirs).max())
            sides[side] = of_peer(explain, what, count, rows)
        times: dict[str, list[float]] = {side: [] for side in sides}
        for _ in range(turns):
            for side, turn in sides.items():
                times[side].append(turn())
        for side, ns in times.items():
            line = {"model": name, "what": what, "rows": count, "side": side, "ns_a_row": ns}
            if side in apart:
                line["apart"] = apart[side]
            print(json.dumps(line), file=RESULTS, flush=True)
        print(
            name,
            what,
            count,
            {side: round(statistics.median(ns)) for side, ns in times.items()},
            apart,
        )
    engine.close()


def main() -> None:
    """Measures the named models, or all."""
    folder, bench = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[4:] or MODELS:
        measure(name, folder, bench, turns)


if __name__ == "__main__":
    main()
