"""Models are compared on the rows of a table or a query, as SQL and as pandas read them."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
import sqlalchemy
import xgboost
from psycopg import Connection
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import catboost
import lightgbm
import pgboost
from tests.python.conftest import Refused, Same
from tests.python.models import SILENT
from tools.cluster import Cluster

TABLE = """
    CREATE SCHEMA shop;
    CREATE TABLE shop."Customers" AS
    SELECT i AS id, CASE WHEN i % 11 > 0 THEN (i % 97 / 10.0)::numeric(8, 1) END AS price,
        (i % 7)::smallint AS visits, CASE WHEN i % 5 > 0 THEN i % 2 = 0 END AS paid,
        date '2020-01-01' + i % 90 AS day, (ARRAY['Graz', 'Köln', NULL, '100 %'])[1 + i % 4] AS city,
        (i % 13 / 4.0)::real AS half, i % 3 > 0 AS "churned?"
    FROM generate_series(1, 400) AS i
"""
NAME = 'shop."Customers"'
NUMBERS = ["price", "visits", "paid", "half"]


@pytest.fixture(scope="module", autouse=True)
def rows(cluster: Cluster, dbname: str) -> pd.DataFrame:
    """Creates the table, and returns it as pandas reads it."""
    with cluster.connect(dbname) as connection:
        connection.execute(TABLE)
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(cluster.conninfo(dbname))
    )
    found = pd.read_sql(f"SELECT * FROM {NAME} ORDER BY id", engine)
    engine.dispose()
    return found


@pytest.fixture(scope="module")
def model(rows: pd.DataFrame) -> HistGradientBoostingClassifier:
    """Returns a model of the numbers."""
    return HistGradientBoostingClassifier(max_iter=9).fit(fitted_on(rows), rows["churned?"])


def fitted_on(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns numbers as scikit-learn, XGBoost and LightGBM take them."""
    return rows[NUMBERS].astype(float)


def of_texts(rows: pd.DataFrame) -> tuple[Any, pd.DataFrame]:
    columns = make_column_transformer((OneHotEncoder(), ["city"]), ("passthrough", NUMBERS))
    frame = rows.assign(paid=rows.paid.astype(float))
    return make_pipeline(columns, RandomForestClassifier(9, random_state=1)), frame


def of_categories(rows: pd.DataFrame, model: Any) -> tuple[Any, pd.DataFrame]:
    return model, fitted_on(rows).assign(city=pd.Categorical(rows.city, ["100 %", "Graz"]))


HISTOGRAMS, LIGHT = (
    HistGradientBoostingClassifier(max_iter=9),
    {"min_data_per_group": 9, "verbose": -1},
)
CAT = {"iterations": 9, "cat_features": ["city"], **SILENT}
MODELS: dict[str, Callable[[pd.DataFrame], tuple[Any, pd.DataFrame]]] = {
    "doubles": lambda rows: (HISTOGRAMS, fitted_on(rows)),
    "array": lambda rows: (HISTOGRAMS, fitted_on(rows).to_numpy()),
    "texts": of_texts,
    "XGBoost": lambda rows: of_categories(
        rows, xgboost.XGBClassifier(n_estimators=9, enable_categorical=True)),
    "LightGBM": lambda rows: of_categories(rows, lightgbm.LGBMClassifier(n_estimators=9, **LIGHT)),
    "CatBoost": lambda rows: (catboost.CatBoostClassifier(**CAT), rows[["city", "visits", "half"]]),
    "dates": lambda rows: (xgboost.XGBClassifier(n_estimators=9), rows[["day", "half"]].assign(
        day=(pd.to_datetime(rows.day) - pd.Timestamp(0)).dt.total_seconds())),
}  # fmt: skip
# Others do not predict a row without a city, or have no names.
OF_ALL_ROWS = {"doubles", "XGBoost", "LightGBM", "dates"}


@pytest.mark.parametrize("kind", MODELS)
def test_a_table_and_a_query(
    connection: Connection, same: Same, rows: pd.DataFrame, kind: str
) -> None:
    connection.execute("SET pgboost.unknown_category = missing")
    known = rows[rows.city.notna()]
    model, frame = MODELS[kind](known)
    model.fit(frame, known["churned?"])
    columns = "price, visits, paid, half" if kind == "array" else "*"
    query = f"/* 100 % */ SELECT {columns} FROM {NAME} WHERE city IS NOT NULL AND city <> 'none%'"
    ended = f"{query} AND city <> $$it's; --$$ AND city <> E'\\';' ; -- it's /* ;\n /* /* ; */ */;"
    for source in (query, f"({query});", ended, *[NAME] * (kind in OF_ALL_ROWS)):
        found = same(model, source, check=source)
        assert found.rows == len(rows if source == NAME else known)


def test_each_form_is_compared(
    connection: Connection, model: Any, logged: Callable[[], list[str]]
) -> None:
    pgboost.push(connection, "forms", model)
    connection.execute("SET log_statement = 'all'")
    pgboost.verify(connection, "forms", model, NAME)
    statements = [line for line in logged() if "predict_class" in line and "to_jsonb" in line]
    assert len(statements) == 1
    assert statements[0].count('"predict_array"(') == 3


