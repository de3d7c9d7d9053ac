"""Models as plain SQL functions in a database without the extension: `export_model_sql`."""

import json
import platform
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from psycopg import Connection, errors, sql

import catboost
import lightgbm as lgb
from tests.connections import make_table
from tests.extension.e2e.reference import column, create_functions, model_bytes
from tests.extension.lifecycle.conftest import psql, restored
from tools.cluster import Cluster

# As arguments, keys and labels; the last two are one name once PostgreSQL has cut them.
HOSTILE = [
    'a"; DROP TABLE kept; --', "it's \\' a", "$body$; $body1$", "line\n-- end\nDROP TABLE kept;",
    "s0", "v", "é" * 40, "é" * 41,
]  # fmt: skip
# As PostgreSQL cuts them.
ARGUMENTS = [*HOSTILE[:-2], "é" * 31, "é" * 30 + "_2"]
LABELS = ["no'; DROP TABLE kept; --", "\\yes$body$"]
BARE = "bare"


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    values = np.random.default_rng(3).normal(size=(400, len(HOSTILE))).astype(np.float32)
    values[np.random.default_rng(4).random(values.shape) < 0.1] = np.nan
    return values


@pytest.fixture(scope="module")
def booster(rows: np.ndarray) -> xgb.Booster:
    target = (np.nan_to_num(rows[:, 0]) > np.nan_to_num(rows[:, 1])).astype(int)
    params = {"objective": "binary:logistic", "nthread": 1, "max_depth": 5}
    return xgb.train(params, xgb.DMatrix(rows, label=target), 30)


@pytest.fixture(scope="module")
def script(cluster: Cluster, dbname: str, booster: xgb.Booster) -> str:
    """The script of version 1, with hostile names."""
    with cluster.connect(dbname) as connection:
        connection.execute(
            "SELECT load_model('churn', %s, feature_names => %s, labels => %s)",
            (model_bytes(booster), HOSTILE, LABELS),
        )
        return connection.execute("SELECT export_model_sql('churn@1')").fetchone()[0]


@pytest.fixture(scope="module")
def without_extension(cluster: Cluster, script: str, rows: np.ndarray) -> str:
    """A database without the extension, with the script's functions, and rows in a table."""
    name = "without_extension"
    cluster.create_database(name, replace=True)
    with cluster.connect(name) as connection:
        make_table(connection, "kept", "id int, x float8[]", enumerate(rows))
    psql(cluster, name, stdin=script)
    return name


@pytest.fixture
def bare(cluster: Cluster, without_extension: str) -> Iterator[Connection]:
    """A copy of that database."""
    cluster.create_database(BARE, replace=True, template=without_extension)
    with cluster.connect(BARE) as connection:
        yield connection


def asked(connection: Connection, function: str) -> list:
    columns = ", ".join(f"x[{number + 1}]" for number in range(len(HOSTILE)))
    return column(connection, f"SELECT {function}({columns}) FROM kept ORDER BY id")


def margins(booster: xgb.Booster, rows: np.ndarray) -> np.ndarray:
    return booster.predict(xgb.DMatrix(rows), output_margin=True)


@pytest.mark.parametrize("function", ["churn_margin", "churn_scan_margin", "churn_1_margin"])
@pytest.mark.parametrize("jit", ["off", "on"])
def test_margins_are_the_librarys(
    bare: Connection, booster: xgb.Booster, rows: np.ndarray, function: str, jit: str
) -> None:
    bare.execute(f"SET jit = {jit}")
    bare.execute("SET jit_above_cost = 0")
    found = np.array(asked(bare, function), dtype=np.float32)
    assert found.tobytes() == margins(booster, rows).tobytes()


def columns_of(rows: str = "kept") -> str:
    """A query whose columns have the arguments' names."""
    columns = (
        sql.SQL("x[{}] AS {}").format(sql.Literal(number), sql.Identifier(name)).as_string()
        for number, name in enumerate(ARGUMENTS, 1)
    )
    return f"SELECT id, {', '.join(columns)} FROM {rows} -- a comment"


