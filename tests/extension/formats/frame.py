"""A model with its rows and its library's predictions, and the table of LightGBM's and CatBoost's models:
columns of nine types, with values missing, which are stored in the database."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from psycopg import Connection

from tests.connections import make_table

ROWS = 20_000
# Rows of which the tests compare leaves.
LEAVES = 500
KINDS = {
    "single": "float4", "double": "float8", "exact": "numeric", "small": "int2", "whole": "int4",
    "large": "int8", "colour": "text", "size": "int8", "flag": "bool",
}  # fmt: skip
COLUMNS = ", ".join(KINDS)


@dataclass(frozen=True)
class Model:
    """`kinds` has the SQL types of the columns; margins and values are the library's, one row each.

    A library that gives no margins has none; classes are those that it names.
    """

    name: str
    file: bytes
    kinds: dict[str, str]
    rows: list[list]
    margins: np.ndarray | None
    values: np.ndarray
    classes: list[str] | None = None


@dataclass(frozen=True)
class Predictions:
    """A library's predictions: leaves of the first LEAVES rows, and classes where the model has some."""

    margins: np.ndarray
    values: np.ndarray
    leaves: list[list[int]]
    classes: list[str] | None = None


def numbers(draw: np.random.Generator, decades: int) -> dict[str, np.ndarray]:
    """The columns of numbers; doubles are within this number of decades on either side of 1."""

    def gone(column: np.ndarray) -> np.ndarray:
        return np.where(draw.random(ROWS) < 0.05, np.nan, column)

    return {
        "single": gone(np.round(draw.normal(size=ROWS), 2).astype(np.float32)),
        "double": gone(draw.normal(size=ROWS) * 10.0 ** draw.integers(-decades, decades, ROWS)),
        "exact": gone(np.round(draw.normal(size=ROWS), 3)),
        "small": gone(draw.integers(-5, 6, ROWS)),
        "whole": gone(draw.integers(-(2**30), 2**30, ROWS)),
        "large": gone(draw.integers(-(2**53), 2**53, ROWS)),
    }


def score_of_numbers(frame: pd.DataFrame) -> np.ndarray:
    """The part of a label from the columns of numbers, except `exact`."""
    score = np.nan_to_num(frame["single"]) + np.sign(np.nan_to_num(frame["double"]))
    return score + np.nan_to_num(frame["whole"]) / 2**30 + np.nan_to_num(frame["large"]) / 2**53


def rows_of(frame: pd.DataFrame, kinds: dict[str, str] = KINDS) -> list[list]:
    """The rows as SQL has them: integers for whole numbers, None for missing values."""
    whole = [kind in ("int2", "int4", "int8") for kind in kinds.values()]

    def value(given: object, is_whole: bool) -> object:
        if pd.isna(given):
            return None
        return int(given) if is_whole else given

    rows = frame.itertuples(index=False)
    return [[value(*pair) for pair in zip(row, whole, strict=True)] for row in rows]


def store(connection: Connection, frame: pd.DataFrame, kinds: dict[str, str] = KINDS) -> None:
    """Makes the temporary table `stored` of the rows."""
    listed = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    rows = ([number, *row] for number, row in enumerate(rows_of(frame, kinds)))
    make_table(connection, "pg_temp.stored", f"id int, {listed}", rows)


def ask(
    connection: Connection, function: str, features: str, rows: int | None = None, model: str = "m"
) -> list:
    """Predictions of a model for each row, or for the first rows; `t` is the row itself."""
    query = f"SELECT {function}('{model}', {features}) FROM stored AS t WHERE id < %s ORDER BY id"
    return [answer for (answer,) in connection.execute(query, (rows or 2**31 - 1,))]


def rounded(numbers: np.ndarray | list) -> np.ndarray:
    """One row of f32 for each row."""
    return np.asarray(numbers).reshape(len(numbers), -1).astype(np.float32)
