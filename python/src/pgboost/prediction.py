"""Predicts and explains rows of a frame in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .connecting import Connection, connected
from .errors import InvalidDataError, needed, translated
from .extension import Extension, object_of
from .model_file import values_of
from .rows import Rows, of_version, predicted

if TYPE_CHECKING:
    import numpy as np
    import shap

# Links that make one value of several outputs.
_OF_ONE_VALUE = ("arg_max", "mean_logistic", "weighted_median")


@translated(InvalidDataError)
def predict(connection: Connection, model: str, frame: Any) -> np.ndarray:
    """Returns a model's values for each row, as SQL's `predict` and `predict_array` do.

    `model` is `m`, `m@3` or `m@champion`. `frame` is a pandas `DataFrame`, whose columns are found by the
    model's feature names, or a NumPy array with the features in the model's order. The result is of
    `float32` and of the shape `(rows,)`, or `(rows, outputs)` for a model with several outputs.
    """
    import numpy as np

    info, _, found = _found(connection, "predict_array", model, frame)
    width = 1 if info["link"] in _OF_ONE_VALUE else info["outputs"]
    values = np.array(found, np.float32).reshape(len(found), width)
    return values[:, 0] if width == 1 else values


@translated(InvalidDataError)
def predict_class(connection: Connection, model: str, frame: Any) -> np.ndarray:
    """Returns the label of each row's class, as SQL's `predict_class` does.

    Labels that are all numbers or all booleans come back as such, as from the model's own `predict`.
    """
    import numpy as np

    info, _, found = _found(connection, "predict_class", model, frame)
    value = values_of(info["labels"] or {*found}, info)
    is_text = any(isinstance(one, str) for one in value.values())
    return np.array([value[label] for label in found], object if is_text else None)


@translated(InvalidDataError)
def predict_proba(connection: Connection, model: str, frame: Any) -> np.ndarray:
    """Returns probabilities of shape `(rows, classes)`, as SQL's `predict_proba` does.

    The classes are in the order of `labels` in `model_info`, or of their numbers.
    """
    import numpy as np

    info, _, found = _found(connection, "predict_proba", model, frame)
    classes = info["labels"] or [str(number) for number in range(max(info["outputs"], 2))]
    rows = [[row[label] for label in classes] for row in map(object_of, found)]
    return np.array(rows, np.float32).reshape(len(found), len(classes))


@translated(InvalidDataError)
def explain(connection: Connection, model: str, frame: Any) -> shap.Explanation:
    """Returns the SHAP values of each row, as SQL's `predict_contribs` does. It needs shap.

    `values` has the shape `(rows, features)`, or `(rows, features, outputs)` for a model with several
    outputs, and with `base_values` adds up to the margin. `data` has the rows, `feature_names` the names,
    and `output_names` the labels of several classes. `pgboost.plots` draws it, as shap's own plots do.
    """
    import numpy as np

    shap = needed("shap", "plots")
    info, rows, found = _found(connection, "predict_contribs", model, frame)
    width, outputs = info["features"], info["outputs"]
    # shap's waterfall labels two ticks 1e-8 apart, which are equal in float32.
    contributions = (
        np.array(found, np.float32).astype(float).reshape(len(found), outputs, width + 1)
    )
    values, base = contributions[:, :, :-1].transpose(0, 2, 1), contributions[:, :, -1]
    if outputs == 1:
        values, base = values[:, :, 0], base[:, 0]
    names = info["feature_names"] or [f"f{number}" for number in range(width)]
    has_names = outputs > 1 and info["labels"] and info["link"] != "mean_logistic"
    options = {"output_names": info["labels"]} if has_names else {}
    data = np.asarray(rows.frame)
    return shap.Explanation(values, base, data, feature_names=names, **options)


def _found(
    connection: Connection, function: str, model: str, frame: Any
) -> tuple[dict[str, Any], Rows, list[Any]]:
    """Returns the model's metadata, the rows of its features, and a function's result for each."""
    with connected(connection) as database:
        extension = Extension(database)
        info = extension.info(model)
        rows = of_version(extension, info, frame)
        found = predicted(extension, [function], info["reference"], rows)
        return info, rows, [value for (value,) in found]