@pytest.mark.parametrize("jit", ["off", "on"])
def test_the_rows_of_a_query_have_the_librarys_margins(
    bare: Connection, booster: xgb.Booster, rows: np.ndarray, jit: str
) -> None:
    bare.execute(f"SET jit = {jit}")
    bare.execute("SET jit_above_cost = 0")
    query = "SELECT {} FROM {}(%s) ORDER BY id::int"
    found = bare.execute(query.format("margin", "churn_rows_margin"), (columns_of(),)).fetchall()
    assert np.array(found, np.float32).tobytes() == margins(booster, rows).tobytes()
    found = bare.execute(query.format("prediction", "churn_1_rows"), (columns_of(),)).fetchall()
    assert [value for (value,) in found] == asked(bare, "churn")
    with pytest.raises(errors.NullValueNotAllowed, match="query cannot be null"):
        bare.execute("SELECT churn_rows(NULL)")
    with pytest.raises(errors.UndefinedColumn, match='"v"'):
        bare.execute(query.format("*", "churn_rows"), ("SELECT id, 1 AS s0 FROM kept",))


@pytest.mark.parametrize("end", [
    ";", " ;\n", ";;", "; -- a; comment", "; /* a; /* nested; */ comment */ ;", "-- it's;\n ;--",
])  # fmt: skip
def test_a_query_may_end_in_a_semicolon(bare: Connection, end: str) -> None:
    rows = "SELECT count(*), sum(margin) FROM churn_rows_margin(%s)"
    query = columns_of("(SELECT *, 'a; b' AS \"c;\", $$;$$ AS d FROM kept) AS k -- ;").rpartition(
        "--"
    )[0]
    assert query.count(";") > 3
    expected = bare.execute(rows, (query,)).fetchone()
    assert bare.execute(rows, (query + end,)).fetchone() == expected


@pytest.mark.parametrize("query", [
    "{}; SELECT 2 AS id", "{}; WHERE false", "{}; ) AS q", "{};;;x", "{} WHER id > 0;", "{} WHERE 'a;", ";",
    "",
])  # fmt: skip
def test_what_is_not_one_query_is_a_syntax_error(bare: Connection, query: str) -> None:
    rows = columns_of().rpartition("--")[0]
    with pytest.raises(errors.SyntaxError):
        bare.execute("SELECT churn_rows(%s)", (query.format(rows),))


def test_many_trees_take_turns_over_the_rows_of_a_query(
    connection: Connection, bare: Connection, cluster: Cluster, rows: np.ndarray
) -> None:
    """The planner keeps groups of trees apart, and does not sort for each."""
    target = np.random.default_rng(6).normal(size=400)
    params = {"nthread": 1, "max_depth": 9, "min_child_weight": 0, "eta": 0.01}
    deep = xgb.train(params, xgb.DMatrix(rows, label=target), 150)
    connection.execute(
        "SELECT load_model('deep', %s, feature_names => %s)", (model_bytes(deep), HOSTILE)
    )
    psql(cluster, BARE, stdin=connection.execute("SELECT export_model_sql('deep')").fetchone()[0])
    many = columns_of("(SELECT k.* FROM kept AS k, generate_series(1, 12)) AS k")
    query = "SELECT DISTINCT id::int, margin FROM deep_rows_margin(%s) ORDER BY 1"
    ids, found = zip(*bare.execute(query, (many,)), strict=True)
    assert list(ids) == list(range(len(rows)))
    assert np.array(found, np.float32).tobytes() == margins(deep, rows).tobytes()
    (text,) = bare.execute("SELECT deep_1_query(%s)", (many,)).fetchone()
    plan = "\n".join(line for (line,) in bare.execute(f"EXPLAIN {text}"))
    assert plan.count("WindowAgg") > 2 and plan.count("->  Sort") == 1, plan


