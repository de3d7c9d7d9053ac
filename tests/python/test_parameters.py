"""Every parameter of every class that pgboost knows is honoured in SQL, or refused by its name."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import sklearn
from psycopg import Connection
from sklearn import preprocessing as pre
from sklearn.base import is_classifier
from sklearn.pipeline import make_pipeline

import pgboost
from pgboost.libraries import known
from tests.python import estimators
from tests.python.conftest import Refused

CLASSES = list(estimators.classes())
# Parameters without another value, with values that need a fitted model, or that scikit-learn 1.3 has not.
UNTRIED = {
    "AdaBoostClassifier.algorithm",
    "BalancedRandomForestClassifier.monotonic_cst",
    "HistGradientBoostingClassifier.loss",
    "SelectFromModel.prefit",
}
# The classes that these give are refused by their own names.
OF_OTHERS = ("estimator", "estimators", "base_estimator", "steps")
SEVERAL = {
    "MultiOutputClassifier": "labels",
    "MultiOutputRegressor": "numbers",
    "OneVsRestClassifier": "labels",
}
# The attributes of fitted estimators; predictions follow some of them.
ATTRIBUTES = (
    "C_ Cs_ X_offset_ X_scale_ alpha_ alphas_ base_sampler_ best_score_ best_threshold_"
    " bin_edges_ calibrated_classifiers_ categories_ center_ classes_ coef_ coefs_paths_"
    " cv_results_ cv_values_ data_max_ data_min_ data_range_ do_early_stopping_ drop_idx_"
    " dual_gap_ encodings_ estimator_ estimator_errors_ estimator_weights_ estimators_"
    " estimators_features_ estimators_samples_ feature_importances_ feature_names_in_ features_"
    " final_estimator_ indicator_ infrequent_categories_ init_ intercept_ is_categorical_"
    " l1_ratio_ l1_ratios_ label_binarizer_ lambda_ le_ max_abs_ max_features_ max_samples_ mean_ min_"
    " mse_path_ n_bins_ n_classes_ n_estimators_ n_features_ n_features_in_ n_features_to_select_ n_iter_"
    " n_output_features_ n_outputs_ n_samples_seen_ n_trees_per_iteration_ named_estimators_"
    " named_transformers_ offset_ oob_decision_function_ oob_improvement_ oob_prediction_"
    " one_hot_encoder_ oob_score_ oob_scores_ outliers_ output_indices_ pipelines_ powers_ pvalues_"
    " rank_ ranking_ regressor_ samplers_ scale_ scores_ sigma_ singular_ solver_ sparse_coef_ sparse_output_"
    " stack_method_ statistics_ support_ t_ target_mean_ target_type_ threshold_ train_score_"
    " transformer_ transformers_ tree_ validation_score_ var_ variances_"
)


def default(kind: type, parameter: str) -> Any:
    given = estimators.GIVEN.get(kind.__name__, {})
    few = estimators.FEW.get(parameter, inspect.signature(kind).parameters[parameter].default)
    return given.get(parameter, few)


def fitted(kind: type, given: dict[str, Any]) -> tuple[Any, Any]:
    """Returns the model and its rows; None if scikit-learn refuses the parameters."""
    try:
        model, rows = estimators.made(kind, given)
        target = "two" if is_classifier(model) else "number"
        target = SEVERAL.get(kind.__name__, target)
        with sklearn.config_context(enable_metadata_routing="transform_input" in given):
            return model.fit(rows, estimators.target(estimators.frame(), target)), rows
    except (ValueError, TypeError, AttributeError, NotImplementedError):
        return None, None


def others(kind: type, parameter: str) -> Iterator[tuple[Any, Any, Any]]:
    """Yields values of the parameter other than its default, with a fitted model and its rows."""
    for value in estimators.values(kind, parameter):
        given = value if isinstance(value, estimators.With) else {parameter: value}
        model, rows = fitted(kind, given)
        if model is not None and repr(given[parameter]) != repr(default(kind, parameter)):
            yield given[parameter], model, rows


def attributes(model: Any, kind: type) -> set[str]:
    """Returns the fitted attributes of the class's estimators in a model."""
    if isinstance(model, (list, tuple)):
        return {name for part in model for name in attributes(part, kind)}
    if not hasattr(model, "get_params"):
        return set()
    found = {name for part in vars(model).values() for name in attributes(part, kind)}
    named = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    return found | (named if type(model) is kind else set())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_parameter_is_honoured_or_refused_by_name(connection: Connection, kind: type) -> None:
    untried, unknown, name = [], set(), kind.__name__
    for parameter in inspect.signature(kind).parameters:
        tried = 0
        for value, model, rows in others(kind, parameter):
            tried += 1
            unknown |= attributes(model, kind) - {*ATTRIBUTES.split()}
            try:
                pgboost.push(connection, "model", model, allow_change=True)
            except pgboost.UnsupportedModelError as refused:
                named_by = type(value) if hasattr(value, "fit") else value
                shown = getattr(named_by, "__name__", repr(value))
                named = [name, f"{parameter}=", shown] if parameter not in OF_OTHERS else []
                assert all(word in str(refused) for word in named), (parameter, value, refused)
            else:
                found = pgboost.verify(connection, "model", model, rows)
                assert found, (parameter, value, found)
        if not tried and f"{name}.{parameter}" not in UNTRIED:
            untried.append(parameter)
    assert (untried, unknown) == ([], set())


def test_a_class_of_another_library_is_refused_despite_its_name(refused: Refused) -> None:
    class StandardScaler(pre.StandardScaler):
        def transform(self, X: Any, copy: Any = None) -> Any:
            return 2 * super().transform(X, copy)

    rows = estimators.frame()[estimators.NUMBERS]
    model = make_pipeline(StandardScaler(), estimators.FOREST).fit(rows, rows.b)
    refused(f"StandardScaler of {__name__}", model)


def test_a_parameter_of_a_later_release_is_refused_unless_it_has_its_default(
    connection: Connection, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, rows = estimators.made(pre.MinMaxScaler, {"clip": True})
    model.fit(rows, rows.b)
    table = known.PARAMETERS["sklearn.preprocessing"]
    monkeypatch.setitem(table, "MinMaxScaler", "copy feature_range")
    refused(f"MinMaxScaler has clip=True.*{sklearn.__version__}", model)
    model[0].named_transformers_["minmaxscaler"].clip = False
    pgboost.push(connection, "model", model)
