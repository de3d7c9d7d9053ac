"""Ordinary models of each library are pushed, and their predictions compare equal to Python's.

Among them are models of several labels, targets or quantiles.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost
from psycopg import Connection, errors
from sklearn import ensemble, model_selection, multiclass, multioutput, tree
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import catboost
import lightgbm
import pgboost
from pgboost import connecting
from pgboost.extension import Extension
from pgboost.libraries.ensemble import are_same
from tests.python.conftest import Refused, Same
from tests.python.models import SILENT

ROWS = 400
GENERATOR = np.random.default_rng(20261128)
FRAME = pd.DataFrame(GENERATOR.normal(size=(ROWS, 3)), columns=["a", "b", "c"])
NUMBER = FRAME.a + FRAME.b
CLASSES = np.digitize(NUMBER, [-0.7, 0.7])
TWO, LABELS = (FRAME.a > 0).to_numpy(), np.c_[FRAME.a > 0, FRAME.b > 0.3, FRAME.c > 0.8].astype(int)
TARGETS = np.c_[NUMBER, FRAME.c]
CAT = {"iterations": 6, "random_seed": 1, **SILENT}
FOCAL = "Focal:focal_alpha=0.5;focal_gamma=2.0"
SMALL = {"n_estimators": 6, "max_depth": 3}
LIGHT = {"n_estimators": 6, "verbose": -1}
VECTORS = {"multi_strategy": "multi_output_tree", **SMALL}
FOREST = ensemble.RandomForestClassifier(**SMALL, random_state=1)


def cat(target: Any, **options: Any) -> Any:
    return catboost.CatBoostClassifier(**CAT, **options).fit(FRAME, target)


def summed(loss: str) -> Any:
    kind, options = catboost.CatBoostRegressor, {"iterations": 6, **SILENT, "loss_function": loss}
    parts = [kind(random_seed=seed, **options).fit(FRAME, CLASSES + 1.0) for seed in (1, 2)]
    return catboost.sum_models(parts, [0.5, 0.5])


def half_error(targets: Any, raw: Any) -> Any:
    return raw - targets, np.ones_like(targets)


class HalfError:
    """An objective of the user's own: half the squared error."""

    def calc_ders_range(self, approxes: Any, targets: Any, weights: Any) -> Any:
        return [(targets[row] - approxes[row], -1.0) for row in range(len(targets))]


def of_own(kind: Any) -> Any:
    return kind(**CAT, loss_function=HalfError(), eval_metric="RMSE")


def cut(model: Any) -> Any:
    """Returns the model with another probability above which the second class is predicted."""
    last = model[-1] if hasattr(model, "steps") else model
    last.set_probability_threshold(0.3)
    return model


def boosted(target: Any, **options: Any) -> Any:
    return xgboost.XGBClassifier(**SMALL, **options).fit(FRAME, target)


def light(target: Any, **options: Any) -> Any:
    return lightgbm.LGBMClassifier(**LIGHT, **options).fit(FRAME, target)


def scaled(model: Any, target: Any) -> Any:
    return make_pipeline(StandardScaler(), model).fit(FRAME, target)