def test_contributions_are_the_engines(
    connection: Connection, bare: Connection, booster: xgb.Booster, rows: np.ndarray
) -> None:
    expected = booster.predict(xgb.DMatrix(rows), pred_contribs=True)
    names = [*HOSTILE, "(bias)"]
    found = np.array([[object[name] for name in names] for object in asked(bare, "churn_explain")])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    own = connection.execute(
        "SELECT predict_contribs('churn', array_agg(nullif(x, 'NaN') ORDER BY i)) "
        "FROM unnest(%s::real[]) WITH ORDINALITY AS r(x, i)",
        (rows[0].tolist(),),
    ).fetchone()[0]
    np.testing.assert_allclose(found[0], own, rtol=1e-5, atol=1e-7)


def test_contributions_are_scaled_as_the_margin_is(connection: Connection) -> None:
    tree = {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0] * 3, "threshold": [0.5, 0, 0],
            "cover": [8, 6, 2], "leaf_values": [1, 5]}  # fmt: skip
    file = {"tree_ensemble": 1, "feature_names": ["k"], "trees": [tree, tree]}
    file |= {"base": [2], "scale": 3, "divisor": 4, "bias": [10]}
    connection.execute("SELECT load_model('scaled', %s)", (json.dumps(file).encode(),))
    create_functions(connection, "scaled", "scaled")
    query = "SELECT pg_temp.scaled_explain(k), predict_contribs('scaled', k) FROM (SELECT 1.0::real) AS r(k)"
    found, own = connection.execute(query).fetchone()
    assert [found["k"], found["(bias)"]] == own == [4.5, 14.5]


def test_classes_and_probabilities_have_the_labels(
    bare: Connection, booster: xgb.Booster, rows: np.ndarray
) -> None:
    values = np.array(asked(bare, "churn"), dtype=np.float32)
    np.testing.assert_array_max_ulp(values, booster.predict(xgb.DMatrix(rows)), 2)
    assert asked(bare, "churn_class") == [LABELS[int(value > 0.5)] for value in values]
    for object, value in zip(asked(bare, "churn_proba"), values, strict=True):
        assert list(object) == sorted(LABELS, key=lambda label: (len(label.encode()), label))
        assert np.float32(object[LABELS[1]]) == value


def test_hostile_names_are_arguments_and_keys(
    bare: Connection, booster: xgb.Booster, rows: np.ndarray
) -> None:
    row = rows[np.isfinite(rows).all(axis=1)][0]
    expected = margins(booster, row[None, :])[0]
    values = [float(value) for value in row]
    named = sql.SQL(", ").join(
        sql.SQL("{} => {}").format(sql.Identifier(name), value)
        for name, value in reversed(list(zip(ARGUMENTS, values, strict=True)))
    )
    query = sql.SQL("SELECT churn_margin({})").format(named)
    assert bare.execute(query).fetchone() == (expected,)
    features = dict(zip(HOSTILE, values, strict=True))
    query = "SELECT churn_margin(%s::jsonb)"
    assert bare.execute(query, (json.dumps(features),)).fetchone() == (expected,)
    assert bare.execute("SELECT count(*) FROM kept").fetchone() == (len(rows),)
    del features["v"]
    with pytest.raises(errors.UndefinedColumn, match='"v" is not in the jsonb object'):
        bare.execute(query, (json.dumps(features),))
    with pytest.raises(errors.DatatypeMismatch, match='"v" cannot be a jsonb array'):
        bare.execute(query, (json.dumps(features | {"v": []}),))


