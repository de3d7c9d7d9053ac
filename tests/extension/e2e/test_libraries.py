"""Models of LightGBM and CatBoost: their description, categories, and what is refused of them."""

import itertools
import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from psycopg import Connection, errors

import lightgbm as lgb
from catboost import CatBoost, Pool, __version__
from tests.connections import make_table
from tests.extension.e2e import golden
from tests.extension.e2e.conftest import Load
from tests.extension.e2e.reference import assert_same_bits, column, create_functions, floats
from tests.extension.formats import catboost, lightgbm
from tests.extension.formats.__main__ import compare
from tests.extension.formats.catboost import CATEGORICAL, STATISTICS, TESTED, file_of
from tests.extension.formats.frame import COLUMNS, KINDS, Model, rounded, rows_of, store

# Of those that a model is trained on.
ROWS = 600
REGRESSION = "lightgbm/4.7.0/regression.txt"
QUIET = {"verbose": False, "allow_writing_files": False}
INFO = "SELECT model_info('m')"
FEATURES = "SELECT feature, type, categories FROM model_features('m')"
# Fields of a description of both libraries' models.
SIZES = {"features": len(KINDS), "trees": 12, "rounds": 12}


def test_model_info_and_features_of_lightgbm(connection: Connection, load: Load) -> None:
    frame = lightgbm.make_frame()
    booster = lightgbm.train(frame, lightgbm.make_label(frame), lightgbm.MODELS["binary"])
    load(booster)
    (info,) = column(connection, INFO)
    # Its files do not name the release.
    expected = {"format": "lightgbm text", "objective": "binary", "library_version": None, **SIZES}
    assert {name: info[name] for name in expected} == expected
    assert "xgboost_version" not in info
    features = connection.execute(FEATURES).fetchall()
    assert [name for name, *_ in features] == list(KINDS)
    assert dict(zip(KINDS, [kind for _, kind, _ in features], strict=True))["size"] == "categorical"
    sizes = [str(size) for size in lightgbm.SIZES]
    assert [texts for *_, texts in features][6:8] == [lightgbm.COLOURS, sizes]
    for kind, name in (("weight", "split"), ("total_gain", "gain")):
        query = "SELECT feature, importance FROM feature_importance('m', %s)"
        found = dict(connection.execute(query, (kind,)).fetchall())
        wanted = dict(zip(KINDS, booster.feature_importance(name), strict=True))
        # The file has gains in six digits.
        assert found == pytest.approx(wanted, rel=1e-5)


def test_codes_without_categories_of_lightgbm(connection: Connection, load: Load) -> None:
    """A model of a matrix takes the codes themselves, from columns of any type."""
    draw = np.random.default_rng(4)
    table = np.column_stack([draw.normal(size=500), draw.integers(0, 60, 500)])
    params = {"objective": "regression", "verbosity": -1, "min_data_per_group": 5, "num_threads": 1}
    data = lgb.Dataset(table, np.cos(table[:, 1]) + table[:, 0], categorical_feature=[1])
    booster = lgb.train(params, data, 5)
    load(booster)
    codes = [0, 7, 59, 60, 31, 1e9, 3e9, -1, -0.5, 7.9, np.inf, -np.inf, np.nan]
    rows = np.array(list(itertools.product([-0.3, np.nan], codes)))
    query = "SELECT predict('m', %s::float8, %s::float8)"
    found = [connection.execute(query, tuple(row)).fetchone() for row in rows.tolist()]
    assert_same_bits(floats(found), rounded(booster.predict(rows)))
    query = "SELECT predict('m', -0.3, 7::int2), predict('m', -0.3, 7::int8), predict('m', -0.3, 7)"
    assert len(set(connection.execute(query).fetchone())) == 1


@pytest.mark.parametrize("edit", [
    lambda text: re.sub(r"tree_sizes=.*\n", "", text),
    lambda text: re.sub(r"version=.*\n|tree_sizes=.*\n", "", text),
    lambda text: re.sub(r"(tree_sizes=.*)\n", r"\g<1>7\n", text),
])  # fmt: skip
def test_sizes_of_trees_count_as_for_lightgbm(
    connection: Connection, load: Load, edit: Callable[[str], str]
) -> None:
    """They may be absent, and nothing follows the last tree that is found by its size."""
    text = edit(golden.file(REGRESSION).decode())
    load(text.encode())
    rows = np.random.default_rng(5).normal(size=(20, 6))
    query = "SELECT predict('m', %s::float8[])"
    found = [connection.execute(query, (row,)).fetchone() for row in rows.tolist()]
    assert_same_bits(floats(found), rounded(lgb.Booster(model_str=text).predict(rows)))


