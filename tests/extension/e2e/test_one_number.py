"""A value is one number in every form and type, and the one that Python reads from the same table.

What psycopg returns for a column goes to the library as pandas would hand it over: integers as int64,
all else as float64, a real by its few digits and a numeric by way of the double. The values lie at
thresholds, in the middle between two reals, next to both, and at the ends of all numbers. Categories are
texts, integers, other numbers and booleans.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from psycopg import Connection, errors
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

import catboost
import lightgbm as lgb
import pgboost
from tests.connections import make_table
from tests.extension.e2e.conftest import Load
from tests.extension.e2e.reference import (
    assert_same_bits,
    column,
    create_functions,
    floats,
    model_bytes,
)

TYPES = {
    "real": np.float64,
    "double precision": np.float64,
    "numeric": np.float64,
    "smallint": np.int64,
    "integer": np.int64,
    "bigint": np.int64,
    "boolean": np.int64,
}
FORMS = {"columns": "x", "array": "ARRAY[x]", "row": "t", "jsonb": "to_jsonb(t)"}
# Of SQL functions, whose arguments are double precision.
EXPORTED = {
    "columns": "SELECT pg_temp.exported(x) FROM t ORDER BY id",
    "row": "SELECT pg_temp.exported(t) FROM t ORDER BY id",
    "jsonb": "SELECT pg_temp.exported(to_jsonb(t)) FROM t ORDER BY id",
    "rows": "SELECT prediction FROM pg_temp.exported_rows('SELECT * FROM t') ORDER BY id::int",
}
# A middle between two reals, which PostgreSQL writes with one digit more than Python does.
LONG = 1152925696494927872.0
REALS = [
    0.1, 0.3, 0.7, 1.1, 2.5, 3.2182388, 123456.79, 1e-30, 1e-40, 1e30, 2.0**24, 2.0**60, 1e10,
    LONG,
]  # fmt: skip


@dataclass(frozen=True)
class Model:
    file: bytes
    predict: Callable[[pd.DataFrame], np.ndarray]
    # Whether the library takes infinities.
    infinite: bool = True


def reals() -> np.ndarray:
    """Neighbouring reals, of many sizes and both signs."""
    middle = np.array(REALS, dtype=np.float32)
    inf = np.float32(np.inf)
    near = [middle, np.nextafter(middle, inf), np.nextafter(middle, -inf)]
    return np.unique(np.concatenate([*near, *(-each for each in near), [np.float32(0)]]))


def doubles() -> np.ndarray:
    """The reals, as their few digits too, the middles between two, and the doubles next to all of them."""
    wide = reals().astype(np.float64)
    middles = (wide[1:] + wide[:-1]) / 2
    decimals = np.array([float(str(real)) for real in reals()])
    points = np.concatenate([wide, middles, decimals, [1e300, -1e300, 5e-324, 0.25]])
    beside = [points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)]
    return np.unique(np.concatenate(beside))


def beside_middles() -> list[str]:
    """Decimals of few digits and of more than a double has, around the middles between two reals.

    None beyond 2^53, where JSON does not tell a numeric from a bigint, which is no double.
    """
    found = ["-3.218238949775696", "16777217.00000000001", "0.1000000000000000055"]
    wide = reals().astype(np.float64)
    wide = wide[abs(wide) < 2**53]
    with localcontext(Context(prec=120)):
        for middle in map(Decimal, ((wide[1:] + wide[:-1]) / 2).tolist()):
            for digits in (7, 9, 15, 17, 25):
                step = Decimal(1).scaleb(middle.adjusted() - digits + 1)
                rounded = middle.quantize(step)
                found += [str(number) for number in (rounded - step, rounded, rounded + step)]
    return found


def frame(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"x": values})


def steps() -> tuple[np.ndarray, np.ndarray]:
    """A number for each small interval: the doubles of reals, and a label that changes with each."""
    values = np.unique(np.array([float(str(real)) for real in reals()]))
    return np.repeat(values, 4), np.repeat(np.arange(len(values)) % 7 * 1.5, 4)


def of_xgboost() -> Model:
    values = reals()
    label = np.arange(len(values), dtype=np.float32)
    parameters = {"tree_method": "exact", "max_depth": 12, "min_child_weight": 0, "lambda": 0}
    data = xgb.DMatrix(frame(values), label)
    booster = xgb.train(parameters, data, num_boost_round=1)
    assert len(set(booster.predict(data))) == len(values)
    return Model(model_bytes(booster), lambda x: booster.predict(xgb.DMatrix(x)), infinite=False)


def of_lightgbm(**more: object) -> Model:
    values, label = steps()
    if more.get("linear_tree"):
        values, label = np.round(np.linspace(-50, 50, 4000), 1), np.sin(np.arange(4000) / 100)
    params = {"verbosity": -1, "min_data_in_leaf": 1, "min_data_in_bin": 1, "max_bin": 5000}
    params |= {"num_leaves": 200, "num_threads": 1, "learning_rate": 0.5, "min_sum_hessian": 0}
    booster = lgb.train(params | more, lgb.Dataset(frame(values), label), 8)
    # Linear leaves make NaN of infinities, with either sign.
    infinite = not more.get("linear_tree")
    return Model(model_bytes(booster), booster.predict, infinite)


def of_catboost() -> Model:
    values, label = steps()
    model = catboost.CatBoostRegressor(
        iterations=20, depth=8, border_count=254, feature_border_type="Median",
        allow_writing_files=False, verbose=0, thread_count=1,
    )  # fmt: skip
    model.fit(frame(values), label)
    return Model(model_bytes(model), model.predict)


def ensemble(thresholds: np.ndarray, leaves: np.ndarray, **more: str) -> bytes:
    """A tree for each threshold, with its leaf up to it and 0 above."""
    trees = [
        {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0] * 3,
         "threshold": [threshold, 0, 0], "leaf_values": [leaf, 0]}
        for threshold, leaf in zip(thresholds.tolist(), leaves.tolist(), strict=True)
    ]  # fmt: skip
    file = {"tree_ensemble": 1, "num_features": 1, "feature_names": ["x"], "trees": trees, **more}
    return json.dumps(file).encode()


def of_ensemble() -> Model:
    """A tree for each of the thresholds of doubles; some lie closer together than reals."""
    wide = np.unique([float(str(real)) for real in reals()])
    thresholds = np.concatenate([wide, np.nextafter(wide[::5], np.inf)])
    weights = np.arange(1, len(thresholds) + 1) / 64

    def predict(data: pd.DataFrame) -> np.ndarray:
        values = data["x"].to_numpy(dtype=np.float64)
        return (values[:, None] <= thresholds) @ weights

    return Model(ensemble(thresholds, weights), predict)


MODELS = {
    "xgboost": of_xgboost,
    "lightgbm": of_lightgbm,
    "lightgbm linear leaves": lambda: of_lightgbm(linear_tree=True, linear_lambda=0.1),
    "catboost": of_catboost,
    "ensemble": of_ensemble,
}


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Model:
    return MODELS[request.param]()


def values_of(type_name: str, model: Model) -> list[str]:
    """Texts of the type's values."""
    if type_name == "boolean":
        return ["true", "false"]
    if type_name in ("smallint", "integer", "bigint"):
        bits = {"smallint": 15, "integer": 31, "bigint": 63}[type_name]
        powers = np.array([1 << power for power in range(bits)], dtype=object)
        # At the middles between two reals, and next to them.
        middles = [power + (power >> 24) for power in powers if power >= 1 << 24]
        near = [value + step for value in [*powers, *middles] for step in (-1, 0, 1)]
        return [str(sign * value) for value in near for sign in (1, -1)]
    if type_name == "real":
        return [str(real) for real in reals()] + (["inf", "-inf"] if model.infinite else [])
    # XGBoost refuses numbers that are infinite as a real.
    most = np.inf if model.infinite else float(np.finfo(np.float32).max)
    texts = [repr(value) for value in doubles().tolist() if abs(value) <= most]
    if type_name == "numeric":
        # SQL functions do not know that Python writes this double.
        texts = [text for text in texts if abs(float(text)) != LONG]
        return texts + beside_middles()
    return texts + (["inf", "-inf"] if model.infinite else [])


