"""predict_contribs is equal to LightGBM's pred_contrib and CatBoost's ShapValues, which are doubles."""

import numpy as np
import psycopg
import pytest
from psycopg import errors

from catboost import CatBoostError, Pool
from tests.extension.e2e import golden
from tests.extension.e2e.reference import floats
from tests.extension.e2e.stored import COLUMNS, ask, store
from tests.extension.formats import catboost, lightgbm

ROWS = 400
# Of the largest contribution's size: what is returned is real.
NEAR = 1e-6
LIGHTGBM = (
    "regression", "poisson", "binary", "multiclass", "multiclassova", "zeros_missing",
    "nothing_missing", "dart", "goss", "forest", "forest_of_classes",
)  # fmt: skip
# CatBoost explains only the first output of RMSEWithUncertainty. For deep trees that are not symmetric
# its figures are not those of the definition, which takes a few lines of Python for three features.
CATBOOST = {
    name: params
    for name, params in (catboost.MODELS | catboost.STATISTICS).items()
    if name != "RMSEWithUncertainty" and "grow_policy" not in params
}


def assert_explained(connection: psycopg.Connection, expected: np.ndarray) -> None:
    """Contributions are the library's, and add up to the margins."""
    found = floats(ask(connection, "predict_contribs", "t"))
    expected = expected.reshape(found.shape)
    assert np.abs(found - expected).max() <= NEAR * np.abs(expected).max()
    margins = floats(ask(connection, "predict_margin", "t"))
    sums = found.sum(axis=-1, dtype=np.float64).reshape(margins.shape)
    assert np.abs(sums - margins).max() <= NEAR * np.abs(found).sum(axis=-1).max()
    assert np.array_equal(floats(ask(connection, "predict_contribs", COLUMNS)), found)


@pytest.mark.parametrize("name", LIGHTGBM)
def test_lightgbm(connection: psycopg.Connection, name: str) -> None:
    frame = lightgbm.make_frame()
    booster = lightgbm.train(frame, lightgbm.make_label(frame), lightgbm.MODELS[name])
    connection.execute("SELECT load_model('m', %s)", (booster.model_to_string().encode(),))
    store(connection, frame.iloc[:ROWS])
    assert_explained(connection, booster.predict(frame.iloc[:ROWS], pred_contrib=True))


@pytest.mark.parametrize("name", CATBOOST)
def test_catboost(connection: psycopg.Connection, name: str) -> None:
    frame = catboost.make_frame()
    model = catboost.train(frame, catboost.make_label(frame), CATBOOST[name])
    connection.execute("SELECT load_model('m', %s)", (catboost.file_of(model, "cbm"),))
    rows = frame.iloc[:ROWS].copy()
    # Training has seen neither.
    rows.loc[::7, "colour"] = "never seen"
    rows.loc[::5, "size"] = 99
    store(connection, rows)
    pool = Pool(rows, cat_features=catboost.CATEGORICAL)
    assert_explained(connection, model.get_feature_importance(pool, type="ShapValues"))


@pytest.mark.parametrize("outputs", [1, 2])
def test_scaled_catboost_adds_up_where_its_own_does_not(
    connection: psycopg.Connection, outputs: int
) -> None:
    """CatBoost refuses a scale with one output, and leaves it out with several."""
    frame = catboost.make_frame()
    label = catboost.make_label(frame)
    loss = {"loss_function": "RMSE" if outputs == 1 else "MultiRMSE"}
    targets = label if outputs == 1 else np.stack([label, -label], axis=1)
    model = catboost.train(frame, targets, catboost.MODELS["RMSE"] | loss)
    model.set_scale_and_bias(3.0, [1.0, 2.0][:outputs])
    connection.execute("SELECT load_model('m', %s)", (catboost.file_of(model, "cbm"),))
    store(connection, frame.iloc[:ROWS])
    found = floats(ask(connection, "predict_contribs", "t")).reshape(ROWS, outputs, -1)
    margins = floats(ask(connection, "predict_margin", "t")).reshape(ROWS, outputs)
    largest = np.abs(found).max()
    assert np.abs(found.sum(axis=-1, dtype=np.float64) - margins).max() <= NEAR * largest
    pool = Pool(frame.iloc[:ROWS], cat_features=catboost.CATEGORICAL)
    if outputs == 1:
        with pytest.raises(CatBoostError, match="Non-identity"):
            model.get_feature_importance(pool, type="ShapValues")
    else:
        theirs = model.get_feature_importance(pool, type="ShapValues")
        assert np.abs(theirs.sum(axis=-1) - margins).max() > 0.01 * largest


def test_onnx_has_no_covers(connection: psycopg.Connection) -> None:
    file = golden.file(golden.names("onnx/*/*.onnx")[0])
    connection.execute("SELECT load_model('m', %s)", (file,))
    features = connection.execute(
        "SELECT features FROM pgboost_models WHERE name = 'm' AND deployed"
    ).fetchone()[0]
    row = f"array_fill(i::real, ARRAY[{features}])"
    # By row, and in batches.
    for rows in (1, 1000):
        source = f"FROM generate_series(1, {rows}) AS i"
        for function in ("predict_contribs", "predict_interactions"):
            with pytest.raises(errors.FeatureNotSupported) as refused:
                connection.execute(f"SELECT {function}('m', {row}) {source}")
            assert refused.value.diag.message_hint
    with pytest.raises(errors.FeatureNotSupported):
        connection.execute(f"SELECT e.* {source}, explain_prediction('m', {row}) AS e")
    connection.execute(f"SELECT predict_array('m', {row}) {source}")
