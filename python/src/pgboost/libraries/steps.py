"""Converts the steps of a Pipeline to functions of one column each.

A step that is not known is refused by name; a feature of several columns, once trees use it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ..errors import refuse
from .encoders import after_encoder
from .feature import Feature, Function, refused
from .known import FUNCTIONS, is_selection, known
from .sklearn import is_missing

# The numbers above which NumPy's functions turn, jump or begin; the others are monotone.
_BELOW = float(np.nextafter(0.0, -1.0))
_TURNS: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(FUNCTIONS.split(), ()),
    **dict.fromkeys(("log", "log2", "log10", "sqrt"), (_BELOW,)),
    **dict.fromkeys(("square", "abs", "absolute", "fabs"), (0.0,)),
    "log1p": (float(np.nextafter(-1.0, -2.0)),),
}
_SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
# Steps that compute columns of `float32` otherwise than doubles.
_OF_DOUBLES = ("MissingIndicator", "FunctionTransformer", "KBinsDiscretizer", "PolynomialFeatures")


def after(step: Any, features: list[Feature]) -> list[Feature]:
    if is_identity(step):
        return features
    taken = getattr(step, "n_features_in_", len(features))
    if taken != len(features):
        refuse(step, f"takes {taken} features, and the step before it gives {len(features)}")
    if is_selection(step):
        kept = step.get_support()
        return [feature for feature, keep in zip(features, kept, strict=True) if keep]
    name = known(step)
    if name not in _AFTER:
        refuse(step, "is not scored as a step before others")
    computes = name in _OF_DOUBLES and getattr(step, "func", step) is not None
    if computes and any(one.single and one.table is None for one in features):
        refuse(step, "is scored for columns of float64 alone")
    return _AFTER[name](step, features)


def is_identity(step: Any) -> bool:
    """Returns whether the step changes no prediction, as imbalanced-learn's samplers."""
    samples = hasattr(step, "fit_resample") and not hasattr(step, "transform")
    return step is None or samples or (isinstance(step, str) and step == "passthrough")


def shown(step: Any) -> str:
    """Lists the steps by their classes, each ColumnTransformer with its parts."""
    if isinstance(step, str) or step is None:
        return step or "passthrough"
    if hasattr(step, "steps"):
        return ", ".join(shown(part) for _, part in step.steps)
    parts = getattr(step, "transformers_", None) or getattr(step, "transformer_list", None)
    if parts is None:
        return type(step).__name__
    return f"{type(step).__name__}({'; '.join(f'{part[0]}: {shown(part[1])}' for part in parts)})"


def _after_pipeline(step: Any, features: list[Feature]) -> list[Feature]:
    for _, part in step.steps:
        features = after(part, features)
    return features


def _after_columns(step: Any, features: list[Feature]) -> list[Feature]:
    found = []
    for name, part, _ in step.transformers_:
        of_part = [features[index] for index in step._transformer_to_input_indices[name]]
        if of_part:
            found += _after_part(step, name, part, of_part)
    return [replace(feature, sparse=step.sparse_output_) for feature in found]


def _after_union(step: Any, features: list[Feature]) -> list[Feature]:
    parts = (_after_part(step, *pair, features) for pair in step.transformer_list)
    found = [feature for part in parts for feature in part]
    return [replace(feature, sparse=any(one.sparse for one in found)) for feature in found]


def _after_part(step: Any, name: str, part: Any, features: list[Feature]) -> list[Feature]:
    if isinstance(part, str) and part == "drop":
        return []
    found = after(part, features)
    weight = (step.transformer_weights or {}).get(name)
    if weight is not None and any(feature.single for feature in found):
        refuse(step, "has transformer_weights, which are scored for columns of float64 alone")
    return found if weight is None else [feature.then(lambda x: x * weight) for feature in found]


def _after_scaler(step: Any, features: list[Feature]) -> list[Feature]:
    """Applies the scaler itself to each column, in the type of their matrix."""
    single, sparse = all(one.single for one in features), any(one.sparse for one in features)
    kind = np.float32 if single else np.float64
    found = []
    for place, feature in enumerate(features):
        scaler = _of_column(step, place)
        function = partial(_scaled, scaler, kind, csr_matrix if sparse else np.asarray)
        found.append(replace(feature.then(function), single=single))
    return found


def _of_column(step: Any, place: int) -> Any:
    """Returns a copy of a fitted step that has one of its columns."""
    found, width = copy(step), step.n_features_in_
    of_columns = {k: v for k, v in vars(step).items() if getattr(v, "shape", None) == (width,)}
    vars(found).update({key: values[place : place + 1] for key, values in of_columns.items()})
    vars(found).pop("feature_names_in_", None)
    found.n_features_in_ = 1
    return found


