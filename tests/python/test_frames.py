"""Frames of every library and with every type of column mean in SQL what they mean in Python."""

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

import catboost
import lightgbm
import pgboost
from pgboost.estimators import PgboostRegressor
from pgboost.frames import has_singles, type_of
from tests.python import models

ROWS = 60
DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(days=7 * n) for n in range(ROWS)]
NUMBERS = pd.DataFrame(
    {
        "day": [(day - datetime.date(1970, 1, 1)).days * 86400.0 for day in DAYS],
        "paid": np.resize([1.0, 0.0, np.nan], ROWS),
        "price": np.round(np.linspace(0.1, 9.3, ROWS), 1),
        "count": np.arange(ROWS) % 7,
    }
)
TARGET = NUMBERS.day / 1e7 + NUMBERS.paid.fillna(0.5) * 3 + NUMBERS.price + NUMBERS["count"]
MODEL = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=2).fit(NUMBERS, TARGET)
# The values of read_sql for date, boolean with NULL and, from a cursor, numeric.
READ = NUMBERS.assign(
    day=pd.Series(DAYS, dtype=object),
    paid=pd.Series(np.resize(np.array([True, False, None]), ROWS), dtype=object),
    price=pd.Series([Decimal(str(price)) for price in NUMBERS.price], dtype=object),
)
STAMPS = pd.to_datetime(READ.day)
FRAMES: dict[str, Callable[[], Any]] = {
    "objects": lambda: READ,
    **{
        f"timestamps in {unit}": lambda unit=unit: READ.assign(day=STAMPS.astype(f"M8[{unit}]"))
        for unit in ("s", "ms", "us", "ns")
    },
    "timestamps of UTC": lambda: READ.assign(day=STAMPS.dt.tz_localize("UTC")),
    "timestamps of Vienna": lambda: READ.assign(
        day=STAMPS.dt.tz_localize("UTC").dt.tz_convert("Europe/Vienna")
    ),
    "objects of datetime": lambda: READ.assign(
        day=pd.Series([day.to_pydatetime() for day in STAMPS], dtype=object)
    ),
    "objects of datetime64": lambda: READ.assign(
        day=pd.Series([np.datetime64(day, "s") for day in DAYS], dtype=object)
    ),
    "nullable types": lambda: NUMBERS.assign(
        paid=READ.paid.astype("boolean"), count=NUMBERS["count"].astype("Int64")
    ),
    "float16 and small integers": lambda: NUMBERS.assign(
        paid=NUMBERS.paid.astype("float16"), count=NUMBERS["count"].astype("uint64")
    ),
    "missing everywhere": lambda: READ.assign(paid=None),
    "unsigned and missing everywhere": lambda: READ.assign(
        paid=pd.array([None] * ROWS, dtype="UInt64")
    ),
    "an array of objects": lambda: READ.assign(day=NUMBERS.day).to_numpy(object),
    "a list of lists": lambda: NUMBERS.to_numpy().tolist(),
    "one row": lambda: READ[:1],
}


def of_polars() -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame({name: READ[name].tolist() for name in READ})


def of_arrow() -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.Table.from_pandas(READ)


FRAMES |= {
    "Polars": of_polars,
    "Polars, lazy": lambda: of_polars().lazy(),
    "Arrow": of_arrow,
    "Arrow in pandas": lambda: of_arrow().to_pandas(types_mapper=pd.ArrowDtype),
}


@pytest.fixture(scope="module", autouse=True)
def pushed(cluster: Any, dbname: str) -> None:
    with cluster.connect(dbname) as connection:
        pgboost.push(connection, "read", MODEL)
        classes = HistGradientBoostingClassifier(max_iter=2).fit(NUMBERS, TARGET.mean() < TARGET)
        pgboost.push(connection, "classes", classes)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
def test_frames_are_predicted(connection: psycopg.Connection, make: Callable[[], Any]) -> None:
    given = make()
    found = pgboost.predict(connection, "read", given)
    numbers = NUMBERS[: len(found)]
    if isinstance(given, pd.DataFrame) and given.paid.isna().all():
        numbers = numbers.assign(paid=np.nan)
    np.testing.assert_array_equal(found, MODEL.predict(numbers).astype(np.float32))


def of_text(last: Any) -> Any:
    columns = make_column_transformer((OneHotEncoder(), ["city"]), ("passthrough", ["price"]))
    return make_pipeline(columns, last)


TAKEN: dict[str, Callable[[], Any]] = {
    "Pipeline": lambda: of_text(RandomForestRegressor(5)),
    "XGBoost": lambda: xgboost.XGBRegressor(n_estimators=4, enable_categorical=True),
    "LightGBM": lambda: lightgbm.LGBMRegressor(n_estimators=4, min_data_per_group=2, verbose=-1),
    "CatBoost": lambda: catboost.CatBoostRegressor(
        iterations=4, cat_features=["city"], verbose=False, allow_writing_files=False
    ),
}


