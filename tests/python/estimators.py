"""Classes of scikit-learn that pgboost knows, in models that use them, and values of their parameters."""

import importlib
import inspect
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from sklearn import (
    ensemble,
    feature_selection,
    linear_model,
    metrics,
    model_selection,
    pipeline,
    tree,
)
from sklearn import preprocessing as pre
from sklearn.base import is_classifier
from sklearn.compose import make_column_transformer
from sklearn.utils import _param_validation as constraints

from pgboost.libraries.known import FUNCTIONS, PARAMETERS

ROWS = 240
NUMBERS, TEXTS = ["a", "b", "n"], ["s", "t"]


def frame() -> pd.DataFrame:
    """Numbers that are doubles, positive and whole, and text of which some is missing."""
    generator = np.random.default_rng(3)
    text = generator.choice(list("abcdef"), ROWS, p=[0.4, 0.3, 0.15, 0.1, 0.03, 0.02])
    return pd.DataFrame(
        {
            "a": np.round(generator.normal(0, 2, ROWS), 2),
            "b": np.exp(generator.normal(0, 1, ROWS)),
            "n": generator.integers(0, 6, ROWS),
            "s": pd.Series(text, dtype=object),
            "t": pd.Series(generator.choice(["x", "y", None], ROWS), dtype=object),
        }
    )


def target(rows: pd.DataFrame, kind: str) -> Any:
    """A positive number, two of them, one of some classes, or two labels."""
    number = rows.a + np.log(rows.b) + 0.5 * (rows.n % 3) + (rows.s == "b") - (rows.t == "x")
    number += np.random.default_rng(4).normal(0, 0.3, len(rows))
    if kind == "numbers":
        return np.stack([np.exp(number / 3), number], axis=1)
    if kind == "labels":
        return np.stack([number > 0.5, rows.n > 2], axis=1) * 1
    if kind == "number":
        return np.asarray(np.exp(number / 3))
    labels = ["no", "yes"] if kind == "two" else ["low", "mid", "top"]
    return np.asarray(labels)[pd.qcut(number, len(labels), labels=False)]


FOREST = ensemble.RandomForestRegressor(4, max_depth=5, random_state=1)
TREE = tree.DecisionTreeClassifier(max_depth=5, random_state=1)
STUMP = tree.DecisionTreeRegressor(max_depth=3, random_state=1)
CLASSIFIERS = [("one", TREE), ("two", ensemble.ExtraTreesClassifier(3, random_state=2))]
REGRESSORS = [("one", FOREST), ("two", ensemble.GradientBoostingRegressor(n_estimators=3))]
PARTS = [("a", pre.StandardScaler(), ["a", "n"]), ("b", "passthrough", ["b"])]
UNION = [("a", pre.MaxAbsScaler()), ("b", "passthrough")]
SCORED = ["SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe"]
SCORED.append("GenericUnivariateSelect")
OTHERS = ["SelectFromModel", "RFE", "RFECV", "VarianceThreshold", "SequentialFeatureSelector"]
SELECTIONS = SCORED + OTHERS


class With(dict[str, Any]):
    """A value with the other parameters that it needs; the value itself comes first."""


def fitted_tree() -> Any:
    rows = frame()
    return tree.DecisionTreeClassifier(max_depth=3).fit(rows[NUMBERS], target(rows, "two"))


# Parameters that a class always gets.
GIVEN: dict[str, dict[str, Any]] = {
    "TransformedTargetRegressor": {"regressor": FOREST, "func": np.log, "inverse_func": np.exp},
    "ColumnTransformer": {"transformers": PARTS},
    "Pipeline": {"steps": [("scale", pre.StandardScaler()), ("last", FOREST)]},
    "FeatureUnion": {"transformer_list": UNION},
    "VotingClassifier": {"estimators": CLASSIFIERS, "voting": "soft"},
    "VotingRegressor": {"estimators": REGRESSORS},
    "StackingClassifier": {"estimators": CLASSIFIERS, "cv": 2},
    "StackingRegressor": {"estimators": REGRESSORS, "cv": 2},
    "MultiOutputClassifier": {"estimator": TREE},
    "MultiOutputRegressor": {"estimator": FOREST},
    "OneVsRestClassifier": {"estimator": TREE},
    "CalibratedClassifierCV": {"estimator": TREE, "cv": 2},
    "FixedThresholdClassifier": {"estimator": TREE, "threshold": 0.3},
    "TunedThresholdClassifierCV": {"estimator": TREE, "cv": 2, "thresholds": 10},
    "ElasticNetCV": {"cv": 2},
    "LassoCV": {"cv": 2},
    "LogisticRegressionCV": {"cv": 2, "Cs": 4},
    "FrozenEstimator": {"estimator": fitted_tree()},
    "MissingIndicator": {"error_on_new": False},
    "SelectFromModel": {"estimator": STUMP},
    "SequentialFeatureSelector": {"estimator": STUMP, "cv": 2},
    "RFE": {"estimator": STUMP},
    "RFECV": {"estimator": STUMP, "cv": 2},
    **{name: {"score_func": feature_selection.f_regression} for name in SCORED},
}

