"""The steps of a Pipeline, as what each of its features is of one column.

A step that computes a feature from several columns is refused by name, once trees use the feature; a step
that is not known, at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import UnsupportedModelError
from .encoders import after_encoder
from .feature import Feature, Function, refused
from .sklearn import is_missing

# NumPy's functions of a FunctionTransformer, and above which numbers they turn, jump or begin.
_BELOW = float(np.nextafter(0.0, -1.0))
_FUNCTIONS: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("exp", "exp2", "expm1", "cbrt", "arcsinh", "arctan", "tanh", "negative"), ()),
    **dict.fromkeys(("floor", "ceil", "rint", "trunc", "sign", "isnan"), ()),
    **dict.fromkeys(("log", "log2", "log10", "sqrt"), (_BELOW,)),
    **dict.fromkeys(("square", "abs", "absolute", "fabs"), (0.0,)),
    "log1p": (float(np.nextafter(-1.0, -2.0)),),
}
_SCALERS = {
    "StandardScaler": (("mean_", np.subtract), ("scale_", np.divide)),
    "MinMaxScaler": (("scale_", np.multiply), ("min_", np.add)),
    "MaxAbsScaler": (("scale_", np.divide),),
    "RobustScaler": (("center_", np.subtract), ("scale_", np.divide)),
}


def after(step: Any, features: list[Feature]) -> list[Feature]:
    """The features after a step."""
    if is_identity(step):
        return features
    if hasattr(step, "steps"):
        for _, part in step.steps:
            features = after(part, features)
        return features
    if hasattr(step, "get_support"):
        kept = step.get_support()
        return [feature for feature, keep in zip(features, kept, strict=True) if keep]
    name = type(step).__name__
    if name not in _AFTER:
        raise UnsupportedModelError(
            f"the Pipeline has a {name}, which is not scored: leave it out, or compute in SQL what it"
            " computes"
        )
    return _AFTER[name](step, features)


def is_identity(step: Any) -> bool:
    """Whether predictions pass the step by; imbalanced-learn's samplers change the training alone."""
    samples = hasattr(step, "fit_resample") and not hasattr(step, "transform")
    return step is None or samples or (isinstance(step, str) and step == "passthrough")


def is_sparse(step: Any, before: bool) -> bool:
    """Whether the step gives a sparse matrix, after it has got one or not."""
    if is_identity(step):
        return before
    if hasattr(step, "transformer_list"):
        return any(is_sparse(part, before) for _, part in step.transformer_list if part != "drop")
    for _, part in getattr(step, "steps", ()):
        before = is_sparse(part, before)
    of_class = {
        "ColumnTransformer": getattr(step, "sparse_output_", False),
        "OneHotEncoder": getattr(step, "sparse_output", getattr(step, "sparse", False)),
        "KBinsDiscretizer": getattr(step, "encode", None) == "onehot",
        "OrdinalEncoder": False,
        "TargetEncoder": False,
    }
    return bool(of_class.get(type(step).__name__, before))


def shown(step: Any) -> str:
    """The steps by their classes, each ColumnTransformer with its parts."""
    if isinstance(step, str) or step is None:
        return step or "passthrough"
    if hasattr(step, "steps"):
        return ", ".join(shown(part) for _, part in step.steps)
    parts = getattr(step, "transformers_", None) or getattr(step, "transformer_list", None)
    if parts is None:
        return type(step).__name__
    return f"{type(step).__name__}({'; '.join(f'{part[0]}: {shown(part[1])}' for part in parts)})"


def _after_columns(step: Any, features: list[Feature]) -> list[Feature]:
    """A ColumnTransformer: its parts in their order, and what is left over last."""
    found = []
    for name, part, _ in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        of_part = [features[index] for index in step._transformer_to_input_indices[name]]
        if of_part:
            found += after(part, of_part)
    return found


def _after_union(step: Any, features: list[Feature]) -> list[Feature]:
    parts = [part for _, part in step.transformer_list if part != "drop"]
    return [feature for part in parts for feature in after(part, features)]


def _after_scaler(step: Any, features: list[Feature]) -> list[Feature]:
    for attribute, operation in _SCALERS[type(step).__name__]:
        numbers = getattr(step, attribute, None)
        if numbers is not None:
            features = [
                feature.then(lambda x, number=number, operation=operation: operation(x, number))
                for feature, number in zip(features, numbers, strict=True)
            ]
    if getattr(step, "clip", False):
        low, high = step.feature_range
        features = [feature.then(lambda x: np.clip(x, low, high)) for feature in features]
    return features


def _after_imputer(step: Any, features: list[Feature]) -> list[Feature]:
    """A SimpleImputer: a fill for each column, and indicators of missing values last."""
    features = [_without_missing(step, feature) for feature in features]
    found = []
    for feature, fill in zip(features, step.statistics_, strict=True):
        kept = fill
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
    return [feature.then(lambda x: np.isnan(x).astype(np.float64)) for feature in marked]


def _without_missing(step: Any, feature: Feature) -> Feature:
    """The feature with NaN in the place of what the step takes for missing."""
    number = step.missing_values
    if is_missing(number):
        return feature
    if isinstance(number, str):
        raise UnsupportedModelError(
            f"the {type(step).__name__} takes {number!r} for missing, which is not scored: use NULL"
        )
    return feature.without(np.nextafter(float(number), -np.inf), number)


def _after_function(step: Any, features: list[Feature]) -> list[Feature]:
    if step.func is None:
        return features
    name = getattr(step.func, "__name__", "")
    if name not in _FUNCTIONS or step.func is not getattr(np, name, None) or step.kw_args:
        raise UnsupportedModelError(
            f"the FunctionTransformer of {name or step.func!r} is not scored: supported are NumPy's "
            + ", ".join(_FUNCTIONS)
        )
    return [feature.then(step.func, _FUNCTIONS[name]) for feature in features]


def _after_bins(step: Any, features: list[Feature]) -> list[Feature]:
    found = []
    for feature, edges, bins in zip(features, step.bin_edges_, step.n_bins_, strict=True):
        inner = np.asarray(edges[1:-1])
        binned = feature.then(lambda x, inner=inner: _binned(x, inner))
        if step.encode == "ordinal":
            found.append(binned)
            continue
        for number in range(bins):
            is_in: Function = lambda x, number=number: (x == number) * 1.0  # noqa: E731
            found.append(binned.then(is_in, (number - 1.0, float(number))))
    return found


def _binned(values: Any, edges: Any) -> Any:
    found = np.searchsorted(edges, values, side="right").astype(np.float64)
    return np.where(np.isnan(values), np.nan, found)


def _after_polynomial(step: Any, features: list[Feature]) -> list[Feature]:
    """Powers of one column; a product of several is refused where trees use it."""
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
