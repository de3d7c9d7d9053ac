"""Ordinary models of each library are pushed, and their predictions compare equal to Python's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import catboost
import lightgbm
import pgboost
from pgboost.libraries.ensemble import are_same

ROWS = 400
GENERATOR = np.random.default_rng(20261128)
FRAME = pd.DataFrame(GENERATOR.normal(size=(ROWS, 3)), columns=["a", "b", "c"])
CLASSES = np.digitize(FRAME.a + FRAME.b, [-0.7, 0.7])
TWO, SEVERAL = (FRAME.a > 0).to_numpy(), np.c_[FRAME.a > 0, FRAME.b > 0.3].astype(int)
CAT = {"iterations": 6, "verbose": False, "allow_writing_files": False, "random_seed": 1}
SMALL = {"n_estimators": 6, "max_depth": 3}
LIGHT = {"n_estimators": 6, "verbose": -1}


def cat(target: Any, **options: Any) -> Any:
    return catboost.CatBoostClassifier(**CAT, **options).fit(FRAME, target)


def summed(loss: str) -> Any:
    parts = [
        catboost.CatBoostRegressor(**{**CAT, "random_seed": seed}, loss_function=loss)
        for seed in (1, 2)
    ]
    return catboost.sum_models([one.fit(FRAME, CLASSES + 1.0) for one in parts], [0.5, 0.5])


class HalfError:
    """An objective of the user's own: half the squared error."""

    def calc_ders_range(self, approxes: Any, targets: Any, weights: Any) -> Any:
        return [(targets[row] - approxes[row], -1.0) for row in range(len(targets))]


def of_own(kind: Any) -> Any:
    return kind(**CAT, loss_function=HalfError(), eval_metric="RMSE")


def boosted(target: Any, **options: Any) -> Any:
    return xgboost.XGBClassifier(**SMALL, **options).fit(FRAME, target)


