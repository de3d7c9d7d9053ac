"""CatBoost's models: their description, unseen and NULL categories, and refused calls."""

import numpy as np
import pandas as pd
import pytest
from psycopg import Connection, errors

import catboost
from catboost import CatBoost, Pool
from tests.extension.e2e.reference import assert_same_bits, floats
from tests.extension.formats.catboost import (
    CATEGORICAL,
    MODELS,
    STATISTICS,
    TESTED,
    file_of,
    make_frame,
    make_label,
    train,
)
from tests.extension.formats.frame import COLUMNS, KINDS, rounded, store

# Of those that a model is trained on.
ROWS = 600


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Numbers of all widths, some missing, and categories of three types."""
    return make_frame()


@pytest.fixture(scope="module")
def label(frame: pd.DataFrame) -> np.ndarray:
    """A target to which all columns contribute."""
    return make_label(frame)


@pytest.fixture
def stored(connection: Connection, frame: pd.DataFrame) -> Connection:
    """A connection with the first rows in the table `stored`."""
    store(connection, frame.head(ROWS))
    return connection


def load(connection: Connection, model: CatBoost, file_format: str = "cbm") -> None:
    connection.execute("SELECT load_model('m', %s)", (file_of(model, file_format),))


def test_model_info_and_features(
    stored: Connection, frame: pd.DataFrame, label: np.ndarray
) -> None:
    model = train(frame, label, MODELS["MultiClass"])
    for file_format in ("json", "cbm"):
        load(stored, model, file_format)
        (info,) = stored.execute("SELECT model_info('m')").fetchone()
        assert (info["format"], info["objective"]) == (f"catboost {file_format}", "MultiClass")
        assert (info["features"], info["trees"], info["rounds"]) == (len(KINDS), 12, 12)
        assert info["library_version"] == catboost.__version__
        assert "xgboost_version" not in info
        query = "SELECT feature, type, categories FROM model_features('m')"
        features = stored.execute(query).fetchall()
        kinds = ["categorical" if name in CATEGORICAL else "numerical" for name in KINDS]
        assert features == [(name, kind, None) for name, kind in zip(KINDS, kinds, strict=True)]


@pytest.mark.parametrize("name", ["RMSE", "RMSE, CTR", "RMSE, one-hot, CTR"])
def test_unseen_categories(
    stored: Connection, frame: pd.DataFrame, label: np.ndarray, name: str
) -> None:
    """They are not an error, as in CatBoost."""
    model = train(frame, label, TESTED[name])
    load(stored, model)
    row = frame.iloc[[0]].copy()
    row["colour"], row["size"] = "never seen", 99
    (expected,) = model.predict(row)
    query = f"""SELECT predict('m', {COLUMNS}), predict('m', to_jsonb(t) - 'id')
        FROM (SELECT single, double, exact, small, whole, large, 'never seen' AS colour, 99 AS size, flag, id
              FROM stored) AS t WHERE id = 0"""
    assert_same_bits(floats(stored.execute(query).fetchall()), rounded([[expected, expected]]))


@pytest.mark.parametrize("batch", ["on", "off"])
def test_null_has_no_statistics(
    stored: Connection, frame: pd.DataFrame, label: np.ndarray, batch: str
) -> None:
    """CatBoost has no statistics of a missing category either; a category that is only tested may be NULL."""
    load(stored, train(frame, label, STATISTICS["RMSE, one-hot, CTR"]))
    stored.execute(f"SET pgboost.enable_batch = {batch}")
    changed = "SELECT id, single, double, exact, small, whole, large, {}, size, {} FROM stored"
    for colour, flag, fails in (("colour", "flag", False), ("NULL::text AS colour", "flag", True)):
        rows = f"({changed.format(colour, flag)}) AS t WHERE id < 600"
        for features in (COLUMNS, "t", "to_jsonb(t)"):
            query = f"SELECT count(predict('m', {features})) FROM {rows}"
            if fails:
                with pytest.raises(errors.NullValueNotAllowed) as error:
                    stored.execute(query)
                assert 'feature "colour" cannot be null' in str(error.value)
                assert "coalesce" in error.value.diag.message_hint
            else:
                assert stored.execute(query).fetchone() == (600,)
    # A batch reads ahead, but raises no error for a row beyond the LIMIT.
    query = f"""SELECT predict('m', {COLUMNS}) FROM (SELECT id, single, double, exact, small, whole, large,
        CASE WHEN id < 40 THEN colour END AS colour, size, flag FROM stored) AS t LIMIT 10"""
    assert len(stored.execute(query).fetchall()) == 10
    stored.execute("RESET pgboost.enable_batch")


def test_statistics_have_no_interactions(
    stored: Connection, frame: pd.DataFrame, label: np.ndarray
) -> None:
    """CatBoost's do not add up to its contributions where categories are combined."""
    model = train(frame, label, STATISTICS["RMSE, CTR"])
    pool = Pool(frame.iloc[:5], cat_features=CATEGORICAL)
    theirs = model.get_feature_importance(pool, type="ShapInteractionValues")[:, :-1, :-1]
    own = model.get_feature_importance(pool, type="ShapValues")[:, :-1]
    assert np.abs(theirs.sum(axis=-1) - own).max() > 0.001 * np.abs(own).max()
    load(stored, model)
    with pytest.raises(errors.FeatureNotSupported, match="but no interactions"):
        stored.execute(f"SELECT predict_interactions('m', {COLUMNS}) FROM stored")
    query = """SELECT explained, own FROM stored AS t, predict_contribs('m', t) AS own,
        LATERAL (SELECT array_agg(contribution) AS explained
                 FROM explain_prediction('m', t, top => NULL) WHERE feature <> '(prediction)') AS e
        WHERE id < 5"""
    for explained, contributions in stored.execute(query):
        assert sorted(explained) == sorted(contributions)


