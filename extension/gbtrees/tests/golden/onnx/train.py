"""Trains the models of one release of the converters: train.py <folder for the results>"""

import sys
import warnings
from pathlib import Path

import numpy as np
import skl2onnx
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as FloatTable
from skl2onnx import to_onnx
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
from sklearn import ensemble, impute, preprocessing, tree
from sklearn.pipeline import make_pipeline

import lightgbm
from rows import COLUMNS, training

warnings.filterwarnings("ignore")
X, Y = training()
TWO = (Y > 0).astype(int)
THREE = np.digitize(Y, [-1, 1])
NAMES = np.array(["low", "middle", "high"])[THREE]
NUMBERS = np.array([-7, 40])[TWO]
SMALL = {"n_estimators": 12, "max_depth": 5, "random_state": 1}

SKLEARN = {
    "forest": (ensemble.RandomForestRegressor(**SMALL), Y),
    "forest_two_targets": (ensemble.RandomForestRegressor(**SMALL), np.c_[Y, np.cos(Y)]),
    "forest_many": (ensemble.RandomForestRegressor(120, max_depth=3, random_state=1), Y),
    "forest_binary": (ensemble.RandomForestClassifier(**SMALL), NUMBERS),
    "forest_classes": (ensemble.RandomForestClassifier(**SMALL), NAMES),
    "extra_trees": (ensemble.ExtraTreesRegressor(**SMALL), Y),
    "extra_trees_classes": (ensemble.ExtraTreesClassifier(**SMALL), THREE),
    "boosting": (ensemble.GradientBoostingRegressor(n_estimators=15, random_state=1), Y),
    "boosting_binary": (ensemble.GradientBoostingClassifier(n_estimators=15, random_state=1), TWO),
    "boosting_classes": (
        ensemble.GradientBoostingClassifier(n_estimators=8, random_state=1),
        NAMES,
    ),
    "histogram": (ensemble.HistGradientBoostingRegressor(max_iter=12, random_state=1), Y),
    "histogram_binary": (ensemble.HistGradientBoostingClassifier(max_iter=12, random_state=1), TWO),
    "histogram_classes": (
        ensemble.HistGradientBoostingClassifier(max_iter=6, random_state=1),
        NAMES,
    ),
    "tree": (tree.DecisionTreeRegressor(max_depth=6, random_state=1), Y),
    "tree_classes": (tree.DecisionTreeClassifier(max_depth=6, random_state=1), THREE),
}
PREPARED = {
    "scaler": [preprocessing.StandardScaler()],
    "robust_scaler": [preprocessing.RobustScaler()],
    "max_abs_scaler": [preprocessing.MaxAbsScaler()],
    "min_max_scaler": [preprocessing.MinMaxScaler()],
    "imputer": [impute.SimpleImputer()],
    "imputer_scaler": [impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler()],
    "imputer_of_value": [impute.SimpleImputer(missing_values=0.5)],
}
OPSETS = {"": {"": 17, "ai.onnx.ml": 3}, "_ml1": {"": 15, "ai.onnx.ml": 1}}


def sklearn_models():
    for name, (model, target) in SKLEARN.items():
        holes = name.startswith("histogram")
        model.fit(X if holes else np.nan_to_num(X), target)
        for ending, opset in OPSETS.items():
            if ending and name not in ("forest", "forest_classes", "boosting_binary", "histogram"):
                continue
            kind = {
                "initial_types": [("X", FloatTensorType([None, COLUMNS]))],
                "target_opset": opset,
            }
            if ending and hasattr(model, "classes_"):
                kind["options"] = {id(model): {"zipmap": False}}
            yield name + ending, to_onnx(model, **kind)
        if name in ("forest_binary", "boosting_binary", "histogram_classes"):
            kind = {
                "initial_types": [("X", DoubleTensorType([None, COLUMNS]))],
                "target_opset": OPSETS[""],
            }
            kind["options"] = {id(model): {"zipmap": False}}
            made = to_onnx(model, **kind)
            # The operator's probabilities are floats; ONNX Runtime refuses a file that declares another type.
            made.graph.output[1].type.tensor_type.elem_type = 1
            yield name + "_double", made