def store(connection: Connection, type_name: str, texts: list[str]) -> list:
    """Makes the table `t`; returns its values as a client reads them."""
    make_table(connection, "pg_temp.t", f"id int, x {type_name}", enumerate(texts))
    return column(connection, "SELECT x FROM t ORDER BY id")


@pytest.mark.parametrize("type_name", TYPES)
def test_every_form_and_type(
    connection: Connection, load: Load, model: Model, type_name: str
) -> None:
    read = store(connection, type_name, values_of(type_name, model))
    values = np.array([TYPES[type_name](value) for value in read])
    with np.errstate(over="ignore"):
        expected = model.predict(frame(values)).astype(np.float32).reshape(-1, 1)
    load(model.file, "feature_names => '{x}'")
    for form, features in FORMS.items():
        if (type_name, form) == ("boolean", "array"):
            continue
        for batch in ("on", "off"):
            connection.execute(f"SET pgboost.enable_batch = {batch}")
            found = connection.execute(f"SELECT predict('m', {features}) FROM t ORDER BY id")
            assert_same_bits(floats(found.fetchall()), expected)
    create_functions(connection, "m", "exported")
    for form, query in EXPORTED.items():
        if form != "columns" or type_name not in ("boolean", "real", "bigint"):
            assert_same_bits(floats(connection.execute(query).fetchall()), expected)