def scaled(model: Any, target: Any) -> Any:
    return make_pipeline(StandardScaler(), model).fit(FRAME, target)


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "CatBoost, whole labels": lambda: cat(CLASSES),
    "CatBoost, float labels": lambda: cat(CLASSES.astype(float)),
    "CatBoost, halves": lambda: cat(TWO / 2),
    "CatBoost, booleans": lambda: cat(TWO),
    "CatBoost, texts like numbers": lambda: cat(CLASSES.astype(str)),
    "LightGBM, booleans": lambda: lightgbm.LGBMClassifier(**LIGHT).fit(FRAME, TWO),
    "LightGBM, floats": lambda: lightgbm.LGBMClassifier(**LIGHT).fit(FRAME, TWO * 1.0),
    "LightGBM, texts like booleans": lambda: lightgbm.LGBMClassifier(**LIGHT).fit(
        FRAME, np.where(TWO, "true", "false")
    ),
    **{
        f"two classes of LightGBM's {objective}": lambda objective=objective: (
            lightgbm.LGBMClassifier(objective=objective, num_class=2, **LIGHT).fit(FRAME, TWO)
        )
        for objective in ("multiclass", "multiclassova")
    },
    "forest, booleans": lambda: RandomForestClassifier(5, max_depth=3).fit(FRAME, TWO),
    "forest, texts": lambda: RandomForestClassifier(5, max_depth=3).fit(
        FRAME, np.where(TWO, "01067", "10115")
    ),
    "multi:softmax": lambda: boosted(CLASSES, objective="multi:softmax"),
    "multi:softmax in a Pipeline": lambda: scaled(
        xgboost.XGBClassifier(**SMALL, objective="multi:softmax"), CLASSES
    ),
    "binary:hinge": lambda: boosted(TWO * 1, objective="binary:hinge"),
    "two classes of MultiClass": lambda: cat(TWO, loss_function="MultiClass"),
    "two classes, one against all": lambda: cat(TWO, loss_function="MultiClassOneVsAll"),
    "calibrated on folds": lambda: CalibratedClassifierCV(DecisionTreeClassifier(), cv=3).fit(
        FRAME, TWO
    ),
    "a vector in each leaf": lambda: boosted(CLASSES, multi_strategy="multi_output_tree"),
}
OTHERS: dict[str, Callable[[], Any]] = {
    "CatBoostRanker": lambda: catboost.CatBoostRanker(**CAT).fit(
        FRAME, CLASSES, group_id=np.arange(ROWS) // 10
    ),
    "position bias of LightGBM": lambda: lightgbm.train(
        {"objective": "lambdarank", "verbose": -1, "num_leaves": 7},
        lightgbm.Dataset(FRAME, CLASSES, group=[10] * (ROWS // 10), position=np.arange(ROWS) % 10),
        5,
    ),
    "MultiLogloss": lambda: cat(SEVERAL, loss_function="MultiLogloss"),
    "MultiCrossEntropy": lambda: cat(SEVERAL, loss_function="MultiCrossEntropy"),
    "several labels of XGBoost": lambda: boosted(SEVERAL),
    "several labels in a Pipeline": lambda: scaled(xgboost.XGBClassifier(**SMALL), SEVERAL),
    "two classes of multi:softprob": lambda: boosted(
        TWO * 1, objective="multi:softprob", num_class=2
    ),
    "CatBoost, a loss of the user's own": lambda: of_own(catboost.CatBoostRegressor).fit(
        FRAME, CLASSES
    ),
    "CatBoost, classes by such a loss": lambda: of_own(catboost.CatBoostClassifier).fit(
        FRAME, TWO * 1
    ),
    "CatBoost, such a loss in a Pipeline": lambda: scaled(
        of_own(catboost.CatBoostClassifier), TWO * 1
    ),
    "a sum of CatBoost": lambda: summed("RMSE"),
    "a sum of exponents": lambda: summed("Poisson"),
    "no trees": lambda: xgboost.XGBRegressor(n_estimators=0).fit(FRAME, CLASSES),
}


@pytest.mark.parametrize("make", CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
def test_labels_come_back_as_the_model_predicts_them(
    connection: psycopg.Connection, make: Callable[[], Any]
) -> None:
    model = make()
    for check in (True, FRAME):
        pgboost.push(connection, "classifier", model, check=check)
    found = pgboost.verify(connection, "classifier", model, FRAME)
    assert found and found.classes_differing == 0, found
    in_python = np.ravel(model.predict(FRAME))
    assert (pgboost.predict_class(connection, "classifier", FRAME) == in_python).mean() == 1.0
    shapes = [pgboost.predict(connection, "classifier", FRAME[:n]).shape for n in (0, ROWS)]
    assert shapes == [(0, *shapes[1][1:]), (ROWS, *shapes[1][1:])]
    pgboost.drop(connection, "classifier")


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS.keys())
def test_models_without_classes(connection: psycopg.Connection, make: Callable[[], Any]) -> None:
    model = make()
    for check in (True, FRAME):
        pgboost.push(connection, "other", model, check=check)
    assert pgboost.verify(connection, "other", model, FRAME).differing == 0
    pgboost.drop(connection, "other")


def test_booleans_have_the_labels_of_sql(connection: psycopg.Connection) -> None:
    """So the target of an evaluation may be boolean, or text as SQL writes it."""
    for model in (RandomForestClassifier(5).fit(FRAME, TWO), CLASSIFIERS["LightGBM, booleans"]()):
        pgboost.push(connection, "flag", model)
        query = (
            "SELECT a, b, c, a > 0 AS y, (a > 0)::text AS t FROM unnest(%s, %s, %s) AS t(a, b, c)"
        )
        connection.execute("DROP TABLE IF EXISTS flags")
        columns = [FRAME[name].tolist() for name in FRAME]
        connection.execute(f"CREATE TABLE flags AS {query}", columns)
        for target in ("y", "t"):
            found = pgboost.evaluate(connection, "flag", "flags", target).set_index("metric")
            assert found.loc["auc", "value"] > 0.9
        pgboost.drop(connection, "flag")


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(
            StandardScaler(), xgboost.XGBRegressor(multi_strategy="multi_output_tree", **SMALL)
        ),
        xgboost.XGBRegressor(multi_strategy="multi_output_tree", missing=-1.0, **SMALL),
        xgboost.XGBClassifier(multi_strategy="multi_output_tree", missing=-1.0, **SMALL),
    ],
    ids=["Pipeline", "missing", "classes"],
)
def test_vectors_in_leaves_are_refused_before_xgboost_ends_the_process(
    connection: psycopg.Connection, model: Any
) -> None:
    target = CLASSES if isinstance(model, xgboost.XGBClassifier) else SEVERAL
    with pytest.raises(pgboost.UnsupportedModelError, match="a vector in each leaf"):
        pgboost.push(connection, "vector", model.fit(FRAME, target))


