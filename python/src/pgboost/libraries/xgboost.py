"""Converts XGBoost's boosters and scikit-learn wrappers.

A wrapper that stopped early predicts with its best iteration, a booster with all rounds, and so does the
database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import xgboost

from ..comparison import Tolerance
from ..errors import UnsupportedModelError, refuse
from ..inputs import Inputs
from ..model_file import ModelFile, classifier, label_text, of_labels, regressor
from .ensemble import Ensemble, Tree, described
from .feature import Feature
from .folding import folded

# Margins are equal to the bit; an exponential of another C library may differ by 2 ULP.
_TOLERANCE = Tolerance(rtol=2**-22)
_CATEGORICAL = "c"
# The release since which files have categories, and that since which slices have them too.
_WITH_CATEGORIES, _WHOLE_SLICES = [3, 1], [3, 4]
# By their codes in the file, the types of numeric categories.
_TYPES = dict(enumerate(["f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"], start=7))
_LOST = "the model does not have the categories of {}, since XGBoost {} {}"
_QUANTILES = "reg:quantileerror"
# Reads a booster once it is needed.
Content = Callable[[], dict[str, Any]]
# By objective, the link of a tree ensemble.
_LINKS = {
    **dict.fromkeys(("binary:logistic", "reg:logistic"), "logistic"),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "exponential"),
    **dict.fromkeys(("survival:cox", "survival:aft"), "exponential"),
    **dict.fromkeys(("reg:squarederror", "reg:squaredlogerror", "reg:absoluteerror"), "identity"),
    **dict.fromkeys(("reg:pseudohubererror", "binary:logitraw"), "identity"),
    **dict.fromkeys(("rank:pairwise", "rank:ndcg", "rank:map"), "identity"),
    **dict.fromkeys(("multi:softprob", "multi:softmax"), "softmax"),
    _QUANTILES: "ascending",
    "reg:expectileerror": "expectile",
}


def model_file(model: Any, rounds: int | None = None) -> ModelFile:
    """Returns the file of a `Booster`, `XGBModel` or one of its subclasses."""
    options = {} if rounds is None else {"iteration_range": (0, rounds)}
    if isinstance(model, xgboost.Booster):
        content = cache(partial(_content, model))

        def values(frame: Any) -> Any:
            found = model.predict(_matrix(model, content, frame), **options)
            return _ascending(found, _objective(content()))

        return _file(model, content, may_be_slice=True, values=values)
    if not isinstance(model, xgboost.XGBModel):
        raise UnsupportedModelError(f"cannot send a {type(model).__qualname__} of xgboost")
    if not _is_nan(model.missing):
        return _with_missing(model, options)
    booster = model.get_booster()
    found = functions(model, model, **options)
    if model.objective == "multi:softmax":
        # The file's value is the number of the class.
        found["values"] = partial(xgboost.XGBModel.predict, model, **options)
    return _file(booster, cache(partial(_content, booster)), rounds=_rounds(model), **found)


def functions(model: Any, estimator: Any, **options: Any) -> dict[str, Any]:
    """Returns the functions to compare the database with, of a model that is the estimator or ends in it."""
    kind: Callable[..., Any] = regressor
    if isinstance(estimator, xgboost.XGBClassifier):
        objective = str(estimator.objective)
        if objective.partition(":")[0] in ("reg", "count", "rank", "survival"):
            reason = f"has the objective {objective}, which has no classes"
            refuse(estimator, f"{reason}: push its get_booster()")
        if objective == "binary:logitraw":
            reason = "takes margins of binary:logitraw for probabilities"
            refuse(estimator, f"{reason}: push its get_booster()")
        # Of multi:softprob, predict returns a row of numbers for two classes too.
        is_multi = objective.startswith("multi:") and len(estimator.classes_) == 2
        kind = of_labels if is_multi or _targets(estimator.get_booster()) > 1 else classifier
    tolerance = _TOLERANCE
    if getattr(estimator, "booster", None) == "dart" or estimator.get_params().get("rate_drop"):
        tolerance = _of_dart(estimator.get_booster())
    elif estimator.objective == "multi:softmax":
        # Its probabilities are computed by NumPy.
        tolerance = Tolerance(rtol=2**-20)
    found = dict(kind(model, **options))
    values = found["values"]
    found["values"] = lambda frame: _ascending(values(frame), estimator.objective)
    return {**found, "tolerance": tolerance}


def _ascending(values: Any, objective: Any) -> Any:
    """Returns the values as XGBoost 3.4 does, which sorts the quantiles of a row."""
    return np.sort(values, axis=1) if objective == _QUANTILES and values.ndim > 1 else values


def _targets(booster: xgboost.Booster) -> int:
    learner = json.loads(booster.save_config())["learner"]
    return int(learner["learner_model_param"].get("num_target", 1))


def _of_dart(booster: xgboost.Booster) -> Tolerance:
    """Returns a tolerance, since a wrapper adds the trees in another order than `Booster.predict`."""
    content = _content(booster)
    sizes = [np.abs(tree["split_conditions"]).max() for tree in _model(content)["trees"]]
    return Tolerance(rtol=2**-20, atol=2**-22 * float(np.dot(np.abs(_weights(content)), sizes)))


def _with_missing(model: Any, options: dict[str, Any]) -> ModelFile:
    """Returns a tree ensemble, since XGBoost's file has no number for missing."""
    if options:
        raise UnsupportedModelError(f"rounds cannot be given where {model.missing} is missing")
    content = _content(model.get_booster())
    features = [Feature(column) for column in range(model.n_features_in_)]
    ensemble = _ensemble(model, content)
    if ensemble.categories:
        refuse(model, f"has missing={model.missing} and categories, which are not scored together")
    ensemble = folded(ensemble, features)
    return described(ensemble, model, functions(model, model), _objective(content))


