"""Tables of the classes of scikit-learn that are scored, and of their parameters.

Another class of a name in the tables, or one derived from it, is not known, since it may compute something
else. A parameter that no table names is from a later release.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

import numpy as np
import sklearn
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection._search import BaseSearchCV

from ..errors import UnsupportedModelError

# NumPy's functions of one number that FunctionTransformer may call.
FUNCTIONS = (
    "exp exp2 expm1 cbrt arcsinh arctan tanh negative floor ceil rint trunc sign isnan log log2 log10"
    " sqrt square abs absolute fabs log1p"
)
_ENCODING = "categories dtype handle_unknown min_frequency max_categories"
_STACKING = "estimators final_estimator passthrough=False"
# Parameters of any class that matter only to its fit.
FITTING = """
    alpha alpha_1 alpha_2 alpha_init alpha_per_target alphas average base_estimator bootstrap
    bootstrap_features ccp_alpha class_weight compute_score copy_X criterion cv early_stopping ensemble
    eps epsilon estimator eta0 fit_intercept gcv_mode interaction_cst l1_ratio l2_regularization lambda_1
    lambda_2 lambda_init max_bins max_depth max_features max_iter max_leaf_nodes max_samples memory
    min_impurity_decrease min_samples_leaf min_samples_split min_weight_fraction_leaf monotonic_cst
    n_alphas n_bins n_estimators n_iter n_iter_no_change n_jobs oob_score penalty positive power_t
    precompute quantile random_state refit scoring selection shuffle solver splitter store_cv_results
    store_cv_values subsample tol transform_input validation_fraction verbose verbose_feature_names_out
    warm_start
"""
# By module and classes, the other parameters, and of some the values that are scored.
PARAMETERS: dict[str, dict[str, str]] = {
    "sklearn.preprocessing": {
        "StandardScaler": "copy=True with_mean with_std",
        "MinMaxScaler": "copy=True feature_range clip",
        "MaxAbsScaler": "copy=True clip",
        "RobustScaler": "copy=True with_centering with_scaling quantile_range unit_variance",
        "OneHotEncoder": f"{_ENCODING} drop sparse sparse_output feature_name_combiner",
        "OrdinalEncoder": f"{_ENCODING} unknown_value encoded_missing_value",
        "TargetEncoder": "categories target_type smooth",
        "KBinsDiscretizer": "encode strategy quantile_method dtype",
        "PolynomialFeatures": "degree interaction_only include_bias order",
        "FunctionTransformer": "inverse_func validate accept_sparse check_inverse feature_names_out"
        f" inv_kw_args kw_args=None|{{}} func=None|{FUNCTIONS.replace(' ', '|')}",
    },
    "sklearn.impute": {
        "SimpleImputer": "missing_values strategy fill_value copy=True add_indicator keep_empty_features",
        "MissingIndicator": "missing_values features sparse error_on_new",
    },
    "sklearn.compose": {
        "ColumnTransformer": "transformers remainder sparse_threshold transformer_weights"
        " force_int_remainder_cols",
        "TransformedTargetRegressor": "regressor func check_inverse transformer=None"
        " inverse_func=None|exp|expm1",
    },
    "sklearn.pipeline": {
        "Pipeline": "steps",
        "FeatureUnion": "transformer_list transformer_weights",
    },
    "imblearn.pipeline": {"Pipeline": "steps"},
    "sklearn.tree": {
        "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor": "",
    },
    "sklearn.ensemble": {
        "RandomForestClassifier RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor": "",
        "BaggingClassifier BaggingRegressor": "",
        "GradientBoostingClassifier GradientBoostingRegressor": "loss learning_rate init=None|zero",
        "HistGradientBoostingClassifier HistGradientBoostingRegressor": "loss learning_rate"
        " categorical_features",
        "IsolationForest": "contamination",
        "RandomTreesEmbedding": "sparse_output",
        "AdaBoostClassifier AdaBoostRegressor": "loss learning_rate algorithm",
        "VotingRegressor": "estimators weights",
        "VotingClassifier": "estimators weights flatten_transform voting=soft",
        "StackingRegressor": _STACKING,
        "StackingClassifier": f"{_STACKING} stack_method=auto|predict_proba",
    },
    "imblearn.ensemble": {"BalancedRandomForestClassifier": "sampling_strategy replacement"},
    "sklearn.multioutput": {"MultiOutputClassifier MultiOutputRegressor": ""},
    "sklearn.multiclass": {"OneVsRestClassifier": ""},
    "sklearn.calibration": {"CalibratedClassifierCV": "method=sigmoid"},
    "sklearn.frozen": {"FrozenEstimator": ""},
    "sklearn.model_selection": {
        "FixedThresholdClassifier": "threshold pos_label=None response_method=auto|predict_proba",
        "TunedThresholdClassifierCV": "thresholds response_method=auto|predict_proba",
    },
    "sklearn.linear_model": {
        "LinearRegression Ridge RidgeCV Lasso LassoCV ElasticNet ElasticNetCV": "",
        "BayesianRidge HuberRegressor": "",
        "SGDRegressor": "loss learning_rate",
        "LogisticRegression LogisticRegressionCV": "C Cs dual intercept_scaling l1_ratios"
        " use_legacy_attributes multi_class=auto|ovr|warn|deprecated",
    },
}


_OF_CHAIN = (
    "its trees take others' predictions: push each of its estimators_, and pass it what those before it"
    " predict as its last features"
)
# By class that is not scored, the reason and what to do.
_REASONS = {
    "ClassifierChain": _OF_CHAIN,
    "RegressorChain": _OF_CHAIN,
    **dict.fromkeys(("OneVsOneClassifier", "OutputCodeClassifier"), "push each of its estimators_"),
}


def is_known(model: Any, *names: str) -> bool:
    """Returns whether the model's class is in the tables, and has one of the names if any are given."""
    name = type(model).__qualname__
    return (not names or name in names) and _parameters(model) is not None


