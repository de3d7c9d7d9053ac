"""Train and measure trees of the shapes that people train: leaf-wise, deep, symmetric, and forests.

Usage: python shapes.py FOLDER train
       python shapes.py FOLDER GRID_BENCH [SECONDS] [OTHER_GRID_BENCH] > shapes.jsonl

FOLDER gets the models, TREESxSIZExFEATURES-KIND, where a size is a number of leaves or a depth, and rows
for each. Models that are there are not trained again. Kinds:

    leafwise    LightGBM's default, leaf by leaf without a limit on depth; leafwise5 has five classes
    lossguide   the same by XGBoost; deep is XGBoost's default policy at depth 10 and 12
    forest      scikit-learn's random forest, as ONNX
    oblivious   CatBoost's default; bordersN are random symmetric trees, N borders a feature, of any depth

The second form measures what has no C interface here, CatBoost by its pools and forests by scikit-learn
and ONNX Runtime, in turns with the engine, one thread each. With OTHER_GRID_BENCH, another build of the
benchmark, it measures all models by both builds in turns instead, with every kernel that both know.
LightGBM's and XGBoost's models are measured in one process beside their libraries by the benchmark itself:

    cargo bench -p gbtrees --bench grid -- FOLDER SECONDS LIBXGBOOST LIBLIGHTGBM > grid.jsonl

Times of one block are CPU time, medians are over blocks. Needs xgboost, lightgbm, catboost, scikit-learn,
skl2onnx, onnxruntime.
"""

import json
import os
import sys
import time
from pathlib import Path

import formats
import numpy as np
import xgboost as xgb
from formats import COMPARED, Engine, catboost_sides, measure, onnx_sides
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestRegressor

import catboost
import lightgbm as lgb
from train import TRAINING_ROWS, table

FEATURES = (10, 50)
#: Trees and leaves, or depth.
LEAFWISE = ((100, 31), (300, 63), (500, 127), (200, 255))
LOSSGUIDE = ((100, 31), (100, 255))
DEEP = ((100, 10), (50, 12))
FOREST = ((100, 25),)
OBLIVIOUS = ((500, 6), (500, 8), (200, 10))
CELLS = (*range(1, 13), 14, 16)
BORDERS = (1, 32, 254, 65_535)
SCORED_ROWS = 100_000


