"""Train models of the shapes that people train: default settings, leaf-wise, deep, symmetric, forests.

Usage: python shapes.py FOLDER

FOLDER gets the models, TREESxSIZExFEATURES-KIND, where a size is a number of leaves or the limit of the
depth, and rows for each. Models that are there are not trained again. A kind that ends with a number has so
many outputs. Settings that a kind does not name are the library's defaults:

    leafwise    LightGBM, leaf by leaf without a limit of the depth; 31 leaves are its default
    heavy       the same of a target with heavy tails, whose trees become deeper still
    dropout     the same by DART
    linear      the same with linear leaves
    default     XGBoost, depth 6; deep has another depth, shallow10 ten classes
    lossguide   XGBoost, leaf by leaf
    dart        XGBoost, DART
    statistics  CatBoost, with target statistics of the categories in every fifth feature
    oblivious   CatBoost; bordersN are random symmetric trees, N borders per feature, of any depth
    forest      scikit-learn's random forest, as ONNX
    isolation   scikit-learn's isolation forest, 256 samples per tree, as ONNX

Leaves and depths are those of published models: LightGBM's trees have 31 leaves and are 12 deep in the
median, up to 72; XGBoost's and CatBoost's are 6 deep, at times 8 to 12. Needs xgboost, lightgbm, catboost,
scikit-learn, skl2onnx.
"""

import json
import pickle
import sys
import time
from collections.abc import Callable
from pathlib import Path
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np
import xgboost as xgb
from skl2onnx import to_onnx
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor

import catboost
import lightgbm as lgb
from train import SCORED_ROWS, TRAINING_ROWS, is_code, table

BORDERS = (1, 32, 254, 65_535)
DEPTHS = (*range(1, 13), 14, 16)


class Shape(NamedTuple):
    """A model to train."""

    trees: int
    #: Leaves, or the limit of the depth.
    size: int
    features: int
    kind: str

    @property
    def name(self) -> str:
        """Returns the name of its file, without extension."""
        return f"{self.trees}x{self.size}x{self.features}-{self.kind}"

    @property
    def rows(self) -> str:
        """Returns the kind of its rows."""
        return "categorical" if self.kind == "statistics" else "dense"

    @property
    def outputs(self) -> int:
        """Returns the number of outputs."""
        is_random = self.kind.startswith("borders")
        return 1 if is_random else int(self.kind.lstrip(ascii_lowercase) or 1)