@pytest.mark.parametrize(
    "objective", ["binary:logitraw", "reg:logistic", "count:poisson", "cross_entropy", "huber"]
)
def test_classifiers_by_an_objective_without_classes_are_refused(
    connection: psycopg.Connection, objective: str
) -> None:
    kind, given = xgboost.XGBClassifier, SMALL
    if ":" not in objective:
        kind, given = lightgbm.LGBMClassifier, LIGHT
    model = kind(objective=objective, **given)
    for one in (scaled(model, TWO * 1), model.fit(FRAME, TWO * 1)):
        with pytest.raises(pgboost.UnsupportedModelError, match=objective):
            pgboost.push(connection, "margins", one)
    pgboost.push(connection, "margins", model.booster_ if given is LIGHT else model.get_booster())
    pgboost.drop(connection, "margins")


@pytest.mark.parametrize("seed", range(4))
def test_dart_is_as_near_as_its_sums_are_rounded(connection: psycopg.Connection, seed: int) -> None:
    options = {"booster": "dart", "rate_drop": 0.3, "n_estimators": 30, "random_state": seed}
    model = xgboost.XGBRegressor(**options).fit(FRAME, CLASSES + FRAME.a)
    pgboost.push(connection, "dart", model)
    assert pgboost.verify(connection, "dart", model, FRAME)


def test_codes_that_no_split_sends_left(connection: psycopg.Connection) -> None:
    frame = pd.DataFrame({"x": FRAME.a, "g": np.arange(ROWS) % 4})
    columns = make_column_transformer(("passthrough", ["x", "g"]))
    light = lightgbm.LGBMRegressor(min_data_per_group=1, categorical_feature=[1], **LIGHT)
    model = make_pipeline(columns, light).fit(frame, 5.0 * (frame.g == 1))
    pgboost.push(connection, "codes", model)
    assert pgboost.verify(connection, "codes", model, frame).differing == 0


def test_numbers_that_lightgbm_takes_for_zeros_are_not_drawn(
    connection: psycopg.Connection,
) -> None:
    frame = pd.DataFrame({"x": FRAME.a.clip(upper=0), "g": np.arange(ROWS) % 4})
    columns = make_column_transformer(
        (OneHotEncoder(), ["g"]), remainder="passthrough", sparse_threshold=1
    )
    model = make_pipeline(columns, lightgbm.LGBMRegressor(**LIGHT)).fit(frame, frame.x < 0)
    pgboost.push(connection, "sparse", model)


def categories_of(values: list[Any]) -> tuple[pd.DataFrame, Any]:
    column = pd.Categorical(np.resize(np.array(values, object), ROWS), values)
    frame = pd.DataFrame({"c": column, "x": FRAME.a})
    return frame, frame.c.cat.codes * 2.0 + frame.x


@pytest.mark.parametrize("make", ["wrapper", "booster"])
@pytest.mark.parametrize("values", [["Café", "日本", "Wien"], ["Köln", "Wien", "Graz"]], ids=str)
def test_categories_beyond_ascii(
    connection: psycopg.Connection, values: list[str], make: str
) -> None:
    """XGBoost 3.2 damages their texts in its file, so these are given."""
    frame, target = categories_of(values)
    model = xgboost.XGBRegressor(enable_categorical=True, **SMALL).fit(frame, target)
    model = model if make == "wrapper" else model.get_booster()
    if xgboost.__version__ >= "3.4":
        pgboost.push(connection, "city", model)
    else:
        with pytest.raises(pgboost.UnsupportedModelError, match=r"categories=.*dtype as check"):
            pgboost.push(connection, "city", model)
        pgboost.push(connection, "city", model, categories={"c": values})
    pgboost.push(connection, "city", model, check=frame)
    assert pgboost.verify(connection, "city", model, frame).differing == 0
    pgboost.drop(connection, "city")


