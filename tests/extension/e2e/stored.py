"""The stored rows of a table of several types, and a model's predictions for them."""

import numpy as np
import pandas as pd
from psycopg import Connection

from tests.extension.formats.frame import KINDS, rows_of

COLUMNS = ", ".join(KINDS)


def store(connection: Connection, frame: pd.DataFrame, kinds: dict[str, str] = KINDS) -> None:
    """Makes the temporary table `stored` of the rows."""
    listed = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    connection.execute(f"CREATE TEMP TABLE stored (id int, {listed})")
    with connection.cursor().copy("COPY stored FROM STDIN") as copy:
        for number, row in enumerate(rows_of(frame, kinds)):
            copy.write_row([number, *row])


def ask(
    connection: Connection, function: str, features: str, rows: int | None = None, model: str = "m"
) -> list:
    """Predictions of a model for each row, or for the first rows; `t` is the row itself."""
    query = f"SELECT {function}('{model}', {features}) FROM stored AS t WHERE id < %s ORDER BY id"
    return [answer for (answer,) in connection.execute(query, (rows or 2**31 - 1,))]


def rounded(numbers: np.ndarray | list) -> np.ndarray:
    """One row of f32 for each row."""
    return np.asarray(numbers).reshape(len(numbers), -1).astype(np.float32)