def test_a_row_is_read_by_its_columns(
    cluster: Cluster, connection: Connection, bare: Connection
) -> None:
    """Its reals are decimals to a model that compares doubles, as they are to `predict`."""
    values = np.arange(400, dtype=np.float64).reshape(200, 2) / 10
    params = {"objective": "regression", "min_data_in_leaf": 1, "verbosity": -1}
    model = lgb.train(params, lgb.Dataset(values, values.sum(axis=1), feature_name=["a", "b"]), 5)
    connection.execute("SELECT load_model('reals', %s)", (model.model_to_string().encode(),))
    script = connection.execute("SELECT export_model_sql('reals')").fetchone()[0]
    psql(cluster, BARE, stdin=script)
    table = """CREATE TEMP TABLE t AS
        SELECT i, i / 10::real AS b, (i + 1) / 10::real AS a FROM generate_series(0, 398) AS i"""
    expected = model.predict([[(i + 1) / 10, i / 10] for i in range(399)], raw_score=True)
    bare.execute(table)
    for digits in (-3, 1):
        bare.execute(f"SET extra_float_digits = {digits}")
        for of_rows in (
            "SELECT array_agg(reals_margin(t) ORDER BY i) = %s FROM t",
            "SELECT array_agg(margin ORDER BY id::int) = %s"
            " FROM reals_rows_margin('SELECT i AS id, a, b FROM t')",
        ):
            assert bare.execute(of_rows, (expected.tolist(),)).fetchone() == (True,)
    connection.execute(table)
    predicted = connection.execute("SELECT predict_margin('reals', t) FROM t ORDER BY i").fetchall()
    assert np.float32(expected).tolist() == np.float32(predicted).ravel().tolist()
    with pytest.raises(errors.UndefinedColumn, match='"b" is not in'):
        bare.execute("SELECT reals(s) FROM (SELECT 1 AS a) AS s")


def categorical(categories: list | None, has_code: bool) -> bytes:
    """A model with another number for each category, unknown ones and missing values."""
    if categories is None:
        rows = pd.DataFrame({"k": np.resize(["1", "a", "0", "10"], 80)})
        model = catboost.CatBoostRegressor(
            iterations=20,
            one_hot_max_size=9,
            cat_features=["k"],
            verbose=0,
            allow_writing_files=False,
        )
        return model.fit(rows, np.resize([1.0, 5.0, 25.0, 125.0], 80))._serialize_model()
    trees = [
        {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0] * 3, "threshold": [0] * 3,
         "category_set": [0, -1, -1], "category_sets": [[code]], "leaf_values": [2.0**code, 0]}
        for code in range(len(categories) + has_code)
    ]  # fmt: skip
    file = {
        "tree_ensemble": 1, "feature_names": ["k"], "categories": [categories], "trees": trees,
        "unknown_category": [has_code],
    }  # fmt: skip
    return json.dumps(file).encode()


def codes() -> bytes:
    """A model with another number for most codes of its sets, which are few and large."""
    sets = [[10], [9, 10, 11, 20], [0, 1, 20, 16777215], [*range(1, 40, 2), 30000, 9999999]]
    trees = [
        {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0] * 3, "threshold": [0] * 3,
         "missing_left": [place == 1, False, False], "category_set": [0, -1, -1],
         "category_sets": [codes], "leaf_values": [2.0**place, 0]}
        for place, codes in enumerate(sets)
    ]  # fmt: skip
    return json.dumps({"tree_ensemble": 1, "feature_names": ["k"], "trees": trees}).encode()


def of_numbers(value_type: str) -> bytes:
    """A model with another number between all of some numbers."""
    cuts = [-1e301, -1, 0, 0.5, 1, 9.9, 10, 10.2, 978307200, 978307200.4, 2.0**60, 1e20, 1e301]
    trees = [
        {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0] * 3, "threshold": [cut, 0, 0],
         "missing_left": [place % 2 == 0, False, False], "leaf_values": [2.0**place, 0]}
        for place, cut in enumerate(cuts)
    ]  # fmt: skip
    file = {"tree_ensemble": 1, "feature_names": ["k"], "value_type": value_type, "trees": trees}
    return json.dumps(file).encode()


