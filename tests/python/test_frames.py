"""Frames of every library and with every type of column mean in SQL what they mean in Python."""

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost
from psycopg import Connection
from sklearn import preprocessing as pre
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.ensemble import HistGradientBoostingRegressor as Histograms
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.tree import DecisionTreeRegressor

import catboost
import lightgbm
import pgboost
from pgboost.estimators import PgboostRegressor
from pgboost.frames import has_singles, numbers, type_of
from tests.connections import make_table
from tests.python import models
from tests.python.conftest import Refused, Same

ROWS, SINGLES = 60, 600
DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(days=7 * n) for n in range(ROWS)]
NUMBERS = pd.DataFrame({
    "day": [(day - datetime.date(1970, 1, 1)).days * 86400.0 for day in DAYS],
    "paid": np.resize([1.0, 0.0, np.nan], ROWS), "price": np.round(np.linspace(0.1, 9.3, ROWS), 1),
    "count": np.arange(ROWS) % 7,
})  # fmt: skip
TARGET = NUMBERS.day / 1e7 + NUMBERS.paid.fillna(0.5) * 3 + NUMBERS.price + NUMBERS["count"]
MODEL = Histograms(max_iter=20, min_samples_leaf=2).fit(NUMBERS, TARGET)


def objects(values: Any) -> pd.Series:
    return pd.Series(values, dtype=object)


# The values of read_sql for date, boolean with NULL and, from a cursor, numeric.
READ = NUMBERS.assign(
    day=objects(DAYS), paid=objects(np.resize(np.array([True, False, None]), ROWS)),
    price=objects([Decimal(str(price)) for price in NUMBERS.price]),
)  # fmt: skip
STAMPS = pd.to_datetime(READ.day)
OF_UTC = STAMPS.dt.tz_localize("UTC")
DAYED = {
    **{f"timestamps in {unit}": STAMPS.astype(f"M8[{unit}]") for unit in ("s", "ms", "us", "ns")},
    "timestamps of UTC": OF_UTC,
    "timestamps of Vienna": OF_UTC.dt.tz_convert("Europe/Vienna"),
    "objects of date": objects(DAYS),
    "objects of datetime": objects([day.to_pydatetime() for day in STAMPS]),
    "objects of datetime64": objects([np.datetime64(day, "s") for day in DAYS]),
}


def of_polars() -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame({name: READ[name].tolist() for name in READ})


def arrow_of_vienna() -> pd.DataFrame:
    pyarrow = pytest.importorskip("pyarrow")
    zoned = pd.ArrowDtype(pyarrow.timestamp("us", "Europe/Vienna"))
    return READ.assign(day=DAYED["timestamps of Vienna"].astype(zoned))


def of_arrow() -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.Table.from_pandas(READ)


