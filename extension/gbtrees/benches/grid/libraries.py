"""Measure models of `shapes.py`, and any by two builds, in turns with the engine's kernels, one thread each.

Usage: python libraries.py libraries FOLDER GRID_BENCH [SECONDS] > scores.jsonl
       python libraries.py compiled FOLDER GRID_BENCH [SECONDS] > compiled.jsonl
       python libraries.py builds FOLDER GRID_BENCH [SECONDS] OTHER_GRID_BENCH > builds.jsonl

GRID_BENCH is the benchmark that `cargo bench -p gbtrees --bench grid --no-run` builds, which serves one model
at a time, and measures XGBoost's and LightGBM's by itself. The first form measures those of CatBoost and
scikit-learn: CatBoost by pools that were made beforehand, forests by scikit-learn, ONNX Runtime and
Yggdrasil. The second measures a few models that other programs make code of: TL2cgen, and lleaves those of
LightGBM. The third measures XGBoost's and LightGBM's by two builds of the engine, whose margins are equal.

Margins are compared first. Calls have as many rows as the environment variable ROWS lists, one and 2,048;
times are those of the processor. Libraries are called from Python, with rows in memory. Those that are not
installed are left out.
"""

import importlib
import os
import pickle
import sys
import tempfile
import time
from pathlib import Path

import formats
import numpy as np
from formats import COMPARED, Engine, Predict, block_of, catboost_sides, measure, onnx_sides
from shapes import rows_of

ROWS = tuple(map(int, os.environ.get("ROWS", "1 2048").split()))
KERNELS = ("avx2", "portable")
if "avx512_vbmi" in Path("/proc/cpuinfo").read_text():
    KERNELS = ("avx512", *KERNELS)
COMPILED = ("100x31x10-leafwise", "100x31x50-leafwise", "100x6x10-default", "100x6x50-default")
#: How far from each other margins may be, of the largest, that a library computes in its own order.
APART = 1e-5

Sides = tuple[np.ndarray, dict[str, Predict]]