@pytest.mark.parametrize("type_name", [name for name in TYPES if name != "boolean"])
def test_rows_of_an_array_are_as_each_for_itself(
    connection: Connection, load: Load, model: Model, type_name: str
) -> None:
    """With NULL among them, and without, where reals are read in place."""
    store(connection, type_name, values_of(type_name, model))
    load(model.file, "feature_names => '{x}'")
    connection.execute("SET pgboost.enable_batch = off")
    for missing in (False, True):
        if missing:
            connection.execute("UPDATE t SET x = NULL WHERE id % 7 = 3")
        single = connection.execute("SELECT predict('m', ARRAY[x]) FROM t ORDER BY id").fetchall()
        batch = "SELECT predict_batch('m', array_agg(ARRAY[x] ORDER BY id)) FROM t"
        (found,) = connection.execute(batch).fetchone()
        assert_same_bits(floats(found).reshape(-1, 1), floats(single))


def test_a_model_of_float32_data_takes_reals_for_themselves(
    connection: Connection, load: Load, model: Model
) -> None:
    """In the forms that have a real; JSON has its digits alone."""
    store(connection, "real", values_of("real", model))
    narrow = np.array([np.float32(text) for text in values_of("real", model)])
    expected = model.predict(frame(narrow.astype(np.float64))).astype(np.float32).reshape(-1, 1)
    load(model.file, "feature_names => '{x}', real_input => 'float32'")
    for features in ("x", "ARRAY[x]", "t"):
        found = connection.execute(f"SELECT predict('m', {features}) FROM t ORDER BY id")
        assert_same_bits(floats(found.fetchall()), expected)
    create_functions(connection, "m", "exported")
    for form in ("columns", "rows"):
        assert_same_bits(floats(connection.execute(EXPORTED[form]).fetchall()), expected)


TIMES = [
    "1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2026-11-28 12:34:56.789012",
    "1900-03-01 00:00:01", "0001-01-01 00:00:00.000001", "2255-06-05 23:47:34.740993",
    "9999-12-31 23:59:59.999999", "2400-02-29 01:02:03.000007",
]  # fmt: skip
TIME_FORMS = {
    "columns": "x",
    "array": "ARRAY[extract(epoch FROM x)]",
    "row": "t",
    "jsonb": "jsonb_build_object('x', extract(epoch FROM x))",
}