USED = "use_encoded_value"
FEW = {"algorithm": "SAMME", "n_estimators": 4, "max_iter": 6, "max_depth": 5, "random_state": 1}
CUSTOM = [["b", "a", "c", "d", "e", "f"], ["y", "x", None]]
BOOTSTRAP = {"bootstrap": True}
# Values of parameters that their classes do not describe, by class and parameter, or by parameter alone.
VALUES: dict[str, list[Any]] = {
    "with_mean": [False],
    "categories": [CUSTOM],
    "OneHotEncoder.drop": ["first", "if_binary", ["a", "x"]],
    "AdaBoostClassifier.algorithm": ["SAMME.R"],
    "OneHotEncoder.dtype": [np.float32, np.int8],
    "OrdinalEncoder.dtype": [np.float32],
    "KBinsDiscretizer.dtype": [np.float32],
    "min_frequency": [10, 0.2],
    "max_categories": [2, 3],
    "encoded_missing_value": [-2, 7.5],
    "OrdinalEncoder.unknown_value": [With(unknown_value=value, handle_unknown=USED) for value in (-1,
        np.nan)],
    "OrdinalEncoder.handle_unknown": [With(handle_unknown=USED, unknown_value=9)],
    "feature_name_combiner": [lambda feature, category: f"{feature}: {category}"],
    "smooth": [3.0],
    "feature_range": [(-1, 2)],
    "quantile_range": [(10.0, 80.0)],
    "degree": [3, (2, 3)],
    "func": [getattr(np, name) for name in FUNCTIONS.split()] + [np.sin, max],
    "TransformedTargetRegressor.func": [np.sqrt],
    "TransformedTargetRegressor.inverse_func": [With(func=np.log1p, inverse_func=np.expm1),
        With(func=np.sqrt, inverse_func=np.square)],
    "TransformedTargetRegressor.transformer": [With(transformer=pre.StandardScaler(), func=None,
        inverse_func=None)],
    "inverse_func": [np.expm1],
    "kw_args": [With(kw_args={"where": True}, func=np.exp)],
    "inv_kw_args": [{"where": True}],
    "feature_names_out": ["one-to-one"],
    "missing_values": [0, 3, np.nan],
    "strategy": ["mean", "median", "most_frequent", "constant", "uniform", "quantile", "kmeans"],
    "fill_value": [1.5],
    "remainder": ["passthrough", pre.MinMaxScaler()],
    "transformer_weights": [{"a": 2.5}, {"a": -0.5, "b": 3}],
    "transformers": [PARTS[:1], [("a", pre.RobustScaler(), [True, False, True])]],
    "transformer_list": [UNION[:1], [("a", "drop"), ("b", pre.StandardScaler())]],
    "steps": [[("scale", pre.RobustScaler()), ("no", "passthrough"), ("last", FOREST)]],
    "transform_input": [["sample_weight"]],
    "class_weight": ["balanced"],
    "monotonic_cst": [[1, 0, 0]],
    "interaction_cst": [[{0, 1}, {2}], "no_interactions"],
    "categorical_features": [[2], [False, False, True]],
    "GradientBoostingClassifier.init": ["zero", linear_model.LogisticRegression()],
    "GradientBoostingRegressor.init": ["zero", linear_model.LinearRegression()],
    "FrozenEstimator.estimator": [FOREST.fit(frame()[NUMBERS], frame().b)],
    "estimators": [CLASSIFIERS[:1], REGRESSORS[:1], [("one", "drop"), REGRESSORS[1]]],
    "estimator": [TREE, FOREST, tree.ExtraTreeClassifier(max_depth=4), tree.ExtraTreeRegressor()],
    "base_estimator": [TREE, tree.DecisionTreeRegressor(max_depth=4)],
    "regressor": [tree.DecisionTreeRegressor(max_depth=3)],
    "final_estimator": [linear_model.LogisticRegression(), linear_model.PoissonRegressor(), TREE],
    "weights": [[1, 2.5]],
    "method": ["sigmoid", "isotonic"],
    "threshold": [0.7, "auto"],
    "pos_label": ["no"],
    "scoring": ["roc_auc", "neg_mean_squared_error", "accuracy"],
    "TunedThresholdClassifierCV.scoring": [metrics.make_scorer(metrics.f1_score,
        pos_label=label) for label in ("no", "yes")],
    "cv": [3, model_selection.KFold(2)],
    "C": [0.3],
    "alphas": [[0.1, 3.0]],
    "l1_ratios": [(0.3,)],
    "use_legacy_attributes": [False],
    "max_features": [1, 0.7, "sqrt"],
    "max_samples": [With(max_samples=0.5, **BOOTSTRAP)],
    "IsolationForest.max_samples": [0.5],
    "min_impurity_decrease": [0.01],
    "score_func": [lambda x, y: feature_selection.f_regression(x, y, center=False)],
    "memory": ["/tmp/pgboost-memory"],
    "importance_getter": ["feature_importances_"],
    "contamination": [0.1],
    "sampling_strategy": ["not minority"],
    "oob_score": [With(oob_score=True, **BOOTSTRAP)],
    "n_jobs": [1],
    "verbose": [True],
    "MissingIndicator.error_on_new": [True],
    "l1_ratio": [0.3],
    "LogisticRegression.l1_ratio": [With(l1_ratio=0.3, solver="saga", penalty="elasticnet")],
    "LogisticRegressionCV.l1_ratios": [With(l1_ratios=[0.3], solver="saga", penalty="elasticnet")],
    "shuffle": [False],
    "TargetEncoder.shuffle": [With(shuffle=False, random_state=None)],
    "n_iter": [With(n_iter=5, max_iter=None)],
    "penalty": [With(penalty="l1", solver="liblinear")],
    "SGDRegressor.penalty": ["l1"],
    "CalibratedClassifierCV.base_estimator": [With(base_estimator=TREE, estimator=None)],
    "dual": [With(dual=True, solver="liblinear")],
    "refit": [False],
    "TunedThresholdClassifierCV.refit": [With(refit=False, cv="prefit", estimator=fitted_tree())],
    "precompute": [True],
    "multi_class": ["ovr", "multinomial"],
    "verbose_feature_names_out": [False],
}  # fmt: skip