def data(features: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows to train on."""
    return table(np.random.default_rng([features, 34]), TRAINING_ROWS, features, "dense")


def rows_of(folder: Path, name: str) -> np.ndarray:
    """The rows to score of a model, written where the benchmark looks for them."""
    features, kind = name.split("x")[2].split("-")
    path = folder / f"rows-{features}-{kind.split('.')[0]}.f32"
    if not path.exists():
        rng = np.random.default_rng([int(features), 35])
        table(rng, SCORED_ROWS, int(features), "dense")[0].astype("<f4").tofile(path)
    return np.fromfile(path, dtype="<f4").reshape(-1, int(features))


def leafwise(path: Path, trees: int, leaves: int, features: int, classes: int = 1) -> None:
    """LightGBM's defaults, but for the number of leaves."""
    values, label = data(features)
    params = {"objective": "binary", "num_leaves": leaves, "num_threads": 1, "verbosity": -1}
    if classes > 1:
        params |= {"objective": "multiclass", "num_class": classes}
        label = np.digitize(values[:, 0] + label, np.linspace(-1, 2, classes - 1))
    lgb.train(params, lgb.Dataset(values, label), trees).save_model(path)


def xgboost(path: Path, trees: int, features: int, **params: object) -> None:
    """XGBoost's defaults, but for these parameters."""
    values, label = data(features)
    matrix = xgb.QuantileDMatrix(values, label=label)
    params = {"objective": "binary:logistic", "nthread": 1, "seed": 7, **params}
    xgb.train(params, matrix, trees).save_model(path)


def forest(path: Path, trees: int, depth: int, features: int) -> None:
    """A random forest of scikit-learn, kept beside its ONNX file as a pickle of its parameters."""
    model = fitted_forest(trees, depth, features)
    opset = {"": 17, "ai.onnx.ml": 3}
    onnx = to_onnx(model, np.zeros((1, features), np.float32), target_opset=opset)
    path.write_bytes(onnx.SerializeToString())


def fitted_forest(trees: int, depth: int, features: int) -> RandomForestRegressor:
    """The forest itself, the same for the same release."""
    values, label = data(features)
    params = {"n_estimators": trees, "max_depth": depth, "n_jobs": 1, "random_state": 7}
    return RandomForestRegressor(**params).fit(values, label)


def oblivious(path: Path, trees: int, depth: int, features: int) -> None:
    """CatBoost's defaults, but for the depth."""
    values, label = data(features)
    params = {"iterations": trees, "depth": depth, "random_seed": 7, "thread_count": 1}
    quiet = {"verbose": False, "allow_writing_files": False}
    model = catboost.CatBoost({"loss_function": "Logloss", **params, **quiet}).fit(values, label)
    model.save_model(str(path))


def cell(path: Path, trees: int, depth: int, features: int, borders: int) -> None:
    """Random symmetric trees: training them to such depths takes more memory than there is."""
    rng = np.random.default_rng([depth, borders])
    names = range(features)
    all_borders = [
        np.sort(rng.normal(0.0, 1.0, borders).astype(np.float32)).astype(float) for _ in names
    ]
    info = [
        {
            "feature_index": feature,
            "flat_feature_index": feature,
            "borders": all_borders[feature].tolist(),
            "has_nans": False,
            "nan_value_treatment": "AsIs",
        }
        for feature in names
    ]
    starts = np.arange(features) * borders

    def tree() -> dict:
        chosen = [
            (int(feature), int(rng.integers(borders)))
            for feature in rng.integers(features, size=depth)
        ]
        splits = [
            {
                "border": all_borders[feature][border],
                "float_feature_index": feature,
                "split_index": int(starts[feature]) + border,
                "split_type": "FloatFeature",
            }
            for feature, border in chosen
        ]
        leaves = rng.normal(0.0, 0.1, 1 << depth).tolist()
        return {"leaf_values": leaves, "leaf_weights": [1] * (1 << depth), "splits": splits}

    model = {
        "features_info": {"float_features": info},
        "model_info": {"params": {"loss_function": {"type": "RMSE"}}},
        "oblivious_trees": [tree() for _ in range(trees)],
        "scale_and_bias": [1, [0]],
    }
    text = path.with_suffix(".json")
    text.write_text(json.dumps(model))
    catboost.CatBoost().load_model(str(text), format="json").save_model(str(path))
    text.unlink()


def train(folder: Path) -> None:
    """Train what is missing."""
    jobs = []
    for features in FEATURES:
        for trees, leaves in LEAFWISE:
            name = f"{trees}x{leaves}x{features}-leafwise.txt"
            jobs.append((name, leafwise, (trees, leaves, features)))
        for trees, leaves in LOSSGUIDE:
            params = {"grow_policy": "lossguide", "max_leaves": leaves, "max_depth": 0}
            name = f"{trees}x{leaves}x{features}-lossguide.ubj"
            jobs.append((name, lambda p, t, f, k=params: xgboost(p, t, f, **k), (trees, features)))
        for trees, depth in DEEP:
            name = f"{trees}x{depth}x{features}-deep.ubj"
            jobs.append(
                (name, lambda p, t, f, d=depth: xgboost(p, t, f, max_depth=d), (trees, features))
            )
        for trees, depth in FOREST:
            jobs.append(
                (f"{trees}x{depth}x{features}-forest.onnx", forest, (trees, depth, features))
            )
        for trees, depth in OBLIVIOUS:
            name = f"{trees}x{depth}x{features}-oblivious.cbm"
            jobs.append((name, oblivious, (trees, depth, features)))
    for depth in CELLS:
        for borders in BORDERS:
            trees = 200 if depth <= 10 else 30
            name = f"{trees}x{depth}x10-borders{borders}.cbm"
            jobs.append((name, cell, (trees, depth, 10, borders)))
    jobs.append(("100x31x200-leafwise.txt", leafwise, (100, 31, 200)))
    jobs.append(("100x31x10-leafwise5.txt", leafwise, (100, 31, 10, 5)))
    for name, make, arguments in jobs:
        path = folder / name
        rows_of(folder, name)
        if not path.exists():
            start = time.monotonic()
            make(path, *arguments)
            print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)