@pytest.mark.parametrize("most", [10, 2])
def test_categories_in_an_array(connection: Connection, most: int) -> None:
    """An array holds the categories themselves, whole numbers of any size."""
    draw = np.random.default_rng(4)
    sizes = np.array([16_777_216, 16_777_217, 0, -3, 7_000_000_000])
    frame = pd.DataFrame({"number": draw.normal(size=500), "size": sizes[draw.integers(0, 5, 500)]})
    target = frame["number"] + 3 * frame["size"].map(list(sizes).index)
    params = {
        "iterations": 8,
        "one_hot_max_size": most,
        "verbose": False,
        "allow_writing_files": False,
    }
    model = CatBoost(params).fit(Pool(frame, target, cat_features=["size"]))
    load(connection, model)
    expected = rounded(model.predict(frame))
    for row, wanted in zip(frame.head(40).itertuples(index=False), expected, strict=False):
        query = "SELECT predict('m', ARRAY[%s, %s]::float8[])"
        found = connection.execute(query, (float(row[0]), int(row[1]))).fetchone()
        assert_same_bits(floats(found), wanted)


@pytest.mark.parametrize("loss", ["MultiLogloss", "MultiRMSE"])
def test_json_lacks_the_statistics_of_several_targets(connection: Connection, loss: str) -> None:
    draw = np.random.default_rng(4)
    place = draw.integers(0, 12, 400)
    data = pd.DataFrame({"a": draw.normal(size=400), "s": np.array(list("abcdefghijkl"))[place]})
    target = np.c_[np.sin(place), np.cos(2 * place)] > 0
    model = CatBoost({"iterations": 6, "depth": 4, "loss_function": loss, "cat_features": ["s"],
                      "allow_writing_files": False, "verbose": 0, "thread_count": 1})  # fmt: skip
    model.fit(data, target.astype(int))
    with connection.transaction(), pytest.raises(errors.FeatureNotSupported) as raised:
        connection.execute("SELECT load_model('m', %s)", (file_of(model, "json"),))
    assert "as cbm" in raised.value.diag.message_hint
    connection.execute("SELECT load_model('m', %s)", (file_of(model, "cbm"),))
    connection.execute("CREATE TEMP TABLE t (a float8, s text)")
    with connection.cursor().copy("COPY t FROM STDIN") as copy:
        for row in data.itertuples(index=False):
            copy.write_row(row)
    found = connection.execute("SELECT predict_margin('m', t) FROM t").fetchall()
    expected = model.predict(data, prediction_type="RawFormulaVal")
    assert_same_bits(np.array([row[0] for row in found], dtype=np.float32), rounded(expected))
