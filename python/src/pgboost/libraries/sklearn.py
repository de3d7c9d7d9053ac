"""scikit-learn's forests and boosted trees, as ONNX files made by skl2onnx.

Features are floats there: scikit-learn's trees round to float themselves, but for
HistGradientBoosting, which compares doubles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.base import is_classifier

from ..errors import UnsupportedModelError
from ..model_file import ModelFile, probabilities

# Of later ones skl2onnx converts no isolation forest.
OPSETS = {"": 17, "ai.onnx.ml": 3}


def model_file(model: Any) -> ModelFile:
    """The file of a fitted estimator of trees."""
    try:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import FloatTensorType
        from skl2onnx.common.exceptions import MissingShapeCalculator
    except ImportError as error:
        message = "a model of scikit-learn is sent as ONNX: pip install skl2onnx"
        raise UnsupportedModelError(message) from error
    inputs = [("X", FloatTensorType([None, model.n_features_in_]))]
    classifier = is_classifier(model)
    options = {id(model): {"zipmap": False}} if classifier else None
    try:
        proto = convert_sklearn(model, initial_types=inputs, options=options, target_opset=OPSETS)
    except (MissingShapeCalculator, NotImplementedError, RuntimeError, ValueError) as error:
        message = f"skl2onnx cannot convert the model: {str(error).strip()}"
        raise UnsupportedModelError(message) from error
    names = getattr(model, "feature_names_in_", None)
    found = ModelFile(
        content=proto.SerializeToString(),
        values=model.predict,
        feature_names=None if names is None else [str(name) for name in names],
    )
    if hasattr(model, "score_samples"):
        # An isolation forest: its classes are outliers and others.
        return replace(
            found, values=model.decision_function, classes=model.predict, labels=["-1", "1"]
        )
    if not classifier:
        return found
    return replace(
        found,
        values=probabilities(model),
        classes=model.predict,
        labels=[str(label) for label in model.classes_],
    )