def is_search(model: Any) -> bool:
    """Returns whether the model predicts as the best of the models that it has fitted."""
    predict = (
        inspect.getattr_static(kind, "predict", None) for kind in (type(model), BaseSearchCV)
    )
    is_optuna = type(model).__module__.partition(".")[0] in ("optuna", "optuna_integration")
    return is_optuna or (isinstance(model, BaseSearchCV) and len({*predict}) == 1)


def is_selection(step: Any) -> bool:
    """Returns whether the step leaves out columns by its `get_support` alone."""
    return isinstance(step, SelectorMixin) and all(
        getattr(type(step), method) is getattr(SelectorMixin, method)
        for method in ("transform", "_transform")
    )


def known(model: Any) -> str:
    """Returns the class's name; raises unless the class and the values of all its parameters are known."""
    parameters = _parameters(model)
    if parameters is None:
        kind, release = type(model), f"scikit-learn {sklearn.__version__}"
        module = release if kind.__module__.startswith("sklearn.") else kind.__module__
        reason = f": {_REASONS[kind.__name__]}" if kind.__name__ in _REASONS else ""
        raise UnsupportedModelError(f"the {kind.__qualname__} of {module} is not scored{reason}")
    name = type(model).__qualname__
    defaults = inspect.signature(type(model).__init__).parameters
    for parameter, value in model.get_params(deep=False).items():
        values = parameters.get(parameter)
        if parameter in parameters and (values is None or _word(value) in values):
            continue
        if values is None and _word(value) == _word(defaults[parameter].default):
            continue
        of_release = "" if values else f", a parameter of scikit-learn {sklearn.__version__}"
        scored = f": scored are {', '.join(values)}" if values else ""
        raise UnsupportedModelError(
            f"the {name} has {parameter}={_shown(value)}{of_release}, which is not scored{scored}"
        )
    return name


def _parameters(model: Any) -> dict[str, list[str] | None] | None:
    name = type(model).__qualname__
    for module, classes in PARAMETERS.items():
        for names, of_these in classes.items():
            if name in names.split() and getattr(sys.modules.get(module), name, None) is type(
                model
            ):
                words = (word.partition("=") for word in f"{FITTING} {of_these}".split())
                return {word: values.split("|") if some else None for word, some, values in words}
    return None


def _word(value: Any) -> str:
    """Returns a value as the tables have it; a function of NumPy by its name."""
    if isinstance(value, np.ufunc):
        return value.__name__ if getattr(np, value.__name__, None) is value else repr(value)
    return value if isinstance(value, str) else repr(value)


def _shown(value: Any) -> str:
    """Returns a value in a line; a function by its name, an estimator by its class."""
    named = type(value) if hasattr(value, "get_params") else value
    return getattr(named, "__name__", repr(value))