def _data(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Returns training rows and labels: 0 and 1, or classes."""
    rng = np.random.default_rng([shape.features, 34])
    values, label = table(rng, TRAINING_ROWS, shape.features, shape.rows)
    if shape.outputs > 1:
        label = np.digitize(values[:, 0] + label, np.linspace(-1, 2, shape.outputs - 1))
    return values, label


def _lightgbm(path: Path, shape: Shape) -> None:
    values, label = _data(shape)
    params = {"num_leaves": shape.size, "num_threads": 1, "verbosity": -1}
    if shape.kind == "heavy":
        rng = np.random.default_rng(34)
        label = np.exp(3 * rng.normal(size=len(values)) + values[:, 0])
    elif shape.outputs > 1:
        params |= {"objective": "multiclass", "num_class": shape.outputs}
    else:
        params |= {"objective": "binary"}
    params |= {"dropout": {"boosting": "dart"}, "linear": {"linear_tree": True}}.get(shape.kind, {})
    lgb.train(params, lgb.Dataset(values, label), shape.trees).save_model(path)


def _xgboost(path: Path, shape: Shape) -> None:
    values, label = _data(shape)
    params = {"objective": "binary:logistic", "nthread": 1, "seed": 7, "max_depth": shape.size}
    if shape.kind == "lossguide":
        params |= {"grow_policy": "lossguide", "max_leaves": shape.size, "max_depth": 0}
    if shape.kind == "dart":
        params |= {"booster": "dart", "rate_drop": 0.1}
    if shape.outputs > 1:
        params |= {"objective": "multi:softprob", "num_class": shape.outputs}
    matrix = xgb.QuantileDMatrix(values, label=label)
    xgb.train(params, matrix, shape.trees).save_model(path)


def _sklearn(path: Path, shape: Shape) -> None:
    """A forest, and the ONNX file that skl2onnx makes of it."""
    values, label = _data(shape)
    params = {"n_estimators": shape.trees, "n_jobs": 1, "random_state": 7}
    if shape.kind == "isolation":
        # Its default limits the depth to 8, the logarithm of the number of samples.
        model = IsolationForest(**params).fit(values)
    else:
        forest = RandomForestClassifier if shape.outputs > 1 else RandomForestRegressor
        # A fourth of the rows makes a thousand leaves per tree; all would make a file of half a gigabyte.
        rows = slice(None, None, 1 if shape.trees <= 100 else 4)
        model = forest(max_depth=shape.size, **params).fit(values[rows], label[rows])
    path.with_suffix(".pickle").write_bytes(pickle.dumps(model))
    options = {id(model): {"zipmap": False}} if shape.outputs > 1 else None
    opset = {"": 17, "ai.onnx.ml": 3}
    onnx = to_onnx(model, values[:1], target_opset=opset, options=options)
    path.write_bytes(onnx.SerializeToString())


def _catboost(path: Path, shape: Shape) -> None:
    values, label = _data(shape)
    loss = "MultiClass" if shape.outputs > 1 else "Logloss"
    params = {"iterations": shape.trees, "depth": shape.size, "loss_function": loss}
    quiet = {"random_seed": 7, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    model = catboost.CatBoost(params | quiet)
    model.fit(pool(path.stem, values, label)).save_model(str(path))


def pool(name: str, rows: np.ndarray, label: np.ndarray | None = None) -> catboost.Pool:
    """Returns CatBoost's rows for the model of that name."""
    if not name.endswith("-statistics"):
        return catboost.Pool(rows, label)
    codes = [feature for feature in range(rows.shape[1]) if is_code("categorical", feature)]
    cells = rows.astype(object)
    cells[:, codes] = rows[:, codes].astype(int)
    return catboost.Pool(cells, label, cat_features=codes)


def _random_oblivious(path: Path, shape: Shape) -> None:
    """Random symmetric trees: training them to such depths takes more memory than there is."""
    borders, features = int(shape.kind.removeprefix("borders")), range(shape.features)
    rng = np.random.default_rng([shape.size, borders])
    all_borders = [
        np.sort(rng.normal(0.0, 1.0, borders).astype(np.float32)).astype(float) for _ in features
    ]
    info = [
        {
            "feature_index": feature,
            "flat_feature_index": feature,
            "borders": all_borders[feature].tolist(),
            "has_nans": False,
            "nan_value_treatment": "AsIs",
        }
        for feature in features
    ]

    def tree() -> dict:
        chosen = [
            (int(feature), int(rng.integers(borders)))
            for feature in rng.integers(shape.features, size=shape.size)
        ]
        splits = [
            {
                "border": all_borders[feature][border],
                "float_feature_index": feature,
                "split_index": feature * borders + border,
                "split_type": "FloatFeature",
            }
            for feature, border in chosen
        ]
        leaves = rng.normal(0.0, 0.1, 1 << shape.size).tolist()
        return {"leaf_values": leaves, "leaf_weights": [1] * len(leaves), "splits": splits}

    model = {
        "features_info": {"float_features": info},
        "model_info": {"params": {"loss_function": {"type": "RMSE"}}},
        "oblivious_trees": [tree() for _ in range(shape.trees)],
        "scale_and_bias": [1, [0]],
    }
    text = path.with_suffix(".json")
    text.write_text(json.dumps(model))
    catboost.CatBoost().load_model(str(text), format="json").save_model(str(path))
    text.unlink()


Train = Callable[[Path, Shape], None]
# By kind: the ending of a file, what trains it, and trees, sizes and numbers of features.
ALL, FEW, ONE = (10, 50, 200), (10, 50), (10,)
KINDS: dict[str, tuple[str, Train, tuple[tuple[int, int, tuple[int, ...]], ...]]] = {
    "leafwise": (
        "txt",
        _lightgbm,
        ((100, 31, ALL), (300, 63, ALL), (500, 127, FEW), (200, 255, ALL)),
    ),
    "leafwise5": ("txt", _lightgbm, ((100, 31, ALL),)),
    "heavy": ("txt", _lightgbm, ((100, 31, ONE), (100, 255, ONE))),
    "dropout": ("txt", _lightgbm, ((100, 31, ONE),)),
    "linear": ("txt", _lightgbm, ((100, 31, FEW),)),
    "default": ("ubj", _xgboost, ((100, 6, ALL),)),
    "default5": ("ubj", _xgboost, ((100, 6, ALL),)),
    "shallow10": ("ubj", _xgboost, ((100, 4, ONE),)),
    "deep": ("ubj", _xgboost, ((100, 10, ALL), (50, 12, ALL))),
    "lossguide": ("ubj", _xgboost, ((100, 31, ALL), (100, 255, ALL))),
    "dart": ("ubj", _xgboost, ((100, 6, ONE),)),
    "statistics": ("cbm", _catboost, ((200, 6, FEW),)),
    "oblivious": ("cbm", _catboost, ((1000, 6, ALL), (500, 8, FEW), (200, 10, FEW))),
    "oblivious5": ("cbm", _catboost, ((200, 6, FEW),)),
    "forest": ("onnx", _sklearn, ((100, 25, FEW), (500, 40, ONE))),
    "forest5": ("onnx", _sklearn, ((100, 25, ONE),)),
    "isolation": ("onnx", _sklearn, ((100, 8, ALL),)),
    **{
        f"borders{borders}": (
            "cbm",
            _random_oblivious,
            tuple((200 if depth <= 10 else 30, depth, ONE) for depth in DEPTHS),
        )
        for borders in BORDERS
    },
}


def rows_of(folder: Path, name: str) -> Path:
    """Returns the file of a model's rows to score, creating it if necessary."""
    trees, size, features_and_kind = name.split("x", 2)
    features, kind = features_and_kind.split("-")
    shape = Shape(int(trees), int(size), int(features), kind)
    path = folder / f"rows-{features_and_kind}.f32"
    shared = folder / f"rows-{features}{'' if shape.rows == 'dense' else '-codes'}.f32"
    if not shared.exists():
        rng = np.random.default_rng([shape.features, 35])
        table(rng, SCORED_ROWS, shape.features, shape.rows)[0].astype("<f4").tofile(shared)
    if not path.exists():
        path.symlink_to(shared.name)
    return path


def main() -> None:
    """Train what is missing."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for kind, (ending, train, sizes) in KINDS.items():
        for trees, size, features in sizes:
            for shape in (Shape(trees, size, count, kind) for count in features):
                path = folder / f"{shape.name}.{ending}"
                rows_of(folder, shape.name)
                if not path.exists():
                    start = time.monotonic()
                    train(path, shape)
                    print(f"{path.name}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