def prepared_models():
    """Forests after steps that change each column alone."""
    for name, steps in PREPARED.items():
        for ending, trees in (
            ("", ensemble.RandomForestRegressor(**SMALL)),
            ("_classes", ensemble.GradientBoostingClassifier(n_estimators=6, random_state=1)),
        ):
            model = make_pipeline(*steps, trees)
            holes = name.startswith("imputer") and name != "imputer_of_value"
            values = X if holes else np.nan_to_num(X)
            if name == "imputer_of_value":
                values = np.where(np.isnan(X), np.float32(0.5), X)
            model.fit(values, NAMES if ending else Y)
            kind = {
                "initial_types": [("X", FloatTensorType([None, COLUMNS]))],
                "target_opset": OPSETS[""],
            }
            yield name + ending, to_onnx(model, **kind)
            if name == "scaler" and not ending:
                # The converter's other form, with a subtraction and a division.
                scaler = model.steps[0][1]
                yield "scaler_div", to_onnx(model, options={id(scaler): {"div": "div"}}, **kind)
                double = {**kind, "initial_types": [("X", DoubleTensorType([None, COLUMNS]))]}
                made = to_onnx(model, **double)
                made.graph.output[0].type.tensor_type.elem_type = 1
                yield "scaler_double", made


def isolation_forests():
    kind = {
        "initial_types": [("X", FloatTensorType([None, COLUMNS]))],
        "target_opset": OPSETS[""],
    }
    for name, params in (
        ("isolation", {"n_estimators": 20, "max_samples": 64}),
        ("isolation_whole", {"n_estimators": 5, "max_samples": 500, "contamination": 0.1}),
        ("isolation_small", {"n_estimators": 2, "max_samples": 8}),
    ):
        model = ensemble.IsolationForest(random_state=1, **params).fit(np.nan_to_num(X))
        yield name, to_onnx(model, **kind)
        if name == "isolation":
            options = {id(model): {"score_samples": True}}
            yield "isolation_scores", to_onnx(model, options=options, **kind)


def lightgbm_categories():
    """LightGBM's categorical splits become chains of BRANCH_EQ."""
    values = np.nan_to_num(X)
    values[:, 4] = np.random.default_rng(3).integers(0, 9, len(values))
    target = Y + np.isin(values[:, 4], [1, 4, 5]) * 2 - (values[:, 4] == 7)
    small = {"n_estimators": 8, "num_leaves": 8, "verbose": -1, "random_state": 1}
    small |= {"min_data_per_group": 5, "cat_smooth": 1.0, "max_cat_to_onehot": 1}
    model = lightgbm.LGBMRegressor(**small).fit(values, target, categorical_feature=[4])
    types = {"initial_types": [("X", FloatTable([None, COLUMNS]))], "target_opset": 15}
    yield "lightgbm_categories", convert_lightgbm(model, zipmap=False, **types)


def other_models():
    types = {"initial_types": [("X", FloatTable([None, COLUMNS]))], "target_opset": 15}
    small = {"n_estimators": 12, "verbose": -1, "min_child_samples": 5, "random_state": 1}
    forest = {**small, "boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}
    for name, model, target in [
        ("lightgbm", lightgbm.LGBMRegressor(**small), Y),
        ("lightgbm_forest", lightgbm.LGBMRegressor(**forest), Y),
        ("lightgbm_binary", lightgbm.LGBMClassifier(**small), TWO),
        ("lightgbm_classes", lightgbm.LGBMClassifier(**small), THREE),
    ]:
        yield name, convert_lightgbm(model.fit(X, target), zipmap=False, **types)
    small = {"n_estimators": 12, "max_depth": 4, "random_state": 1}
    for name, model, target in [
        ("xgboost", xgboost.XGBRegressor(**small), Y),
        ("xgboost_binary", xgboost.XGBClassifier(**small), TWO),
        ("xgboost_classes", xgboost.XGBClassifier(**small), THREE),
    ]:
        yield name, convert_xgboost(model.fit(X, target), **types)


folder = Path(sys.argv[1]) / skl2onnx.__version__
folder.mkdir(parents=True, exist_ok=True)
made = [sklearn_models, prepared_models, isolation_forests, lightgbm_categories, other_models]
for name, model in (named for models in made for named in models()):
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