# Parameters of the other libraries, which do not fit every task.
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "XGB": {"booster": ["gbtree", "dart", "gblinear"],
        "objective": ["reg:squarederror", "count:poisson", "binary:logistic", "multi:softmax", "reg:gamma",
        "binary:logitraw", "binary:hinge", "rank:ndcg", "survival:cox", "reg:quantileerror", "reg:logistic"],
        "multi_strategy": ["multi_output_tree"], "missing": [-1.0, 0.0], "max_depth": [1, 4],
        "quantile_alpha": [[0.2, 0.8]], "base_score": [0.3], "num_parallel_tree": [2], "n_estimators": [0, 1],
        "grow_policy": ["lossguide"], "tree_method": ["exact", "approx"], "max_cat_to_onehot": [1],
        "subsample": [0.6]},
    "LGBM": {"boosting_type": ["rf", "dart", "gbdt"],
        "objective": ["poisson", "binary", "multiclassova", "cross_entropy", "quantile", "huber", "tweedie"],
        "linear_tree": [True], "bagging_freq": [1], "bagging_fraction": [0.5], "zero_as_missing": [True],
        "use_missing": [False], "reg_sqrt": [True], "max_bin": [7], "extra_trees": [True],
        "min_data_in_leaf": [1], "min_data_per_group": [1], "max_cat_to_onehot": [1],
        "categorical_feature": [[0]]},
    "CatBoost": {"loss_function": ["Poisson", "Tweedie:variance_power=1.5", "MultiRMSE",
        "RMSEWithUncertainty", "MAE", "MultiLogloss", "CrossEntropy", "MultiClassOneVsAll",
        "Quantile:alpha=0.3", "LogCosh"], "grow_policy": ["Lossguide", "Depthwise"],
        "cat_features": [[0], [1]], "one_hot_max_size": [9], "nan_mode": ["Max", "Forbidden"],
        "boost_from_average": [True], "depth": [2, 7], "border_count": [5]},
}  # fmt: skip


