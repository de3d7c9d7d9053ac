"""Fitted models of each library, which the wheel predicts and explains with the library's own bits."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import scipy.sparse
import skl2onnx
import xgboost
from sklearn.ensemble import HistGradientBoostingRegressor, IsolationForest, RandomForestClassifier

import catboost
import gbtrees
import lightgbm
import pgboost
from tests.gbtrees.test_wheel import same
from tests.python import models as data
from tests.python.models import CAT, FITTED, FRAME, NUMBER, QUICK, QUIET, TWO

NUMBERS = data.numbers()


def with_categories() -> pd.DataFrame:
    names = pd.Categorical(np.resize(["red", "green", None, "blue"], len(FRAME)))
    years = pd.Categorical(np.resize([2001, 1999, 2010], len(FRAME)))
    return FRAME.assign(colour=names, year=years)


def own(model: Any, call: str, X: Any, **options: Any) -> np.ndarray:
    """The library's prediction; a booster of XGBoost takes a DMatrix."""
    if isinstance(model, xgboost.Booster):
        X = xgboost.DMatrix(X, enable_categorical=True)
    return np.asarray(getattr(model, call)(X, **options))


MARGINS = {
    "xgboost": {"output_margin": True},
    "lightgbm": {"raw_score": True},
    "catboost": {"prediction_type": "RawFormulaVal"},
}


def margins(model: Any, X: Any) -> np.ndarray:
    library = type(model).__module__.partition(".")[0]
    return own(model, "predict", X, **MARGINS[library])


