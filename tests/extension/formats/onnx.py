"""Models of scikit-learn by skl2onnx, as ONNX Runtime predicts with one thread.

ONNX Runtime gives values and classes, and no margins. In the graph of an isolation forest it computes
logarithms of a batch by another routine than those of one row, up to a unit in the last place apart, so that
its own answers differ; one row per call is compared, too. skl2onnx 1.20 cannot convert the
histogram boosting of scikit-learn 1.9, so that one is a golden file, which scikit-learn 1.7
trained; so are onnxmltools' models.
"""

from collections.abc import Iterator

import numpy as np
import onnxruntime
import sklearn
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn import ensemble, impute, preprocessing
from sklearn.pipeline import make_pipeline

from tests.extension.e2e import golden
from tests.extension.formats.frame import Model

NAME = f"ONNX Runtime {onnxruntime.__version__}"
ROWS, COLUMNS = 20_000, 5
SMALL = {"n_estimators": 30, "max_depth": 8, "random_state": 5}
BOOSTING = {"n_estimators": 30, "random_state": 5}
ISOLATION, FEW_ROWS = "IsolationForest", 4_000
TWO, THREE, NUMBER = "two classes", "three classes", "regression"
KINDS = {"": NUMBER, "_binary": TWO, "_classes": THREE}
GOLDEN_MODELS = {
    f"{library}, {kind} (golden file)": f"{file}{ending}.onnx"
    for library, file in (
        ("HistGradientBoosting", "histogram"),
        ("LightGBM by onnxmltools", "lightgbm"),
        ("XGBoost by onnxmltools", "xgboost"),
    )
    for ending, kind in KINDS.items()
}
MODELS = {
    f"RandomForest, {NUMBER}": ensemble.RandomForestRegressor(**SMALL),
    f"RandomForest, {TWO}": ensemble.RandomForestClassifier(**SMALL),
    f"RandomForest, {THREE}": ensemble.RandomForestClassifier(**SMALL),
    f"ExtraTrees, {NUMBER}": ensemble.ExtraTreesRegressor(**SMALL),
    f"ExtraTrees, {THREE}": ensemble.ExtraTreesClassifier(**SMALL),
    f"GradientBoosting, {NUMBER}": ensemble.GradientBoostingRegressor(**BOOSTING),
    f"GradientBoosting, {TWO}": ensemble.GradientBoostingClassifier(**BOOSTING),
    f"GradientBoosting, {THREE}": ensemble.GradientBoostingClassifier(**BOOSTING),
    f"StandardScaler, RandomForest, {NUMBER}": make_pipeline(
        preprocessing.StandardScaler(), ensemble.RandomForestRegressor(**SMALL)
    ),
    f"SimpleImputer, MinMaxScaler, GradientBoosting, {TWO}": make_pipeline(
        impute.SimpleImputer(),
        preprocessing.MinMaxScaler(),
        ensemble.GradientBoostingClassifier(**BOOSTING),
    ),
    ISOLATION: ensemble.IsolationForest(n_estimators=100, random_state=5),
}


def answers(file: bytes, table: np.ndarray, count: int) -> tuple[np.ndarray, list[str] | None]:
    """The values and classes of all rows, `count` in a call."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options)
    name = session.get_inputs()[0].name
    classes, values = [], []
    for first in range(0, len(table), count):
        rows = table[first : first + count]
        for given in session.run(None, {name: rows}):
            # ZipMap gives a dictionary per row.
            of_rows = [list(row.values()) for row in given] if isinstance(given, list) else given
            result = np.asarray(of_rows).reshape(len(rows), -1)
            if result.dtype.kind == "f":
                values.append(result)
            else:
                classes.extend(str(label) for label in result[:, 0])
    found = np.concatenate(values)
    return found[:, 1:] if found.shape[1] == 2 else found, classes or None


def files(table: np.ndarray, score: np.ndarray) -> Iterator[tuple[str, bytes]]:
    """Every model, trained on half of the rows."""
    half, types = ROWS // 2, [("X", FloatTensorType([None, COLUMNS]))]
    names = np.array(["low", "medium", "high"])
    for name, model in MODELS.items():
        label = score
        if not name.endswith(NUMBER):
            label = names[np.digitize(score, [0.0] if name.endswith(TWO) else [-0.7, 0.7])]
        rows = table if "Imputer" in name else np.nan_to_num(table)
        model.fit(rows[:half], label[:half])
        made = to_onnx(model, initial_types=types, target_opset={"": 17, "ai.onnx.ml": 3})
        yield f"{name} (scikit-learn {sklearn.__version__})", made.SerializeToString()
    for name, file in GOLDEN_MODELS.items():
        yield name, golden.file(f"onnx/1.20.0/{file}")


def models() -> Iterator[Model]:
    """Every model, and ONNX Runtime's predictions for all rows."""
    draw = np.random.default_rng(41)
    table = np.round(draw.normal(size=(ROWS, COLUMNS)), 2).astype(np.float32)
    score = table[:, 0] * table[:, 1] + np.sin(table[:, 2] * 3) + draw.normal(size=ROWS) / 4
    table[draw.random(table.shape) < 0.1] = np.nan
    rows = [[None if np.isnan(value) else value for value in row] for row in table.tolist()]
    kinds = {f"f{index}": "float4" for index in range(COLUMNS)}
    for name, file in files(table, score):
        values, classes = answers(file, table, ROWS)
        yield Model(name, file, kinds, rows, None, values, classes)
        if name.startswith(ISOLATION):
            values, classes = answers(file, table[:FEW_ROWS], 1)
            alone = f"{name}, one row per call"
            yield Model(alone, file, kinds, rows[:FEW_ROWS], None, values, classes)