def _is_nan(number: Any) -> bool:
    return number is None or bool(np.isnan(number))


def _file(
    booster: xgboost.Booster, content: Content, may_be_slice: bool = False, **functions: Any
) -> ModelFile:
    file = bytes(booster.save_raw("ubj"))
    functions = {"tolerance": _TOLERANCE, **functions}
    if _CATEGORICAL in (booster.feature_types or ()):
        functions |= _without_categories(booster, content(), may_be_slice)
    return ModelFile(file, inputs=lambda: _inputs(booster, content()), **functions)


def _without_categories(
    booster: xgboost.Booster, content: dict[str, Any], may_be_slice: bool
) -> dict[str, Any]:
    """Returns the error of a model with codes in place of categories, or that the codes are these."""
    _, coded, cut = _categories(booster, content)
    release = content["version"]
    if release >= _WHOLE_SLICES or not coded:
        return {}
    reason = "keeps none in its models"
    if cut:
        coded, reason = cut, "damages those beyond ASCII"
    elif release >= _WITH_CATEGORIES:
        if not may_be_slice:
            return {"categories": {}}
        reason = "leaves them out of slices such as booster[:10]"
    return {"lost": _LOST.format(_named(booster, coded), ".".join(map(str, release)), reason)}


def _named(booster: xgboost.Booster, columns: list[int]) -> str:
    names = booster.feature_names
    return ", ".join(repr(names[column]) if names else f"f{column}" for column in columns)


def _rounds(model: Any) -> int | None:
    if model.booster == "gblinear":
        return None
    try:
        return int(model.best_iteration) + 1
    except AttributeError:
        return None


def _matrix(booster: xgboost.Booster, content: Content, frame: Any) -> xgboost.DMatrix:
    """Converts the frame; a booster of before 3.1 takes codes instead of categories."""
    types = booster.feature_types or []
    if _CATEGORICAL not in types or any(one["values"] for one in _encoders(_model(content()))):
        return xgboost.DMatrix(frame, enable_categorical=True)
    if hasattr(frame, "columns"):
        codes = {
            name: frame[name].cat.codes.astype(np.float32).replace(-1, np.nan)
            for name in frame.columns
            if hasattr(frame[name], "cat")
        }
        frame = frame.assign(**codes)
    return xgboost.DMatrix(frame, feature_types=types, enable_categorical=True)


def _content(booster: xgboost.Booster) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(booster.save_raw("json"))
    return content


def _model(content: dict[str, Any]) -> dict[str, Any]:
    """Returns the trees and the members next to them."""
    boosted = content["learner"]["gradient_booster"]
    model: dict[str, Any] = boosted.get("gbtree", boosted)["model"]
    return model


