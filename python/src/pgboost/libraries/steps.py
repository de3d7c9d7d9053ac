"""What stands before the trees of a Pipeline of scikit-learn, folded into the trees.

A step that computes each feature from one column does not have to run: a scaler moves thresholds, an
imputer decides where missing values go, an encoder makes a set of categories of a threshold. So the file
has trees over the table's own columns, and predictions cost what they cost without the steps. A threshold
is moved to the last double that the steps' own functions send left, so no row goes another way.

Steps that compute a feature from several columns are refused by name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import UnsupportedModelError
from ..model_file import ModelFile
from .sklearn import (
    Ensemble,
    Tree,
    category_values,
    described,
    ensemble_of,
    inputs,
    is_missing,
    names,
    require_no_rounds,
    written,
)

Function = Callable[[Any], Any]

# Functions of a FunctionTransformer that ascend, and where they begin.
_ASCENDING = {
    "log1p": -1.0, "log": 0.0, "log2": 0.0, "log10": 0.0, "sqrt": 0.0,
    "exp": -np.inf, "expm1": -np.inf, "cbrt": -np.inf, "arcsinh": -np.inf, "arctan": -np.inf,
}  # fmt: skip
_SCALERS = {
    "StandardScaler": (("mean_", np.subtract), ("scale_", np.divide)),
    "MinMaxScaler": (("scale_", np.multiply), ("min_", np.add)),
    "MaxAbsScaler": (("scale_", np.divide),),
    "RobustScaler": (("center_", np.subtract), ("scale_", np.divide)),
}


@dataclass(frozen=True)
class Feature:
    """A feature in front of the trees: a column of the table, and what is computed of it.

    `fill` replaces a missing value of the column itself. A number goes through `functions`, which ascend.
    A category has a number in `table`, by its code, and so have missing and unknown values: `missing` may
    be NaN, and without `unknown` an unknown value is an error.
    """

    column: int
    fill: Any = None
    functions: tuple[Function, ...] = ()
    values: Sequence[Any] | None = None
    table: Any = None
    missing: float = np.nan
    unknown: float | None = None

    @property
    def is_raw(self) -> bool:
        return self.table is None and not self.functions

    def then(self, function: Function) -> Feature:
        """The feature after a function of numbers."""
        if self.table is None:
            return replace(self, functions=(*self.functions, function))
        unknown = None if self.unknown is None else float(function(np.array([self.unknown]))[0])
        missing = float(function(np.array([self.missing]))[0])
        return replace(self, table=function(self.table), missing=missing, unknown=unknown)

    def number(self, values: Any) -> Any:
        """What the trees see of numbers of the column."""
        for function in self.functions:
            values = function(values)
        return values


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """The file of a fitted Pipeline that ends in an estimator of trees.

    Its features are the columns that its steps read: with names, a column that they drop is none.
    """
    require_no_rounds(rounds)
    steps = [step for _, step in model.steps]
    width, columns = _width(model), names(model)
    features = [Feature(column) for column in range(width)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in steps[:-1]:
            features = _after(step, features)
        ensemble, unknown = _folded(ensemble_of(steps[-1]), features)
    read = range(width) if columns is None else sorted({feature.column for feature in features})
    sent = _renumbered(ensemble, {column: number for number, column in enumerate(read)})
    if unknown:
        sent.others["unknown_category"] = [column in unknown for column in read]
    read_names = None if columns is None else [columns[column] for column in read]
    content = written(sent, steps[-1], len(read), read_names)
    return described(content, model, steps[-1], lambda: inputs(model, ensemble))


def _renumbered(ensemble: Ensemble, numbers: dict[int, int]) -> Ensemble:
    """The ensemble with other numbers of its features."""
    of_leaves = numbers | {0: numbers.get(0, 0)}
    trees = [
        replace(tree, feature=np.array([of_leaves[int(column)] for column in tree.feature]))
        for tree in ensemble.trees
    ]
    categories = {numbers[column]: values for column, values in ensemble.categories.items()}
    return replace(ensemble, trees=trees, categories=categories, others=dict(ensemble.others))


def _width(model: Any) -> int:
    found = getattr(model, "n_features_in_", None)
    if found is None:
        raise UnsupportedModelError("the Pipeline does not know its number of columns")
    return int(found)


def _after(step: Any, features: list[Feature]) -> list[Feature]:  # noqa: PLR0911 (one per kind)
    """The features after a step."""
    name = type(step).__name__
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return features
    if hasattr(step, "transformers_"):
        return _after_columns(step, features)
    if hasattr(step, "transformer_list"):
        parts = [part for _, part in step.transformer_list if part != "drop"]
        return [feature for part in parts for feature in _after(part, features)]
    if hasattr(step, "steps"):
        for _, part in step.steps:
            features = _after(part, features)
        return features
    if hasattr(step, "get_support"):
        kept = step.get_support()
        return [feature for feature, keep in zip(features, kept, strict=True) if keep]
    if name in _SCALERS:
        return _after_scaler(step, features)
    if name == "SimpleImputer":
        return _after_imputer(step, features)
    if name == "FunctionTransformer":
        return _after_function(step, features)
    if name in ("OneHotEncoder", "OrdinalEncoder", "TargetEncoder"):
        return _after_encoder(step, features)
    if name == "KBinsDiscretizer" and step.encode == "ordinal":
        edges = [found[1:-1] for found in step.bin_edges_]
        return [
            feature.then(lambda x, edges=edges: _binned(x, edges))
            for feature, edges in zip(features, edges, strict=True)
        ]
    raise UnsupportedModelError(
        f"the Pipeline has a {name}, which is not scored: leave it out, or compute in SQL what it computes"
    )


def _after_columns(step: Any, features: list[Feature]) -> list[Feature]:
    """A ColumnTransformer: its parts in their order, and what is left over last."""
    found = []
    for name, part, _ in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        of_part = [features[index] for index in step._transformer_to_input_indices[name]]
        if of_part:
            found += _after(part, of_part)
    return found


def _binned(values: Any, edges: Any) -> Any:
    found = np.searchsorted(edges, values, side="right").astype(np.float64)
    return np.where(np.isnan(values), np.nan, found)


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
    if not is_missing(step.missing_values):
        raise UnsupportedModelError(
            f"the SimpleImputer takes {step.missing_values!r} for missing, which is not scored: use NULL"
        )
    found = []
    for feature, fill in zip(features, step.statistics_, strict=True):
        if is_missing(fill):
            if step.keep_empty_features:
                raise UnsupportedModelError("the SimpleImputer keeps a column without values")
            continue
        if feature.is_raw:
            found.append(feature if feature.fill is not None else replace(feature, fill=fill))
        else:
            found.append(feature.then(lambda x, fill=fill: np.where(np.isnan(x), fill, x)))
    indicator = getattr(step, "indicator_", None)
    if indicator is not None:
        for index in indicator.features_:
            if not features[index].is_raw or features[index].fill is not None:
                raise UnsupportedModelError("the SimpleImputer indicates what is computed")
            indicated: Function = lambda x: np.isnan(x).astype(np.float64)  # noqa: E731
            found.append(features[index].then(indicated))
    return found


def _after_function(step: Any, features: list[Feature]) -> list[Feature]:
    if step.func is None:
        return features
    name = getattr(step.func, "__name__", "")
    if name not in _ASCENDING or step.func is not getattr(np, name, None) or step.kw_args:
        raise UnsupportedModelError(
            f"the FunctionTransformer of {name or step.func!r} is not scored: supported are NumPy's "
            + ", ".join(_ASCENDING)
        )
    return [feature.then(step.func) for feature in features]


def _after_encoder(step: Any, features: list[Feature]) -> list[Feature]:
    """Encoders: the number, or numbers, that each category becomes, computed by the encoder itself."""
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
            found.append(Feature(feature.column, None, (), values, numbers, missing, unknown))
        start += widths[index]
    return found


def _output_widths(step: Any) -> list[int]:
    if type(step).__name__ == "OneHotEncoder":
        return [int(width) for width in step._n_features_outs]
    if type(step).__name__ == "TargetEncoder" and step.target_type_ == "multiclass":
        raise UnsupportedModelError("the TargetEncoder of several classes is not scored")
    return [1] * len(step.categories_)


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
        unknown = float(step.target_mean_)
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


def _folded(ensemble: Ensemble, features: list[Feature]) -> tuple[Ensemble, set[int]]:
    """The trees over columns, and the columns whose unknown values have a code."""
    kinds: dict[int, Sequence[Any] | None] = {}
    for feature in features:
        values = feature.values
        if kinds.setdefault(feature.column, values) != values:
            raise UnsupportedModelError(
                f"the Pipeline takes column {feature.column} for numbers and for categories,"
                " or encodes it twice"
            )
    if ensemble.categories:
        raise UnsupportedModelError("the Pipeline ends in a model with categorical_features")
    unknown = {feature.column for feature in features if feature.unknown is not None}
    trees = [_folded_tree(tree, features, ensemble.value_type, unknown) for tree in ensemble.trees]
    categories = {column: list(values) for column, values in kinds.items() if values is not None}
    folded = replace(
        ensemble,
        trees=trees,
        value_type="float64",
        categories=categories,
        others=dict(ensemble.others),
    )
    return folded, unknown


def _folded_tree(tree: Tree, features: list[Feature], value_type: str, unknown: set[int]) -> Tree:
    threshold = np.array(tree.threshold, np.float64)
    missing = np.array(tree.missing_left, np.uint8)
    column = np.zeros(len(threshold), np.int64)
    sets: dict[int, list[int]] = {}
    inner = ~tree.leaves
    for number in np.unique(np.asarray(tree.feature)[inner]):
        feature = features[number]
        nodes = np.flatnonzero(inner & (tree.feature == number))
        column[nodes] = feature.column
        cast = np.float32 if value_type == "float32" else np.float64
        limits = threshold[nodes]
        if feature.table is not None:
            _to_sets(feature, nodes, limits, cast, missing, sets)
            threshold[nodes] = 0.0
            continue
        of_missing = np.nan if feature.fill is None else float(feature.fill)
        goes = _seen(feature, np.array([of_missing]), cast)[0]
        if not np.isnan(goes):
            missing[nodes] = goes <= limits
        if feature.functions or cast is np.float32:
            threshold[nodes] = _last_left(feature, limits, cast)
    return replace(tree, feature=column, threshold=threshold, missing_left=missing, sets=sets)


def _seen(feature: Feature, values: Any, cast: Any) -> Any:
    """What the trees compare of the column's numbers."""
    with np.errstate(all="ignore"):
        return feature.number(values).astype(cast).astype(np.float64)