# By kind of the feature `k`.
ODD: dict[str, Callable[[], bytes]] = {
    "integers": lambda: categorical([10, 20, 1], False),
    "floats": lambda: categorical([10.5, 20.0, 1.0], False),
    "texts": lambda: categorical(["a", "10", "true"], False),
    "other integers": lambda: categorical([10, 20, 1], True),
    "other floats": lambda: categorical([10.5, 20.0, 1.0], True),
    "other texts": lambda: categorical(["a", "10", "true"], True),
    "hashes": lambda: categorical(None, False),
    "codes": codes,
    "reals": lambda: of_numbers("float32"),
    "doubles": lambda: of_numbers("float64"),
}
JSON = """10|10.0|10.50|20|1.00|true|false|"NaN"|"Infinity"|1e30|"a"|"10"|null|[]|-1|0|1e400|1e-400\
|10.0000000000000000000001|19.9999999999999999999999|18446744073709551615|-1e30\
|20000000000000000000.0|9|11|12|21|30000|9999999|16777215"""
VALUES = """10|10.0::numeric(9,2)|10.5|10.5::real|1::real|true|'NaN'::float8|'NaN'::real|'NaN'::numeric
    |'Infinity'::float8|'-Infinity'::real|-0.0::float8|'a'::text|'a'::char(3)|'a'::name|'b'::text|NULL::int
    |10.2::real|9.9::real|NULL::boolean|NULL::text|1e10|1e16::float8|16777217::real|10::smallint|1152921573326323713
    |1152921573326323711|1e30::numeric|1e400::numeric|-1e400::numeric|1e-400|'2001-01-01'::date
    |18446744073709551615|-1e20|2e19::numeric(30,2)|'Infinity'::numeric
    |10.0000000000000000000001|19.9999999999999999999999|9007199254740993.4|-9223372036854775808
    |'infinity'::date|'-infinity'::date|'2001-01-01 00:00:00.4'::timestamp|'infinity'::timestamptz
    |'2001-01-01 00:00:00.5+00'::timestamptz|ARRAY[10]|'10'::jsonb|'1 day'::interval"""


@pytest.mark.parametrize("policy", ["error", "missing"])
@pytest.mark.parametrize("kind", ODD)
def test_odd_values_are_read_as_predict_reads_them(
    connection: Connection, kind: str, policy: str
) -> None:
    connection.execute("SELECT load_model('odd', %s)", (ODD[kind](),))
    connection.execute("SELECT set_unknown_category('odd', %s)", (policy,))
    create_functions(connection, "odd", "odd")

    def answer(query: str) -> object:
        try:
            (value,) = connection.execute(f"SELECT {query}").fetchone()
            return None if value is None else np.float32(value)
        except errors.Error as error:
            return error.sqlstate

    for value in JSON.split("|"):
        given = f"""'{{"k": {value}}}'::jsonb"""
        expected = answer(f"predict('odd', {given})")
        assert answer(f"pg_temp.odd({given})") == expected, value
    for value in (value.strip() for value in VALUES.split("|")):
        rows = f"SELECT 1 AS id, {value} AS k"
        quoted = rows.replace("'", "''")
        for function, own in (
            ("predict('odd', t)", f"prediction FROM pg_temp.odd_rows('{quoted}')"),
            ("predict('odd', to_jsonb(t))", f"pg_temp.odd(t) FROM ({rows}) AS t"),
        ):
            assert answer(own) == answer(f"{function} FROM ({rows}) AS t"), (value, function)


# Whole numbers near the middle of two f32, and whether Python or PostgreSQL writes a double so.
LARGE = {
    53878726198296580: True, 53878726198296576: True, 53878726198296581: False,
    213695865884246000: True, 213695865884246020: True, 213695865884246021: False,
    2062257684232536000: True, -2062257684232536000: True, 2062257684232536100: False,
    9007199254740993: False, 9223372036854775807: False,
}  # fmt: skip


@pytest.mark.parametrize("digits", [3, 1, 0, -15])
def test_large_whole_numbers_in_objects_are_read_alike(connection: Connection, digits: int) -> None:
    """Rounded once, or twice if a double is written so, whatever digits the session shows."""
    for number, is_double in LARGE.items():
        cuts = [np.nextafter(np.float32(number), np.float32(end)) for end in (-np.inf, np.inf)]
        trees = [
            {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0] * 3, "leaf_values": [2**n, 0],
             "threshold": [float(cut), 0, 0]}
            for n, cut in enumerate([cuts[0], np.float32(number), cuts[1]])
        ]  # fmt: skip
        file = {"tree_ensemble": 1, "feature_names": ["k"], "value_type": "float32", "trees": trees}
        connection.execute("SELECT load_model('large', %s)", (json.dumps(file).encode(),))
        create_functions(connection, "large", "large")
        value = np.float32(float(number)) if is_double else np.float32(np.int64(number))
        expected = sum(2**n for n, tree in enumerate(trees) if value <= tree["threshold"][0])
        connection.execute(f"SET extra_float_digits = {digits}")
        for function in ("predict", "pg_temp.large"):
            given = "'large', %s::jsonb" if function == "predict" else "%s::jsonb"
            query = f"SELECT {function}({given})"
            found = connection.execute(query, (json.dumps({"k": number}),)).fetchone()
            assert found == (expected,), (function, number)