def _weights(content: dict[str, Any]) -> list[float]:
    """Returns the weights of the trees, which dropout changes; since 3.4 the model has them."""
    boosted, model = content["learner"]["gradient_booster"], _model(content)
    found: list[float] = boosted.get("weight_drop") or model.get("weight_drop") or []
    return found or [1.0] * len(model["trees"])


def _objective(content: dict[str, Any]) -> str:
    return str(content["learner"]["objective"]["name"])


def _inputs(booster: xgboost.Booster, content: dict[str, Any]) -> Inputs:
    model, width = _model(content), booster.num_features()
    # A linear booster has no trees.
    splits = [(np.empty(0, int), np.empty(0, np.float32)), *map(_splits, model.get("trees", ()))]
    feature, threshold = (np.concatenate(part) for part in zip(*splits, strict=True))
    categories, coded, _ = _categories(booster, content)
    return Inputs(
        width=width,
        thresholds={column: threshold[feature == column] for column in range(width)},
        dtype=np.float32,
        names=booster.feature_names,
        categories=categories,
        plain=len(coded) == len(categories),
        coded=coded,
    )


def _categories(
    booster: xgboost.Booster, content: dict[str, Any]
) -> tuple[dict[int, Any], list[int], list[int]]:
    """Returns the categories or codes of features, those with codes, and those of damaged categories."""
    model, release = _model(content), content["version"]
    # Files up to 3.3 count characters where they mean bytes.
    is_cut = _WITH_CATEGORIES <= release < _WHOLE_SLICES
    encoders = _encoders(model)
    categories, coded, cut = {}, [], []
    for column, kind in enumerate(booster.feature_types or ()):
        if kind != _CATEGORICAL:
            continue
        encoder = encoders[column] if encoders else {"values": ()}
        if is_cut and "offsets" in encoder and min(encoder["values"], default=0) < 0:
            cut.append(column)
            encoder = {"values": ()}
        if encoder["values"]:
            categories[column] = _values(encoder)
        else:
            categories[column] = range(_codes(model.get("trees", ()), column))
            coded.append(column)
    return categories, coded, cut


def _splits(tree: dict[str, Any]) -> tuple[Any, Any]:
    """Returns the features and thresholds of a tree's numeric splits."""
    chosen = np.asarray(tree["left_children"]) != -1
    chosen &= np.asarray(tree.get("split_type", np.zeros(len(chosen)))) == 0
    features = np.asarray(tree["split_indices"])[chosen]
    return features, np.asarray(tree["split_conditions"], np.float32)[chosen]


def _codes(trees: list[dict[str, Any]], column: int) -> int:
    """Returns the number of codes in the splits of a feature, and one for an unknown category."""
    found = [
        max(tree["categories"][start : start + size], default=0)
        for tree in trees
        for node, start, size in _sets(tree)
        if tree["split_indices"][node] == column
    ]
    return max(found, default=0) + 2


def _sets(tree: dict[str, Any]) -> Iterator[tuple[int, int, int]]:
    keys = ("categories_nodes", "categories_segments", "categories_sizes")
    yield from zip(*(tree.get(key, ()) for key in keys), strict=True)