def _scaled(scaler: Any, kind: Any, form: Callable[[Any], Any], values: Any) -> Any:
    """Scales a column of numbers; scikit-learn refuses infinite ones, which stay so."""
    largest = float(np.finfo(kind).max)
    column = np.clip(values, -largest, largest).astype(kind).reshape(-1, 1)
    scaled = scaler.transform(form(column))
    scaled = scaled.toarray() if hasattr(scaled, "toarray") else np.asarray(scaled)
    return np.where(np.isinf(values), values, scaled.astype(np.float64).reshape(np.shape(values)))


def _after_imputer(step: Any, features: list[Feature]) -> list[Feature]:
    """Fills each column, and appends the indicators of missing values."""
    features = [_without_missing(step, feature) for feature in features]
    found = []
    for feature, fill in zip(features, step.statistics_, strict=True):
        if fill is None:
            # The most frequent value of objects may be None, which is missing to what follows.
            found.append(feature)
            continue
        kept = np.float32(fill) if feature.single and not isinstance(fill, str) else fill
        if is_missing(fill):
            if not step.keep_empty_features:
                continue
            kept = step.fill_value if step.strategy == "constant" and step.fill_value else 0
        if feature.is_raw and feature.fill is None:
            found.append(replace(feature, fill=kept))
        elif feature.is_raw:
            found.append(feature)
        else:
            found.append(feature.then(lambda x, kept=kept: np.where(np.isnan(x), kept, x)))
    indicator = getattr(step, "indicator_", None)
    return found + ([] if indicator is None else _after_indicator(indicator, features))


def _after_indicator(step: Any, features: list[Feature]) -> list[Feature]:
    marked = (_without_missing(step, features[index]) for index in step.features_)
    found = [feature.then(lambda x: np.isnan(x).astype(np.float64)) for feature in marked]
    if step.sparse == "auto":
        return found
    return [replace(feature, sparse=step.sparse) for feature in found]


def _without_missing(step: Any, feature: Feature) -> Feature:
    number = step.missing_values
    if is_missing(number):
        return feature
    if isinstance(number, str):
        refuse(step, f"has missing_values={number!r}, which is not scored: use NULL")
    return feature.without(np.nextafter(float(number), -np.inf), number)


def _after_function(step: Any, features: list[Feature]) -> list[Feature]:
    if step.func is None:
        return features
    turns = _TURNS[step.func.__name__]
    return [feature.then(lambda x: step.func(x).astype(np.float64), turns) for feature in features]


def _after_bins(step: Any, features: list[Feature]) -> list[Feature]:
    found = []
    if step.dtype is not None:
        features = [
            feature.then(lambda x: x.astype(step.dtype).astype(np.float64)) for feature in features
        ]
    features = [replace(feature, sparse=step.encode == "onehot") for feature in features]
    for feature, edges, bins in zip(features, step.bin_edges_, step.n_bins_, strict=True):
        inner = np.asarray(edges[1:-1])
        binned = feature.then(lambda x, inner=inner: _binned(x, inner))
        if step.encode == "ordinal":
            found.append(binned)
            continue
        for number in range(bins):
            is_in: Function = lambda x, number=number: (x == number) * 1.0  # noqa: E731
            found.append(binned.then(is_in, (float(number),)))
    return found


def _binned(values: Any, edges: Any) -> Any:
    found = np.searchsorted(edges, values, side="right").astype(np.float64)
    return np.where(np.isnan(values), np.nan, found)


def _after_polynomial(step: Any, features: list[Feature]) -> list[Feature]:
    """Returns powers of one column; a product of several is refused where trees use it."""
    found = []
    for powers in step.powers_:
        columns = np.flatnonzero(powers)
        if not len(columns):
            found.append(
                refused(features[0].column, "the trees use the PolynomialFeatures' constant")
            )
        elif len(columns) > 1:
            reason = (
                "the trees use a product of columns, which PolynomialFeatures computes and which is not"
                " scored: leave it out, or compute it in SQL"
            )
            found.append(refused(features[columns[0]].column, reason))
        else:
            found.append(_power(features[columns[0]], int(powers[columns[0]])))
    return found


def _power(feature: Feature, power: int) -> Feature:
    if power == 1:
        return feature

    def raised(values: Any) -> Any:
        product = values
        for _ in range(power - 1):
            product = product * values
        return product

    return feature.then(raised, (0.0,))


_AFTER: dict[str, Callable[[Any, list[Feature]], list[Feature]]] = {
    "FrozenEstimator": lambda step, features: after(step.estimator, features),
    "Pipeline": _after_pipeline,
    "ColumnTransformer": _after_columns,
    "FeatureUnion": _after_union,
    **dict.fromkeys(_SCALERS, _after_scaler),
    "SimpleImputer": _after_imputer,
    "MissingIndicator": _after_indicator,
    "FunctionTransformer": _after_function,
    "KBinsDiscretizer": _after_bins,
    "PolynomialFeatures": _after_polynomial,
    "OneHotEncoder": after_encoder,
    "OrdinalEncoder": after_encoder,
    "TargetEncoder": after_encoder,
}