LIBC = tuple(int(part) for part in platform.libc_ver()[1].split(".") if part.isdecimal())


@pytest.mark.skipif(LIBC >= (2, 41), reason="log1pf is another one since glibc 2.41")
@pytest.mark.parametrize("scale", [1, 40])
def test_expectiles_have_the_bits_of_the_engine(connection: Connection, scale: int) -> None:
    """Sums of them cancel, after which a unit in the last place of a term would be many."""
    rows = np.random.default_rng(1).normal(size=(4000, 3)).astype(np.float32)
    target = scale * (rows[:, 0] * 3 + np.random.default_rng(2).normal(size=len(rows)) - 1)
    params = {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.3, 0.7], "nthread": 1}
    booster = xgb.train(params, xgb.QuantileDMatrix(rows, target), 30)
    model = json.loads(booster.save_raw("json"))
    levels = model["learner"]["objective"]["quantile_loss_param"]["quantile_alpha"]
    model["learner"]["objective"] = {
        "name": "reg:expectileerror", "expectile_loss_param": {"expectile_alpha": levels},
    }  # fmt: skip
    model["version"] = [3, 4, 0]
    file = json.dumps(model).encode()
    connection.execute("SELECT load_model('expectiles', %s, feature_names => '{a,b,c}')", (file,))
    create_functions(connection, "expectiles", "expectiles")
    make_table(connection, "several", "a real, b real, c real", rows)
    query = "SELECT {}, predict_margin('expectiles', s), predict_array('expectiles', s) FROM several AS s"
    found = connection.execute(query.format("pg_temp.expectiles(a, b, c)")).fetchall()
    own, margins, engine = zip(*found, strict=True)
    assert np.float32(own).tobytes() == np.float32(engine).tobytes()
    assert np.abs(margins).max() > 3 * scale and np.abs(margins).min() < scale / 50
    connection.execute("DROP TABLE several")


def test_absent_arguments_are_missing_values(
    bare: Connection, booster: xgb.Booster, rows: np.ndarray
) -> None:
    nothing = margins(booster, np.full((1, rows.shape[1]), np.nan, dtype=np.float32))[0]
    assert bare.execute("SELECT churn_margin(), churn_scan_margin()").fetchone() == (nothing,) * 2


def answers(bare: Connection) -> list:
    found = [asked(bare, f"public.{name}") for name in ("churn", "churn_scan", "churn_class")]
    query = "SELECT prediction FROM public.churn_rows(%s) ORDER BY id::int"
    return [*found, bare.execute(query, (columns_of(),)).fetchall()]