def _encoders(model: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the categories of each feature in the order of their codes, which files since 3.1 have."""
    found: list[dict[str, Any]] = model.get("cats", {}).get("enc", [])
    return found


def _values(encoder: dict[str, Any]) -> Any:
    """Returns texts, or an array of the type of the frame's categories."""
    offsets, values = encoder.get("offsets"), encoder["values"]
    if offsets is None:
        return np.array(values).astype(_TYPES[encoder["type"]])
    text = bytes(value % 256 for value in values)
    return [text[a:b].decode() for a, b in pairwise(offsets)]


def ensemble_of(model: Any) -> Ensemble:
    """Returns the trees that a wrapper predicts with."""
    return _ensemble(model, _content(model.get_booster()))


def _ensemble(model: Any, content: dict[str, Any]) -> Ensemble:
    boosted, objective = content["learner"]["gradient_booster"], _objective(content)
    if objective not in _LINKS:
        refuse(model, f"has the objective {objective}, which is not scored here")
    if "gblinear" in str(boosted.get("name")):
        refuse(model, "has no trees: its booster is gblinear")
    found = _model(content)
    if not found["trees"]:
        refuse(model, "has no trees")
    if any(int(tree["tree_param"].get("size_leaf_vector", 1)) > 1 for tree in found["trees"]):
        # XGBoost ends the process when it predicts with one tree of such a model.
        refuse(model, "has a vector in each leaf: fit it with one tree per output")
    base = _base_margins(model.get_booster())
    size = max(int(found["gbtree_model_param"].get("num_parallel_tree", 1)), 1) * len(base)
    rounds = found.get("iteration_indptr") or list(range(0, len(found["trees"]) + 1, size))
    rounds = rounds[: (_rounds(model) or len(rounds)) + 1]
    parts = zip(found["trees"], found["tree_info"], _weights(content), strict=True)
    # By feature, the number of codes that splits name; the last stands for all above, which go left.
    coded = {place for tree in found["trees"] for place in _coded(tree)}
    codes = {place: _codes(found["trees"], place) for place in sorted(coded)}
    trees = [_tree(*part, codes) for part in list(parts)[: rounds[-1]]]
    others = {"sum_type": "float32", "base": base, "class_by": "value", "round_starts": rounds}
    labels = [label_text(label) for label in getattr(model, "classes_", ())]
    tasks = {"binary": "binary", "multi": "multiclass", "rank": "ranking"}
    task = tasks.get(objective.partition(":")[0], "regression")
    missing = None
    if not _is_nan(model.missing):
        number = np.float32(model.missing)
        missing = (float(np.nextafter(number, np.float32(-np.inf))), float(number))
    return Ensemble(
        trees,
        xgboost.__version__,
        len(base),
        # Several labels of a row are no classes.
        "regression" if task == "binary" and len(base) > 1 else task,
        _LINKS[objective],
        others=others,
        labels=labels or None,
        missing=missing,
        absent_is_missing=True,
        categories={place: [*range(count)] for place, count in codes.items()},
        last_is_above=bool(codes),
    )


def _base_margins(booster: xgboost.Booster) -> list[float]:
    """Returns the initial values of sums, which trees with leaves of 0 predict."""
    content = _content(booster)
    for tree in _model(content)["trees"]:
        tree["split_conditions"] = [0.0] * len(tree["split_conditions"])
    of_zeros = xgboost.Booster()
    of_zeros.load_model(bytearray(json.dumps(content, ensure_ascii=False).encode()))
    row = xgboost.DMatrix(
        np.full((1, booster.num_features()), np.nan, np.float32),
        feature_names=booster.feature_names,
        feature_types=booster.feature_types,
    )
    return [float(margin) for margin in np.ravel(of_zeros.predict(row, output_margin=True))]


def _coded(tree: dict[str, Any]) -> set[int]:
    """Returns the features of a tree's splits by categories."""
    return {tree["split_indices"][node] for node, _, _ in _sets(tree)}


def _tree(tree: dict[str, Any], output: int, weight: float, codes: dict[int, int]) -> Tree:
    left, right = (np.asarray(tree[f"{side}_children"], np.int64) for side in ("left", "right"))
    kept = _reached(left, right)
    number = np.full(len(left), -1)
    number[kept] = np.arange(len(kept))
    leaf = left[kept] < 0
    # The codes of a set go right.
    sets = {
        int(number[node]): sorted(
            {*range(codes[tree["split_indices"][node]])}
            - {*tree["categories"][start : start + size]}
        )
        for node, start, size in _sets(tree)
        if number[node] >= 0
    }
    condition = np.asarray(tree["split_conditions"], np.float32)[kept]
    # A row goes left below the threshold, so up to the number before it.
    below = np.nextafter(condition, np.float32(-np.inf)).astype(np.float64)
    return Tree(
        np.where(leaf, -1, number[left[kept]]),
        np.where(leaf, -1, number[right[kept]]),
        np.asarray(tree["split_indices"], np.int64)[kept],
        np.where(leaf, 0.0, below),
        np.asarray(tree["default_left"], np.uint8)[kept],
        np.asarray(tree["sum_hessian"], np.float32)[kept],
        np.where(leaf, 0.0, np.asarray(tree["loss_changes"], np.float32)[kept]),
        (condition[leaf] * np.float32(weight)).astype(np.float64),
        output,
        sets,
    )


def _reached(left: Any, right: Any) -> Any:
    """Returns the nodes that pruning has left, the root first."""
    found = [0]
    for node in found:
        found += [left[node], right[node]] if left[node] >= 0 else []
    return np.array(found)