def test_categories_of_a_slice_come_from_check(connection: psycopg.Connection) -> None:
    """XGBoost drops the categories of a booster that is sliced."""
    codes = np.resize([1, 2, 3, 4], ROWS)
    frame = pd.DataFrame({"k": pd.Categorical(codes), "x": FRAME.a})
    target = np.select([codes == 1, codes == 2, codes == 3], [10.0, 0.0, 30.0], 5.0)
    matrix = xgboost.DMatrix(frame, target, enable_categorical=True)
    model = xgboost.train({"max_depth": 3}, matrix, 12)[:5]
    if xgboost.__version__ < "3.4":
        for options in ({}, {"check": False}, {"check": "SELECT 1 AS k, 2.0 AS x"}):
            with pytest.raises(
                pgboost.UnsupportedModelError, match=r"categories of 'k', since.*slic"
            ):
                pgboost.push(connection, "slice", model, **options)
        with pytest.raises(pgboost.UnsupportedModelError, match=r"no categories of feature"):
            pgboost.push(connection, "slice", bytes(model.save_raw("ubj")))
        pgboost.push(connection, "slice", model, categories={"k": [1, 2, 3, 4]})
        assert pgboost.verify(connection, "slice", model, frame).differing == 0
    pgboost.push(connection, "slice", model, check=frame)
    assert pgboost.verify(connection, "slice", model, frame).differing == 0


def test_codes_of_a_booster_are_confirmed(connection: psycopg.Connection) -> None:
    rows = np.column_stack([np.resize([0, 1, 2, 3], ROWS), FRAME.a])
    options = {"feature_types": ["c", "q"], "enable_categorical": True}
    target = 3.0 * (rows[:, 0] == 2)
    booster = xgboost.train({"max_depth": 3}, xgboost.DMatrix(rows, target, **options), 4)
    wrapper = xgboost.XGBRegressor(**options, **SMALL).fit(rows, target)
    if xgboost.__version__ < "3.4":
        with pytest.raises(pgboost.UnsupportedModelError, match=r"categories=\{\} if"):
            pgboost.push(connection, "codes", booster)
    for model, given in ((booster, {"categories": {}}), (booster, {"check": rows}), (wrapper, {})):
        pgboost.push(connection, "codes", model, **given)
        assert pgboost.verify(connection, "codes", model, rows).differing == 0
    pgboost.drop(connection, "codes")


def test_ordered_categories_of_lightgbm_are_compared_on_rows(
    connection: psycopg.Connection,
) -> None:
    """They are numbers to it, and its file does not say which features the lists of categories belong to."""
    values = np.resize(list("abc"), ROWS)
    frame = pd.DataFrame(
        {"k": pd.Categorical(values, list("cba"), ordered=True), "j": pd.Categorical(values[::-1])}
    )
    frame = frame.assign(x=FRAME.a)
    model = lightgbm.LGBMRegressor(**LIGHT).fit(frame, CLASSES + FRAME.a)
    with pytest.raises(pgboost.UnsupportedModelError, match="pass rows as check"):
        pgboost.push(connection, "ordered", model)
    pgboost.push(connection, "ordered", model, check=frame)
    assert pgboost.verify(connection, "ordered", model, frame).differing == 0


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "int64"])
def test_categories_of_narrow_numbers(connection: psycopg.Connection, kind: str) -> None:
    if kind == "uint16" and xgboost.__version__ < "3.4":
        pytest.skip("XGBoost 3.2 cannot read its own file of these")
    codes = np.arange(ROWS) % 3
    values = pd.Index([1, 5, 9], dtype=kind)
    frame = pd.DataFrame({"c": pd.Categorical.from_codes(codes, values), "x": FRAME.a})
    model = xgboost.XGBRegressor(enable_categorical=True, **SMALL).fit(frame, codes * 3)
    pgboost.push(connection, "narrow", model)
    assert pgboost.verify(connection, "narrow", model, frame).differing == 0


def test_codes_beside_categories(connection: psycopg.Connection) -> None:
    frame = pd.DataFrame(
        {
            "u": pd.Categorical(np.resize(list("abc"), ROWS)),
            "k": GENERATOR.choice([0, 0, 0, 1, 2, 2, 4, 4, 4, 4], ROWS),
            "x": FRAME.a,
        }
    )
    data = lightgbm.Dataset(
        frame, (frame.k == 4) * 3 + (frame.u == "b"), categorical_feature=["u", "k"]
    )
    options = {"min_data_in_leaf": 5, "min_data_per_group": 1, "verbose": -1}
    model = lightgbm.train(options, data, 8)
    model.pandas_categorical = None
    pgboost.push(connection, "codes", model, categories={"u": ["a", "b", "c"]})