def ranked() -> Any:
    options = {"objective": "lambdarank", "verbose": -1, "num_leaves": 7}
    groups = {"group": [10] * (ROWS // 10), "position": np.arange(ROWS) % 10}
    return lightgbm.train(options, lightgbm.Dataset(FRAME, CLASSES, **groups), 5)


def many(model: Any) -> Any:
    return multioutput.MultiOutputClassifier(model)


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "CatBoost, whole labels": lambda: cat(CLASSES),
    "CatBoost, float labels": lambda: cat(CLASSES.astype(float)),
    "CatBoost, halves": lambda: cat(TWO / 2),
    "CatBoost, booleans": lambda: cat(TWO),
    "CatBoost, texts like numbers": lambda: cat(CLASSES.astype(str)),
    "CatBoost, a threshold": lambda: cut(cat(TWO)),
    "CatBoost, a threshold in a Pipeline": lambda: cut(
        scaled(catboost.CatBoostClassifier(**CAT), TWO)),
    "CatBoost, focal loss in a Pipeline": lambda: scaled(
        catboost.CatBoostClassifier(loss_function=FOCAL, **CAT), TWO),
    "LightGBM, booleans": lambda: light(TWO),
    "LightGBM, floats": lambda: light(TWO * 1.0),
    "LightGBM, texts like booleans": lambda: light(np.where(TWO, "true", "false")),
    "LightGBM, two of multiclass": lambda: light(TWO, objective="multiclass", num_class=2),
    "LightGBM, two of multiclassova": lambda: light(TWO, objective="multiclassova", num_class=2),
    "forest, booleans": lambda: FOREST.fit(FRAME, TWO),
    "forest, texts": lambda: FOREST.fit(FRAME, np.where(TWO, "01067", "10115")),
    "multi:softmax": lambda: boosted(CLASSES, objective="multi:softmax"),
    "multi:softmax in a Pipeline": lambda: scaled(
        xgboost.XGBClassifier(**SMALL, objective="multi:softmax"), CLASSES),
    "binary:hinge": lambda: boosted(TWO * 1, objective="binary:hinge"),
    "two classes of MultiClass": lambda: cat(TWO, loss_function="MultiClass"),
    "two classes, one against all": lambda: cat(TWO, loss_function="MultiClassOneVsAll"),
    "calibrated": lambda: CalibratedClassifierCV(tree.DecisionTreeClassifier(), cv=3).fit(FRAME, TWO),
    "a vector in each leaf": lambda: xgboost.XGBClassifier(**VECTORS).fit(FRAME, CLASSES),
}  # fmt: skip
OTHERS: dict[str, Callable[[], Any]] = {
    "CatBoostRanker": lambda: catboost.CatBoostRanker(**CAT).fit(
        FRAME, CLASSES, group_id=np.arange(ROWS) // 10),
    "position bias of LightGBM": ranked,
    "two classes of multi:softprob": lambda: boosted(TWO * 1, objective="multi:softprob", num_class=2),
    "CatBoost, a loss of the user's own": lambda: of_own(catboost.CatBoostRegressor).fit(FRAME, CLASSES),
    "CatBoost, classes by such a loss": lambda: of_own(catboost.CatBoostClassifier).fit(FRAME, TWO * 1),
    "CatBoost, such a loss in a Pipeline": lambda: scaled(of_own(catboost.CatBoostClassifier), TWO * 1),
    "CatBoost of focal loss": lambda: catboost.CatBoost({**CAT, "loss_function": FOCAL}).fit(
        FRAME, TWO * 1),
    "a sum of CatBoost": lambda: summed("RMSE"),
    "a sum of exponents": lambda: summed("Poisson"),
    "no trees": lambda: xgboost.XGBRegressor(n_estimators=0).fit(FRAME, CLASSES),
}  # fmt: skip
EXACT: dict[str, Any] = {
    "MultiLogloss": catboost.CatBoostClassifier(loss_function="MultiLogloss", **CAT),
    "MultiCrossEntropy": catboost.CatBoostClassifier(loss_function="MultiCrossEntropy", **CAT),
    "XGBClassifier": xgboost.XGBClassifier(**SMALL),
    "XGBoost in a Pipeline": make_pipeline(StandardScaler(), xgboost.XGBClassifier(**SMALL)),
}
OF_LABELS: dict[str, Any] = {
    **EXACT,
    "MultiLogloss of CatBoost": catboost.CatBoost({"loss_function": "MultiLogloss", **CAT}),
    "XGBRFClassifier": xgboost.XGBRFClassifier(**SMALL),
    "vectors": xgboost.XGBClassifier(**VECTORS),
    "forest": FOREST,
    "extra trees": ensemble.ExtraTreesClassifier(**SMALL, random_state=1),
    "tree": tree.DecisionTreeClassifier(max_depth=3),
    "a forest in a Pipeline": make_pipeline(StandardScaler(), FOREST),
    "a forest for each": many(FOREST),
    "a forest against the rest": multiclass.OneVsRestClassifier(FOREST),
    "LightGBM against the rest": multiclass.OneVsRestClassifier(lightgbm.LGBMClassifier(**LIGHT)),
    "XGBoost for each": many(xgboost.XGBClassifier(**SMALL)),
    "LightGBM for each": many(lightgbm.LGBMClassifier(**LIGHT)),
    "boosting for each": many(ensemble.GradientBoostingClassifier(**SMALL)),
    "histograms for each": many(ensemble.HistGradientBoostingClassifier(max_iter=5)),
}
OF_TARGETS: dict[str, Any] = {
    "MultiRMSE": catboost.CatBoostRegressor(loss_function="MultiRMSE", **CAT),
    "XGBRegressor": xgboost.XGBRegressor(**SMALL),
    "vectors of numbers": xgboost.XGBRegressor(**VECTORS),
    "a forest of numbers": ensemble.RandomForestRegressor(**SMALL),
    "boosting of numbers": multioutput.MultiOutputRegressor(ensemble.GradientBoostingRegressor(**SMALL)),
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_come_back_as_the_model_predicts_them(
    connection: Connection, same: Same, name: str
) -> None:
    model = CLASSIFIERS[name]()
    for check in (True, FRAME):
        same(model, FRAME, check=check)
    in_sql = pgboost.predict_class(connection, "model", FRAME)
    assert (in_sql == np.ravel(model.predict(FRAME))).mean() == 1.0
    shapes = [pgboost.predict(connection, "model", FRAME[:n]).shape for n in (0, ROWS)]
    assert shapes == [(0, *shapes[1][1:]), (ROWS, *shapes[1][1:])]


@pytest.mark.parametrize("name", OTHERS)
def test_models_without_classes(identical: Same, name: str) -> None:
    model = OTHERS[name]()
    for check in (True, FRAME):
        identical(model, FRAME, check=check)


def shares(model: Any) -> Any:
    """Returns the probability of each label."""
    if isinstance(model, catboost.CatBoost):
        return model.predict(FRAME, prediction_type="Probability")
    found = model.predict_proba(FRAME)
    return np.stack([of[:, 1] for of in found], 1) if isinstance(found, list) else found


@pytest.mark.parametrize("name", [*OF_LABELS, *OF_TARGETS])
def test_several_outputs_equal_the_library(connection: Connection, same: Same, name: str) -> None:
    has_labels = name in OF_LABELS
    model = (
        OF_LABELS[name].fit(FRAME, LABELS) if has_labels else OF_TARGETS[name].fit(FRAME, TARGETS)
    )
    for check in (True, FRAME) if name in EXACT else (True,):
        differing = same(model, FRAME, check=check).differing
    assert differing == 0 or name not in EXACT
    expected = shares(model) if has_labels else model.predict(FRAME)
    found = pgboost.predict(connection, "model", FRAME)
    np.testing.assert_allclose(found, np.float32(expected), rtol=3e-7, atol=1e-7)
    # A row has the labels whose probability is above a half.
    if has_labels and type(model) is not catboost.CatBoost:
        assert ((found > 0.5) == (np.asarray(model.predict(FRAME)) == 1)).mean() > 0.999


@pytest.mark.parametrize("name", ["XGBClassifier", "MultiRMSE", "forest"])
def test_the_hint_names_a_function_that_gives_the_values(connection: Connection, name: str) -> None:
    of_targets = name in OF_TARGETS
    model = (
        OF_TARGETS[name].fit(FRAME, TARGETS) if of_targets else OF_LABELS[name].fit(FRAME, LABELS)
    )
    pgboost.push(connection, "model", model)
    call = "SELECT {}('model', f) FROM (SELECT 1 AS a, 1 AS b, 1 AS c) f"
    for function in ("predict", "predict_class", "predict_proba"):
        with pytest.raises(errors.WrongObjectType) as raised:
            connection.execute(call.format(function))
        named = re.findall(r"predict\w*", raised.value.diag.message_hint or "")
        assert named == ["predict_array"], function
    connection.execute(call.format("predict_array"))


@pytest.mark.parametrize("model", [
    multioutput.ClassifierChain(FOREST),
    multioutput.RegressorChain(ensemble.RandomForestRegressor(3)),
    multiclass.OneVsRestClassifier(FOREST),
    multiclass.OneVsOneClassifier(FOREST),
])  # fmt: skip
def test_a_refused_model_names_its_members_to_push(refused: Refused, model: Any) -> None:
    target = LABELS if "Chain" in type(model).__name__ else CLASSES
    refused("push each of its estimators_", model.fit(FRAME, target))


@pytest.mark.parametrize("model", [FOREST, many(FOREST), tree.DecisionTreeClassifier()])
def test_outputs_of_more_classes_are_refused(refused: Refused, model: Any) -> None:
    target = np.c_[CLASSES, np.digitize(FRAME.c, [-0.7, 0.7])]
    refused("one of 3 classes: push a classifier", model.fit(FRAME, target))


def test_booleans_have_the_labels_of_sql(connection: Connection, same: Same) -> None:
    """So the target of an evaluation may be boolean, or text as SQL writes it."""
    query = "SELECT a, b, c, a > 0 AS y, (a > 0)::text AS t FROM unnest(%s, %s, %s) AS t(a, b, c)"
    connection.execute(f"CREATE TABLE flags AS {query}", [FRAME[name].tolist() for name in FRAME])
    for name in ("forest, booleans", "LightGBM, booleans"):
        same(CLASSIFIERS[name](), FRAME)
        for target in ("y", "t"):
            found = pgboost.evaluate(connection, "model", "flags", target).set_index("metric")
            assert found.loc["auc", "value"] > 0.9


@pytest.mark.parametrize("model", [
    make_pipeline(StandardScaler(), xgboost.XGBRegressor(**VECTORS)),
    xgboost.XGBRegressor(missing=-1.0, **VECTORS), xgboost.XGBClassifier(missing=-1.0, **VECTORS),
], ids=["Pipeline", "missing", "classes"])  # fmt: skip
def test_vectors_in_leaves_are_refused_before_xgboost_ends_the_process(
    refused: Refused, model: Any
) -> None:
    target = CLASSES if isinstance(model, xgboost.XGBClassifier) else LABELS
    refused("a vector in each leaf", model.fit(FRAME, target))


@pytest.mark.parametrize(
    "objective",
    ["binary:logitraw", "reg:logistic", "count:poisson", "cross_entropy", "huber", half_error],
)
def test_classifiers_by_an_objective_without_classes_are_refused(
    connection: Connection, refused: Refused, objective: Any
) -> None:
    kind, given = xgboost.XGBClassifier, SMALL
    if ":" not in str(objective):
        kind, given = lightgbm.LGBMClassifier, LIGHT
    model = kind(objective=objective, **given)
    for one in (scaled(model, TWO * 1), model.fit(FRAME, TWO * 1)):
        refused(getattr(objective, "__name__", objective), one)
    pgboost.push(connection, "margins", model.booster_ if given is LIGHT else model.get_booster())


@pytest.mark.skipif(
    not hasattr(model_selection, "FixedThresholdClassifier"), reason="scikit-learn 1.5 has it"
)
def test_another_threshold_leaves_the_probabilities(connection: Connection, same: Same) -> None:
    model = model_selection.FixedThresholdClassifier(FOREST, threshold=0.3).fit(FRAME, TWO)
    same(model, FRAME)
    found = pgboost.predict_proba(connection, "model", FRAME)
    np.testing.assert_allclose(found, model.predict_proba(FRAME), rtol=3e-7)
    metrics = pgboost.evaluate(connection, "model", FRAME.assign(y=TWO), "y").metric
    assert "logloss" in set(metrics)


@pytest.mark.parametrize("make", [
    lambda model: model, lambda model: make_pipeline(StandardScaler(), model),
    lambda model: ensemble.VotingClassifier([("one", model)], voting="soft"),
], ids=["alone", "Pipeline", "member"])  # fmt: skip
def test_predictions_that_stop_early_are_refused(refused: Refused, make: Any) -> None:
    model = make(lightgbm.LGBMClassifier(pred_early_stop=True, **LIGHT)).fit(FRAME, TWO)
    refused("LGBMClassifier has pred_early_stop=True", model, check=False)


@pytest.mark.parametrize("make", ["wrapper", "booster", "Pipeline", "missing"])
def test_quantiles_that_cross(identical: Same, make: str) -> None:
    """XGBoost sorts them since 3.4, and pgboost those of every release."""
    given = {
        "objective": "reg:quantileerror",
        "quantile_alpha": [0.1, 0.5, 0.9],
        "n_estimators": 20,
    }
    model = xgboost.XGBRegressor(**given, **({"missing": 0.5} if make == "missing" else {}))
    model = scaled(model, NUMBER) if make == "Pipeline" else model.fit(FRAME, NUMBER)
    identical(model.get_booster() if make == "booster" else model, FRAME)


@pytest.mark.parametrize("dropped", [{}, {"rate_drop": 0.3}], ids=["none", "some"])
@pytest.mark.parametrize("seed", range(4))
def test_dart_is_as_near_as_its_sums_are_rounded(
    same: Same, seed: int, dropped: dict[str, Any]
) -> None:
    options = {"booster": "dart", "n_estimators": 30, "random_state": seed, **dropped}
    same(xgboost.XGBRegressor(**options).fit(FRAME, CLASSES + FRAME.a), FRAME)


def test_codes_that_no_split_sends_left(identical: Same) -> None:
    frame = pd.DataFrame({"x": FRAME.a, "g": np.arange(ROWS) % 4})
    columns = make_column_transformer(("passthrough", ["x", "g"]))
    last = lightgbm.LGBMRegressor(min_data_per_group=1, categorical_feature=[1], **LIGHT)
    identical(make_pipeline(columns, last).fit(frame, 5.0 * (frame.g == 1)), frame)


def test_numbers_that_lightgbm_takes_for_zeros_are_not_drawn(connection: Connection) -> None:
    frame = pd.DataFrame({"x": FRAME.a.clip(upper=0), "g": np.arange(ROWS) % 4})
    encoder = (OneHotEncoder(), ["g"])
    columns = make_column_transformer(encoder, remainder="passthrough", sparse_threshold=1)
    model = make_pipeline(columns, lightgbm.LGBMRegressor(**LIGHT)).fit(frame, frame.x < 0)
    pgboost.push(connection, "sparse", model)


@pytest.mark.parametrize("make", ["wrapper", "booster"])
@pytest.mark.parametrize("values", [["Café", "日本", "Wien"], ["Köln", "Wien", "Graz"]], ids=str)
def test_categories_beyond_ascii(
    connection: Connection, refused: Refused, identical: Same, values: list[str], make: str
) -> None:
    """XGBoost 3.2 damages their texts in its file, so these are given."""
    column = pd.Categorical(np.resize(np.array(values, object), ROWS), values)
    frame = pd.DataFrame({"c": column, "x": FRAME.a})
    model = xgboost.XGBRegressor(enable_categorical=True, **SMALL)
    model.fit(frame, frame.c.cat.codes * 2.0 + frame.x)
    model = model if make == "wrapper" else model.get_booster()
    given = {} if xgboost.__version__ >= "3.4" else {"categories": {"c": values}}
    if given:
        refused(r"categories=.*dtype as check", model)
    pgboost.push(connection, "model", model, **given)
    identical(model, frame, check=frame)


def test_categories_of_a_slice_come_from_check(refused: Refused, identical: Same) -> None:
    """XGBoost drops the categories of a booster that is sliced."""
    codes = np.resize([1, 2, 3, 4], ROWS)
    frame = pd.DataFrame({"k": pd.Categorical(codes), "x": FRAME.a})
    target = np.select([codes == 1, codes == 2, codes == 3], [10.0, 0.0, 30.0], 5.0)
    matrix = xgboost.DMatrix(frame, target, enable_categorical=True)
    model = xgboost.train({"max_depth": 3}, matrix, 12)[:5]
    if xgboost.__version__ < "3.4":
        for options in ({}, {"check": False}, {"check": "SELECT 1 AS k, 2.0 AS x"}):
            refused(r"categories of 'k', since.*slic", model, **options)
        refused(r"no categories of feature", bytes(model.save_raw("ubj")))
        identical(model, frame, categories={"k": [1, 2, 3, 4]})
    identical(model, frame, check=frame)


def test_codes_of_a_booster_are_confirmed(refused: Refused, identical: Same) -> None:
    rows = np.column_stack([np.resize([0, 1, 2, 3], ROWS), FRAME.a])
    options = {"feature_types": ["c", "q"], "enable_categorical": True}
    target = 3.0 * (rows[:, 0] == 2)
    booster = xgboost.train({"max_depth": 3}, xgboost.DMatrix(rows, target, **options), 4)
    wrapper = xgboost.XGBRegressor(**options, **SMALL).fit(rows, target)
    if xgboost.__version__ < "3.4":
        refused(r"categories=\{\} if", booster)
    for model, given in ((booster, {"categories": {}}), (booster, {"check": rows}), (wrapper, {})):
        identical(model, rows, **given)


@pytest.mark.parametrize("columns", ["k x", "x k", "k j x", "j whole k", "x k l"])
def test_ordered_categories_of_lightgbm(
    connection: Connection, identical: Same, columns: str
) -> None:
    """They are numbers to it, and its file does not say which features the lists of categories belong to."""
    values = np.resize(list("abc"), ROWS)
    every = {
        "k": pd.Categorical(values, list("cba"), ordered=True), "j": pd.Categorical(values[::-1]),
        "l": pd.Categorical(CLASSES * 10, [20, 10, 0, 30], ordered=True), "x": FRAME.a,
        "whole": np.arange(ROWS) % 7,
    }  # fmt: skip
    frame = pd.DataFrame({name: every[name] for name in columns.split()})
    model = lightgbm.LGBMRegressor(**LIGHT).fit(frame, CLASSES + FRAME.a + (values == "b"))
    for check in (True, frame):
        identical(model, frame, check=check)
    extension = Extension(connecting.Database(connection))
    with pgboost.rows.source_of(extension, frame) as source:
        assert pgboost.verify(connection, "model", model, source).differing == 0


def test_categories_that_two_features_may_have_are_refused(refused: Refused) -> None:
    ordered = pd.Categorical(np.resize(list("abc"), ROWS), ordered=True)
    frame = pd.DataFrame({"k": ordered, "n": np.arange(ROWS) % 3, "x": FRAME.a})
    model = lightgbm.LGBMRegressor(**LIGHT).fit(frame, CLASSES)
    refused("which features its pandas categories belong to", model)


@pytest.mark.parametrize("kind", [xgboost.XGBClassifier, lightgbm.LGBMClassifier])
def test_classifiers_of_one_class_are_refused(refused: Refused, kind: Any) -> None:
    options = LIGHT if kind is lightgbm.LGBMClassifier else SMALL
    for one in (kind(**options), make_pipeline(StandardScaler(), kind(**options))):
        refused("was fitted on one class, 0: it predicts nothing else", one.fit(FRAME, CLASSES * 0))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "int64"])
def test_categories_of_narrow_numbers(identical: Same, kind: str) -> None:
    if kind == "uint16" and xgboost.__version__ < "3.4":
        pytest.skip("XGBoost 3.2 cannot read its own file of these")
    codes = np.arange(ROWS) % 3
    values = pd.Index([1, 5, 9], dtype=kind)
    frame = pd.DataFrame({"c": pd.Categorical.from_codes(codes, values), "x": FRAME.a})
    identical(xgboost.XGBRegressor(enable_categorical=True, **SMALL).fit(frame, codes * 3), frame)


def test_codes_beside_categories(connection: Connection) -> None:
    u = pd.Categorical(np.resize(list("abc"), ROWS))
    k = GENERATOR.choice([0, 0, 0, 1, 2, 2, 4, 4, 4, 4], ROWS)
    frame = pd.DataFrame({"u": u, "k": k, "x": FRAME.a})
    data = lightgbm.Dataset(frame, (k == 4) * 3 + (u == "b"), categorical_feature=["u", "k"])
    options = {"min_data_in_leaf": 5, "min_data_per_group": 1, "verbose": -1}
    model = lightgbm.train(options, data, 8)
    model.pandas_categorical = None
    pgboost.push(connection, "codes", model, categories={"u": ["a", "b", "c"]})


def test_blanks_in_names_come_from_check(connection: Connection) -> None:
    """LightGBM writes blanks as underscores."""
    frame = FRAME.rename(columns={"a": "has kids?", "b": "net income"})
    model = lightgbm.LGBMRegressor(**LIGHT).fit(frame, CLASSES)
    pgboost.push(connection, "kids", model)
    with pytest.raises(pgboost.InvalidDataError, match=r"'has kids\?', so push .* feature_names"):
        pgboost.predict(connection, "kids", frame)
    query = 'SELECT 1.0 AS "has kids?", 2.0 AS "net income", 3.0 AS c'
    with pytest.raises(pgboost.InvalidDataError, match=r"'has kids\?', so push .* feature_names"):
        pgboost.verify(connection, "kids", model, query)
    pgboost.push(connection, "kids", model, check=frame, allow_change=True)
    expected = model.predict(frame).astype(np.float32)
    np.testing.assert_array_equal(pgboost.predict(connection, "kids", frame), expected)


@pytest.mark.parametrize("options", [{"booster": "dart"}, {}], ids=["dart", "gbtree"])
def test_dropout_behind_a_step(same: Same, options: dict[str, Any]) -> None:
    """XGBoost 3.4 stores the weights of the trees in another member, and drops trees of any booster."""
    given = {"rate_drop": 0.5, "n_estimators": 20, "random_state": 1, **options}
    same(scaled(xgboost.XGBRegressor(**given), CLASSES + FRAME.a), FRAME)


def test_names_beyond_ascii_behind_a_step(identical: Same) -> None:
    frame = FRAME.rename(columns={"a": "Größe", "b": "気温"})
    model = make_pipeline(StandardScaler(), xgboost.XGBRegressor(**SMALL))
    for one in (model, xgboost.XGBRegressor(missing=-1.0, **SMALL)):
        identical(one.fit(frame, CLASSES), frame)


@pytest.mark.parametrize("onehot", [1, 100])
def test_codes_of_an_encoder_are_categories_to_xgboost(identical: Same, onehot: int) -> None:
    cities = np.resize(np.array([*"abcdefgh", None], object), ROWS)
    frame = pd.DataFrame({"city": cities, "x": FRAME.a})
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((encoder, ["city"]), remainder="passthrough")
    options = {"enable_categorical": True, "feature_types": ["c", "q"], **SMALL}
    model = make_pipeline(columns, xgboost.XGBRegressor(max_cat_to_onehot=onehot, **options))
    target = 3.0 * (frame.city == "b") - 2 * (frame.city == "e") + frame.city.isna() + FRAME.a
    model.fit(frame[frame.city != "h"], target[frame.city != "h"])
    identical(model, frame)


def test_categories_of_the_frame_are_refused_behind_a_step(refused: Refused) -> None:
    frame = pd.DataFrame({"k": np.arange(ROWS) % 4, "x": FRAME.a})
    columns = make_column_transformer((StandardScaler(), ["x"]), ("passthrough", ["k"]))
    options = {"enable_categorical": True, "feature_types": ["q", "c"], **SMALL}
    model = make_pipeline(columns, xgboost.XGBRegressor(**options)).fit(frame, frame.k == 2)
    refused("splits by categories of a column", model)
    rows = frame.astype({"k": "category"})
    model = xgboost.XGBRegressor(enable_categorical=True, missing=-1.0, **SMALL)
    refused("missing=-1.0 and categories", model.fit(rows, frame.k == 2))


@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor"])
def test_forests_whose_threads_add_in_any_order(same: Same, name: str) -> None:
    model = getattr(ensemble, name)(60, n_jobs=8, random_state=1).fit(FRAME, CLASSES)
    for check in (FRAME.astype("float32"), True):
        same(model, FRAME, check=check)


def test_another_order_of_sums_is_no_other_precision() -> None:
    numbers = np.array([1 / 3, np.nan, 0.0])
    assert are_same(numbers, np.nextafter(numbers, 1))
    for other in (numbers.astype("float32"), numbers[:2], numbers + 1e-9):
        assert not are_same(numbers, other.astype(float))
    assert are_same(np.array(["a"]), np.array(["a"]))
    assert not are_same(np.array(["a"]), np.array(["b"]))