def _to_sets(  # noqa: PLR0913, PLR0917 (the parts of a tree)
    feature: Feature, nodes: Any, limits: Any, cast: Any, missing: Any, sets: dict[int, list[int]]
) -> None:
    """Makes sets of categories of thresholds; the code after the last one is that of unknown values."""
    numbers = np.append(feature.table, np.nan if feature.unknown is None else feature.unknown)
    numbers = numbers.astype(cast).astype(np.float64)
    of_missing = np.float64(cast(feature.missing))
    for node, limit in zip(nodes, limits, strict=True):
        sets[int(node)] = [int(code) for code in np.flatnonzero(numbers <= limit)]
        if not np.isnan(of_missing):
            missing[node] = of_missing <= limit


def _last_left(feature: Feature, limits: Any, cast: Any) -> Any:
    """For each threshold the largest double that goes left, or minus infinity."""
    low = np.full(len(limits), _rank(np.array([-np.inf]))[0])
    high = np.full(len(limits), _rank(np.array([np.inf]))[0])
    everything = _goes_left(feature, np.full(len(limits), np.inf), limits, cast)
    # Invariant: what has rank low goes left or is minus infinity, what has rank high goes right.
    while np.any(low + 1 < high):
        # Half of the sum, which itself may be too large.
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        left = _goes_left(feature, _double(middle), limits, cast)
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    return np.where(everything, np.inf, _double(low))


def _goes_left(feature: Feature, values: Any, limits: Any, cast: Any) -> Any:
    seen = _seen(feature, values, cast)
    # Below where a function begins, which is NaN: as small as it gets.
    return np.isnan(seen) | (seen <= limits)


def _rank(values: Any) -> Any:
    """Numbers of i64 in the order of doubles."""
    bits = np.asarray(values, np.float64).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits)


def _double(ranks: Any) -> Any:
    bits = np.where(ranks < 0, np.int64(-(2**63)) - ranks - 1, ranks)
    return bits.astype(np.int64).view(np.float64)
