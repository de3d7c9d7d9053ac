"""A Pipeline predicts in SQL from the table's own columns what it predicts in Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost
from imblearn.pipeline import make_pipeline as make_sampling_pipeline
from imblearn.under_sampling import RandomUnderSampler
from psycopg import Connection
from scipy.sparse import issparse
from sklearn import calibration, ensemble, impute
from sklearn import preprocessing as pre
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

import catboost
import lightgbm
import pgboost
from tests.python.conftest import Refused, Same
from tests.python.models import BAGGED, SILENT

ROWS = 800
NUMBERS, TEXTS = ["age", "fare", "size"], ["sex", "port", "deck"]


def passengers() -> pd.DataFrame:
    """Numbers and text, some of each missing."""
    generator = np.random.default_rng(11)
    port = generator.choice(["S", "C", "Q"], ROWS, p=[0.7, 0.2, 0.1]).astype(object)
    port[generator.random(ROWS) < 0.05] = None
    age = np.round(generator.normal(40, 12, ROWS), 1)
    age[generator.random(ROWS) < 0.2] = np.nan
    return pd.DataFrame({
        "age": age, "fare": np.exp(generator.normal(3, 1, ROWS)), "size": generator.integers(0, 6, ROWS),
        "sex": generator.choice(["male", "female"], ROWS), "port": port,
        "deck": generator.choice(list("ABCDEF"), ROWS, p=[0.4, 0.3, 0.2, 0.06, 0.02, 0.02]),
    })  # fmt: skip


def survived(frame: pd.DataFrame) -> np.ndarray:
    score = (frame.age.fillna(30) < 35) + 0.7 * (frame.sex == "male") + 0.3 * np.log(frame.fare)
    score += 0.4 * (frame.port == "C") + 0.2 * (frame.deck == "E")
    noise = np.random.default_rng(12).normal(size=len(frame)) * 0.2
    return np.where(score + noise > 2, "yes", "no")


def forest() -> Any:
    return ensemble.RandomForestClassifier(12, min_samples_leaf=2, random_state=1)


def boosted(**options: Any) -> Any:
    return ensemble.HistGradientBoostingClassifier(max_iter=12, random_state=1, **options)


def imputed(strategy: str, *steps: Any, **options: Any) -> Any:
    return make_pipeline(impute.SimpleImputer(strategy=strategy, **options), *steps)


def encoded(encoder: Any, rest: Any = "passthrough") -> Any:
    """The encoder for text, the rest for numbers."""
    text = make_column_selector(dtype_exclude=np.number)
    return make_column_transformer((encoder, text), remainder=rest)


ONE_HOT, ORDINAL = pre.OneHotEncoder, pre.OrdinalEncoder
UNKNOWN = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
RARE = {"handle_unknown": "infrequent_if_exist", "min_frequency": 80}
IGNORING, SCALER, FUNCTION = (
    ONE_HOT(handle_unknown="ignore"),
    pre.StandardScaler(),
    pre.FunctionTransformer,
)
# The steps for columns, and whether a forest or histograms take their features.
STEPS: dict[str, tuple[Any, Callable[[], Any]]] = {
    "one-hot": (encoded(IGNORING, imputed("median", SCALER)), forest),
    "one-hot, dense, dropped": (encoded(ONE_HOT(drop="if_binary", sparse_output=False)), boosted),
    "rare categories": (encoded(imputed("constant", ONE_HOT(**RARE), fill_value="none")), boosted),
    "ordinal": (encoded(imputed("most_frequent", ORDINAL(**UNKNOWN))), boosted),
    "ordinal, missing": (encoded(ORDINAL(encoded_missing_value=-2, **UNKNOWN)), boosted),
    "target": (encoded(pre.TargetEncoder(random_state=1)), boosted),
    "logarithm": (make_column_transformer((FUNCTION(np.log1p), ["fare"]), ("drop", ["size"])), forest),
    "logarithms of one column": (make_column_transformer((FUNCTION(np.log), ["fare"]),
        (FUNCTION(np.log1p), ["fare", "size"])), forest),
    "bins": (make_column_transformer((pre.KBinsDiscretizer(4, encode="ordinal"), ["fare", "size"])), forest),
    "indicators": (make_pipeline(make_column_transformer((impute.SimpleImputer(add_indicator=True), NUMBERS)),
        pre.MinMaxScaler((-1, 2), clip=True)), forest),
    "text and numbers, missing": (make_column_transformer((impute.MissingIndicator(features="all"),
        ["age", "port"]), (imputed("constant", IGNORING, fill_value="none"), TEXTS),
        (imputed("mean", SCALER, add_indicator=True), NUMBERS)), boosted),
    "text, missing": (make_column_transformer((impute.MissingIndicator(), ["port"]),
        (IGNORING, ["port"])), forest),
    "bins, one-hot": (make_column_transformer((imputed("median", pre.KBinsDiscretizer(5)), ["age", "fare"]),
        ("passthrough", ["fare", "size"])), forest),
    "powers": (make_column_transformer((imputed("mean", SCALER, pre.PolynomialFeatures(3)), ["age"]),
        (make_pipeline(SCALER, FUNCTION(np.abs)), ["fare"])), forest),
    "two encoders": (make_column_transformer((IGNORING, [*TEXTS, "size"]),
        (pre.TargetEncoder(cv=3), ["port", "deck"]),
        (imputed("constant", ORDINAL(**UNKNOWN), fill_value="none"), ["port"]), ("passthrough", ["size"])),
        boosted),
    "a number for missing": (make_column_transformer((impute.SimpleImputer(missing_values=3, strategy="mean",
        add_indicator=True), ["size"]), (pre.MinMaxScaler(), ["fare"])), forest),
    "numbers by categories": (make_column_transformer((ORDINAL(handle_unknown="use_encoded_value",
        unknown_value=np.nan), TEXTS), remainder="passthrough"),
        lambda: boosted(categorical_features=[0, 1, 2])),
    "union and selection": (make_pipeline(make_column_transformer((imputed("mean", pre.RobustScaler()),
        NUMBERS)), FeatureUnion([("a", pre.MaxAbsScaler()), ("b", "passthrough")]), SelectKBest(k=4)),
        lambda: ensemble.GradientBoostingClassifier(n_estimators=9, random_state=1)),
    "outliers": (make_column_transformer((imputed("mean", SCALER), NUMBERS)),
        lambda: ensemble.IsolationForest(n_estimators=9, random_state=1)),
}  # fmt: skip


def piped(name: str, frame: pd.DataFrame) -> Any:
    """The fitted Pipeline of these steps."""
    columns, last = STEPS[name]
    steps = columns.steps if isinstance(columns, Pipeline) else [("columntransformer", columns)]
    return Pipeline([*steps, ("last", last())]).fit(frame, survived(frame))


@pytest.mark.parametrize("name", STEPS)
def test_pipelines(same: Same, name: str) -> None:
    frame = passengers()
    same(piped(name, frame), frame)


XGB, LIGHT, CAT = xgboost.XGBClassifier, lightgbm.LGBMClassifier, catboost.CatBoostClassifier
LEAVES = {"num_leaves": 9, "verbose": -1}
BOOSTED: dict[str, Callable[[], Any]] = {
    "XGBoost": lambda: XGB(n_estimators=12, max_depth=4),
    "XGBoost, DART": lambda: XGB(n_estimators=9, max_depth=3, booster="dart", rate_drop=0.3, base_score=0.3),
    "XGBoost, forest": lambda: xgboost.XGBRFClassifier(n_estimators=9, max_depth=4),
    "LightGBM": lambda: LIGHT(n_estimators=12, **LEAVES),
    "LightGBM, zero missing": lambda: LIGHT(n_estimators=12, zero_as_missing=True, **LEAVES),
    "LightGBM, forest": lambda: LIGHT(**BAGGED),
    "CatBoost": lambda: CAT(iterations=12, depth=4, **SILENT),
    "CatBoost, by leaf": lambda: CAT(
        iterations=9, depth=4, grow_policy="Lossguide", nan_mode="Max", **SILENT),
}  # fmt: skip
COLUMNS: dict[str, Callable[[], Any]] = {
    # A sparse matrix has no zeros, which XGBoost takes for missing.
    "sparse": lambda: make_column_transformer(
        (IGNORING, TEXTS), (imputed("mean", SCALER), ["age", "fare"]), ("passthrough", ["size"]),
        sparse_threshold=1),
    "dense": lambda: encoded(
        ONE_HOT(handle_unknown="ignore", sparse_output=False), imputed("median", pre.MinMaxScaler())),
    "numbers": lambda: encoded(ORDINAL(encoded_missing_value=-2, **UNKNOWN)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "classes"), [("sparse", 2), ("sparse", 3), ("dense", 2), ("numbers", 3)]
)
@pytest.mark.parametrize("make", BOOSTED.values(), ids=BOOSTED.keys())
def test_pipelines_that_end_in_boosted_trees(
    same: Same, make: Callable[[], Any], columns: str, classes: int
) -> None:
    frame = passengers()
    y = (survived(frame) == "yes") + (frame["size"].to_numpy() > 3) * (classes - 2)
    model = make_pipeline(COLUMNS[columns](), make()).fit(frame, y)
    assert issparse(model[:-1].transform(frame)) == (columns == "sparse")
    same(model, frame)


REGRESSORS = {"XGBoost": xgboost.XGBRegressor, "LightGBM": lightgbm.LGBMRegressor}
OBJECTIVES: dict[str, dict[str, Any]] = {
    "XGBoost, poisson": {"objective": "count:poisson"},
    "XGBoost, logistic": {"objective": "reg:logistic"},
    "XGBoost, quantile": {"objective": "reg:quantileerror", "quantile_alpha": 0.8},
    "XGBoost, a number for missing": {"missing": 0.5},
    "LightGBM, poisson": {"objective": "poisson", "verbose": -1},
    "LightGBM, roots": {"reg_sqrt": True, "verbose": -1},
    "LightGBM, logarithm": {"objective": "cross_entropy_lambda", "verbose": -1},
    "CatBoost, poisson": {"loss_function": "Poisson", **SILENT},
    "CatBoost, uncertain": {"loss_function": "RMSEWithUncertainty", **SILENT},
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_pipelines_of_objectives(same: Same, name: str) -> None:
    frame = passengers()
    y = np.random.default_rng(1).random(len(frame)) * 0.3 + (survived(frame) == "yes") * 0.7
    kind = REGRESSORS.get(name.partition(",")[0], catboost.CatBoostRegressor)
    last = kind(n_estimators=9, **OBJECTIVES[name])
    same(make_pipeline(COLUMNS["sparse"](), last).fit(frame, y), frame)


def test_categories_that_are_true_or_false(same: Same) -> None:
    frame = passengers()
    frame = frame.assign(alone=frame["size"] == 0, rich=frame["fare"] > 30)
    columns = make_column_transformer(
        (IGNORING, ["sex", "alone"]), ("passthrough", ["rich", "fare"])
    )
    same(make_pipeline(columns, forest()).fit(frame, survived(frame)), frame)


def test_columns_without_names(same: Same) -> None:
    frame = passengers()
    rows = frame[["fare", "size", "sex", "deck"]].to_numpy()
    columns = make_column_transformer((IGNORING, [2, 3]), (SCALER, [0, 1]))
    same(make_pipeline(columns, forest()).fit(rows, survived(frame)), rows)


def test_categories_that_lightgbm_splits_by(same: Same) -> None:
    frame = passengers()
    last = lightgbm.LGBMClassifier(n_estimators=12, min_data_per_group=5, verbose=-1)
    codes = ORDINAL(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((codes, TEXTS), remainder="passthrough")
    model = make_pipeline(columns, last)
    model.fit(frame, survived(frame), lgbmclassifier__categorical_feature=[0, 1, 2])
    assert "cat_threshold" in last.booster_.model_to_string()
    frame.loc[::5, "deck"] = "Z"
    same(model, frame)


def test_members_that_encode_columns_on_other_rows(same: Same) -> None:
    frame = passengers()
    frame.loc[::90, "deck"] = "rare"
    bins = imputed("mean", pre.KBinsDiscretizer(4))
    parts = (IGNORING, TEXTS), (bins, ["age", "fare"]), ("passthrough", ["size"])
    pipeline = make_pipeline(make_column_transformer(*parts), forest())
    same(calibration.CalibratedClassifierCV(pipeline, cv=4).fit(frame, survived(frame)), frame)


@pytest.mark.parametrize(
    "encoder", [ONE_HOT(sparse_output=False), ORDINAL(), pre.TargetEncoder(cv=2)], ids=repr
)
@pytest.mark.parametrize("missing", [np.nan, None], ids=repr)
@pytest.mark.parametrize("strategy", ["most_frequent", "constant"])
def test_text_that_is_none(same: Same, strategy: str, missing: Any, encoder: Any) -> None:
    """To an imputer of NaN it is a value, and to an encoder a category."""
    frame = passengers()
    frame["port"] = pd.Series(frame.port, dtype=object).where(frame.port.notna(), None)
    imputer = impute.SimpleImputer(strategy=strategy, missing_values=missing, fill_value="none")
    try:
        columns = make_column_transformer((make_pipeline(imputer, encoder), ["port"]))
        columns.fit_transform(frame, survived(frame) == "yes")
    except ValueError:
        pytest.skip("scikit-learn refuses None here")
    same(make_pipeline(columns, boosted()).fit(frame, survived(frame)), frame)


def scaled_behind_nothing(last: Any) -> Any:
    return Pipeline([("none", "passthrough"), ("scale", SCALER), ("last", last)])


FIRST: dict[str, Callable[[Any], Any]] = {
    "passthrough": scaled_behind_nothing,
    "None": lambda last: Pipeline([("none", None), ("scale", SCALER), ("last", last)]),
    "drop of a union": lambda last: make_pipeline(FeatureUnion([("no", "drop"), ("scale", SCALER)]), last),
    "members": lambda last: ensemble.VotingClassifier(
        [(name, scaled_behind_nothing(last)) for name in "ab"], voting="soft"),
    "folds": lambda last: calibration.CalibratedClassifierCV(scaled_behind_nothing(last), cv=2),
}  # fmt: skip


@pytest.mark.parametrize("make", FIRST.values(), ids=FIRST.keys())
def test_a_first_step_that_does_nothing(same: Same, make: Callable[[Any], Any]) -> None:
    """It knows neither the number nor the names of the columns."""
    frame = passengers()
    rows = frame[NUMBERS].fillna(0)
    same(make(forest()).fit(rows, survived(frame)), rows)


def test_samplers_are_passed_by(same: Same) -> None:
    frame = passengers()
    columns = make_column_transformer((IGNORING, TEXTS))
    sampler = RandomUnderSampler(random_state=1)
    model = make_sampling_pipeline(columns, sampler, forest())
    same(model.fit(frame, survived(frame)), frame)


def test_a_pipeline_that_stopped_early(same: Same) -> None:
    frame, y = passengers(), survived(passengers()) == "yes"
    columns = COLUMNS["dense"]().fit(frame, y)
    last = xgboost.XGBClassifier(n_estimators=60, learning_rate=0.9, early_stopping_rounds=3)
    rows = columns.transform(frame)
    last.fit(rows[::2], y[::2], eval_set=[(rows[1::2], y[1::2])], verbose=False)
    assert last.best_iteration + 1 < last.get_booster().num_boosted_rounds()
    same(make_pipeline(columns, last), frame)


def test_the_steps_are_shown(connection: Connection) -> None:
    frame = passengers()
    pgboost.push(connection, "model", piped("one-hot", frame))
    row = connection.execute("SELECT model_info('model')->'attributes'->>'steps'").fetchone()
    assert row == (
        "ColumnTransformer(onehotencoder: OneHotEncoder; remainder: SimpleImputer, StandardScaler),"
        " RandomForestClassifier",
    )


@pytest.mark.parametrize("name", ["one-hot", "text and numbers, missing", "two encoders"])
def test_contributions_are_of_the_tables_columns(connection: Connection, name: str) -> None:
    frame = passengers()
    pgboost.push(connection, "model", piped(name, frame))
    row = connection.execute(
        "SELECT c, predict_margin('model', r) FROM (SELECT 31.0 AS age, 20.0 AS fare, 3 AS size,"
        " 'male' AS sex, 'S' AS port, 'A' AS deck) r, predict_contribs('model', r) c"
    ).fetchone()
    assert row is not None
    features = connection.execute("SELECT count(*) FROM model_features('model')").fetchone()
    assert features == (len(row[0]) - 1,)
    assert features[0] <= frame.shape[1]
    assert sum(row[0]) == pytest.approx(np.ravel(row[1])[0], rel=1e-4)


@pytest.mark.parametrize("name", ["one-hot", "rare categories", "ordinal", "target"])
def test_an_unknown_category_is_encoded_as_in_python(identical: Same, name: str) -> None:
    frame = passengers()
    model = piped(name, frame)
    frame.loc[::3, "deck"] = "Z"
    frame.loc[::7, "port"] = "X"
    identical(model, frame)


def test_models_behind_steps_are_refused_by_name(refused: Refused) -> None:
    frame = passengers()[["fare", "size"]]
    hinge = XGB(n_estimators=3, objective="binary:hinge")
    reason = "has the objective binary:hinge, which is not scored"
    refused(reason, make_pipeline(SCALER, hinge).fit(frame, frame["fare"] > 9))
    last = lightgbm.LGBMRegressor(n_estimators=3, linear_tree=True, verbose=-1)
    model = make_pipeline(SCALER, last).fit(frame, frame["fare"] ** 2)
    refused("linear models in its leaves", model)


@pytest.mark.parametrize(
    "step", [pre.PolynomialFeatures(2), pre.QuantileTransformer(n_quantiles=9)]
)
def test_steps_that_cannot_be_folded_are_refused_by_name(refused: Refused, step: Any) -> None:
    frame = passengers()
    model = make_pipeline(make_column_transformer((step, ["fare", "size"])), forest())
    refused(type(step).__name__, model.fit(frame, survived(frame)))