def installed(name: str) -> object | None:
    """Imports a package; returns None if it is missing or does not run here."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return None


def forest_sides(path: Path, rows: np.ndarray) -> Sides:
    """scikit-learn, ONNX Runtime, and Yggdrasil for what it reads."""
    model = pickle.loads(path.with_suffix(".pickle").read_bytes())
    call = getattr(model, "predict_proba", getattr(model, "decision_function", model.predict))
    if path.stem.endswith("isolation"):
        call = model.decision_function
    sides = {"scikit-learn": lambda first, count: call(rows[first : first + count])}
    sides |= onnx_sides(path, rows)[1]
    if (ydf := installed("ydf")) and not hasattr(model, "predict_proba"):
        other = ydf.from_sklearn(model, feature_name="rows")
        sides[f"yggdrasil {ydf.__version__}"] = lambda first, count: other.predict(
            {"rows": rows[first : first + count]}, num_threads=1
        )
    return np.asarray(call(rows[:COMPARED]), dtype=np.float64), sides


def compiled_sides(path: Path, rows: np.ndarray) -> Sides:
    """Code compiled from the model; LightGBM's or XGBoost's margins are expected."""
    folder, is_text = Path(tempfile.mkdtemp()), path.suffix == ".txt"
    sides = {}
    if is_text:
        expected = importlib.import_module("lightgbm").Booster(model_file=path)
        expected = expected.predict(rows[:COMPARED], raw_score=True)
    else:
        expected = importlib.import_module("xgboost").Booster(model_file=path)
        expected = expected.inplace_predict(rows[:COMPARED], predict_type="margin")
    if installed("treelite") and (tl2cgen := installed("tl2cgen")):
        load = sys.modules["treelite"].frontend
        model = (load.load_lightgbm_model if is_text else load.load_xgboost_model)(path)
        library, params = folder / f"{path.stem}.so", {"quantize": 1, "parallel_comp": 8}
        tl2cgen.export_lib(model, toolchain="gcc", libpath=library, params=params)
        predictor = tl2cgen.Predictor(library, nthread=1)
        sides[f"tl2cgen {tl2cgen.__version__}"] = lambda first, count: predictor.predict(
            tl2cgen.DMatrix(rows[first : first + count]), pred_margin=True
        )
    if is_text and (lleaves := installed("lleaves")):
        code = lleaves.Model(model_file=path)
        code.compile(raw_score=True)
        sides["lleaves"] = lambda first, count: code.predict(rows[first : first + count], n_jobs=1)
    for name, predict in sides.items():
        apart = np.abs(np.ravel(predict(0, COMPARED)) - expected).max() / np.abs(expected).max()
        if apart > APART:
            raise SystemExit(f"{path.name}: {name}'s margins are {apart} apart")
    return np.asarray(expected, dtype=np.float64), sides


def compare(path: Path, engines: dict[str, Engine], expected: np.ndarray) -> None:
    """Exits unless the kernels' margins are equal, and close to the library's."""
    first, *others = [engine.margins(COMPARED) for engine in engines.values()]
    if not all(np.array_equal(first, other) for other in others):
        raise SystemExit(f"{path.name}: margins of two kernels differ")
    if path.stem.endswith("isolation"):
        # The margin is the mean depth of a row's leaves, by which scikit-learn's score is made.
        expected, first = expected - expected.mean(), -(2.0**-first) + (2.0**-first).mean()
    apart = np.abs(first - expected.ravel()).max() / np.abs(expected).max()
    if apart > APART:
        raise SystemExit(f"{path.name}: margins are {apart} of the largest apart")


def beside_libraries(paths: list[Path], bench: Path, seconds: float) -> None:
    """Measures each model with its libraries."""
    share = seconds * 0.5 / (len(paths) * len(ROWS) * 4 * formats.BLOCKS)
    sides_of = {".onnx": forest_sides, ".cbm": catboost_sides}
    for path in paths:
        rows_path = rows_of(path.parent, path.stem)
        features = int(path.stem.split("x", 2)[2].split("-")[0])
        rows = np.fromfile(rows_path, dtype="<f4").reshape(-1, features)
        expected, sides = sides_of.get(path.suffix, compiled_sides)(path, rows)
        engines = {name: Engine(bench, path, rows_path, name) for name in KERNELS}
        compare(path, engines, expected)
        blocks = {f"gbdt {name}": engine.block for name, engine in engines.items()}
        blocks |= {name: block_of(predict, time.process_time_ns) for name, predict in sides.items()}
        measure(path.stem, blocks, share)
        for engine in engines.values():
            engine.close()


def beside_each_other(paths: list[Path], benches: list[Path], seconds: float) -> None:
    """Measures each model with two builds of the engine, whose margins must be equal."""
    share = seconds / (len(paths) * len(KERNELS) * 2 * formats.BLOCKS * len(ROWS))
    for path in paths:
        for kernel in KERNELS:
            rows = path.parent / f"rows-{path.stem.split('x', 2)[2]}.f32"
            engines = [Engine(bench, path, rows, kernel) for bench in benches]
            margins = [engine.margins(COMPARED) for engine in engines]
            if not np.array_equal(*margins):
                raise SystemExit(f"{path.name}, {kernel}: margins differ")
            names = (f"gbdt {kernel}", f"gbdt {kernel}, other build")
            blocks = [engine.block for engine in engines]
            measure(path.stem, dict(zip(names, blocks, strict=True)), share)
            for engine in engines:
                engine.close()


def main() -> None:
    """Measure."""
    what, folder, *benches = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3])
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 180.0
    formats.ROWS = ROWS
    endings = (".onnx", ".cbm") if what == "libraries" else (".txt", ".ubj")
    paths = sorted(path for path in folder.iterdir() if path.suffix in endings)
    if what == "builds":
        beside_each_other(paths, [*benches, Path(sys.argv[5])], seconds)
    else:
        paths = [path for path in paths if what == "libraries" or path.stem in COMPILED]
        beside_libraries(paths, benches[0], seconds)


if __name__ == "__main__":
    main()