def classes() -> Iterator[type]:
    """Yields the classes of the package's tables that scikit-learn has, and the selections."""
    known = {**PARAMETERS, "sklearn.feature_selection": dict.fromkeys(SELECTIONS, "")}
    for module, names in known.items():
        try:
            found = importlib.import_module(module)
        except ImportError:
            continue
        listed = " ".join(names).split()
        yield from (getattr(found, name) for name in listed if hasattr(found, name))


def constraint_of(described: Any) -> Any:
    """imbalanced-learn has separate classes of constraints."""
    try:
        return constraints.make_constraint(described)
    except ValueError:
        return described


def values(kind: type, parameter: str) -> list[Any]:
    """Returns values that the class says it takes, some of each range."""
    for key in (f"{kind.__name__}.{parameter}", parameter):
        if key in VALUES:
            return VALUES[key]
    found: list[Any] = []
    described = getattr(kind, "_parameter_constraints", {})
    for constraint in map(constraint_of, described.get(parameter, ())):
        names = {base.__name__ for base in type(constraint).__mro__}
        if "Options" in names:
            found += sorted(constraint.options - getattr(constraint, "deprecated", set()), key=str)
        elif "Interval" in names:
            low = 0 if constraint.left is None else max(float(constraint.left), -2.0)
            high = low + 4 if constraint.right is None else min(float(constraint.right), low + 4)
            middle = low + (high - low) / 3
            found.append(round(middle + 0.5) if constraint.type is Integral else middle)
        elif "_Booleans" in names:
            found += [True, False]
        elif "_RandomStates" in names:
            found.append(7)
    return found


def made(kind: type, given: dict[str, Any]) -> tuple[Any, Any]:
    """Returns an unfitted model that uses the class, and its rows."""
    few = {name: value for name, value in FEW.items() if name in inspect.signature(kind).parameters}
    one = kind(**{**few, **GIVEN.get(kind.__name__, {}), **given})
    rows = frame()
    numbers, module = rows[NUMBERS], kind.__module__
    if kind.__name__ in SELECTIONS:
        encoder = pre.OneHotEncoder(handle_unknown="ignore")
        # One that tries all columns in turn gets half as many.
        texts = TEXTS[1:] if kind.__name__ == "SequentialFeatureSelector" else TEXTS
        columns = make_column_transformer((encoder, texts), ("passthrough", NUMBERS))
        return pipeline.make_pipeline(columns, one, FOREST), rows
    if "sklearn.linear_model" in module:
        stacking = ensemble.StackingClassifier if is_classifier(one) else ensemble.StackingRegressor
        members = CLASSIFIERS if is_classifier(one) else REGRESSORS
        return stacking(members, one, cv=2), numbers
    if kind.__name__.endswith("Encoder"):
        columns = make_column_transformer(
            (one, TEXTS), ("passthrough", ["a"]), sparse_threshold=given.get("sparse_output", 0)
        )
        return pipeline.make_pipeline(columns, FOREST), rows
    if kind.__name__ in ("SimpleImputer", "MissingIndicator"):
        numbers = numbers.assign(a=numbers.a.mask(np.arange(ROWS) % 5 == 0))
        numbers = numbers if np.isnan(one.missing_values) else rows[NUMBERS]
    if ".tree" in module or ".ensemble" in module or hasattr(one, "predict"):
        is_step = kind.__name__ == "RandomTreesEmbedding"
        return pipeline.make_pipeline(one, linear_model.Ridge()) if is_step else one, numbers
    boosted = ensemble.HistGradientBoostingRegressor(max_iter=6, min_samples_leaf=3, random_state=1)
    if hasattr(one, "transformers"):
        return pipeline.make_pipeline(one, boosted), numbers
    taken = NUMBERS[:1] if kind.__name__ == "PolynomialFeatures" else NUMBERS
    columns = make_column_transformer((one, taken), sparse_threshold=0)
    return pipeline.make_pipeline(columns, boosted), numbers
