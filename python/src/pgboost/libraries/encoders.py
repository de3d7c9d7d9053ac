"""Encoders of a Pipeline: the numbers that each category becomes, computed by the encoder itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import UnsupportedModelError
from .feature import Feature
from .sklearn import category_values, is_missing


def after_encoder(step: Any, features: list[Feature]) -> list[Feature]:
    """The features after a OneHotEncoder, OrdinalEncoder or TargetEncoder."""
    rows = _rows_of_categories(step)
    encoded = step.transform(rows)
    encoded = np.asarray(encoded.todense() if hasattr(encoded, "todense") else encoded, np.float64)
    widths = _output_widths(step)
    found, start = [], 0
    for index, feature in enumerate(features):
        if not feature.is_raw:
            name = type(step).__name__
            raise UnsupportedModelError(f"the {name} encodes what another step has computed")
        values = category_values(step.categories_[index])
        for column in range(start, start + widths[index]):
            numbers = encoded[: len(values), column] if len(values) else np.empty(0)
            missing, unknown = _other_numbers(step, index, column, column - start)
            if feature.fill is not None and feature.fill in values:
                missing = float(numbers[values.index(feature.fill)])
            elif feature.fill is not None and unknown is not None:
                missing = unknown
            found.append(Feature(feature.column, None, (), (), values, numbers, missing, unknown))
        start += widths[index]
    return found


def _output_widths(step: Any) -> list[int]:
    if type(step).__name__ == "OneHotEncoder":
        return [int(width) for width in step._n_features_outs]
    several = type(step).__name__ == "TargetEncoder" and step.target_type_ == "multiclass"
    return [len(step.classes_) if several else 1] * len(step.categories_)


def _frame(step: Any, columns: list[Any]) -> Any:
    """Rows of the columns' values, of the types that the encoder was fitted on."""
    import pandas

    labels = getattr(step, "feature_names_in_", range(len(columns)))
    frame = pandas.DataFrame(
        {
            label: pandas.Series(list(column), dtype=getattr(known, "dtype", object))
            for label, column, known in zip(labels, columns, step.categories_, strict=True)
        }
    )
    return frame if hasattr(step, "feature_names_in_") else frame.to_numpy()


def _rows_of_categories(step: Any) -> Any:
    """In row `i` the i-th category of each column, or its first where it has fewer."""
    rows = max(len(values) for values in step.categories_)
    return _frame(
        step,
        [
            np.concatenate([values, np.resize(values[:1], rows - len(values))])
            if len(values) < rows
            else values
            for values in step.categories_
        ],
    )


def _other_numbers(step: Any, index: int, column: int, place: int) -> tuple[float, float | None]:
    """What a missing value becomes, and an unknown one; NaN or None where the encoder refuses it."""
    values = step.categories_[index]
    kind = type(step).__name__
    unknown: float | None
    if kind == "TargetEncoder":
        unknown = float(np.ravel(step.target_mean_)[place])
    elif step.handle_unknown == "error":
        unknown = None
    elif kind == "OrdinalEncoder":
        unknown = float(step.unknown_value)
    else:
        infrequent = getattr(step, "infrequent_categories_", None)
        rare = infrequent is not None and infrequent[index] is not None
        rare = rare and step.handle_unknown in ("infrequent_if_exist", "warn")
        unknown = float(rare and place == step._n_features_outs[index] - 1)
    if len(values) and is_missing(values[-1]):
        first = [column_values[:1] for column_values in step.categories_]
        first[index] = values[-1:]
        row = step.transform(_frame(step, first))
        row = np.asarray(row.todense() if hasattr(row, "todense") else row, np.float64)
        return float(row[0, column]), unknown
    return (np.nan if unknown is None else unknown), unknown