def test_models_of_other_objectives_are_compared_after_each_other(connection: Connection) -> None:
    """As by `make compare-formats`, under one name."""
    frame = lightgbm.make_frame()[:ROWS]
    label, rows = lightgbm.make_label(frame), rows_of(frame, KINDS)
    for name in ("regression", "l1"):
        params = lightgbm.MODELS[name]
        booster = lightgbm.train(frame, label, params)
        found = lightgbm.predictions(booster, frame, params)
        file = lightgbm.files(booster)[0]
        model = Model(name, file, KINDS, rows, found.margins, found.values)
        assert compare(connection, model) == f"{name} | {ROWS} | 0 | 0 | 0 | 0"


def test_an_error_of_lightgbm_tells_its_line_and_tree(load: Load) -> None:
    text = golden.file(REGRESSION).decode()
    wrong = text.replace("leaf_value=", "leaf_value=x ", 1)
    with pytest.raises(errors.InvalidBinaryRepresentation, match='"leaf_value"') as caught:
        load(wrong.encode())
    assert re.fullmatch(r"The error is at tree 0, line \d+\.", caught.value.diag.message_detail)
    with pytest.raises(errors.InvalidBinaryRepresentation, match="ends before"):
        load(text[: text.index("end of trees")].encode())


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Numbers of all widths, some missing, and categories of three types."""
    return catboost.make_frame()


@pytest.fixture(scope="module")
def label(frame: pd.DataFrame) -> np.ndarray:
    """A target to which all columns contribute."""
    return catboost.make_label(frame)


@pytest.fixture
def stored(connection: Connection, frame: pd.DataFrame) -> Connection:
    """A connection with the first rows in the table `stored`."""
    store(connection, frame.head(ROWS))
    return connection


@pytest.mark.parametrize("file_format", ["json", "cbm"])
def test_model_info_and_features_of_catboost(
    connection: Connection, load: Load, frame: pd.DataFrame, label: np.ndarray, file_format: str
) -> None:
    load(file_of(catboost.train(frame, label, catboost.MODELS["MultiClass"]), file_format))
    (info,) = column(connection, INFO)
    expected = {"format": f"catboost {file_format}", "objective": "MultiClass", **SIZES}
    expected |= {"library_version": __version__}
    assert {name: info[name] for name in expected} == expected
    assert "xgboost_version" not in info
    kinds = ["categorical" if name in CATEGORICAL else "numerical" for name in KINDS]
    features = [(name, kind, None) for name, kind in zip(KINDS, kinds, strict=True)]
    assert connection.execute(FEATURES).fetchall() == features


@pytest.mark.parametrize("name", ["RMSE", "RMSE, CTR", "RMSE, one-hot, CTR"])
def test_unseen_categories_are_no_error_as_in_catboost(
    stored: Connection, load: Load, frame: pd.DataFrame, label: np.ndarray, name: str
) -> None:
    model = catboost.train(frame, label, TESTED[name])
    load(model)
    row = frame.iloc[[0]].copy()
    row["colour"], row["size"] = "never seen", 99
    (expected,) = model.predict(row)
    query = f"""SELECT predict('m', {COLUMNS}), predict('m', to_jsonb(t) - 'id')
        FROM (SELECT single, double, exact, small, whole, large, 'never seen' AS colour, 99 AS size, flag, id
              FROM stored) AS t WHERE id = 0"""
    assert_same_bits(floats(stored.execute(query).fetchall()), rounded([[expected, expected]]))


@pytest.mark.parametrize(
    "of_type", ["date", "timestamp without time zone", "timestamp with time zone"]
)
@pytest.mark.parametrize("features", ["a, s", "t", "ROW(a, s)::pg_temp.dated"])
def test_a_time_is_no_category(
    connection: Connection, load: Load, of_type: str, features: str
) -> None:
    """It was the category of its seconds, which no training has, without an error."""
    days = np.resize(["2020-01-01", "2021-06-30", "2022-02-02"], 90)
    data = pd.DataFrame({"a": np.arange(90.0), "s": days})
    options = {"iterations": 4, "cat_features": ["s"], "one_hot_max_size": 9, **QUIET}
    load(CatBoost(options).fit(data, np.arange(90) % 3))
    make_table(connection, "pg_temp.dated", f"a float8, s {of_type}", data.itertuples(index=False))
    with pytest.raises(errors.DatatypeMismatch, match=f'"s" cannot be of type {of_type}') as raised:
        connection.execute(f"SELECT predict('m', {features}) FROM dated AS t")
    assert "Cast the value to text" in raised.value.diag.message_hint
    if of_type == "date":
        found = column(connection, "SELECT predict('m', a, s::text) FROM dated")
        assert len(set(found)) > 2
    create_functions(connection, "m", "exported")
    with pytest.raises(errors.DatatypeMismatch, match=f'"s" cannot be of type {of_type}'):
        connection.execute("SELECT * FROM pg_temp.exported_rows('SELECT 1 AS id, * FROM dated')")


@pytest.mark.parametrize("batch", ["on", "off"])
def test_null_has_no_statistics(
    stored: Connection, load: Load, frame: pd.DataFrame, label: np.ndarray, batch: str
) -> None:
    """CatBoost has no statistics of a missing category either; a category that is only tested may be NULL."""
    load(catboost.train(frame, label, STATISTICS["RMSE, one-hot, CTR"]))
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
    stored: Connection, load: Load, frame: pd.DataFrame, label: np.ndarray
) -> None:
    """CatBoost's do not add up to its contributions where categories are combined."""
    model = catboost.train(frame, label, STATISTICS["RMSE, CTR"])
    pool = Pool(frame.iloc[:5], cat_features=CATEGORICAL)
    theirs = model.get_feature_importance(pool, type="ShapInteractionValues")[:, :-1, :-1]
    own = model.get_feature_importance(pool, type="ShapValues")[:, :-1]
    assert np.abs(theirs.sum(axis=-1) - own).max() > 0.001 * np.abs(own).max()
    load(model)
    with pytest.raises(errors.FeatureNotSupported, match="but no interactions"):
        stored.execute(f"SELECT predict_interactions('m', {COLUMNS}) FROM stored")
    query = """SELECT explained, own FROM stored AS t, predict_contribs('m', t) AS own,
        LATERAL (SELECT array_agg(contribution) AS explained
                 FROM explain_prediction('m', t, top => NULL) WHERE feature <> '(prediction)') AS e
        WHERE id < 5"""
    for explained, contributions in stored.execute(query):
        assert sorted(explained) == sorted(contributions)


