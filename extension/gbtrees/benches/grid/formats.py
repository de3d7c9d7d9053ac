"""The engine against ONNX Runtime and CatBoost's evaluator on their models, in turns in one run.

Usage: python formats.py FOLDER GRID_BENCH [SECONDS] > formats.jsonl

FOLDER is what `train.py` wrote, for its rows; models that are missing are trained into its folder `formats`.
GRID_BENCH is the benchmark that `cargo bench -p gbtrees --bench grid --no-run` builds, which serves one model
at a time. One thread each. Margins of 4,096 rows are compared first: CatBoost's must be equal to the bit,
ONNX Runtime's within one unit in the last place. Then all sides take turns, block after block.

CatBoost predicts a `Pool` that was made beforehand, of the raw rows, or quantized with the model's borders,
which saves it the comparisons with borders. Making it is not counted, and it has the same rows in each
call. Needs catboost, onnxruntime, skl2onnx and scikit-learn.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
from shapes import pool
from skl2onnx import to_onnx
from sklearn.ensemble import GradientBoostingRegressor

import catboost
from train import SCORED_ROWS, TRAINING_ROWS, table

SHAPES = ((25, 6), (100, 6), (500, 8))
FEATURES, ROWS = 10, (1024, 100_000)
COMPARED, BLOCKS = 4096, 7

# Other output goes to standard error.
RESULTS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

Predict = Callable[[int, int], object]


class Engine:
    """The engine with a model, in a separate process."""

    def __init__(self, bench: Path, model: Path, rows: Path, kernel: str = "auto") -> None:
        pipe = subprocess.PIPE
        command = [bench, "serve", model, rows, kernel]
        self._child = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def _ask(self, line: str) -> str:
        self._child.stdin.write(line + "\n")
        self._child.stdin.flush()
        return self._child.stdout.readline()

    def margins(self, count: int) -> np.ndarray:
        """Returns the margins of the first rows."""
        return np.array(json.loads(self._ask(f"margins {count}")))

    def block(self, count: int, calls: int) -> float:
        """Returns the nanoseconds per row."""
        return float(self._ask(f"block {count} {calls}"))

    def close(self) -> None:
        """End the process."""
        self._child.stdin.close()
        self._child.wait()


def block_of(
    predict: Predict, clock: Callable[[], int] = time.perf_counter_ns
) -> Callable[[int, int], float]:
    """Returns a function that measures nanoseconds per row, continuing through the rows."""
    first = 0

    def block(count: int, calls: int) -> float:
        nonlocal first
        start = clock()
        for _ in range(calls):
            predict(first, count)
            first = (first + count) % (SCORED_ROWS - count + 1)
        return (clock() - start) / (calls * count)

    return block


def train_onnx(path: Path, trees: int, depth: int) -> None:
    """Gradient boosting of scikit-learn, by skl2onnx."""
    if path.exists():
        return
    values, label = table(np.random.default_rng([depth, 10, 5]), TRAINING_ROWS, FEATURES, "dense")
    params = {"n_estimators": trees, "max_depth": depth, "subsample": 0.25, "random_state": 7}
    model = GradientBoostingRegressor(**params).fit(values, label)
    opset = {"": 17, "ai.onnx.ml": 3}
    path.write_bytes(to_onnx(model, values[:1], target_opset=opset).SerializeToString())


def train_catboost(path: Path, trees: int, depth: int) -> None:
    """Symmetric trees."""
    if path.exists():
        return
    values, label = table(np.random.default_rng([depth, 10, 5]), TRAINING_ROWS, FEATURES, "dense")
    params = {"iterations": trees, "depth": depth, "random_seed": 7, "thread_count": 1}
    quiet = {"verbose": False, "allow_writing_files": False}
    model = catboost.CatBoost({"loss_function": "Logloss", **params, **quiet}).fit(values, label)
    model.save_model(str(path))


def onnx_sides(path: Path, rows: np.ndarray) -> tuple[np.ndarray, dict[str, Predict]]:
    """ONNX Runtime with one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=providers)
    name = session.get_inputs()[0].name

    def predict(first: int, count: int) -> np.ndarray:
        return session.run(None, {name: rows[first : first + count]})[0]

    return predict(0, COMPARED), {f"onnx runtime {onnxruntime.__version__}": predict}