def test_a_table_that_is_created_again_with_other_types(connection: Connection, model: Any) -> None:
    pgboost.push(connection, "made", model)
    for kind in ["real", "numeric", "real"] * 3:
        query = f"SELECT price::{kind}, visits, paid, half FROM {NAME}"
        connection.execute(f"DROP TABLE IF EXISTS made; CREATE TABLE made AS {query}")
        assert pgboost.verify(connection, "made", model, "made").differing == 0


def test_missing_texts_are_none_to_an_encoder_of_none(
    connection: Connection, rows: pd.DataFrame
) -> None:
    """An encoder that was fitted on None refuses the NaN of pandas.read_sql."""
    cities = rows.city.astype(object).where(rows.city.notna(), None)
    model, frame = of_texts(rows.assign(city=cities))
    model.fit(frame.fillna({"price": 0, "paid": 0}), rows["churned?"])
    filled = "coalesce(price, 0) AS price, coalesce(paid, false) AS paid"
    query = f"SELECT {filled}, visits, half, city FROM {NAME}"
    pgboost.push(connection, "none", model, check=query)


def test_differences_name_their_form(
    connection: Connection, refused: Refused, rows: pd.DataFrame, model: Any
) -> None:
    frame = fitted_on(rows)
    other = HistGradientBoostingClassifier(max_iter=3).fit(frame, rows["churned?"])
    pgboost.push(connection, "other", other)
    found = pgboost.verify(connection, "other", model, NAME)
    assert not found
    assert found.form in ("by columns", "by row", "as jsonb")
    assert f"400 rows {found.form}, " in str(found)
    changed = copy(model)
    changed.predict_proba = other.predict_proba
    refused("rows of check: 400 rows", changed, pgboost.PredictionsDifferError, check=NAME)


@pytest.mark.parametrize("none", [f"SELECT * FROM {NAME} WHERE false", np.empty((0, 4))], ids=type)
def test_no_rows_are_not_compared(
    connection: Connection, refused: Refused, model: Any, none: Any
) -> None:
    pgboost.push(connection, "empty", model)
    with pytest.raises(pgboost.InvalidDataError, match="no rows"):
        pgboost.verify(connection, "empty", model, none)
    refused("no rows", model, pgboost.InvalidDataError, check=none)


@pytest.mark.parametrize("kind", ["int", "numeric", "double precision", "text"])
def test_whole_numbers_of_any_type_are_categories_of_catboost(
    identical: Same, rows: pd.DataFrame, kind: str
) -> None:
    frame = pd.DataFrame({"code": rows.id % 4, "half": rows.half.astype(float)})
    model = catboost.CatBoostRegressor(iterations=5, cat_features=["code"], **SILENT)
    model.fit(frame, rows.id % 4)
    source = f"SELECT id, (id % 4)::{kind} AS code, half FROM {NAME}"
    identical(model, source, check=source)


OF_CATEGORIES: dict[str, Any] = {
    "XGBoost": xgboost.XGBRegressor(n_estimators=5, enable_categorical=True),
    "LightGBM": lightgbm.LGBMRegressor(n_estimators=5, **LIGHT),
    "CatBoost": catboost.CatBoostRegressor(iterations=5, cat_features=["code"], **SILENT),
    "scikit-learn": HistGradientBoostingRegressor(max_iter=5, categorical_features=["code"]),
}


@pytest.mark.parametrize("kind", ["bigint", "numeric(30, 2)"])
@pytest.mark.parametrize("library", OF_CATEGORIES)
def test_categories_have_all_digits(
    identical: Same, rows: pd.DataFrame, library: str, kind: str
) -> None:
    """pandas.read_sql rounds numerics, and integers in a column with NULL, to doubles."""
    code = 2**60 + rows.id % 4
    if library != "CatBoost":
        code = code.astype("category")
    frame = pd.DataFrame({"code": code, "half": rows.half.astype(float)})
    model = OF_CATEGORIES[library].fit(frame, rows.id % 4)
    assert len(np.unique(model.predict(frame))) > 3
    # CatBoost refuses missing categories.
    known = "true" if library == "CatBoost" else "id % 5 > 0"
    digits = f"CASE WHEN {known} THEN {2**60} + id % 4 END"
    source = f"SELECT id, ({digits})::{kind} AS code, half FROM {NAME}"
    identical(model, source, check=source)


@pytest.mark.parametrize("library", [name for name in OF_CATEGORIES if name != "CatBoost"])
def test_blanks_of_chars_are_no_part_of_a_category(
    identical: Same, rows: pd.DataFrame, library: str
) -> None:
    """The drivers pass on the blanks, which SQL does not count."""
    codes = rows.id.astype(str).str[-1]
    frame = pd.DataFrame({"code": codes.astype("category"), "half": rows.half.astype(float)})
    model = OF_CATEGORIES[library].fit(frame, rows.id % 10)
    source = f"SELECT right(id::text, 1)::char(4) AS code, half FROM {NAME}"
    identical(model, source, check=source)
    # Unless the training had them, too.
    read = frame.assign(code=codes.str.ljust(4).astype("category"))
    identical(OF_CATEGORIES[library].fit(read, rows.id % 10), source, check=source)