@pytest.mark.parametrize("most", [10, 2])
def test_categories_in_an_array(connection: Connection, load: Load, most: int) -> None:
    """An array holds the categories themselves, whole numbers of any size."""
    draw = np.random.default_rng(4)
    sizes = np.array([16_777_216, 16_777_217, 0, -3, 7_000_000_000])
    frame = pd.DataFrame({"number": draw.normal(size=500), "size": sizes[draw.integers(0, 5, 500)]})
    target = frame["number"] + 3 * frame["size"].map(list(sizes).index)
    params = {"iterations": 8, "one_hot_max_size": most, **QUIET}
    model = CatBoost(params).fit(Pool(frame, target, cat_features=["size"]))
    load(model)
    expected = rounded(model.predict(frame))
    for row, wanted in zip(frame.head(40).itertuples(index=False), expected, strict=False):
        query = "SELECT predict('m', ARRAY[%s, %s]::float8[])"
        found = connection.execute(query, (float(row[0]), int(row[1]))).fetchone()
        assert_same_bits(floats(found), wanted)


@pytest.mark.parametrize("loss", ["MultiLogloss", "MultiRMSE"])
def test_json_lacks_the_statistics_of_several_targets(
    connection: Connection, load: Load, loss: str
) -> None:
    draw = np.random.default_rng(4)
    place = draw.integers(0, 12, 400)
    data = pd.DataFrame({"a": draw.normal(size=400), "s": np.array(list("abcdefghijkl"))[place]})
    target = np.c_[np.sin(place), np.cos(2 * place)] > 0
    options = {"iterations": 6, "depth": 4, "cat_features": ["s"], "thread_count": 1, **QUIET}
    model = CatBoost({"loss_function": loss, **options}).fit(data, target.astype(int))
    with connection.transaction(), pytest.raises(errors.FeatureNotSupported) as raised:
        load(file_of(model, "json"))
    assert "as cbm" in raised.value.diag.message_hint
    load(file_of(model, "cbm"))
    make_table(connection, "pg_temp.t", "a float8, s text", data.itertuples(index=False))
    found = floats(column(connection, "SELECT predict_margin('m', t) FROM t"))
    assert_same_bits(found, rounded(model.predict(data, prediction_type="RawFormulaVal")))
