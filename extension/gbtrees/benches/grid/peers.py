"""Other engines that load XGBoost's models, beside the engine, on the same rows in one run.

Usage: python peers.py FOLDER GRID_BENCH LIBXGBOOST > peers.jsonl

FOLDER is what `train.py` wrote, GRID_BENCH the benchmark that `cargo bench -p gbtrees --bench grid
--no-run` builds. For each of a few models of ten features, the engine and each of the others take
turns, all with one thread, and each is called from where its users call it: the engine and XGBoost
from compiled code, the others from Python with numpy rows, which costs the more the fewer rows there
are. So one row is left out. Lines are as the benchmark writes them.

TL2cgen compiles the model with the C compiler, quantised, as its authors advise; ONNX Runtime runs
what onnxmltools converts. Neither gives XGBoost's bits: the largest difference of a margin is in the
line. Needs xgboost, treelite, tl2cgen, onnxruntime, onnxmltools and a C compiler.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import tl2cgen
import treelite
import xgboost as xgb
from onnxmltools.convert import convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

MODELS = ("25x6x10-dense", "100x6x10-dense", "500x6x10-dense", "500x8x10-dense")
ROWS = (64, 1024, 100_000)
BLOCKS = 5
SHARE = 0.1
FEATURES = 10

# Compilers that the others run write to standard output, too: that goes to standard error.
RESULTS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

Margins = Callable[[np.ndarray], np.ndarray]


def by_tl2cgen(path: Path, folder: Path) -> Margins:
    """The model as C code, compiled."""
    model = treelite.frontend.load_xgboost_model(path)
    library = folder / f"{path.stem}.so"
    tl2cgen.export_lib(
        model,
        toolchain="gcc",
        libpath=library,
        params={"quantize": 1, "parallel_comp": 8},
        verbose=False,
    )
    predictor = tl2cgen.Predictor(library, nthread=1)
    return lambda rows: predictor.predict(tl2cgen.DMatrix(rows), pred_margin=True)


def by_gtil(path: Path, _: Path) -> Margins:
    """Treelite's own interpreter."""
    model = treelite.frontend.load_xgboost_model(path)
    return lambda rows: treelite.gtil.predict(model, rows, nthread=1, pred_margin=True)


def by_onnx(path: Path, _: Path) -> Margins:
    """The model as an ONNX graph; its probabilities are turned back into margins."""
    booster = xgb.Booster(model_file=path)
    graph = convert_xgboost(
        booster, initial_types=[("rows", FloatTensorType([None, FEATURES]))], target_opset=15
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )

    def margins(rows: np.ndarray) -> np.ndarray:
        probability = session.run(["probabilities"], {"rows": rows})[0][:, 1].astype(np.float64)
        return np.log(probability / (1.0 - probability))

    return margins


def block(margins: Margins, rows: np.ndarray, count: int, calls: int) -> float:
    """Nanoseconds a row of so many calls, walking through the rows."""
    start = time.perf_counter_ns()
    first = 0
    for _ in range(calls):
        margins(rows[first : first + count])
        first = (first + count) % (len(rows) - count + 1)
    return (time.perf_counter_ns() - start) / (calls * count)


def measure(name: str, side: str, margins: Margins, rows: np.ndarray, apart: float) -> None:
    """Measure one side, and write its lines."""
    for count in ROWS:
        few = min(count, 1024)
        block(margins, rows, few, 1)
        fit = int(SHARE * 1e9 / block(margins, rows, few, 3))
        called = count if fit >= count else max(few, min(count, fit))
        calls = max(1, fit // called)
        times = [block(margins, rows, called, calls) for _ in range(BLOCKS)]
        line = {
            "model": name,
            "rows": count,
            "side": side,
            "ns_a_row": times,
            "rows_called": called,
            "calls": calls,
            "margin_apart": apart,
        }
        print(json.dumps(line), file=RESULTS, flush=True)


def run_engine(grid: Path, model: Path, rows: Path, library: str) -> None:
    """The engine and XGBoost on one model."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / model.name).symlink_to(model)
        (Path(folder) / rows.name).symlink_to(rows)
        subprocess.run([grid, folder, "12", library], check=True, stdout=RESULTS)


def main() -> None:
    """Measure all on all models."""
    folder, grid, library = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3]
    sides = {"tl2cgen": by_tl2cgen, "treelite gtil": by_gtil, "onnx runtime": by_onnx}
    for name in MODELS:
        path, row_file = folder / f"{name}.ubj", folder / "rows-10-dense.f32"
        rows = np.fromfile(row_file, dtype="<f4").reshape(-1, FEATURES)
        run_engine(grid, path, row_file, library)
        few = rows[:4096]
        expected = xgb.Booster(model_file=path).inplace_predict(few, predict_type="margin")
        for side, make in sides.items():
            with tempfile.TemporaryDirectory() as work:
                margins = make(path, Path(work))
                apart = float(np.abs(margins(few).ravel() - expected).max())
                measure(name, side, margins, rows, apart)


if __name__ == "__main__":
    main()