def test_planted_operators_are_not_found(bare: Connection) -> None:
    expected = answers(bare)
    bare.execute("CREATE SCHEMA evil")
    for number, (operator, left, right, result, body) in enumerate([
        ("<", "float8", "float8", "bool", "true"), (">=", "float8", "float8", "bool", "true"),
        (">", "float8", "float8", "bool", "true"), ("=", "int4", "int4", "bool", "true"),
        ("+", "float4", "float4", "float4", "0::float4"), ("-", "int4", "int4", "int4", "1"),
        ("/", "float4", "float4", "float4", "0::float4"), (">", "int4", "int4", "bool", "false"),
        ("||", "varbit", "varbit", "varbit", "B'0'::varbit"), ("=", "oid", "oid", "bool", "true"),
        ("<>", '"char"', '"char"', "bool", "false"), ("=", "text", "text", "bool", "true"),
    ]):  # fmt: skip
        function = f"evil.f{number}"
        bare.execute(
            f"CREATE FUNCTION {function}({left}, {right}) RETURNS {result} LANGUAGE sql "
            f"AS $$ SELECT {body} $$"
        )
        bare.execute(
            f"CREATE OPERATOR evil.{operator} (leftarg = {left}, rightarg = {right}, "
            f"function = {function})"
        )
    for name, types, result, body in [
        ("exp", "float8", "float8", "0::float8"), ("get_bit", "bit, int4", "int4", "1"),
        ("width_bucket", "float8, float8[]", "int4", "0"), ("cardinality", "text[]", "int4", "0"),
        ("concat", "VARIADIC text[]", "text", "''"), ("pg_typeof", "float8", "regtype", "'text'::regtype"),
    ]:  # fmt: skip
        bare.execute(
            f"CREATE FUNCTION evil.{name}({types}) RETURNS {result} LANGUAGE sql "
            f"AS $$ SELECT {body} $$"
        )
    bare.execute("SET search_path = evil, public, pg_catalog")
    found = answers(bare)
    bare.execute("RESET search_path")
    assert found == expected


@pytest.mark.parametrize("owner", ["other", "postgres"])
def test_functions_of_others_are_not_replaced(cluster: Cluster, script: str, owner: str) -> None:
    """An overload, which calls would find first, stops the script as a function of the same types does."""
    cluster.create_database(BARE, replace=True)
    with cluster.connect(BARE) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'other'").fetchone():
            connection.execute("CREATE ROLE other")
        connection.execute("CREATE FUNCTION churn(int) RETURNS int LANGUAGE sql AS 'SELECT 1'")
        connection.execute("COMMENT ON FUNCTION churn(int) IS 'mine'")
        if owner == "other":
            connection.execute("COMMENT ON FUNCTION churn(int) IS 'gbtrees: prediction'")
        connection.execute(f"ALTER FUNCTION churn(int) OWNER TO {owner}")
        with pytest.raises(errors.DuplicateFunction, match="is not one of an export"):
            connection.execute(script)
        connection.execute("ROLLBACK")
        assert connection.execute(
            "SELECT count(*) FROM pg_proc WHERE proname LIKE 'churn%'"
        ).fetchone() == (1,)


@pytest.mark.parametrize("name", ["churn_margin", "churn_1"])
def test_functions_of_another_model_are_not_replaced(
    connection: Connection, bare: Connection, name: str
) -> None:
    """Its name may be the beginning of theirs."""
    expected = asked(bare, "churn_margin")
    query = "SELECT export_model_sql('churn@1', %s), export_model_sql('churn', %s, drop => true)"
    for script in connection.execute(query, (name, name)).fetchone():
        with pytest.raises(errors.DuplicateFunction, match="is not one of an export"):
            bare.execute(script)
        bare.execute("ROLLBACK")
    assert asked(bare, "churn_margin") == expected


def test_a_role_needs_the_privilege_alone(bare: Connection) -> None:
    if not bare.execute("SELECT 1 FROM pg_roles WHERE rolname = 'caller'").fetchone():
        bare.execute("CREATE ROLE caller")
    bare.execute("SET ROLE caller")
    bare.execute("SELECT churn(), churn_scan(), churn_class(), churn_proba(), churn_explain()")
    query = columns_of("(SELECT 1 AS id, ARRAY[0.5] AS x) AS k")
    bare.execute("SELECT churn_rows(%s)", (query,))
    bare.execute("RESET ROLE")
    bare.execute("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC")
    bare.execute("SET ROLE caller")
    with pytest.raises(errors.InsufficientPrivilege):
        bare.execute("SELECT churn()")
    bare.execute("RESET ROLE")


def test_a_dump_restores_the_functions(cluster: Cluster, bare: Connection) -> None:
    expected = asked(bare, "churn_margin"), asked(bare, "churn_scan_margin")
    with cluster.connect(restored(cluster, BARE, "bare_restored")) as copy:
        found = asked(copy, "churn_margin"), asked(copy, "churn_scan_margin")
    assert found == expected