def assert_as_the_object(model: Any, X: Any) -> None:
    engine = gbtrees.Model(model)
    assert same(engine.margins(X), margins(model, X))
    found, expected = engine.predict(X), own(model, "predict", X)
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=3e-7)
        assert found.dtype == expected.dtype
    else:
        assert np.array_equal(found, expected.reshape(found.shape))
    if hasattr(model, "predict_proba"):
        expected = own(model, "predict_proba", X)
        np.testing.assert_allclose(engine.predict_proba(X), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", FITTED)
def test_a_fitted_model_predicts_as_its_object(name: str) -> None:
    model = FITTED[name]()
    assert_as_the_object(model, FRAME)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", ["XGBRegressor", "LGBMClassifier", "CatBoostRegressor"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_predict_as_in_the_library(name: str, dtype: Any) -> None:
    model = FITTED[name]()
    X = FRAME.to_numpy(dtype)
    engine = gbtrees.Model(model)
    for form in (X, np.asfortranarray(X), X[::3], np.repeat(X, 2, axis=1)[:, ::2]):
        assert same(engine.margins(form), margins(model, np.ascontiguousarray(form)))


@pytest.mark.parametrize("kind", [xgboost.XGBRegressor, lightgbm.LGBMRegressor])
def test_sparse_rows_predict_as_in_the_library(kind: Any) -> None:
    X = FRAME.to_numpy(np.float64)
    X[:, 2] *= np.arange(len(X)) % 3 == 0
    model = kind(**QUICK).fit(scipy.sparse.csr_matrix(X), NUMBER)
    for form in (scipy.sparse.csr_matrix, scipy.sparse.csr_array, scipy.sparse.coo_array):
        sparse = form(X)
        engine = gbtrees.Model(model)
        expected = margins(model, scipy.sparse.csr_matrix(sparse))
        assert same(engine.margins(sparse), expected)
    twice = scipy.sparse.csr_array(([1.0, 2.0], [1, 1], [0, 2]), shape=(1, X.shape[1]))
    once = scipy.sparse.csr_array(([3.0], [1], [0, 1]), shape=(1, X.shape[1]))
    assert same(engine.margins(twice), engine.margins(once))


CATEGORICAL: dict[str, Any] = {
    "XGBoost": lambda X: xgboost.XGBRegressor(**QUICK, enable_categorical=True).fit(X, NUMBER),
    "LightGBM": lambda X: lightgbm.LGBMClassifier(**QUIET).fit(X, TWO),
    "CatBoost": lambda X: catboost.CatBoostClassifier(**CAT, cat_features=["colour", "year"]).fit(
        X, TWO
    ),
}


def fitted_on_categories(library: str) -> tuple[pd.DataFrame, Any]:
    X = with_categories()
    if library == "CatBoost":
        X = X.assign(colour=X.colour.astype(object).fillna("none"), year=X.year.astype(int))
    return X, CATEGORICAL[library](X)


@pytest.mark.parametrize("library", CATEGORICAL)
def test_categories_predict_as_in_the_library(library: str) -> None:
    X, model = fitted_on_categories(library)
    assert_as_the_object(model, X)
    # Columns are found by their names, and categories by their values.
    expected = margins(model, X)
    mixed = X[X.columns[::-1]].assign(unused="text")
    if library != "CatBoost":
        order = ["green", "red", "blue", "violet"]
        mixed = mixed.assign(colour=pd.Categorical(X.colour.astype(object), order))
    assert same(gbtrees.Model(model).margins(mixed), expected)


@pytest.mark.parametrize("library", CATEGORICAL)
def test_frames_of_polars_and_arrow_predict_alike(library: str) -> None:
    polars, arrow = (pytest.importorskip(name) for name in ("polars", "pyarrow"))
    X, model = fitted_on_categories(library)
    plain = X.assign(colour=X.colour.astype(object), year=X.year.astype(int))
    for frame in (polars.from_pandas(plain), arrow.Table.from_pandas(plain)):
        assert same(gbtrees.Model(model).margins(frame), margins(model, X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, object])
def test_an_array_has_the_categories_where_the_library_takes_them(dtype: Any) -> None:
    X = np.column_stack([np.resize([30, 10, 20], len(FRAME)), np.arange(len(FRAME)) % 7]).astype(
        dtype
    )
    model = HistGradientBoostingRegressor(max_iter=12, categorical_features=[0]).fit(X, NUMBER)
    engine = gbtrees.Model(pgboost.model_bytes(model))
    assert same(engine.predict(X), model.predict(X))
    with pytest.raises(gbtrees.GbtreesError, match=r"99.* is no category"):
        engine.predict(np.array([[99, 1]], dtype))


def test_a_masked_array_has_categories_and_is_read_by_its_type() -> None:
    cities = np.resize(np.array(["Graz", "Linz", "Wien"], object), len(FRAME))
    codes = np.resize([30, 10, 20], len(FRAME))
    for values in (cities, codes):
        X = np.column_stack([values, np.arange(len(FRAME)) % 7])
        options = {"cat_features": [0], **CAT}
        model = catboost.CatBoostRegressor(**options).fit(X.astype(object), NUMBER)
        masked = np.ma.masked_array(X, X == 6)
        rows = np.where(X == 6, np.nan, X.astype(object))
        assert same(gbtrees.Model(model).predict(masked), model.predict(rows))
    engine = gbtrees.Model(FITTED["XGBRegressor"]())
    for dtype in ("datetime64[s]", complex):
        with pytest.raises(gbtrees.GbtreesError, match="the rows are of the type"):
            engine.predict(np.ma.masked_array(np.zeros((2, FRAME.shape[1]), dtype), False))


def test_categories_keep_digits_that_doubles_do_not_have() -> None:
    near = [2**53, 2**53 + 1, 7]
    codes = np.arange(len(FRAME)) % 3
    X = pd.DataFrame({"k": pd.Categorical.from_codes(codes, pd.Index(near)), "x": FRAME.other})
    model = xgboost.XGBRegressor(**QUICK, enable_categorical=True).fit(X, codes == 1)
    engine, expected = gbtrees.Model(model), margins(model, X)
    assert expected[0] != expected[1]
    for values in (near, [Decimal(one) for one in near], [Fraction(one) for one in near]):
        given = pd.Series(values, dtype=object)[codes].to_numpy()
        assert same(engine.margins(X.assign(k=given)), expected)
    none = [Decimal("NaN"), None, float("nan")]
    given = X.assign(k=pd.Series(none, dtype=object)[codes].to_numpy())
    missing = X.assign(k=pd.Categorical([None] * len(X), categories=near))
    assert same(engine.margins(given), margins(model, missing))
    with pytest.raises(gbtrees.GbtreesError, match="is no category"):
        engine.predict(X.assign(k=Decimal("7.5")))


def test_integers_beyond_bigint_are_categories_of_catboost() -> None:
    values = [2**63 + 5, 2**63 + 6, 1]
    codes = np.arange(len(FRAME)) % 3
    X = pd.DataFrame({"k": np.array(values, np.uint64)[codes], "x": FRAME.other})
    model = catboost.CatBoostRegressor(**{**CAT, "cat_features": ["k"]}).fit(X, codes)
    engine, expected = gbtrees.Model(model), margins(model, X)
    assert len({*expected[:3]}) == 3
    for one in (X.k, X.k.astype("category"), X.k.map(lambda value: Decimal(int(value)))):
        assert same(engine.margins(X.assign(k=one)), expected)


def test_numbers_that_numpy_does_not_have_are_read() -> None:
    """Nulls among Arrow's codes, and integers of 128 bits."""
    polars, arrow = (pytest.importorskip(name) for name in ("polars", "pyarrow"))
    whole = np.arange(len(FRAME)) % 7
    X = pd.DataFrame({"whole": np.where(whole == 3, np.nan, whole), "x": FRAME.other})
    values = [None if one == 3 else int(one) for one in whole]
    model = lightgbm.LGBMRegressor(**QUIET).fit(X, 9 * (whole == 3) + whole % 5)
    engine = gbtrees.Model(model)
    codes = arrow.array(values).dictionary_encode()
    large = polars.Series("whole", values, dtype=polars.Int128)
    for frame in (
        arrow.table({"whole": codes, "x": arrow.array(FRAME.other)}),
        polars.DataFrame([large, polars.Series("x", FRAME.other.to_numpy())]),
    ):
        assert same(engine.margins(frame), margins(model, X))


def test_unknown_categories_are_errors_or_missing_as_in_the_library() -> None:
    X = with_categories()
    unknown = X.assign(colour=pd.Categorical(["violet"] * len(X)))
    with pytest.raises(gbtrees.GbtreesError, match="'violet' is no category of the feature"):
        gbtrees.Model(CATEGORICAL["XGBoost"](X)).predict(unknown)
    model = CATEGORICAL["LightGBM"](X)
    assert same(gbtrees.Model(model).margins(unknown), margins(model, unknown))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_frames_of_one_type_are_read_in_place(dtype: str) -> None:
    X = NUMBERS.astype(dtype)
    for kind in (xgboost.XGBRegressor, lightgbm.LGBMRegressor):
        model = kind(**QUICK).fit(X, NUMBER)
        engine = gbtrees.Model(model)
        assert engine._reader._is_matrix(X)
        assert same(engine.margins(X), margins(model, X))
        assert same(engine.margins(X[X.columns[::-1]]), margins(model, X))


def test_integers_and_nullable_columns_are_read_as_the_library_reads_them() -> None:
    X = pd.DataFrame({"a": np.arange(300) * (2**53 // 7), "b": np.arange(300) % 11})
    X = X.assign(c=pd.array(np.arange(300) % 7, "Int64"))
    X.loc[::5, "c"] = pd.NA
    y = np.log1p(X.a.to_numpy(float)) + X.c.to_numpy(float, na_value=9)
    for model in (
        xgboost.XGBRegressor(**QUICK).fit(X, y),
        lightgbm.LGBMRegressor(**QUIET).fit(X, y),
    ):
        assert same(gbtrees.Model(model).margins(X), margins(model, X))


@pytest.mark.parametrize("name", ["XGBRegressor", "XGBClassifier of three", "LGBMClassifier"])
def test_contributions_are_the_librarys(name: str) -> None:
    model = FITTED[name]()
    engine = gbtrees.Model(model)
    found = engine.contributions(FRAME[:50])
    if name.startswith("XGB"):
        matrix = xgboost.DMatrix(FRAME[:50])
        expected = model.get_booster().predict(matrix, pred_contribs=True)
        matrices = model.get_booster().predict(matrix, pred_interactions=True)
        close = engine.interactions(FRAME[:50])
        np.testing.assert_allclose(close, matrices, rtol=1e-3, atol=1e-4 * np.abs(matrices).max())
    else:
        expected = model.predict(FRAME[:50], pred_contrib=True)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_models_of_scikit_learn_come_by_pgboost() -> None:
    forest = RandomForestClassifier(**QUICK).fit(NUMBERS, TWO)
    with pytest.raises(
        gbtrees.GbtreesError, match=r"RandomForestClassifier is not read\n.*pgboost"
    ):
        gbtrees.Model(forest)
    model = gbtrees.Model(pgboost.model_bytes(forest))
    np.testing.assert_allclose(model.predict_proba(NUMBERS), forest.predict_proba(NUMBERS))
    assert model.predict_class(NUMBERS).tolist() == forest.predict(NUMBERS).tolist()


def test_onnx_models_predict_as_onnx_runtime() -> None:
    forest = IsolationForest(n_estimators=12, random_state=1).fit(NUMBERS.to_numpy())
    kind = skl2onnx.common.data_types.FloatTensorType([None, NUMBERS.shape[1]])
    onnx = skl2onnx.convert_sklearn(
        forest, initial_types=[("X", kind)], target_opset={"": 18, "ai.onnx.ml": 3}
    )
    session = onnxruntime.InferenceSession(onnx.SerializeToString())
    X = NUMBERS.to_numpy(np.float32)
    expected = session.run(["scores"], {"X": X})[0]
    np.testing.assert_allclose(gbtrees.Model(onnx).predict(X), expected[:, 0], atol=1e-6)


def test_unfitted_models_and_settings_that_no_file_has_are_refused() -> None:
    for model in (xgboost.XGBRegressor(), lightgbm.LGBMRegressor(), catboost.CatBoostRegressor()):
        with pytest.raises(gbtrees.GbtreesError, match="cannot be saved"):
            gbtrees.Model(model)
    with pytest.raises(gbtrees.GbtreesError, match="takes -1 for missing"):
        gbtrees.Model(xgboost.XGBRegressor(**QUICK, missing=-1).fit(FRAME, NUMBER))


def test_frames_are_refused_by_the_name_of_the_column() -> None:
    model = gbtrees.Model(FITTED["XGBRegressor"]())
    with pytest.raises(gbtrees.GbtreesError, match="no column 'other'"):
        model.predict(FRAME.drop(columns="other"))
    with pytest.raises(gbtrees.GbtreesError, match="column 'other' has 'text'"):
        model.predict(FRAME.assign(other="text"))
    with pytest.raises(gbtrees.GbtreesError, match="two columns 'single'"):
        model.predict(pd.concat([FRAME, FRAME], axis="columns"))