def test_blanks_in_names_come_from_check(connection: psycopg.Connection) -> None:
    """LightGBM writes blanks as underscores."""
    frame = FRAME.rename(columns={"a": "has kids?", "b": "net income"})
    model = lightgbm.LGBMRegressor(**LIGHT).fit(frame, CLASSES)
    pgboost.push(connection, "kids", model)
    with pytest.raises(pgboost.InvalidDataError, match=r"'has kids\?', so push .* feature_names"):
        pgboost.predict(connection, "kids", frame)
    query = 'SELECT 1.0 AS "has kids?", 2.0 AS "net income", 3.0 AS c'
    with pytest.raises(pgboost.InvalidDataError, match=r"'has kids\?', so push .* feature_names"):
        pgboost.verify(connection, "kids", model, query)
    pgboost.drop(connection, "kids")
    pgboost.push(connection, "kids", model, check=frame)
    expected = model.predict(frame).astype(np.float32)
    np.testing.assert_array_equal(pgboost.predict(connection, "kids", frame), expected)


@pytest.mark.parametrize("options", [{"booster": "dart"}, {}], ids=["dart", "gbtree"])
def test_dropout_behind_a_step(connection: psycopg.Connection, options: dict[str, Any]) -> None:
    """XGBoost 3.4 stores the weights of the trees in another member, and drops trees of any booster."""
    given = {"rate_drop": 0.5, "n_estimators": 20, "random_state": 1, **options}
    model = scaled(xgboost.XGBRegressor(**given), CLASSES + FRAME.a)
    pgboost.push(connection, "dropout", model)
    assert pgboost.verify(connection, "dropout", model, FRAME)


def test_names_beyond_ascii_behind_a_step(connection: psycopg.Connection) -> None:
    frame = FRAME.rename(columns={"a": "Größe", "b": "気温"})
    model = make_pipeline(StandardScaler(), xgboost.XGBRegressor(**SMALL))
    for one in (model, xgboost.XGBRegressor(missing=-1.0, **SMALL)):
        pgboost.push(connection, "names", one.fit(frame, CLASSES))
        assert pgboost.verify(connection, "names", one, frame).differing == 0


@pytest.mark.parametrize("onehot", [1, 100])
def test_codes_of_an_encoder_are_categories_to_xgboost(
    connection: psycopg.Connection, onehot: int
) -> None:
    cities = np.resize(np.array([*"abcdefgh", None], object), ROWS)
    frame = pd.DataFrame({"city": cities, "x": FRAME.a})
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((encoder, ["city"]), remainder="passthrough")
    options = {"enable_categorical": True, "feature_types": ["c", "q"], **SMALL}
    model = make_pipeline(columns, xgboost.XGBRegressor(max_cat_to_onehot=onehot, **options))
    target = 3.0 * (frame.city == "b") - 2 * (frame.city == "e") + frame.city.isna() + FRAME.a
    model.fit(frame[frame.city != "h"], target[frame.city != "h"])
    pgboost.push(connection, "encoded", model)
    assert pgboost.verify(connection, "encoded", model, frame).differing == 0


def test_categories_of_the_frame_are_refused_behind_a_step(connection: psycopg.Connection) -> None:
    frame = pd.DataFrame({"k": np.arange(ROWS) % 4, "x": FRAME.a})
    columns = make_column_transformer((StandardScaler(), ["x"]), ("passthrough", ["k"]))
    options = {"enable_categorical": True, "feature_types": ["q", "c"], **SMALL}
    model = make_pipeline(columns, xgboost.XGBRegressor(**options)).fit(frame, frame.k == 2)
    with pytest.raises(pgboost.UnsupportedModelError, match="splits by categories of a column"):
        pgboost.push(connection, "raw", model)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_forests_whose_threads_add_in_any_order(connection: psycopg.Connection, kind: Any) -> None:
    model = kind(60, n_jobs=8, random_state=1).fit(FRAME, CLASSES)
    for check in (True, FRAME.astype("float32")):
        pgboost.push(connection, "threads", model, check=check)
    assert pgboost.verify(connection, "threads", model, FRAME)


def test_another_order_of_sums_is_no_other_precision() -> None:
    numbers = np.array([1 / 3, np.nan, 0.0])
    assert are_same(numbers, np.nextafter(numbers, 1))
    for other in (numbers.astype("float32"), numbers[:2], numbers + 1e-9):
        assert not are_same(numbers, other.astype(float))
    assert are_same(np.array(["a"]), np.array(["a"]))
    assert not are_same(np.array(["a"]), np.array(["b"]))