def test_a_version_takes_the_place_of_another(
    cluster: Cluster, connection: Connection, bare: Connection, script: str
) -> None:
    """Privileges stay where the arguments do; a version whose features are others has its own arguments."""
    rows = np.random.default_rng(5).normal(size=(50, 2)).astype(np.float32)
    other = xgb.train({"nthread": 1}, xgb.DMatrix(rows, label=rows[:, 0]), 3)
    connection.execute(
        "SELECT load_model('churn', %s, feature_names => '{a,b}', deploy => false)",
        (model_bytes(other),),
    )
    second = connection.execute("SELECT export_model_sql('churn@2')").fetchone()[0]
    before = asked(bare, "churn_1_margin")
    psql(cluster, BARE, stdin=second)
    assert asked(bare, "churn_1_margin") == before
    query = "SELECT churn_margin(a => 0.5, b => 0), churn_2_margin(0.5, 0)"
    expected = margins(other, np.array([[0.5, 0]], dtype=np.float32))[0]
    assert bare.execute(query).fetchone() == (expected, expected)
    psql(cluster, BARE, stdin=script)
    assert asked(bare, "churn_margin") == before
    for reference in ("churn@1", "churn@2", "churn"):
        query = "SELECT export_model_sql(%s, drop => true)"
        psql(cluster, BARE, stdin=connection.execute(query, (reference,)).fetchone()[0])
    assert bare.execute(
        "SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
    ).fetchone() == (0,)
    connection.execute("SELECT drop_model('churn@2')")


def test_a_script_that_runs_again_keeps_the_functions(connection: Connection) -> None:
    """Also those of symmetric trees, which take bytes."""
    tree = {"left": [1, 3, 5, -1, -1, -1, -1], "right": [2, 4, 6, -1, -1, -1, -1],
            "feature": [0, 1, 1, 0, 0, 0, 0], "threshold": [0] * 7, "leaf_values": [1, 2, 3, 4]}  # fmt: skip
    file = {"tree_ensemble": 1, "feature_names": ["a", "b"], "trees": [tree, tree]}
    connection.execute("SELECT load_model('again', %s)", (json.dumps(file).encode(),))
    script = connection.execute("SELECT export_model_sql('again')").fetchone()[0]
    kept = "SELECT array_agg(oid ORDER BY oid) FROM pg_proc WHERE proname ~ '^again'"
    found = []
    for _ in range(2):
        connection.execute(script)
        found += connection.execute(kept).fetchone()
    assert found[0] == found[1]


def test_reals_of_a_query_are_their_decimals(connection: Connection) -> None:
    """Whatever the session shows of their digits."""
    tree = {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0] * 3,
            "threshold": [0.1234567, 0, 0], "leaf_values": [1, 2]}  # fmt: skip
    file = {"tree_ensemble": 1, "feature_names": ["k"], "trees": [tree]}
    load = "SELECT load_model('decimals', %s, real_input => 'decimal')"
    connection.execute(load, (json.dumps(file).encode(),))
    connection.execute(connection.execute("SELECT export_model_sql('decimals')").fetchone()[0])
    query = "SELECT 1 AS id, 0.1234567::real AS k"
    for digits in (1, 0, -15):
        connection.execute(f"SET extra_float_digits = {digits}")
        found = connection.execute("SELECT prediction FROM decimals_rows(%s)", (query,)).fetchall()
        assert found == [(1,)], digits


@pytest.mark.parametrize(("arguments", "error"), [
    ("'churn', function => ''", errors.InvalidParameterValue),
    ("'churn', function => repeat('n', 41)", errors.InvalidParameterValue),
    ("'churn', schema => NULL", errors.NullValueNotAllowed),
    ("'churn@9'", errors.UndefinedObject),
    ("'nosuch'", errors.UndefinedObject),
])  # fmt: skip
def test_bad_calls_are_errors(
    connection: Connection, script: str, arguments: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        connection.execute(f"SELECT export_model_sql({arguments})")