def test_a_column_named_as_the_row_is_compared(same: Same, rows: pd.DataFrame) -> None:
    names = ["price", "pgboost row", "pgboost row_"]
    frame = fitted_on(rows)[["price", "visits", "half"]].set_axis(names, axis=1)
    columns = ", ".join(
        f'{one} AS "{name}"' for one, name in zip(["price", "visits", "half"], names, strict=True)
    )
    model = xgboost.XGBClassifier(n_estimators=2).fit(frame, rows["churned?"])
    same(model, f"SELECT {columns} FROM {NAME}")


def test_features_may_have_other_names_than_the_columns_of_the_fit(
    rows: pd.DataFrame, same: Same
) -> None:
    renamed = fitted_on(rows).set_axis([*"abcd"], axis=1)
    model = HistGradientBoostingClassifier(max_iter=9).fit(renamed, rows["churned?"])
    same(model, NAME, feature_names=NUMBERS)


def test_more_columns_than_a_function_has(connection: Connection, same: Same) -> None:
    rows = np.random.default_rng(1).normal(size=(50, 130))
    names = [f"c{number}" for number in range(130)]
    query = f"SELECT {', '.join(f'1.5 AS {name}' for name in names)}"
    model = xgboost.XGBRegressor(n_estimators=2).fit(rows, rows[:, 0])
    pgboost.push(connection, "model", model)
    with pytest.raises(pgboost.InvalidDataError, match="push it with feature_names"):
        pgboost.verify(connection, "model", model, query)
    same(model, query, feature_names=names)


def test_names_that_postgresql_cuts(connection: Connection, rows: pd.DataFrame) -> None:
    """A row and jsonb do not have them, so columns are compared alone."""
    names = {"price": f"price {'é' * 40}", "half": f"half {'x' * 58}"}
    frame = fitted_on(rows).rename(columns=names)
    model = HistGradientBoostingClassifier(max_iter=9).fit(frame, rows["churned?"])
    connection.execute("SET client_min_messages = error")
    renamed = ", ".join(f'{name} AS "{names.get(name, name)}"' for name in NUMBERS)
    pgboost.push(connection, "cut", model, check=f"SELECT {renamed} FROM {NAME}")
    other = f"SELECT {renamed}, 1 AS {'y' * 70} FROM {NAME}"
    assert pgboost.verify(connection, "cut", model, other).form == "by columns"
    twins = frame.rename(columns={"visits": f"{names['half']}z"})
    pgboost.push(connection, "twins", model.fit(twins, rows["churned?"]))
    with pytest.raises(pgboost.InvalidDataError, match="the source has no column 'half x"):
        pgboost.verify(connection, "twins", model, other)


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_days_beyond_those_of_nanoseconds(same: Same, rows: pd.DataFrame, kind: str) -> None:
    """Such as 9999-12-31, which often stands for no end."""
    days = "(ARRAY[day, '0001-01-02', '9999-12-30'])[1 + id % 3]"
    seconds = (pd.to_datetime(rows.day) - pd.Timestamp(0)).dt.total_seconds()
    ends = np.choose(rows.id % 3, [seconds, -62135510400.0, 253402128000.0])
    frame = pd.DataFrame({"day": ends, "half": rows.half.astype(float)})
    model = HistGradientBoostingClassifier(max_iter=9).fit(frame, rows.id % 3 == 2)
    source = f"SELECT id, {days}::{kind} AS day, half FROM {NAME}"
    same(model, source, check=source)


def test_through_every_connection(given: Any, model: Any) -> None:
    pgboost.push(given, "given", model, check=NAME)
    assert pgboost.verify(given, "given", model, f"TABLE {NAME}").differing == 0


@pytest.mark.parametrize(("source", "reason"), [
    ("none", "none"),
    ("SELECT 1 AS price", "no column 'visits'"),
    (f"SELECT 1 AS id, * FROM {NAME}", "two columns"),
    ("DELETE FROM shop.none", "invalid name syntax"),
    ("SELECT * FROM", "syntax error"),
    (f"SELECT price, 'a' AS visits, paid, half FROM {NAME}", "cannot be of type text"),
    ("", "invalid name|does not exist|syntax"),
])  # fmt: skip
def test_sources_that_cannot_be_read(
    connection: Connection, model: Any, source: str, reason: str
) -> None:
    pgboost.push(connection, "sources", model)
    with pytest.raises(pgboost.InvalidDataError, match=reason):
        pgboost.verify(connection, "sources", model, source)


def test_a_model_without_names_takes_as_many_columns(
    connection: Connection, rows: pd.DataFrame
) -> None:
    model = HistGradientBoostingClassifier(max_iter=9)
    model.fit(np.asarray(fitted_on(rows)), rows["churned?"])
    pgboost.push(connection, "nameless", model)
    with pytest.raises(pgboost.InvalidDataError, match="8 columns, and the model 4 features"):
        pgboost.verify(connection, "nameless", model, NAME)