FRAMES: dict[str, Callable[[], Any]] = {
    **{name: lambda day=day: READ.assign(day=day) for name, day in DAYED.items()},
    "nullable types": lambda: NUMBERS.assign(
        paid=READ.paid.astype("boolean"), count=NUMBERS["count"].astype("Int64")),
    "float16 and small integers": lambda: NUMBERS.assign(
        paid=NUMBERS.paid.astype("float16"), count=NUMBERS["count"].astype("uint64")),
    "missing everywhere": lambda: READ.assign(paid=None),
    "unsigned and missing everywhere": lambda: READ.assign(paid=pd.array([None] * ROWS, dtype="UInt64")),
    "an array of objects": lambda: READ.assign(day=NUMBERS.day).to_numpy(object),
    "a masked array": lambda: np.ma.masked_invalid(NUMBERS.to_numpy()),
    "a masked array of objects": lambda: np.ma.masked_invalid(NUMBERS.to_numpy()).astype(object),
    "a list of lists": lambda: NUMBERS.to_numpy().tolist(),
    "one row": lambda: READ[:1],
    "Polars": of_polars,
    "Polars, lazy": lambda: of_polars().lazy(),
    "Arrow": of_arrow,
    "Arrow in pandas, of Vienna": arrow_of_vienna,
    "Arrow in pandas": lambda: of_arrow().to_pandas(types_mapper=pd.ArrowDtype),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def pushed(cluster: Any, dbname: str) -> None:
    with cluster.connect(dbname) as connection:
        pgboost.push(connection, "read", MODEL)
        classes = HistGradientBoostingClassifier(max_iter=2).fit(NUMBERS, TARGET.mean() < TARGET)
        pgboost.push(connection, "classes", classes)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
def test_frames_are_predicted(connection: Connection, make: Callable[[], Any]) -> None:
    given = make()
    found = pgboost.predict(connection, "read", given)
    no_paid = isinstance(given, pd.DataFrame) and given.paid.isna().all()
    numbers = NUMBERS[: len(found)].assign(**{"paid": np.nan} if no_paid else {})
    np.testing.assert_array_equal(found, MODEL.predict(numbers).astype(np.float32))


@pytest.mark.parametrize("unit", ["s", "ns"])
def test_masked_times_are_predicted(connection: Connection, unit: str) -> None:
    times = np.array(DAYS * 2, f"M8[{unit}]").reshape(2, ROWS).T
    masked = np.arange(2 * ROWS).reshape(ROWS, 2) % 5 == 0
    numbers = np.where(masked, np.nan, times.astype("M8[s]").astype(float))
    model = Histograms(max_iter=20, min_samples_leaf=2).fit(numbers, TARGET)
    pgboost.push(connection, "times", model, allow_change=True)
    found = pgboost.predict(connection, "times", np.ma.masked_array(times, masked))
    np.testing.assert_array_equal(found, model.predict(numbers).astype(np.float32))


@pytest.mark.parametrize("zone", [None, "Europe/Vienna"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_arrow_are_seconds_since_1970(unit: str, zone: str | None) -> None:
    """As frames of many columns have them."""
    pyarrow = pytest.importorskip("pyarrow")
    stamps = STAMPS if zone is None else DAYED["timestamps of Vienna"]
    times = stamps.astype(pd.ArrowDtype(pyarrow.timestamp(unit, zone)))
    times[1] = None
    expected = NUMBERS.day.where(NUMBERS.index != 1)
    np.testing.assert_array_equal(numbers(times), expected)


def of_text(last: Any) -> Any:
    columns = make_column_transformer((pre.OneHotEncoder(), ["city"]), ("passthrough", ["price"]))
    return make_pipeline(columns, last)


TAKEN: dict[str, Callable[[], Any]] = {
    "Pipeline": lambda: of_text(RandomForestRegressor(5)),
    "XGBoost": lambda: xgboost.XGBRegressor(n_estimators=4, enable_categorical=True),
    "LightGBM": lambda: lightgbm.LGBMRegressor(n_estimators=4, min_data_per_group=2, verbose=-1),
    "CatBoost": lambda: catboost.CatBoostRegressor(iterations=4, cat_features=["city"], **models.SILENT),
}  # fmt: skip


@pytest.mark.parametrize("make", TAKEN.values(), ids=TAKEN.keys())
def test_models_are_compared_on_frames_of_polars_and_arrow(
    identical: Same, make: Callable[[], Any]
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
        identical(model, given, check=given)


def test_estimators_take_frames_of_polars_and_arrow(connection: Connection) -> None:
    given = of_polars(), of_arrow()
    connection.execute("CREATE EXTENSION IF NOT EXISTS pgboost_train")
    options = {"rounds": 3, "allow_change": True}
    expected = PgboostRegressor(connection, "fitted", **options).fit(READ, TARGET).predict(READ)
    for rows in given:
        model = PgboostRegressor(connection, "fitted", **options).fit(rows, TARGET)
        np.testing.assert_array_equal(model.predict(rows), expected)


@pytest.mark.parametrize("other", [DAYS[0], STAMPS[0].to_pydatetime()])
def test_times_with_and_without_a_zone_are_refused(connection: Connection, other: Any) -> None:
    zoned = STAMPS[0].tz_localize("Europe/Vienna").to_pydatetime()
    mixed = READ.assign(day=objects([zoned, other] * (ROWS // 2)))
    with pytest.raises(pgboost.InvalidDataError, match="with and without a time zone"):
        pgboost.predict(connection, "read", mixed)


LEVELS = pd.MultiIndex.from_tuples([("at", "day"), ("is", "paid"), ("at", "price"), ("of", 1)])


@pytest.mark.parametrize(("model", "names"), [
    (xgboost.XGBRegressor(n_estimators=4), LEVELS),
    (catboost.CatBoostRegressor(iterations=4, **models.SILENT), LEVELS),
    (catboost.CatBoostRegressor(iterations=4, **models.SILENT), pd.RangeIndex(4)),
    (xgboost.XGBRegressor(n_estimators=4), pd.RangeIndex(4)),
    (lightgbm.LGBMRegressor(n_estimators=4, min_child_samples=2, verbose=-1), pd.RangeIndex(4)),
    (Histograms(max_iter=4, min_samples_leaf=2), pd.RangeIndex(4)),
], ids=lambda given: type(given).__name__)  # fmt: skip
def test_names_that_are_no_texts_are_found_in_any_order(
    connection: Connection, model: Any, names: pd.Index
) -> None:
    frame = NUMBERS.set_axis(names, axis=1)
    model.fit(frame, TARGET)
    pgboost.push(connection, "names", model)
    expected = model.predict(frame).astype(np.float32)
    for columns in (list(names), list(names)[::-1]):
        if isinstance(model, Histograms) and columns != list(names):
            continue  # It takes them by position.
        found = pgboost.predict(connection, "names", frame[columns])
        np.testing.assert_array_equal(found, expected)
        pgboost.set_baseline(connection, "names", frame[columns])
        found = pgboost.drift(connection, "names", frame[columns])
        assert set(found.severity) == {"none"}


@pytest.mark.parametrize("model", [
    MODEL, RandomForestRegressor(3), xgboost.XGBRegressor(n_estimators=4),
    lightgbm.LGBMRegressor(n_estimators=4, min_child_samples=2, verbose=-1),
    catboost.CatBoostRegressor(iterations=4, **models.SILENT),
], ids=lambda model: type(model).__name__)  # fmt: skip
def test_arrays_are_predicted(connection: Connection, identical: Same, model: Any) -> None:
    array = NUMBERS.to_numpy()
    identical(clone(model).fit(array, TARGET), array, check=array)
    expected = pgboost.predict(connection, "model", array)
    assert len(set(expected.tolist())) > 2
    for given in (array.tolist(), array.astype(object), pd.DataFrame(array)):
        names = getattr(given, "columns", None)
        if names is None or not type(model).__name__.startswith("LGBM"):
            np.testing.assert_array_equal(pgboost.predict(connection, "model", given), expected)


OBJECTS: dict[str, Callable[[], Any]] = {
    "OneHotEncoder": lambda: pre.OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    "OrdinalEncoder": lambda: pre.OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
    "SimpleImputer": lambda: SimpleImputer(strategy="most_frequent"),
}  # fmt: skip


@pytest.mark.parametrize("missing", [None, np.nan, "none of them"], ids=str)
@pytest.mark.parametrize("name", OBJECTS)
def test_numbers_and_booleans_that_are_objects(
    connection: Connection, identical: Same, name: str, missing: Any
) -> None:
    """As read_sql gives booleans with NULL, in training and of the table."""
    absent = np.arange(ROWS) % 3 == 0
    flag = pd.Series(np.arange(ROWS) % 2 == 0, dtype=object)
    count = pd.Series(np.arange(ROWS) % 7, dtype=object)
    rows = pd.DataFrame({"paid": flag, "count": count, "price": NUMBERS.price})
    if missing != "none of them":
        rows["paid"] = flag.where(~absent, missing)
        rows["count"] = count.where(np.arange(ROWS) % 5 > 0, missing)
    columns = make_column_transformer((OBJECTS[name](), ["paid", "count"]), remainder="passthrough")
    model = make_pipeline(columns, Histograms(**FEW))
    model.fit(rows, TARGET + absent * 5 + rows["count"].isna() * 9)
    for check in (True, rows):
        identical(model, rows, check=check)
    declared = "paid boolean, count int, price float8"
    values = rows.astype(object).where(rows.notna(), None).itertuples(index=False)
    make_table(connection, "pg_temp.objects", declared, values)
    assert pgboost.verify(connection, "model", model, "objects").differing == 0


def test_no_rows(connection: Connection) -> None:
    assert pgboost.predict(connection, "read", READ[:0]).shape == (0,)
    assert pgboost.predict_class(connection, "classes", READ[:0]).shape == (0,)


def test_frames_of_objects_are_sources(connection: Connection) -> None:
    rows = READ.assign(target=TARGET, nothing=None)
    found = pgboost.evaluate(connection, "read", rows, "target").set_index("metric")
    assert found.value["r2"] > 0.9
    pgboost.set_baseline(connection, "read", rows)
    assert set(pgboost.drift(connection, "read", rows).severity) == {"none"}
    missing = rows.assign(target=np.where(np.arange(ROWS) < 9, np.nan, rows.target))
    with pytest.warns(pgboost.PgboostWarning, match="9 rows"):
        pgboost.evaluate(connection, "read", missing, "target")


@pytest.mark.parametrize("kind", [object, "str", "category"])
def test_a_text_without_a_value_is_evaluated(connection: Connection, kind: Any) -> None:
    frame = pd.DataFrame({"city": np.resize(["01067", "Graz", None], ROWS), "x": NUMBERS.price})
    pgboost.push(
        connection,
        "model",
        of_text(RandomForestRegressor(5)).fit(frame.rename(columns={"x": "price"}), TARGET),
    )
    none = pd.Series([None] * ROWS, dtype=object).astype(kind)
    rows = pd.DataFrame({"city": none, "price": [None] * ROWS, "y": TARGET})
    pgboost.evaluate(connection, "model", rows, "y")
    pgboost.set_baseline(connection, "model", rows)
    found = pgboost.drift(connection, "model", rows).set_index("feature")
    assert set(found.missing) == {1.0}


def test_texts_of_frames(connection: Connection, same: Same) -> None:
    frame = pd.DataFrame({"city": np.resize(["01067", "10115", None], ROWS), "x": NUMBERS.price})
    encoder = pre.OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((encoder, ["city"]), remainder="passthrough")
    model = make_pipeline(columns, RandomForestRegressor(5)).fit(frame, TARGET)
    same(model, frame)
    expected = model.predict(frame).astype(np.float32)
    for given in (frame, frame.astype({"city": "string"}), frame.astype({"city": "category"})):
        np.testing.assert_array_equal(pgboost.predict(connection, "model", given), expected)


@pytest.mark.parametrize("width", [120, 1700])
def test_many_columns_of_which_one_is_text(
    connection: Connection, identical: Same, width: int
) -> None:
    numbers = np.random.default_rng(4).normal(size=(ROWS, width)).round(1)
    frame = pd.DataFrame(numbers, columns=[f"{'x' * 70}{number}" for number in range(width)])
    frame["pgboost row"] = np.resize(["a: Infinity", "b", None], ROWS)
    frame.iloc[3, 0], frame.iloc[4, 0] = np.inf, -np.inf
    encoder = pre.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((encoder, ["pgboost row"]), remainder="passthrough")
    model = make_pipeline(columns, xgboost.XGBRegressor(n_estimators=4))
    target = numbers[:, 0] + (frame["pgboost row"] == "b")
    finite = frame.replace([np.inf, -np.inf], 0)
    model.fit(finite, target)
    # Rows that are drawn are hundreds.
    identical(model, finite, check=width < 1000 or finite)
    assert np.isfinite(pgboost.predict(connection, "model", frame)).all()


def test_names_that_are_equal_in_63_bytes(identical: Same) -> None:
    frame = NUMBERS.rename(columns={"day": "x" * 63 + "a", "price": "x" * 63 + "b"})
    identical(xgboost.XGBRegressor(n_estimators=3).fit(frame, TARGET), frame)


NO_FRAMES = [{"day": 1}, [1, 2], NUMBERS.day, NUMBERS.to_numpy()[0], None, 5, ROWS, np.zeros(())]
NO_FEATURES = [
    (pd.to_timedelta(np.arange(ROWS), unit="s"), "'day' has the type timedelta"),
    ([b"bytes"] * ROWS, "'day' has the type object of bytes,"),
    ([[1], DAYS[0]] * 30, "'day' has the type object of date, list,"),
    (pd.interval_range(0, ROWS), "'day' has the type interval"),
    ([1j] * ROWS, "'day' has the type complex"), (["text"] * ROWS, "cannot be of type text"),
]  # fmt: skip
WRONG: list[tuple[Any, type[Exception], str]] = [
    *[(given, pgboost.ArgumentError, "pass a DataFrame of pandas or Polars") for given in NO_FRAMES],
    *[(READ.assign(day=pd.Series(given)), pgboost.InvalidDataError, reason) for given, reason in NO_FEATURES],
    *[(READ.assign(day=pd.Series([given] * ROWS, dtype=object)), pgboost.InvalidDataError, reason)
      for given, reason in ((Decimal("sNaN"), "InvalidOperation"), ("a\0", "NUL"), ("\ud800", "surrogates"))],
    (pd.DataFrame(index=range(3)), pgboost.InvalidDataError, "the rows have no columns"),
    (np.zeros((3, 0)), pgboost.InvalidDataError, "the rows have no columns"),
    (READ.rename(columns={"paid": "day"}), pgboost.InvalidDataError, "two columns 'day'"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "kind", "reason"), WRONG)
def test_what_is_no_frame_of_features_is_named(
    connection: Connection, given: Any, kind: type[Exception], reason: str
) -> None:
    with pytest.raises(kind, match=reason):
        pgboost.predict(connection, "read", given)


def test_columns_of_polars_that_numpy_does_not_have(connection: Connection) -> None:
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


def test_types_of_mixed_objects() -> None:
    mixed = {
        "numeric": [Decimal(2**53 + 1), 1],
        "double precision": [1, 2.5, Decimal(1)],
        "timestamp": [
            datetime.date(2020, 1, 1),
            datetime.datetime(2020, 1, 1),
            np.datetime64(0, "D"),
        ],
        "text": ["a", 1],
        "bigint": [np.int8(1), None, 2],
        None: [None, float("nan"), pd.NA],
    }
    found = {type_of("c", pd.Series(values, dtype=object)) for values in mixed.values()}
    assert found == set(mixed)
    for dtype in ("uint64", object):
        ends = [type_of("c", pd.Series([end], dtype=dtype)) for end in (2**63 - 1, 2**63)]
        assert ends == ["bigint", "numeric"]


@pytest.mark.parametrize("form", ["pandas", "array"])
def test_a_check_of_singles_is_recorded(connection: Connection, form: str) -> None:
    frame = models.frame()[["single", "other"]].round(1)
    rows = frame if form == "pandas" else frame.to_numpy()
    model = Histograms(max_iter=20).fit(rows, models.target(frame))
    name, given = f"recorded {form}", {} if form == "pandas" else {"feature_names": [*frame]}
    pgboost.push(connection, name, model, check=rows, **given)
    pgboost.push(connection, name, model, check=rows, real_input="decimal", **given)
    pgboost.push(connection, name, model, **given)
    pgboost.push(connection, name, model, check=rows.astype(float), **given)
    info = "SELECT model_info(%s) ->> 'real_input'"
    found = [connection.execute(info, [f"{name}@{n}"]).fetchone()[0] for n in (1, 2, 3, 4)]
    assert found == ["float32", "decimal", "decimal", "decimal"]
    # A table of reals holds the numbers that the model was trained on.
    singles = frame.astype(object).where(frame.notna(), None).itertuples(index=False)
    make_table(connection, "pg_temp.singles", "single real, other real", singles)
    assert pgboost.verify(connection, f"{name}@1", model, "singles").differing == 0


def test_singles_are_sent_as_the_numbers_that_they_are(identical: Same) -> None:
    """SQL reads `real` as its shortest decimal for models that compare doubles."""
    frame = models.frame()[["single", "other"]].round(1)
    identical(Histograms(max_iter=20).fit(frame, models.target(frame)), frame)


WIDE = pd.DataFrame(
    np.random.default_rng(9).normal(size=(ROWS, 120)), columns=[f"c{n}" for n in range(120)]
)
FEW = {"max_iter": 4, "min_samples_leaf": 2}
OF_NUMBERS: dict[str, Callable[[], Any]] = {
    "XGBoost": TAKEN["XGBoost"],
    "LightGBM": lambda: lightgbm.LGBMRegressor(
        n_estimators=4, min_child_samples=2, min_data_per_group=2, verbose=-1),
    "HistGradientBoosting": lambda: Histograms(categorical_features="from_dtype", **FEW),
    "OrdinalEncoder": lambda: make_pipeline(
        make_column_transformer((pre.OrdinalEncoder(), ["k"]), remainder="passthrough"),
        RandomForestRegressor(4, random_state=1)),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_categories_that_are_numbers_among_many_columns(identical: Same, name: str) -> None:
    """They are codes in an array, so the rows are sent as objects."""
    codes = np.arange(ROWS) % 3
    rows = WIDE.assign(k=pd.Categorical.from_codes(codes, pd.Index([5, 9, 2**53 + 1])))
    identical(OF_NUMBERS[name]().fit(rows, codes * 3 + WIDE.c0), rows)


NEAR = [2**53, 2**53 + 1, 5000]
TYPES_OF_NEAR: dict[str, list[Any]] = {
    "decimals": [Decimal(NEAR[0]), Decimal(NEAR[1]), Decimal("5E+3")],
    "decimals beside integers": [Decimal(NEAR[0]), *NEAR[1:]],
    "objects of NumPy": [np.int64(NEAR[0]), np.uint64(NEAR[1]), np.int16(NEAR[2])],
}


@pytest.mark.parametrize("width", [1, 120])
@pytest.mark.parametrize("values", TYPES_OF_NEAR.values(), ids=TYPES_OF_NEAR.keys())
@pytest.mark.parametrize("name", ["LightGBM", "CatBoost"])
def test_categories_keep_digits_that_doubles_do_not_have(
    connection: Connection, name: str, values: list[Any], width: int
) -> None:
    codes = np.arange(ROWS) % 3
    rows = WIDE.iloc[:, :width].assign(k=pd.Categorical.from_codes(codes, pd.Index(NEAR)))
    target = (codes == 1) * 5 + (codes == 2) * 2 + rows.c0
    if name == "CatBoost":
        model = catboost.CatBoostRegressor(iterations=4, cat_features=["k"], **models.SILENT)
    else:
        model = OF_NUMBERS[name]()
    pgboost.push(connection, "near", model.fit(rows, target), allow_change=True)
    given = rows.assign(k=objects(values)[codes].to_numpy())
    numbers = [int(value) for value in given.k]
    python = rows.assign(k=pd.Categorical(numbers, categories=NEAR))
    expected = model.predict(python).astype(np.float32)
    assert len(set(expected[:3])) > 1
    np.testing.assert_array_equal(pgboost.predict(connection, "near", given), expected)


def test_categories_among_many_columns_without_names(refused: Refused, identical: Same) -> None:
    rows = WIDE.to_numpy().copy()
    rows[:, 0] = np.resize([10, 20, 30], ROWS)
    model = Histograms(categorical_features=[0], **FEW).fit(rows, rows[:, 0] + rows[:, 1])
    refused("push it with feature_names", model)
    identical(model, rows, feature_names=list(WIDE))
    # Numbers alone are sent as an array.
    identical(Histograms(**FEW).fit(WIDE, WIDE.c0), WIDE)


@pytest.mark.parametrize("width", [0, 120])
def test_large_unsigned_integers_are_sent_as_integers(
    connection: Connection, identical: Same, width: int
) -> None:
    """Rounding such a number to double precision first would round it otherwise to real."""
    half = 2**54 + 2**30
    large = np.resize([half - 1, half + 1], ROWS).astype(np.uint64)
    rows = WIDE.iloc[:, :width].assign(n=large)
    model = xgboost.XGBRegressor(n_estimators=2).fit(rows, rows.n > half)
    identical(model, rows)
    assert len(set(pgboost.predict(connection, "model", rows))) == 2


@pytest.mark.parametrize("width", [1, 120])
def test_integers_beyond_bigint_are_categories_of_catboost(identical: Same, width: int) -> None:
    values = np.array([2**63 + 5, 2**63 + 6, 1], np.uint64)
    rows = WIDE.iloc[:, :width].assign(k=values[np.arange(ROWS) % 3])
    model = catboost.CatBoostRegressor(iterations=4, cat_features=["k"], **models.SILENT)
    identical(model.fit(rows, np.arange(ROWS) % 3), rows)


TREES = {
    "HistGradientBoosting": Histograms(min_samples_leaf=2, max_iter=30),
    "tree": DecisionTreeRegressor(random_state=1),
    "LightGBM": lightgbm.LGBMRegressor(n_estimators=30, min_child_samples=2, verbose=-1),
}
NUMBERS_OF = (pre.StandardScaler(), ["a", "b"])
ONE_HOT = pre.OneHotEncoder(dtype=np.float32, sparse_output=False)
STEPS: dict[str, Any] = {
    "StandardScaler": pre.StandardScaler(),
    "MinMaxScaler": pre.MinMaxScaler((-3, 1), clip=True),
    "RobustScaler": pre.RobustScaler(),
    "two scalers": make_pipeline(pre.MaxAbsScaler(), pre.StandardScaler(with_mean=False)),
    "an imputer": make_pipeline(SimpleImputer(add_indicator=True), pre.StandardScaler()),
    "a union": make_union(pre.StandardScaler(), "passthrough"),
    "texts": make_column_transformer((pre.OneHotEncoder(), ["t"]), NUMBERS_OF),
    "texts of float32, scaled": make_pipeline(
        make_column_transformer((ONE_HOT, ["t"]), NUMBERS_OF), pre.MinMaxScaler()
    ),
}


def close() -> pd.DataFrame:
    """Numbers one unit in the last place apart, so that a scaler's rounding moves them over thresholds."""
    draw = np.random.default_rng(5)
    units = draw.integers(0, 16, (2, SINGLES)) * 2.0**-22
    a, b = draw.choice([1, 3], (2, SINGLES)) + units
    texts = pd.Series(draw.choice(["x", "y"], SINGLES), dtype=object)
    return pd.DataFrame({"a": a.astype("float32"), "b": b.astype("float32"), "t": texts})


def fitted(step: Any, trees: Any, rows: pd.DataFrame) -> Any:
    target = rows.a.rank(method="dense").fillna(0) % 5 + 3 * (rows.b.rank(method="dense") % 3)
    return make_pipeline(step, trees).fit(rows, target)


@pytest.mark.parametrize("trees", TREES.values(), ids=TREES.keys())
@pytest.mark.parametrize("name", STEPS)
def test_steps_round_singles_as_in_python(
    connection: Connection, identical: Same, name: str, trees: Any
) -> None:
    rows = close() if "texts" in name else close().drop(columns="t")
    if name == "an imputer":
        rows.loc[::9, "a"] = np.nan
    model = fitted(STEPS[name], trees, rows)
    if name == "StandardScaler" and trees is TREES["HistGradientBoosting"]:
        assert (model.predict(rows.astype(float)) != model.predict(rows)).any()
    identical(model, rows, check=rows)
    columns = [[None if pd.isna(one) else one for one in rows[name].tolist()] for name in rows]
    arrays = "%s::real[], %s::real[]" + (", %s::text[]" if "t" in rows else "")
    query = f"SELECT * FROM unnest({arrays}) AS t({', '.join(rows)})"
    connection.execute(f"CREATE TEMP TABLE singles AS {query}", columns)
    assert pgboost.verify(connection, "model", model, "singles").differing == 0


def test_other_numbers_beside_singles_are_refused(connection: Connection, refused: Refused) -> None:
    rows = close().drop(columns="t")
    model = fitted(pre.StandardScaler(), TREES["HistGradientBoosting"], rows)
    with pytest.raises(pgboost.UnsupportedModelError, match="float32 in less than double"):
        pgboost.push(connection, "model", model)
        pgboost.verify(connection, "model", model, rows)
    union = make_union(pre.StandardScaler(), pre.FunctionTransformer(np.log1p))
    model = fitted(union, TREES["HistGradientBoosting"], rows)
    refused("float32 in less than double", model, check=rows)


def test_large_integers_of_arrow_with_nulls_keep_their_digits(identical: Same) -> None:
    """As doubles, which to_pandas makes of them, these categories would be one."""
    pyarrow = pytest.importorskip("pyarrow")
    codes = 2**60 + np.arange(100) % 4
    frame = pd.DataFrame({"code": codes, "number": np.arange(100.0)})
    given = {"n_estimators": 5, "enable_categorical": True}
    model = xgboost.XGBRegressor(**given).fit(frame.astype({"code": "category"}), codes % 4)
    read = pyarrow.table({"code": [*codes.tolist()[:99], None], "number": frame["number"]})
    identical(model, read)
