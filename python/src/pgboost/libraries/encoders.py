"""Converts encoders of a Pipeline to tables of numbers, which the encoder itself computes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import refuse
from .feature import Feature
from .sklearn import category_values


def after_encoder(step: Any, features: list[Feature]) -> list[Feature]:
    if not all(feature.is_raw for feature in features):
        refuse(step, "encodes what another step has computed")
    categories = [category_values(values, step) for values in step.categories_]
    encoded = step.transform(_rows_of_categories(step))
    sparse = hasattr(encoded, "todense")
    encoded = np.asarray(encoded.todense() if sparse else encoded)
    encoded, single = encoded.astype(np.float64), encoded.dtype == np.float32
    widths = _output_widths(step)
    found, start = [], 0
    for index, (feature, values) in enumerate(zip(features, categories, strict=True)):
        known = feature.encoded.setdefault(feature.column, [])
        # Encoders tell None from NaN.
        every = [*values, None] if None in step.categories_[index] else values
        known += [value for value in every if value not in known]
        for column in range(start, start + widths[index]):
            numbers = encoded[: len(values), column] if len(values) else np.empty(0)
            unknown = _unknown(step, index, column - start)
            missing = np.nan if unknown is None else unknown
            if len(values) < len(step.categories_[index]):
                # A missing value is the last category. An imputer of NaN has left None as it is.
                missing = float(encoded[len(values), column])
            elif feature.fill is not None and feature.fill in values:
                missing = float(numbers[values.index(feature.fill)])
            table = Feature(feature.column, None, (), (), values, numbers, missing, unknown)
            found.append(replace(table, sparse=sparse, single=single))
        start += widths[index]
    return found


def _output_widths(step: Any) -> list[int]:
    if type(step).__name__ == "OneHotEncoder":
        return [int(width) for width in step._n_features_outs]
    several = type(step).__name__ == "TargetEncoder" and step.target_type_ == "multiclass"
    return [len(step.classes_) if several else 1] * len(step.categories_)


def _frame(step: Any, columns: list[Any]) -> Any:
    """Returns rows of the columns' values, of the types that the encoder was fitted on."""
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
    """Returns rows of which the i-th has each column's i-th category, or its first where it has fewer."""
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


def _unknown(step: Any, index: int, place: int) -> float | None:
    """Returns the number of an unknown value; None where the encoder refuses it."""
    kind = type(step).__name__
    if kind == "TargetEncoder":
        return float(np.ravel(step.target_mean_)[place])
    if step.handle_unknown == "error":
        return None
    if kind == "OrdinalEncoder":
        return float(step.unknown_value)
    infrequent = getattr(step, "infrequent_categories_", None)
    rare = infrequent is not None and infrequent[index] is not None
    rare = rare and step.handle_unknown in ("infrequent_if_exist", "warn")
    return float(rare and place == step._n_features_outs[index] - 1)
