"""The stored rows of a table of several types, and a model's predictions for them."""

import numpy as np
import pandas as pd
import psycopg

from tests.extension.formats.frame import KINDS, rows_of

COLUMNS = ", ".join(KINDS)
# Of those that a model is trained on.
ROWS = 5_000


def store(connection: psycopg.Connection, frame: pd.DataFrame) -> psycopg.Connection:
    """The same connection, with the rows in the table `stored`."""
    listed = ", ".join(f"{name} {kind}" for name, kind in KINDS.items())
    connection.execute(f"CREATE TEMP TABLE stored (id int, {listed})")
    with connection.cursor().copy("COPY stored FROM STDIN") as copy:
        for number, row in enumerate(rows_of(frame)):
            copy.write_row([number, *row])
    return connection


def ask(
    connection: psycopg.Connection, function: str, features: str, rows: int | None = None
) -> list:
    """Predictions of the model `m` for each row, or for the first rows; `t` is the row itself."""
    query = f"SELECT {function}('m', {features}) FROM stored AS t WHERE id < %s ORDER BY id"
    return [answer for (answer,) in connection.execute(query, (rows or 2**31 - 1,))]


def rounded(doubles: np.ndarray) -> np.ndarray:
    """One row of f32 for each row."""
    return np.asarray(doubles).reshape(len(doubles), -1).astype(np.float32)