def forest_sides(path: Path, rows: np.ndarray) -> tuple[np.ndarray, dict]:
    """scikit-learn and ONNX Runtime with one thread."""
    trees, depth, features = path.name.split("-")[0].split("x")
    model = fitted_forest(int(trees), int(depth), int(features)).set_params(n_jobs=1)
    expected, sides = onnx_sides(path, rows)
    return expected, {"scikit-learn": lambda a, n: model.predict(rows[a : a + n]), **sides}


def cpu_block_of(predict: formats.Predict):
    """Nanoseconds of CPU time a row of so many calls, walking on through the rows."""
    first = 0

    def block(count: int, calls: int) -> float:
        nonlocal first
        start = time.thread_time_ns()
        for _ in range(calls):
            predict(first, count)
            first = (first + count) % (SCORED_ROWS - count + 1)
        return (time.thread_time_ns() - start) / (calls * count)

    return block


def beside_libraries(folder: Path, bench: Path, seconds: float) -> None:
    """Forests and symmetric trees beside their libraries."""
    paths = sorted([*folder.glob("*.onnx"), *folder.glob("*.cbm")])
    share = seconds * 0.5 / (len(paths) * len(formats.ROWS) * 3 * formats.BLOCKS)
    for path in paths:
        rows = rows_of(folder, path.name)
        sides_of, max_ulp = (forest_sides, 1) if path.suffix == ".onnx" else (catboost_sides, 0)
        expected, sides = sides_of(path, rows)
        engine = engine_of(bench, path, "auto")
        found = engine.margins(COMPARED)
        expected = np.asarray(expected, dtype=np.float64).ravel()
        apart = (np.abs(found - expected) / np.spacing(np.abs(expected).astype(np.float32))).max()
        if apart > max_ulp:
            raise SystemExit(f"{path.name}: margins are {apart} units in the last place apart")
        blocks = {side: cpu_block_of(predict) for side, predict in sides.items()}
        measure(path.name, {"gbdt": engine.block, **blocks}, share)
        engine.close()


def engine_of(bench: Path, path: Path, kernel: str) -> Engine:
    """The engine with a model and a kernel."""
    features, kind = path.name.split("x")[2].split("-")
    rows = path.with_name(f"rows-{features}-{kind.split('.')[0]}.f32")
    return Engine(bench, path, rows, kernel)


def beside_each_other(folder: Path, benches: list[Path], seconds: float) -> None:
    """All models by two builds of the engine, whose margins are equal."""
    paths = sorted(
        path for path in folder.iterdir() if path.suffix in (".txt", ".ubj", ".onnx", ".cbm")
    )
    kernels = os.environ.get("KERNELS", "auto portable").split()
    only = os.environ.get("ONLY", "")
    paths = [path for path in paths if only in path.name]
    share = seconds / (len(paths) * len(kernels) * 2 * formats.BLOCKS * len(formats.ROWS))
    for path in paths:
        for kernel in kernels:
            engines = [engine_of(bench, path, kernel) for bench in benches]
            margins = [engine.margins(COMPARED) for engine in engines]
            if not np.array_equal(*margins):
                raise SystemExit(f"{path.name}, {kernel}: margins differ")
            names = ("gbdt", "gbdt, other build")
            sides = {name: engine.block for name, engine in zip(names, engines, strict=True)}
            measure(f"{path.name}, {kernel}", sides, share)
            for engine in engines:
                engine.close()


def main() -> None:
    """Train, or measure."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if sys.argv[2] == "train":
        train(folder)
        return
    bench, *rest = sys.argv[2:]
    seconds = float(rest[0]) if rest else 180.0
    formats.ROWS = tuple(int(rows) for rows in os.environ.get("ROWS", "2048").split())
    if len(rest) > 1:
        beside_each_other(folder, [Path(bench), Path(rest[1])], seconds)
    else:
        beside_libraries(folder, Path(bench), seconds)


if __name__ == "__main__":
    main()