def seconds(text: str, is_date: bool) -> float:
    """The double next to the seconds since 1970."""
    since = datetime.fromisoformat(text) - datetime(1970, 1, 1)
    exact = Fraction((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds, 10**6)
    return float(since.days * 86_400) if is_date else float(exact)


@pytest.mark.parametrize("type_name", ["date", "timestamp", "timestamptz"])
@pytest.mark.parametrize("value_type", ["float32", "float64"])
def test_times_are_one_number_in_every_form(
    connection: Connection, load: Load, type_name: str, value_type: str
) -> None:
    values = np.array([seconds(text, type_name == "date") for text in TIMES])
    points = np.unique(np.concatenate([values, np.nextafter(values, -np.inf)]))
    if value_type == "float32":
        points = np.unique(points.astype(np.float32)).astype(np.float64)
        values = values.astype(np.float32).astype(np.float64)
    leaves = 1 << np.arange(len(points))
    load(ensemble(points, leaves, value_type=value_type))
    connection.execute("SET TimeZone = UTC")
    store(connection, type_name, TIMES)
    expected = ((values[:, None] <= points) @ leaves).reshape(-1, 1)
    for zone, batch in (("UTC", "on"), ("Asia/Kolkata", "on"), ("America/New_York", "off")):
        connection.execute(f"SET TimeZone = '{zone}'; SET pgboost.enable_batch = {batch}")
        for form, features in TIME_FORMS.items():
            found = connection.execute(f"SELECT predict('m', {features}) FROM t ORDER BY id")
            assert np.array_equal(floats(found.fetchall()), expected), (zone, form)
    create_functions(connection, "m", "exported")
    found = connection.execute(EXPORTED["rows"])
    assert np.array_equal(floats(found.fetchall()), expected)


# By kind, categories in no order, and the types of columns that have them.
CATEGORIES = {
    "integers": ([35, 10, 20], ["smallint", "bigint", "numeric", "real", "double precision", "digits"]),
    "floats": ([0.1, 2.5, 1e10], ["double precision", "real", "numeric"]),
    "booleans": ([True, False], ["boolean"]),
    "texts": (["b", "a", "Ulm"], ["text", "varchar(9)", "name", "places", "words"]),
}  # fmt: skip
CODED = np.random.default_rng(5).integers(0, 3, 300)
AT = np.round(np.random.default_rng(6).normal(size=300), 1)
QUIET = {"verbosity": -1, "min_data_in_leaf": 3, "min_data_per_group": 1, "num_threads": 1}


@dataclass(frozen=True)
class Categorical:
    file: bytes
    # A row for each row of the table, a column for each output.
    expected: np.ndarray
    # Those that the library takes as a matrix, and predicts alike.
    matrix: np.ndarray


def coded(kind: str) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """A frame, a target, and the matrix of codes in the order of the sorted categories."""
    values, _ = CATEGORIES[kind]
    drawn = CODED % len(values)
    k = pd.Series([values[one] for one in drawn], dtype=object if kind == "texts" else None)
    codes = np.searchsorted(np.sort(np.array(values)), np.array(values))[drawn]
    target = np.array([5.0, -3.0, 1.0])[drawn] + AT
    return pd.DataFrame({"k": k, "x": AT}), target, np.column_stack([codes, AT])


def encoded(encoder: Any, last: Any) -> Any:
    return make_pipeline(make_column_transformer((encoder, ["k"]), remainder="passthrough"), last)


BOOSTED = ["xgboost", "lightgbm", "numbers of lightgbm", "catboost"]
HISTOGRAMS = {"categorical_features": ["k"], "max_iter": 8, "min_samples_leaf": 3}
ESTIMATORS: dict[str, Any] = {
    "histogram": HistGradientBoostingRegressor(**HISTOGRAMS),
    "one-hot": encoded(OneHotEncoder(), RandomForestRegressor(8)),
    "ordinal": encoded(OrdinalEncoder(), RandomForestClassifier(8)),
}


def boosted(library: str, kind: str) -> Categorical:
    rows, target, matrix = coded(kind)
    coded_rows = rows.assign(k=pd.Categorical(rows.k))
    given: tuple[Any, Any] = (coded_rows, matrix)
    if library == "xgboost":
        data = xgb.DMatrix(coded_rows, target, enable_categorical=True)
        model = xgb.train({"max_depth": 4, "nthread": 1}, data, 8)
        given = data, xgb.DMatrix(matrix, feature_names=["k", "x"], feature_types=["c", "q"])
    elif library == "lightgbm":
        model = lgb.train(QUIET, lgb.Dataset(coded_rows, target), 8)
    elif library == "catboost":
        options = {"cat_features": ["k"], "allow_writing_files": False, "verbose": 0}
        model = catboost.CatBoostRegressor(iterations=8, depth=3, **options).fit(rows, target)
        given = rows, rows.to_numpy(dtype=object)
    else:
        model = lgb.train(QUIET, lgb.Dataset(rows, target, categorical_feature=["k"]), 8)
        given = rows, rows.to_numpy()
    expected, of_matrix = map(model.predict, given)
    assert np.array_equal(of_matrix, expected)
    return Categorical(model_bytes(model), expected, matrix if library == "xgboost" else given[1])


def categorical(library: str, kind: str) -> Categorical:
    """A model of the frame's columns, which are a matrix to scikit-learn's if they are numbers."""
    if library in BOOSTED:
        return boosted(library, kind)
    rows, target, matrix = coded(kind)
    target = np.digitize(target, [-2, 2]) if library == "ordinal" else target
    model = ESTIMATORS[library].fit(rows, target)
    predict = getattr(model, "predict_proba", model.predict)
    expected = predict(rows)
    if kind != "texts":
        matrix = rows.to_numpy(dtype=np.float64)
        assert np.array_equal(predict(pd.DataFrame(matrix, columns=["k", "x"])), expected)
    return Categorical(pgboost.model_bytes(model), expected, matrix)


UNUSUAL = {
    *(("xgboost", kind) for kind in ("floats", "booleans")),
    *(("catboost", kind) for kind in ("floats", "booleans", "texts")),
    *(("numbers of lightgbm", kind) for kind in ("floats", "booleans", "texts")),
}  # fmt: skip
# Calls for a row of the table `t`, in which `a` is the row as an array.
OF_ROWS = [
    "predict_array('m', k, x)", "predict_array('m', t)", "predict_array('m', to_jsonb(t))",
    "predict_array(n, k, x)", "predict_array('m', a)", "predict_array('m', a::numeric[])",
    "predict_array('m', a::real[])", "pg_temp.exported(t)", "pg_temp.exported(to_jsonb(t))",
]  # fmt: skip
OF_ONE_OUTPUT = [
    "predict('m', k, x)", "predict('m', ARRAY[a[1], a[2]])", "predict_pinned('m@1', k, x)",
    "predict_pinned('m@1', to_jsonb(t))", "predict_pinned('m@1', a)", "predict_margin('m', t)",
    "predict_margin('m', a)", "score",
]  # fmt: skip
OF_EQUAL = ["predict_contribs('m', {})", "predict_leaf('m', {})"]


def fill(connection: Connection, kind: str, place: int, found: Categorical) -> str:
    """Makes the table of a type of the kind's; returns the name of the type."""
    values, types = CATEGORIES[kind]
    number = ("double precision", "real")[place % 2]
    connection.execute(
        "DROP DOMAIN IF EXISTS digits, words; DROP TYPE IF EXISTS places;"
        " CREATE DOMAIN digits AS integer; CREATE DOMAIN words AS text;"
        " CREATE TYPE places AS ENUM ('a', 'b', 'Ulm')"
    )
    declared = f"id int PRIMARY KEY, k {types[place]}, x {number}, a float8[]"
    k = [values[code % len(values)] for code in CODED]
    rows = zip(range(len(k)), k, AT, found.matrix.astype(float), strict=True)
    make_table(connection, "t", declared, rows)
    return types[place]


@pytest.mark.parametrize("kind", CATEGORIES)
@pytest.mark.parametrize("library", [*BOOSTED, *ESTIMATORS])
def test_a_category_is_one_in_every_call_and_type(
    connection: Connection, load: Load, library: str, kind: str
) -> None:
    """An array has what the library takes in a matrix: codes, or the categories."""
    if (library, kind) in UNUSUAL:
        return
    found = categorical(library, kind)
    expected = np.asarray(found.expected, np.float32).reshape(len(CODED), -1)
    version = load(found.file, "feature_names => '{k,x}'")
    connection.execute("SELECT pin_model(%s)", (f"m@{version}",))
    calls = [*OF_ROWS, *(OF_ONE_OUTPUT if expected.shape[1] == 1 else ())]
    if library == "catboost":
        calls = [call for call in calls if "exported" not in call]
    else:
        create_functions(connection, "m", "exported")
    for place in range(len(CATEGORIES[kind][1])):
        type_name = fill(connection, kind, place, found)
        maintain = "SELECT maintain_scores('t', 'm', 'score')"
        connection.execute(maintain if expected.shape[1] == 1 else "SELECT 1")
        connection.execute("UPDATE t SET x = x")
        for call in calls:
            if type_name == "places" and "pinned" in call and "k, x" in call:
                continue
            for batch in ("on", "off"):
                connection.execute(f"SET pgboost.enable_batch = {batch}")
                result = call.replace("@1", f"@{version}")
                query = f"SELECT {result} FROM t, (VALUES ('m')) AS v (n) ORDER BY id"
                answers = floats(column(connection, query))
                assert_same_bits(answers.reshape(expected.shape), expected)
        if library != "catboost" and expected.shape[1] == 1:
            rows = "SELECT prediction FROM pg_temp.exported_rows('SELECT id, k, x FROM t') ORDER BY id::int"
            answers = floats(connection.execute(rows).fetchall())
            assert_same_bits(answers, expected)
        batch = "SELECT predict_batch('m', array_agg(a{} ORDER BY id)) FROM t"
        for cast in ("", "::real[]", "::numeric[]"):
            answers = floats(connection.execute(batch.format(cast)).fetchone()[0])
            assert_same_bits(answers.reshape(expected.shape), expected)
        for call in OF_EQUAL:
            same = (
                f"{call.format('t')} = {call.format(one)}" for one in ("a", "k, x", "to_jsonb(t)")
            )
            query = f"SELECT bool_and({' AND '.join(same)}) FROM t"
            assert connection.execute(query).fetchone() == (True,), call
        connection.execute("DROP TABLE t")
    connection.execute("SELECT unpin_model(%s)", (f"m@{version}",))


@pytest.mark.parametrize("library", ESTIMATORS)
def test_an_unknown_number_in_an_array_is_as_in_a_column(
    connection: Connection, load: Load, library: str
) -> None:
    found = categorical(library, "integers")
    load(found.file, "feature_names => '{k,x}'")
    for given in ("99, 1", "0, 1", "10.5, 1"):
        for call in ("predict_array('m', ARRAY[{}])", "predict_batch('m', ARRAY[[{}]]::real[])"):
            with pytest.raises(errors.InvalidTextRepresentation, match="unknown category"):
                connection.execute(f"SELECT {call.format(given)}")
    connection.execute("SELECT set_unknown_category('m', 'missing')")
    query = (
        "SELECT predict_array('m', ARRAY[99, 1]) = predict_array('m', NULL, 1),"
        " predict_array('m', ARRAY['NaN', 1]::float8[]) = predict_array('m', NULL, 1)"
    )
    assert connection.execute(query).fetchone() == (True, True)


def test_an_array_of_a_version_of_an_earlier_release_keeps_codes(
    connection: Connection, load: Load
) -> None:
    """As the update records, so that an index of it does; the next version is another one's notice."""
    found = categorical("histogram", "integers")
    version = load(found.file, "feature_names => '{k,x}'")
    connection.execute("UPDATE pgboost_catalog.version SET array_categories = 'codes'")
    fill(connection, "integers", 0, found)
    codes = "array_position(ARRAY[10, 20, 35], k::int) - 1"
    query = f"SELECT bool_and(predict('m', k, x) = predict('m', ARRAY[{codes}, x])) FROM t"
    assert connection.execute(query).fetchone() == (True,)
    notices: list[str] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_detail or ""))
    load(found.file, "feature_names => '{k,x}'")
    assert notices == [
        f'In an array, feature "k" is a code in version {version} and the value in version {version + 1}.'
    ]
    query = "SELECT bool_and(predict('m', k, x) = predict('m', a)) FROM t"
    assert connection.execute(query).fetchone() == (True,)
    connection.execute("DROP TABLE t")