def catboost_sides(path: Path, rows: np.ndarray) -> tuple[np.ndarray, dict[str, Predict]]:
    """CatBoost with one thread, by pools of the first rows, made beforehand."""
    model = catboost.CatBoost().load_model(str(path))
    with tempfile.TemporaryDirectory() as folder:
        borders = Path(folder) / "borders"
        model.save_borders(str(borders))

        def made_of(kind: str, count: int) -> catboost.Pool:
            made = pool(path.stem, rows[:count])
            if kind == "quantized":
                made.quantize(input_borders=str(borders))
            return made

        # CatBoost fails on quantized features of more borders than a byte counts, and on those of categories.
        most = max(len(borders) for borders in model.get_borders().values())
        can_quantize = most < 256 and not model.get_cat_feature_indices()
        kinds = ("raw", "quantized") if can_quantize else ("raw",)
        pools = {(kind, n): made_of(kind, n) for kind in kinds for n in (*ROWS, COMPARED)}

    def margins(kind: str, count: int) -> np.ndarray:
        pool = pools[kind, count]
        return model.predict(pool, prediction_type="RawFormulaVal", thread_count=1)

    expected = margins("raw", COMPARED)
    if not all(np.array_equal(expected, margins(kind, COMPARED)) for kind in kinds):
        raise SystemExit("a quantized pool has other margins")
    return expected, {
        f"catboost {catboost.__version__}, {kind} pool": lambda _, count, kind=kind: margins(
            kind, count
        )
        for kind in kinds
    }


def measure(name: str, sides: dict[str, Callable[[int, int], float]], share: float) -> None:
    """Measure all sides in turn, the engine first, and write their lines."""
    for count in ROWS:
        calls, times = {}, {side: [] for side in sides}
        for side, block in sides.items():
            few = 1 if count > 1 else 16
            block(count, few)
            calls[side] = max(1, int(share * 1e9 / (block(count, few) * count)))
        for _ in range(BLOCKS):
            for side, block in sides.items():
                times[side].append(block(count, calls[side]))
        engine = statistics.median(times[next(iter(sides))])
        for side, found in times.items():
            times_engine = statistics.median(found) / engine
            line = {
                "model": name,
                "rows": count,
                "side": side,
                "ns_a_row": found,
                "rows_called": count,
                "calls": calls[side],
                "times_engine": times_engine,
            }
            print(json.dumps(line), file=RESULTS, flush=True)
            low, high = min(found), max(found)
            median = statistics.median(found)
            text = f"{median:.1f} ns ({low:.1f} to {high:.1f}), {times_engine:.2f} times"
            print(f"{name}, {count} rows, {side}: {text}", file=sys.stderr)


def main() -> None:
    """Train what is missing, and measure all."""
    folder, bench = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 180.0
    row_file = folder / "rows-10-dense.f32"
    rows = np.fromfile(row_file, dtype="<f4").reshape(-1, FEATURES)
    models = folder / "formats"
    models.mkdir(exist_ok=True)
    # With the units in the last place that margins may be apart.
    kinds = {
        "onnx": (train_onnx, onnx_sides, 1),
        "cbm": (train_catboost, catboost_sides, 0),
    }
    # Loading, comparing and warming up take a share, too.
    share = seconds * 0.6 / (len(kinds) * len(SHAPES) * len(ROWS) * 3 * BLOCKS)
    for trees, depth in SHAPES:
        for ending, (train, others, max_ulp) in kinds.items():
            path = models / f"{trees}x{depth}x{FEATURES}-dense.{ending}"
            train(path, trees, depth)
            expected, sides = others(path, rows)
            engine = Engine(bench, path, row_file)
            found = engine.margins(COMPARED)
            expected = np.asarray(expected, dtype=np.float64).ravel()
            ulp = np.spacing(np.abs(expected).astype(np.float32))
            apart = (np.abs(found - expected) / ulp).max()
            if apart > max_ulp:
                raise SystemExit(f"{path.name}: margins are {apart} units in the last place apart")
            blocks = {side: block_of(predict) for side, predict in sides.items()}
            measure(path.name, {"gbdt": engine.block, **blocks}, share)
            engine.close()


if __name__ == "__main__":
    main()