@pytest.mark.parametrize("make", TAKEN.values(), ids=TAKEN.keys())
def test_models_are_compared_on_frames_of_polars_and_arrow(
    connection: psycopg.Connection, make: Callable[[], Any]
) -> None:
    """Their libraries do not take all of them."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame = NUMBERS[["price"]].assign(city=np.resize(["Graz", "Linz", "Wien"], ROWS), day=STAMPS)
    model, rows = make(), frame[["price", "city"]]
    is_category = type(model).__name__.startswith(("XGB", "LGBM"))
    model.fit(rows.astype({"city": "category"}) if is_category else rows, TARGET)
    of_polars = polars.DataFrame({name: frame[name].tolist() for name in frame})
    of_categories = of_polars.with_columns(polars.col("city").cast(polars.Categorical))
    table = pyarrow.Table.from_pandas(frame.astype({"city": "category"}))
    for given in (of_polars, of_categories, of_polars.lazy(), table):
        pgboost.push(connection, "taken", model, check=given)
        assert pgboost.verify(connection, "taken", model, given).differing == 0
    pgboost.drop(connection, "taken")


def test_estimators_take_frames_of_polars_and_arrow(connection: psycopg.Connection) -> None:
    for module in ("polars", "pyarrow"):
        pytest.importorskip(module)
    connection.execute("CREATE EXTENSION IF NOT EXISTS pgboost_train")
    options = {"rounds": 3, "allow_change": True}
    expected = PgboostRegressor(connection, "fitted", **options).fit(READ, TARGET).predict(READ)
    for given in (of_polars(), of_arrow()):
        model = PgboostRegressor(connection, "fitted", **options).fit(given, TARGET)
        np.testing.assert_array_equal(model.predict(given), expected)


@pytest.mark.parametrize("other", [DAYS[0], STAMPS[0].to_pydatetime()])
def test_times_with_and_without_a_zone_are_refused(
    connection: psycopg.Connection, other: Any
) -> None:
    zoned = STAMPS[0].tz_localize("Europe/Vienna").to_pydatetime()
    mixed = READ.assign(day=pd.Series([zoned, other] * (ROWS // 2), dtype=object))
    with pytest.raises(pgboost.InvalidDataError, match="with and without a time zone"):
        pgboost.predict(connection, "read", mixed)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (
            xgboost.XGBRegressor(n_estimators=4),
            pd.MultiIndex.from_tuples([("at", "day"), ("is", "paid"), ("at", "price"), ("of", 1)]),
        ),
        (
            catboost.CatBoostRegressor(iterations=4, verbose=False, allow_writing_files=False),
            pd.RangeIndex(4),
        ),
    ],
    ids=["levels", "numbers"],
)
def test_names_that_are_no_texts_are_found_in_any_order(
    connection: psycopg.Connection, model: Any, names: pd.Index
) -> None:
    frame = NUMBERS.set_axis(names, axis=1)
    model.fit(frame, TARGET)
    pgboost.push(connection, "names", model)
    expected = model.predict(frame).astype(np.float32)
    for columns in (list(names), list(names)[::-1]):
        found = pgboost.predict(connection, "names", frame[columns])
        np.testing.assert_array_equal(found, expected)


def test_no_rows(connection: psycopg.Connection) -> None:
    assert pgboost.predict(connection, "read", READ[:0]).shape == (0,)
    assert pgboost.predict_class(connection, "classes", READ[:0]).shape == (0,)


def test_frames_of_objects_are_sources(connection: psycopg.Connection) -> None:
    rows = READ.assign(target=TARGET, nothing=None)
    assert (
        pgboost.evaluate(connection, "read", rows, "target").set_index("metric").value["r2"] > 0.9
    )
    pgboost.set_baseline(connection, "read", rows)
    assert set(pgboost.drift(connection, "read", rows).severity) == {"none"}
    missing = rows.assign(target=np.where(np.arange(ROWS) < 9, np.nan, rows.target))
    with pytest.warns(pgboost.PgboostWarning, match="9 rows"):
        pgboost.evaluate(connection, "read", missing, "target")


def test_texts_of_frames(connection: psycopg.Connection) -> None:
    frame = pd.DataFrame({"city": np.resize(["01067", "10115", None], ROWS), "x": NUMBERS.price})
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city"]), remainder="passthrough"
    )
    model = make_pipeline(columns, RandomForestRegressor(5)).fit(frame, TARGET)
    pgboost.push(connection, "texts", model)
    assert pgboost.verify(connection, "texts", model, frame)
    expected = model.predict(frame).astype(np.float32)
    for given in (frame, frame.astype({"city": "string"}), frame.astype({"city": "category"})):
        np.testing.assert_array_equal(pgboost.predict(connection, "texts", given), expected)


@pytest.mark.parametrize("width", [120, 1700])
def test_many_columns_of_which_one_is_text(connection: psycopg.Connection, width: int) -> None:
    numbers = np.random.default_rng(4).normal(size=(ROWS, width)).round(1)
    frame = pd.DataFrame(numbers, columns=[f"{'x' * 70}{number}" for number in range(width)])
    frame["pgboost row"] = np.resize(["a: Infinity", "b", None], ROWS)
    frame.iloc[3, 0], frame.iloc[4, 0] = np.inf, -np.inf
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((encoder, ["pgboost row"]), remainder="passthrough")
    model = make_pipeline(columns, xgboost.XGBRegressor(n_estimators=4))
    target = numbers[:, 0] + (frame["pgboost row"] == "b")
    finite = frame.replace([np.inf, -np.inf], 0)
    model.fit(finite, target)
    pgboost.push(connection, f"wide {width}", model)
    assert pgboost.verify(connection, f"wide {width}", model, finite).differing == 0
    assert np.isfinite(pgboost.predict(connection, f"wide {width}", frame)).all()


def test_names_that_are_equal_in_63_bytes(connection: psycopg.Connection) -> None:
    frame = NUMBERS.rename(columns={"day": "x" * 63 + "a", "price": "x" * 63 + "b"})
    model = xgboost.XGBRegressor(n_estimators=3).fit(frame, TARGET)
    pgboost.push(connection, "long", model)
    assert pgboost.verify(connection, "long", model, frame).differing == 0


@pytest.mark.parametrize(
    "given",
    [{"day": 1}, [1, 2], NUMBERS.day, NUMBERS.to_numpy()[0], None, 5, ROWS, np.zeros(())],
    ids=lambda given: type(given).__name__,
)
def test_other_types_than_frames_are_named(connection: psycopg.Connection, given: Any) -> None:
    with pytest.raises(pgboost.ArgumentError, match="pass a DataFrame of pandas or Polars"):
        pgboost.predict(connection, "read", given)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pd.Series(pd.to_timedelta(np.arange(ROWS), unit="s")), "'day' has the type timedelta"),
        (pd.Series([b"bytes"] * ROWS), "'day' has the type object"),
        (pd.Series([[1]] * ROWS), "'day' has the type object"),
        (pd.Series(pd.interval_range(0, ROWS)), "'day' has the type interval"),
        (pd.Series([1j] * ROWS), "'day' has the type complex"),
        (pd.Series(["text"] * ROWS), "cannot be of type text"),
    ],
    ids=lambda given: str(getattr(given, "dtype", "")),
)
def test_columns_that_are_no_features_are_named(
    connection: psycopg.Connection, column: Any, reason: str
) -> None:
    with pytest.raises(pgboost.InvalidDataError, match=reason):
        pgboost.predict(connection, "read", READ.assign(day=column))


@pytest.mark.parametrize("given", [pd.DataFrame(index=range(3)), np.zeros((3, 0))], ids=type)
def test_rows_without_columns_are_named(connection: psycopg.Connection, given: Any) -> None:
    with pytest.raises(pgboost.InvalidDataError, match="the rows have no columns"):
        pgboost.predict(connection, "read", given)


def test_columns_of_polars_that_numpy_does_not_have(connection: psycopg.Connection) -> None:
    polars = pytest.importorskip("polars")
    frame = of_polars()
    whole = polars.Series("count", [None, *NUMBERS["count"][1:].tolist()])
    rows = NUMBERS.assign(count=NUMBERS["count"].mask(NUMBERS.index == 0))
    expected = MODEL.predict(rows).astype(np.float32)
    for kind in (polars.Int8, polars.Int128):
        given = frame.with_columns(whole.cast(kind))
        np.testing.assert_array_equal(pgboost.predict(connection, "read", given), expected)
        assert not has_singles(given.select("count"))
    given = frame.with_columns(polars.Series("count", [{"a": 1}] * ROWS))
    with pytest.raises(pgboost.InvalidDataError, match="column 'count' has the type object"):
        pgboost.predict(connection, "read", given)


def test_two_columns_of_one_name_are_named(connection: psycopg.Connection) -> None:
    with pytest.raises(pgboost.InvalidDataError, match="two columns 'day'"):
        pgboost.predict(connection, "read", READ.rename(columns={"paid": "day"}))


def test_types_of_mixed_objects() -> None:
    mixed = {
        "numeric": [2**63, 1],
        "double precision": [1, 2.5, Decimal(1)],
        "timestamp": [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)],
        "text": ["a", 1],
        "bigint": [np.int8(1), None, 2],
        None: [None, float("nan"), pd.NA],
    }
    found = {type_of("c", pd.Series(values, dtype=object)) for values in mixed.values()}
    assert found == set(mixed)


@pytest.mark.parametrize("form", ["pandas", "array"])
def test_a_check_of_singles_is_recorded(connection: psycopg.Connection, form: str) -> None:
    query = (
        "SELECT bool_or('real_input' = ANY (proargnames)) FROM pg_proc WHERE proname = 'load_model'"
    )
    if not connection.execute(query).fetchone()[0]:
        pytest.skip("the extension reads real as widened always")
    frame = models.frame()[["single", "other"]].round(1)
    rows = frame if form == "pandas" else frame.to_numpy()
    model = HistGradientBoostingRegressor(max_iter=20).fit(rows, models.target(frame))
    name, given = f"recorded {form}", {} if form == "pandas" else {"feature_names": [*frame]}
    pgboost.push(connection, name, model, check=rows, **given)
    pgboost.push(connection, name, model, check=rows, real_input="decimal", **given)
    pgboost.push(connection, name, model, **given)
    pgboost.push(connection, name, model, check=rows.astype(float), **given)
    info = "SELECT model_info(%s) ->> 'real_input'"
    found = [connection.execute(info, [f"{name}@{n}"]).fetchone()[0] for n in (1, 2, 3, 4)]
    assert found == ["float32", "decimal", "decimal", "decimal"]
    # A table of reals holds the numbers that the model was trained on.
    connection.execute("CREATE TEMP TABLE singles (single real, other real)")
    with connection.cursor().copy("COPY singles FROM STDIN") as copy:
        for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False):
            copy.write_row(row)
    assert pgboost.verify(connection, f"{name}@1", model, "singles").differing == 0


def test_singles_are_sent_as_the_numbers_that_they_are(connection: psycopg.Connection) -> None:
    """SQL reads `real` as its shortest decimal for models that compare doubles."""
    frame = models.frame()[["single", "other"]].round(1)
    model = HistGradientBoostingRegressor(max_iter=20).fit(frame, models.target(frame))
    pgboost.push(connection, "singles", model)
    assert pgboost.verify(connection, "singles", model, frame).differing == 0


WIDE = pd.DataFrame(
    np.random.default_rng(9).normal(size=(ROWS, 120)), columns=[f"c{n}" for n in range(120)]
)
OF_NUMBERS: dict[str, Callable[[], Any]] = {
    "XGBoost": lambda: xgboost.XGBRegressor(n_estimators=4, enable_categorical=True),
    "LightGBM": lambda: lightgbm.LGBMRegressor(
        n_estimators=4, min_child_samples=2, min_data_per_group=2, verbose=-1
    ),
    "HistGradientBoosting": lambda: HistGradientBoostingRegressor(
        categorical_features="from_dtype", max_iter=4, min_samples_leaf=2
    ),
    "OrdinalEncoder": lambda: make_pipeline(
        make_column_transformer((OrdinalEncoder(), ["k"]), remainder="passthrough"),
        RandomForestRegressor(4, random_state=1),
    ),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_categories_that_are_numbers_among_many_columns(
    connection: psycopg.Connection, name: str
) -> None:
    """They are codes in an array, so the rows are sent as objects."""
    codes = np.arange(ROWS) % 3
    rows = WIDE.assign(k=pd.Categorical.from_codes(codes, pd.Index([5, 9, 2**53 + 1])))
    model = OF_NUMBERS[name]().fit(rows, codes * 3 + WIDE.c0)
    pgboost.push(connection, "numbers", model)
    assert pgboost.verify(connection, "numbers", model, rows).differing == 0


def test_categories_among_many_columns_without_names(connection: psycopg.Connection) -> None:
    rows = WIDE.to_numpy().copy()
    rows[:, 0] = np.resize([10, 20, 30], ROWS)
    options = {"categorical_features": [0], "max_iter": 4, "min_samples_leaf": 2}
    model = HistGradientBoostingRegressor(**options).fit(rows, rows[:, 0] + rows[:, 1])
    with pytest.raises(pgboost.UnsupportedModelError, match="push it with feature_names"):
        pgboost.push(connection, "nameless", model)
    pgboost.push(connection, "nameless", model, feature_names=list(WIDE))
    assert pgboost.verify(connection, "nameless", model, rows).differing == 0


def test_large_unsigned_integers_are_sent_as_integers(connection: psycopg.Connection) -> None:
    """Rounding such a number to double precision first would round it otherwise to real."""
    half = 2**54 + 2**30
    rows = pd.DataFrame({"n": np.resize([half - 1, half + 1], ROWS).astype(np.uint64)})
    model = xgboost.XGBRegressor(n_estimators=2).fit(rows, rows.n > half)
    pgboost.push(connection, "large", model)
    assert pgboost.verify(connection, "large", model, rows).differing == 0
    assert len(set(pgboost.predict(connection, "large", rows))) == 2
